package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
)

// An exchange is one POST and what belongs to it.
type exchange struct {
	conn   *conn
	call   *transport.Call
	caller context.Context
	ctx    context.Context // done when the exchange must end
	cancel context.CancelCauseFunc
	own    atomic.Bool // the answer is being read: the call's end is seen without being woken
	stream bool        // it waits on an event stream; guarded by conn.mu

	lastEvent string // the id of the last event on the call's stream
	retry     time.Duration
}

// begin starts the clocks of a call and ties the exchange to all that may end it.
func (c *conn) begin(ctx context.Context, call *transport.Call, what string) *exchange {
	call.Start(what, c.options.Timeout)
	x := &exchange{conn: c, call: call, caller: ctx, retry: -1}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	call.OnEnd(func() {
		if !x.own.Load() {
			x.cancel(nil)
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exchanges[x] = struct{}{}
	if c.all.Err() != nil {
		x.cancel(context.Cause(c.all))
	}
	return x
}

// streaming has the exchange end with all that wait on an event stream.
func (x *exchange) streaming() {
	c := x.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	x.stream = true
	if c.streams.Err() != nil {
		x.cancel(context.Cause(c.streams))
	}
}

func (x *exchange) finish() {
	x.conn.mu.Lock()
	delete(x.conn.exchanges, x)
	x.conn.mu.Unlock()
	x.cancel(nil)
}

// Exchange implements transport.Conn.
func (c *conn) Exchange(ctx context.Context, call *transport.Call) error {
	op := call.Envelope.String()
	if !c.enter() {
		return c.fail(op, transport.NotDelivered, httpwire.Reason(c.Err()))
	}
	defer c.active.Done()
	if ctx.Err() != nil {
		return c.fail(op, transport.NotDelivered, context.Cause(ctx))
	}
	x := c.begin(ctx, call, "request")
	defer x.finish()
	delivery, err := x.run()
	if call.Stop() {
		return nil
	}
	err = x.failure(op, delivery, err)
	var carriage *transport.Error
	told := call.Envelope.Revision != "" // by the end of the exchange
	if errors.As(err, &carriage) && carriage.Delivery == transport.MaybeDelivered && !told {
		c.abandon(call.Abandon)
	}
	return err
}

// abandon sends the cancel note of a call.
func (c *conn) abandon(note []byte) {
	if note == nil || !c.enter() {
		return
	}
	c.notes.Send(func(ctx context.Context) (*http.Response, error) {
		resp, _, err := c.post(ctx, note, transport.Envelope{})
		return resp, err
	}, c.active.Done)
}

// post sends one message. One that describes itself has its facts in headers, and no session.
func (c *conn) post(
	ctx context.Context, body []byte, facts transport.Envelope,
) (*http.Response, transport.Delivery, error) {
	header := http.Header{}
	if facts.Revision == "" {
		header = c.header("")
	} else {
		mirror(header, facts)
	}
	header["Content-Type"] = []string{"application/json"}
	header["Accept"] = []string{"application/json, text/event-stream"}
	return c.endpoint.Do(ctx, httpwire.Request{Method: http.MethodPost, Body: body, Header: header})
}

// mirror shows the facts of a message in headers (2026-07-28, Streamable HTTP, request metadata).
func mirror(header http.Header, facts transport.Envelope) {
	header[revisionHeader] = []string{facts.Revision}
	header["Mcp-Method"] = []string{facts.Method}
	if facts.Name != "" {
		header["Mcp-Name"] = []string{encodeHeader(facts.Name)}
	}
	for _, h := range facts.Headers {
		header[http.CanonicalHeaderKey(h.Name)] = []string{encodeHeader(h.Value)}
	}
}

// run sends the request and reads its answer. A nil error means that the exchange went well; whether the call was
// settled is the call's to say.
func (x *exchange) run() (transport.Delivery, error) {
	c := x.conn
	ownFacts := x.call.Envelope.Revision != ""
	hadSession := c.session.current() != "" && !ownFacts
	resp, delivery, err := c.post(x.ctx, x.call.Body, x.call.Envelope)
	if err != nil {
		return delivery, err
	}
	if !httpwire.Succeeded(resp) {
		return x.refused(resp, hadSession)
	}
	if !ownFacts {
		c.session.adopt(resp)
	}
	switch media := httpwire.MediaOf(resp); {
	case media == httpwire.EventStream:
		x.streaming()
		x.call.Rename("SSE response")
		return transport.MaybeDelivered, x.readStream(resp)
	case media == httpwire.JSON:
		return x.readJSON(resp)
	case resp.StatusCode == http.StatusAccepted:
		c.drop(resp, x)
		return transport.Answered, errors.New("HTTP 202: the server accepted the request and gave no answer")
	}
	return transport.Answered, x.unreadable(resp)
}

// refused makes an error of an answer that is no success, and ends the connection if the session is lost.
func (x *exchange) refused(resp *http.Response, hadSession bool) (transport.Delivery, error) {
	status := x.status(resp)
	if hadSession && lost(status) {
		x.conn.lose()
		return transport.NotDelivered, fmt.Errorf("%w: %w", transport.ErrSessionLost, status)
	}
	return transport.Answered, status
}

// status makes an error of an answer's status and the beginning of its body, and closes it.
func (x *exchange) status(resp *http.Response) *transport.StatusError {
	return x.conn.endpoint.Refusal(resp, func() { x.cancel(nil) })
}

// readJSON reads an answer that is one JSON text.
func (x *exchange) readJSON(resp *http.Response) (transport.Delivery, error) {
	defer resp.Body.Close()
	text, err := httpwire.ReadAll(resp, x.conn.options.MaxMessage)
	if err != nil && !errors.Is(err, transport.ErrTooLarge) {
		return transport.MaybeDelivered, err
	} else if err != nil {
		return transport.Answered, err
	}
	x.own.Store(true)
	switch verdict := x.conn.receiver.Receive(x.call, text); {
	case x.call.Settled():
		return transport.Answered, nil
	case verdict == transport.Malformed:
		return transport.Answered, x.conn.endpoint.Malformed(text)
	}
	return transport.Answered, errors.New("the server answered another request than was asked")
}

// kindBytes is how much is shown of the type that a body is said to have.
const kindBytes = 100

// unreadable makes an error of a success that is neither JSON nor an event stream.
func (x *exchange) unreadable(resp *http.Response) error {
	kind := x.conn.endpoint.Line(resp.Header.Get("Content-Type"), kindBytes)
	status := x.status(resp)
	if kind == "" {
		kind = "no type"
	}
	return fmt.Errorf("HTTP %d with %s in place of JSON or an event stream: %s", status.Status, kind, status.Excerpt)
}

// failure makes the error of an exchange that was not settled.
func (x *exchange) failure(op string, delivery transport.Delivery, err error) error {
	return x.conn.fail(op, delivery, httpwire.Cause(x.call, x.caller, x.conn.Err(), err))
}

// Send implements transport.Conn. Any 2xx is success, whatever comes with it (2025-11-25, transports, sending 4).
func (c *conn) Send(ctx context.Context, call *transport.Call) error {
	op := call.Envelope.String()
	if !c.enter() {
		return c.fail(op, transport.NotDelivered, httpwire.Reason(c.Err()))
	}
	defer c.active.Done()
	x := c.begin(ctx, call, "notify")
	defer x.finish()
	hadSession := c.session.current() != ""
	resp, delivery, err := c.post(x.ctx, call.Body, call.Envelope)
	if err == nil {
		if httpwire.Succeeded(resp) {
			c.drop(resp, x)
			call.Stop()
			return nil
		}
		delivery, err = x.refused(resp, hadSession)
	}
	call.Stop()
	return x.failure(op, delivery, err)
}

// dropWait is how long the end of a body is waited for that nobody wants.
const dropWait = 20 * time.Millisecond

// drop reads the rest of an answer so that its connection can be used again. A server that leaves streams open is not
// waited for a second time.
func (c *conn) drop(resp *http.Response, x *exchange) {
	c.mu.Lock()
	patient := c.patient
	c.mu.Unlock()
	if !patient {
		_ = resp.Body.Close()
		return
	}
	if !httpwire.Drop(resp, dropWait, func() { x.cancel(nil) }) {
		c.mu.Lock()
		c.patient = false
		c.mu.Unlock()
	}
}
