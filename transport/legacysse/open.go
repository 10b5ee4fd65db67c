package legacysse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/sse"
	"mcpwire/transport"
)

type opener Options

// Open implements transport.Transport: it opens the stream and waits for the address that messages go to.
func (o opener) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	fail := func(err error) error {
		return &transport.Error{Op: "open", Server: o.Name, Delivery: transport.NotDelivered, Err: err}
	}
	if ctx.Err() != nil {
		return nil, fail(context.Cause(ctx))
	}
	endpoint, err := httpwire.New(httpwire.Options{
		URL: o.URL, Headers: o.Headers, Secrets: o.Secrets, TLS: o.TLS, Proxy: o.Proxy, Wrap: o.Wrap,
		Discreet: o.Discreet,
		OnTrace:  o.OnTrace,
	})
	if err != nil {
		return nil, fail(err)
	}
	c := newConn(Options(o), endpoint, r)
	if err := c.open(ctx); err != nil {
		c.endStream(nil)
		if c.body != nil {
			_ = c.body.Close()
		}
		c.endAll(nil)
		c.notes.End()
		endpoint.Close()
		return nil, fail(err)
	}
	go c.read()
	return c, nil
}

// open does what may take long. The stream's own context outlives it; until then ctx and the clock end that too.
func (c *conn) open(ctx context.Context) error {
	forget := context.AfterFunc(ctx, func() { c.endStream(context.Cause(ctx)) })
	clock := c.startClock()
	err := c.connect()
	ended := !forget()
	if clock != nil && !clock.Stop() {
		ended = true
	}
	if _, refused := errors.AsType[*transport.StatusError](err); refused || !ended {
		return err
	}
	<-c.stream.Done() // what has begun to end it may not have come that far
	cause := context.Cause(c.stream)
	if _, expired := errors.AsType[*transport.TimeoutError](cause); expired && errors.Is(err, ErrNotSSE) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return cause
}

// startClock starts the clock of the endpoint event; nil if there is none.
func (c *conn) startClock() *time.Timer {
	wait := c.options.EndpointWait
	if wait < 0 {
		return nil
	}
	return time.AfterFunc(wait, func() { c.endStream(&transport.TimeoutError{What: "endpoint event", After: wait}) })
}

// connect does the GET and reads the stream up to the endpoint event.
func (c *conn) connect() error {
	header := c.header()
	header.Set("Accept", "text/event-stream")
	resp, _, err := c.endpoint.Do(c.stream, httpwire.Request{Method: http.MethodGet, Headers: c.endpoint.Headers(header)})
	if err != nil {
		return err
	}
	if !httpwire.Succeeded(resp) {
		return c.endpoint.Refusal(resp, func() { c.endStream(nil) })
	}
	if httpwire.MediaOf(resp) != httpwire.EventStream {
		defer resp.Body.Close()
		kind := c.endpoint.Line(resp.Header.Get("Content-Type"), 100)
		if kind == "" {
			kind = "no type"
		}
		return fmt.Errorf("%w: HTTP %d with %s in place of an event stream", ErrNotSSE, resp.StatusCode, kind)
	}
	events := sse.NewReader(resp.Body, sse.Options{MaxEvent: c.options.MaxMessage})
	if err := c.awaitEndpoint(events); err != nil {
		_ = resp.Body.Close()
		return err
	}
	c.body, c.events = resp.Body, events
	return nil
}

// awaitEndpoint reads up to the endpoint event. Before it nothing but pings may come (2024-11-05, transports, HTTP
// with SSE: the server must send it when a client connects); a stream of messages is the standing stream of another
// transport.
func (c *conn) awaitEndpoint(events *sse.Reader) error {
	for {
		ev, err := events.Next()
		large, isLarge := errors.AsType[*sse.LargeEvent](err)
		switch {
		case isLarge:
			ev.Type = large.Type
		case err != nil && c.stream.Err() != nil:
			return fmt.Errorf("%w: no endpoint event came", ErrNotSSE)
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: the stream ended before the endpoint event", ErrNotSSE)
		case err != nil:
			return fmt.Errorf("the event stream broke off before the endpoint event: %w", err)
		}
		switch {
		case ev.Type == sse.Message:
			return fmt.Errorf("%w: the stream begins with a message in place of the endpoint event", ErrNotSSE)
		case ev.Type == endpointEvent && !isLarge && !ev.Unfinished:
			return c.moveTo(string(ev.Data))
		}
	}
}

// endpointEvent is the type of the event that names the address of the messages.
const endpointEvent = "endpoint"

// moveTo takes the address that an endpoint event names: a reference (RFC 3986, section 5) from the address of the
// stream, where redirects have led, that may not leave its origin. The name and password of a URL go with it.
func (c *conn) moveTo(reference string) error {
	stream := c.endpoint.URL()
	reference = strings.TrimSpace(reference)
	if reference == "" {
		return errors.New("the endpoint event is empty")
	}
	to, err := stream.Parse(reference)
	if err != nil {
		return fmt.Errorf("the endpoint event holds no address: %q", c.endpoint.Line(reference, 200))
	}
	if !httpwire.SameOrigin(stream, to) {
		return fmt.Errorf("the endpoint event leads to another origin, which is not followed: from %s to %s",
			c.endpoint.Show(stream), c.endpoint.Show(to))
	}
	to.Fragment, to.RawFragment = "", ""
	if to.User == nil {
		to.User = stream.User
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = to
	return nil
}

// address returns where messages are posted to.
func (c *conn) address() *url.URL {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.target
}
