// Package streamable is the carrier for Streamable HTTP, as the revisions 2025-03-26 to 2025-11-25 have it: every
// message is a POST to one endpoint, answered with JSON or with a stream of events, and a standing GET carries what the
// server has to say by itself (2025-11-25, transports, Streamable HTTP).
package streamable

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
)

// DefaultMaxMessage is the default of Options.MaxMessage: 64 MiB.
const DefaultMaxMessage = 64 << 20

// Options describe a server. Only URL is needed.
type Options struct {
	Name    string            // the server's name in errors
	URL     string            // the endpoint
	Headers map[string]string // sent with each request; an empty one is left out; those of the protocol win
	Secrets []string          // kept out of error texts and traces, besides the values of headers whose names look secret
	TLS     *tls.Config       // nil: the system's roots
	// Proxy chooses the proxy of a request (nil: HTTP_PROXY, HTTPS_PROXY and NO_PROXY; never for loopback addresses).
	Proxy func(*url.URL) (*url.URL, error)
	// Wrap is put around the connections' round tripper; may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Discreet says that Wrap's round tripper changes nothing in a request, not even its headers, and looks at nothing of
	// its context but the end, and the call with ShowCalls. That makes calls cheaper.
	Discreet bool
	// ShowCalls has Wrap's round tripper find the call that a request is for with transport.CallOf.
	ShowCalls bool
	// Timeout is the default of Call.Timeout (0: 30 s; negative: none).
	Timeout time.Duration
	// MaxMessage bounds one message from the server, in bytes, unpacked (0: 64 MiB).
	MaxMessage int
	// OnTrace is told of each HTTP exchange when its headers have come, or it has failed; may be nil. It must be quick.
	OnTrace func(Trace)
}

// A Trace is one HTTP exchange, without secrets.
type Trace = httpwire.Trace

// New returns the transport to a server. Nothing is dialled before the first message.
func New(o Options) transport.Transport {
	if o.Timeout == 0 {
		o.Timeout = transport.DefaultTimeout
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	return opener{&o}
}

type opener struct{ options *Options }

// Open implements transport.Transport. It fails for a URL that is not valid, and does no handshake.
func (t opener) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	o := t.options
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
	c := &conn{
		options:  o,
		endpoint: endpoint,
		receiver: r,
		notes:    httpwire.NewNotes(),
		patient:  true,
		done:     make(chan struct{}),

		exchanges: map[*exchange]struct{}{},
		closed:    make(chan struct{}),
	}
	c.streams, c.endStreams = context.WithCancelCause(context.Background())
	c.all, c.endAll = context.WithCancelCause(context.Background())
	return c, nil
}

// conn is one connection: an HTTP session where the server opens one.
type conn struct {
	options  *Options // shared, and not changed
	endpoint *httpwire.Endpoint
	receiver transport.Receiver
	session  session
	posted   atomic.Pointer[posted] // nil: nothing was posted yet
	spare    sync.Pool              // of *exchange
	readers  sync.Pool              // of *sse.Reader, for calls' streams
	bigEvent atomic.Int64           // what they have learnt; see sse.Reader.Big

	streams    context.Context // of exchanges that wait on an event stream
	endStreams context.CancelCauseFunc
	all        context.Context // of all exchanges
	endAll     context.CancelCauseFunc
	active     sync.WaitGroup // exchanges, and what else uses the endpoint

	notes *httpwire.Notes // cancel notes

	mu        sync.Mutex
	wire      transport.Wire
	err       error                  // why done is closed
	exchanges map[*exchange]struct{} // those that are under way
	patient   bool                   // nothing says yet that the server leaves streams open behind the answer
	done      chan struct{}

	losing   sync.WaitGroup // the goroutine that ends what a lost session leaves
	shutdown sync.Once
	closed   chan struct{} // closed when Close has done its work
	told     sync.Once     // guards Receiver.Closed
}

func (c *conn) fail(op string, d transport.Delivery, err error) error {
	return &transport.Error{Op: op, Server: c.options.Name, Delivery: d, Err: err}
}

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

// lossGrace is how long, after the session was lost, exchanges without an answer may still hear that it is: then they
// know that the server did not run them.
const lossGrace = 2 * time.Second

// end marks the connection as ended and ends the exchanges on streams. Only the first cause counts.
func (c *conn) end(cause error) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.err = c.fail("", transport.MaybeDelivered, cause)
	close(c.done)
	c.endStreams(cause)
	for x := range c.exchanges {
		if x.stream {
			x.cancel(cause)
		}
	}
	return true
}

// cut ends all exchanges. Only the first cause counts.
func (c *conn) cut(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endAll(cause)
	for x := range c.exchanges {
		x.cancel(context.Cause(c.all))
	}
}

// lose ends the connection because the server has forgotten its session.
func (c *conn) lose() {
	cause := fmt.Errorf("%w: %w", transport.ErrClosed, transport.ErrSessionLost)
	c.losing.Add(1)
	if !c.end(cause) {
		c.losing.Done()
		return
	}
	go func() {
		defer c.losing.Done()
		grace := time.AfterFunc(lossGrace, func() { c.cut(cause) })
		defer grace.Stop()
		c.active.Wait()
		c.told.Do(func() { c.receiver.Closed(c.Err()) })
	}()
}

// closeLimit bounds the DELETE that ends a session.
const closeLimit = 2 * time.Second

// Close implements transport.Conn: exchanges end, then the session is deleted, then the sockets are closed,
// unless other connections to the same host share them.
func (c *conn) Close(ctx context.Context) error {
	c.shutdown.Do(func() {
		defer close(c.closed)
		c.end(transport.ErrClosed)
		c.endStreams(transport.ErrClosed)
		c.cut(transport.ErrClosed)
		c.notes.Close(ctx)
		c.active.Wait()
		c.losing.Wait()
		ctx, cancel := context.WithTimeout(ctx, closeLimit)
		defer cancel()
		c.deleteSession(ctx)
		c.endpoint.Close()
		c.told.Do(func() { c.receiver.Closed(nil) })
	})
	<-c.closed
	return nil
}

// Negotiated implements transport.Conn.
func (c *conn) Negotiated(w transport.Wire) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = w
}

func (c *conn) negotiated() transport.Wire {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wire
}

// Traits implements transport.Conn.
func (c *conn) Traits() transport.Traits {
	return transport.Traits{Name: "http", Standing: true, Status: true}
}

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
