// Package oneshot makes one JSON-RPC call by one HTTP POST, and gives back the answer as it came. There is no session
// and no handshake: it is for servers that need none, for probing, and for looking at what a server really says.
package oneshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/jsonscan"
	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// DefaultMaxAnswer is the default of Caller.MaxAnswer: 64 MiB.
const DefaultMaxAnswer = 64 << 20

// A Caller makes calls. The zero value works. Its method may be used from several goroutines at once.
type Caller struct {
	// Client sends the request. nil: one that is made for each call and closed after it, with proxies of the environment
	// (never for loopback addresses) and redirects followed within one origin, the request resent.
	Client *http.Client
	// Headers are sent too; those that the protocol needs win. Where Client follows a redirect, they may go with it.
	Headers map[string]string
	// MaxAnswer bounds the answer, in bytes, unpacked (0: 64 MiB).
	MaxAnswer int
	// OnTrace is told of the HTTP exchange when its headers have come, or it has failed; may be nil.
	OnTrace func(Trace)
}

// A Trace is one HTTP exchange, without secrets.
type Trace = httpwire.Trace

// Call makes one call with a Caller that has only a client, which may be nil. See Caller.Call.
func Call(
	ctx context.Context, client *http.Client, url, method string, params json.RawMessage,
) (json.RawMessage, error) {
	return Caller{Client: client}.Call(ctx, url, method, params)
}

// id is that of every request: there is one on a stream of its own.
var id = jsonrpc.IntID(1)

// Message returns the request that Call posts.
func Message(method string, params json.RawMessage) []byte {
	return jsonrpc.AppendRequest(nil, id, method, params)
}

// Call posts one request and returns the envelope that answers it, as it came: {"jsonrpc":"2.0","id":1,...}. An
// envelope with a JSON-RPC error is no error of Call, whatever the HTTP status. The answer may be JSON or the first
// message on a stream of events that answers the request, after which the stream is closed; an error with a null id
// counts, since nothing else was asked. params must be an object or an array, or empty, in which case they are left
// out.
//
// It blocks until ctx is done, which is the only deadline. Errors are *transport.Error, around a *transport.StatusError
// for a refusal without an envelope, a *transport.MalformedError, a *transport.NoResponseError, transport.ErrTooLarge,
// or the cause of ctx.
func (c Caller) Call(ctx context.Context, url, method string, params json.RawMessage) (json.RawMessage, error) {
	envelope, delivery, err := c.call(ctx, url, method, params)
	if err == nil {
		return envelope, nil
	}
	_, spoken := errors.AsType[*transport.StatusError](err)
	if ctx.Err() != nil && !spoken {
		err = context.Cause(ctx)
	}
	return nil, &transport.Error{Op: method, Delivery: delivery, Err: err}
}

func (c Caller) call(
	ctx context.Context, url, method string, params json.RawMessage,
) (json.RawMessage, transport.Delivery, error) {
	if err := checkParams(params); err != nil {
		return nil, transport.NotDelivered, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := c.poster(url)
	if err != nil {
		return nil, transport.NotDelivered, err
	}
	defer p.close()
	start := time.Now()
	resp, delivery, err := p.post(ctx, Message(method, params))
	c.trace(url, start, resp, err)
	if err != nil {
		return nil, delivery, err
	}
	defer resp.Body.Close()
	limit := c.MaxAnswer
	if limit <= 0 {
		limit = DefaultMaxAnswer
	}
	return read(resp, limit, cancel, p.Quotes)
}

func checkParams(params json.RawMessage) error {
	if len(params) == 0 {
		return nil
	}
	i := jsonscan.Space(params, 0)
	if i == len(params) || params[i] != '{' && params[i] != '[' || !jsonscan.Valid(params) {
		return errors.New("params: not a JSON object or array")
	}
	return nil
}

func (c Caller) trace(url string, start time.Time, resp *http.Response, err error) {
	if c.OnTrace == nil {
		return
	}
	t := Trace{Method: http.MethodPost, URL: redact.URL(url), Took: time.Since(start), Err: err}
	if resp != nil {
		t.Status = resp.StatusCode
	}
	c.OnTrace(t)
}

// unexpected makes an error of a success that is no envelope for our request.
func unexpected(resp *http.Response, text []byte, quotes httpwire.Quotes) error {
	if _, err := jsonrpc.Parse(text); err == nil {
		return errors.New("the server answered another request than was asked")
	}
	if media := httpwire.MediaOf(resp); media == httpwire.JSON || len(text) == 0 {
		return quotes.Malformed(text)
	}
	return fmt.Errorf("HTTP %d with %s: %w", resp.StatusCode, quotes.Line(resp.Header.Get("Content-Type"), 100),
		quotes.Malformed(text))
}
