package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/sse"
	"mcpwire/transport"
)

// maxFruitless is how often in a row the standing stream is opened for nothing before Listen gives up.
const maxFruitless = 6

// livedLong is how long a stream must have stood to count as useful although nothing came on it.
const livedLong = 10 * time.Second

// Listen implements transport.Conn: it holds the standing GET stream open (2025-11-25, transports, listening for
// messages from the server). A server that refuses it has none: transport.ErrNoStream, with the status where it is not
// the 405 that is meant for that. Closing a stream is the server's right; it is opened again, the later the more often
// that brought nothing, and given up after six times.
func (c *conn) Listen(ctx context.Context, opened func()) error {
	if !c.enter() {
		return c.fail("listen", transport.NotDelivered, httpwire.Reason(c.Err()))
	}
	defer c.active.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.streams, func() { cancel(context.Cause(c.streams)) })()
	s := standing{conn: c, opened: sync.OnceFunc(opened), retry: -1}
	err := s.run(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return c.fail("listen", transport.NotDelivered, err)
}

// standing is the server's standing stream, over all its lives.
type standing struct {
	conn   *conn
	opened func()

	lastEvent string
	retry     time.Duration
}

func (s *standing) run(ctx context.Context) error {
	for fruitless := 0; ; fruitless++ {
		resp, err := s.open(ctx)
		if err == nil {
			s.opened()
			start := time.Now()
			var useful bool
			useful, err = s.read(resp)
			if useful || time.Since(start) >= livedLong {
				fruitless = 0
			}
		} else if final := refusal(err); final != nil {
			return final
		}
		if fruitless+1 >= maxFruitless {
			return fmt.Errorf("the standing stream was opened %d times for nothing, the last time: %w", maxFruitless, err)
		}
		if err := sleep(ctx, wait(s.retry, fruitless)); err != nil {
			return err
		}
	}
}

// open opens the stream on another goroutine, since a stack that has grown for a request hardly ever shrinks, and this
// one waits for long.
func (s *standing) open(ctx context.Context) (*http.Response, error) {
	type opening struct {
		resp *http.Response
		err  error
	}
	opened := make(chan opening)
	go func() {
		resp, err := s.conn.get(ctx, s.lastEvent)
		opened <- opening{resp, err}
	}()
	o := <-opened
	return o.resp, o.err
}

// refusal returns the error that ends listening, if the server will not have it; nil if it may want it later.
func refusal(err error) error {
	var status *transport.StatusError
	if !errors.As(err, &status) {
		return nil
	}
	switch status.Status {
	case http.StatusMethodNotAllowed:
		return transport.ErrNoStream
	case http.StatusUnauthorized, http.StatusForbidden:
		return status
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return nil
	}
	if status.Status < 500 || status.Status == http.StatusNotImplemented {
		return fmt.Errorf("%w: %w", transport.ErrNoStream, status)
	}
	return nil
}

// read reads one life of the stream, and reports whether it brought anything. It closes the body.
func (s *standing) read(resp *http.Response) (useful bool, err error) {
	defer resp.Body.Close()
	events := sse.NewReader(resp.Body, sse.Options{MaxEvent: s.conn.options.MaxMessage, Quiet: true})
	defer func() {
		if id := events.LastID(); id != "" && id != s.lastEvent {
			s.lastEvent, useful = id, true
		}
		if wait, ok := events.Retry(); ok {
			s.retry = wait
		}
	}()
	for {
		ev, err := events.Next()
		if large, ok := errors.AsType[*sse.LargeEvent](err); ok {
			s.conn.receiver.Oversize(nil, large.Head, large.Tail, large.Size)
			useful = true
			continue
		}
		if err != nil {
			return useful, err
		}
		if ev.Type != sse.Message {
			continue
		}
		useful = true
		switch s.conn.receiver.Receive(nil, ev.Data) {
		case transport.Kept:
			events.Keep()
		case transport.Malformed:
			if !ev.Unfinished {
				s.conn.receiver.Fault(fmt.Errorf("on the standing stream: %w", s.conn.endpoint.Malformed(ev.Data)))
			}
		case transport.Reuse:
		}
	}
}
