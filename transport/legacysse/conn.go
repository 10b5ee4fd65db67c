package legacysse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/sse"
	"mcpwire/transport"
)

// conn is one connection: an event stream, and the address that goes with it.
type conn struct {
	options  Options
	endpoint *httpwire.Endpoint
	receiver transport.Receiver

	stream    context.Context // of the event stream
	endStream context.CancelCauseFunc
	body      io.Closer
	events    *sse.Reader
	finished  chan struct{} // closed when the goroutine that reads the stream has come to its end

	all    context.Context // of all exchanges
	endAll context.CancelCauseFunc
	active sync.WaitGroup // exchanges and cancel notes

	notes *httpwire.Notes // cancel notes

	mu     sync.Mutex
	target *url.URL // where messages are posted to
	wire   transport.Wire
	err    error // why done is closed
	byUs   bool  // Close has ended it
	done   chan struct{}

	shutdown sync.Once
	closed   chan struct{} // closed when Close has done its work
}

func newConn(o Options, endpoint *httpwire.Endpoint, r transport.Receiver) *conn {
	c := &conn{
		options:  o,
		endpoint: endpoint,
		receiver: r,
		notes:    httpwire.NewNotes(),
		finished: make(chan struct{}),
		done:     make(chan struct{}),
		closed:   make(chan struct{}),
	}
	c.stream, c.endStream = context.WithCancelCause(context.Background())
	c.all, c.endAll = context.WithCancelCause(context.Background())
	return c
}

func (c *conn) fail(op string, d transport.Delivery, err error) error {
	return &transport.Error{Op: op, Server: c.options.Name, Delivery: d, Err: err}
}

// read owns the stream from the endpoint event on. It is the connection's one goroutine.
func (c *conn) read() {
	defer close(c.finished)
	defer c.body.Close()
	cause := fmt.Errorf("%w: %w", transport.ErrClosed, c.readEvents())
	c.end(cause, false)
	c.notes.End() // nobody is there to read them
	c.active.Wait()
	c.mu.Lock()
	err := c.err
	if c.byUs {
		err = nil
	}
	c.mu.Unlock()
	c.receiver.Closed(err)
}

// readEvents reads to the end of the stream and tells what ended it.
func (c *conn) readEvents() error {
	for {
		ev, err := c.events.Next()
		large, isLarge := errors.AsType[*sse.LargeEvent](err)
		switch {
		case isLarge && large.Type == sse.Message:
			c.receiver.Oversize(nil, large.Head, large.Tail, large.Size)
		case isLarge:
		case errors.Is(err, io.EOF):
			return errors.New("the server ended the event stream")
		case err != nil:
			return fmt.Errorf("the event stream broke off: %w", err)
		default:
			c.take(ev)
		}
	}
}

// take handles one event. Other types than these two are not of this protocol.
func (c *conn) take(ev sse.Event) {
	switch ev.Type {
	case sse.Message:
		switch c.receiver.Receive(nil, ev.Data) {
		case transport.Kept:
			c.events.Keep()
		case transport.Malformed:
			if !ev.Unfinished {
				c.fault(c.endpoint.Malformed(ev.Data))
			}
		case transport.Reuse:
		}
	case endpointEvent:
		if ev.Unfinished {
			return
		}
		if err := c.moveTo(string(ev.Data)); err != nil {
			c.fault(err)
		}
	}
}

func (c *conn) fault(err error) { c.receiver.Fault(fmt.Errorf("on the event stream: %w", err)) }

// enter counts an exchange in; false means that the connection has ended.
func (c *conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.active.Add(1)
	return true
}

// end marks the connection as ended and ends all exchanges. Only the first cause counts.
func (c *conn) end(cause error, byUs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err, c.byUs = c.fail("", transport.MaybeDelivered, cause), byUs
	close(c.done)
	c.endAll(cause)
}

// Close implements transport.Conn: exchanges end, then the stream and the sockets are closed.
func (c *conn) Close(ctx context.Context) error {
	c.shutdown.Do(func() {
		defer close(c.closed)
		c.end(transport.ErrClosed, true)
		c.notes.Close(ctx)
		c.active.Wait()
		c.endStream(transport.ErrClosed)
		<-c.finished
		c.endpoint.Close()
	})
	<-c.closed
	return nil
}

// header returns the headers that requests of either kind have. The transport is older than MCP-Protocol-Version, but
// 2025-06-18 wants it on every request over HTTP after the handshake (transports, protocol version header), and says
// nothing of an exception; servers that don't know it pass it over.
func (c *conn) header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := http.Header{}
	if c.wire.Revision != "" {
		h.Set("Mcp-Protocol-Version", c.wire.Revision)
	}
	return h
}

// Listen returns transport.ErrNoStream: what the server sends unasked comes on the stream that all calls share.
func (c *conn) Listen(context.Context, func()) error { return transport.ErrNoStream }

// Negotiated implements transport.Conn.
func (c *conn) Negotiated(w transport.Wire) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = w
}

// Traits implements transport.Conn.
func (c *conn) Traits() transport.Traits { return transport.Traits{Name: "sse", Sessions: true} }

// Mask implements transport.Masker.
func (c *conn) Mask(text string) string { return c.endpoint.Mask(text) }

// Done implements transport.Conn.
func (c *conn) Done() <-chan struct{} { return c.done }

// Err implements transport.Conn.
func (c *conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
