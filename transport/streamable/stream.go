package streamable

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/sse"
	"mcpwire/transport"
)

// Waits between a stream that broke off and the next attempt.
const (
	leastWait = 100 * time.Millisecond
	firstWait = time.Second
	lastWait  = time.Minute
)

// maxResumes is how often in a row a call's stream is resumed without anything new on it.
const maxResumes = 4

// readStream reads the events of a call's stream until its answer has come. A stream that breaks off before is resumed
// if it had an event with an id (2025-11-25, transports, resumability and redelivery).
func (x *exchange) readStream(resp *http.Response) error {
	for fruitless := 0; ; fruitless++ {
		before := x.lastEvent
		err := x.readEvents(resp)
		if _, bad := errors.AsType[*transport.MalformedError](err); bad || x.ended() {
			return err
		}
		if x.lastEvent != before {
			fruitless = 0
		}
		if x.lastEvent == "" || fruitless == maxResumes || !x.resumable() {
			return &transport.NoResponseError{Err: unlessEOF(err)}
		}
		if resp, err = x.resume(fruitless); err != nil {
			return &transport.NoResponseError{Err: err}
		}
	}
}

// resumable reports whether the call's stream may be resumed at all.
func (x *exchange) resumable() bool {
	return x.call.Envelope.Revision == "" && x.conn.negotiated().Resume
}

// ended reports whether there is nothing more to wait for.
func (x *exchange) ended() bool { return x.call.Settled() || x.call.Err() != nil || x.ctx.Err() != nil }

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// reader returns a reader for a call's stream. Those are used again, since calls come one after the other.
func (c *conn) reader(body io.Reader) *sse.Reader {
	if events, ok := c.readers.Get().(*sse.Reader); ok {
		events.Reset(body)
		return events
	}
	return sse.NewReader(body, sse.Options{MaxEvent: c.options.MaxMessage, Big: int(c.bigEvent.Load())})
}

// readEvents reads one stream to the call's end or its own. It closes the body.
func (x *exchange) readEvents(resp *http.Response) error {
	events := x.conn.reader(resp.Body)
	defer func() {
		if id := events.LastID(); id != "" {
			x.lastEvent = id
		}
		if wait, ok := events.Retry(); ok {
			x.retry = wait
		}
		events.Reset(nil)
		x.conn.bigEvent.Store(int64(events.Big()))
		x.conn.readers.Put(events)
	}()
	for {
		ev, err := events.Next()
		large, isLarge := errors.AsType[*sse.LargeEvent](err)
		if err != nil && !isLarge {
			_ = resp.Body.Close()
			return err
		}
		if !isLarge && ev.Type != sse.Message {
			continue
		}
		x.own.Store(true)
		verdict := transport.Reuse
		if isLarge {
			x.conn.receiver.Oversize(x.call, large.Head, large.Tail, large.Size)
		} else if verdict = x.conn.receiver.Receive(x.call, ev.Data); verdict == transport.Kept {
			events.Keep()
		}
		x.own.Store(false)
		switch {
		case x.call.Settled():
			x.conn.drop(resp, x)
			return nil
		case x.ended():
			_ = resp.Body.Close()
			return context.Cause(x.ctx)
		case verdict == transport.Malformed && ev.Unfinished:
			_ = resp.Body.Close()
			return io.ErrUnexpectedEOF
		case verdict == transport.Malformed:
			_ = resp.Body.Close()
			return x.conn.endpoint.Malformed(ev.Data)
		}
	}
}

// resume opens the call's stream again where it broke off. Attempts that fail on the way count like fruitless ones.
func (x *exchange) resume(fruitless int) (*http.Response, error) {
	for {
		if err := sleep(x.ctx, wait(x.retry, fruitless)); err != nil {
			return nil, err
		}
		resp, err := x.conn.get(x.ctx, x.lastEvent)
		if err == nil {
			return resp, nil
		}
		var status *transport.StatusError
		if refused := errors.As(err, &status) && status.Status < 500; refused || fruitless >= maxResumes || x.ended() {
			return nil, err
		}
		fruitless++
	}
}

// wait returns how long to wait before a stream is opened again after so many fruitless attempts. What the server asks
// for is the least (WHATWG HTML, section 9.2.6, retry), but for one that asks for none and brings a little each time.
func wait(retry time.Duration, fruitless int) time.Duration {
	if fruitless == 0 && retry >= 0 {
		return max(retry, leastWait)
	}
	d := min(firstWait<<min(fruitless, 10), lastWait)
	d += time.Duration(rand.Int64N(int64(d) / 4)) //nolint:gosec // nobody gains by guessing it
	return max(d, retry)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// get opens a stream by GET: a standing one, or the rest of the one that had the event lastEvent.
func (c *conn) get(ctx context.Context, lastEvent string) (*http.Response, error) {
	resp, _, err := c.endpoint.Do(ctx, httpwire.Request{Method: http.MethodGet, Headers: c.getHeaders(lastEvent)})
	if err != nil {
		return nil, err
	}
	if !httpwire.Succeeded(resp) {
		defer resp.Body.Close()
		return nil, c.endpoint.Failure(resp)
	}
	if httpwire.MediaOf(resp) != httpwire.EventStream {
		defer resp.Body.Close()
		return nil, &transport.StatusError{
			Status: resp.StatusCode, Text: "not an event stream",
			Excerpt: c.endpoint.Line(resp.Header.Get("Content-Type"), kindBytes),
		}
	}
	return resp, nil
}
