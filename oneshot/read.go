package oneshot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/jsonscan"
	"mcpwire/internal/sse"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// refusalWait is how long the body of a refusal is waited for.
const refusalWait = 2 * time.Second

// read finds the envelope in an answer of any form. cancel ends the exchange.
func read(
	resp *http.Response, limit int, cancel context.CancelFunc, quotes httpwire.Quotes,
) (json.RawMessage, transport.Delivery, error) {
	success := httpwire.Succeeded(resp)
	if success && httpwire.MediaOf(resp) == httpwire.EventStream {
		return readStream(resp, limit, quotes)
	}
	if !success {
		defer time.AfterFunc(refusalWait, cancel).Stop()
	}
	text, err := httpwire.ReadAll(resp, limit)
	text = trim(text)
	switch {
	case err == nil && answers(text):
		return text, transport.Answered, nil
	case !success:
		resp.Body = io.NopCloser(bytes.NewReader(text))
		return nil, transport.Answered, quotes.Failure(resp)
	case errors.Is(err, transport.ErrTooLarge):
		return nil, transport.Answered, err
	case err != nil:
		return nil, transport.MaybeDelivered, err
	}
	return nil, transport.Answered, unexpected(resp, text, quotes)
}

// readStream reads up to the first message that answers the request.
func readStream(
	resp *http.Response, limit int, quotes httpwire.Quotes,
) (json.RawMessage, transport.Delivery, error) {
	events := sse.NewReader(resp.Body, sse.Options{MaxEvent: limit})
	for {
		ev, err := events.Next()
		if large, ok := errors.AsType[*sse.LargeEvent](err); ok {
			return nil, transport.Answered, fmt.Errorf("%w: %w", transport.ErrTooLarge, large)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil, transport.MaybeDelivered, &transport.NoResponseError{ID: id.String()}
		case err != nil:
			return nil, transport.MaybeDelivered, &transport.NoResponseError{ID: id.String(), Err: err}
		case ev.Type != sse.Message:
		case answers(ev.Data):
			return bytes.Clone(ev.Data), transport.Answered, nil
		case !ev.Unfinished && !isMessage(ev.Data):
			return nil, transport.Answered, quotes.Malformed(ev.Data)
		}
	}
}

func isMessage(text []byte) bool {
	_, err := jsonrpc.Parse(text)
	return err == nil
}

// answers reports whether text is an envelope that answers our request: with its id, of whatever type, or with an error
// that bears none.
func answers(text []byte) bool {
	m, err := jsonrpc.Parse(text)
	if err != nil || m.Kind != jsonrpc.Response {
		return false
	}
	n, ok := m.ID.Integer()
	return ok && n == 1 || m.Error != nil && (m.ID.IsNull() || m.ID.IsAbsent())
}

func trim(text []byte) []byte { return bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))) }

// ParseSSE returns the JSON that a text holds which somebody has read whole from a server: the data of its first event
// that has any, several lines joined by LF, or the text itself where it is plain JSON. An event that the end of the
// text has cut off counts. The error is a *transport.MalformedError if that is no JSON, or there is none.
func ParseSSE(text string) (json.RawMessage, error) {
	if whole := trim([]byte(text)); jsonscan.Valid(whole) {
		return whole, nil
	}
	ev, err := sse.NewReader(strings.NewReader(text), sse.Options{MaxEvent: max(len(text), 1)}).Next()
	if err != nil {
		return nil, httpwire.Quotes{}.Malformed([]byte(text))
	}
	data := trim(ev.Data)
	if !jsonscan.Valid(data) {
		return nil, httpwire.Quotes{}.Malformed(ev.Data)
	}
	return data, nil
}
