// Package client is an MCP client for one server: it shakes hands in the revision that both sides speak and offers
// every method of the protocol as a Go method. What carries the messages is a transport.Transport.
package client

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mcpwire/mcp"
	"mcpwire/transport"
)

// Version is the version that the client states of itself unless Options.Info names another.
const Version = "0.1.0"

// Defaults of Options.
const (
	DefaultConnectTimeout = time.Minute
	DefaultListTimeout    = time.Minute
	DefaultListPages      = 1000
	DefaultProbeTimeout   = 2 * time.Second
)

// Options configure a Client. The zero value works. For the callbacks see rpc.Options: they never run on a goroutine
// that reads, may block and may use the Client.
type Options struct {
	// Server is the server's name in errors and logs.
	Server string
	// Info is what the client states of itself (zero: mcpwire and Version).
	Info mcp.Implementation
	// Capabilities is what the client offers the server. What it names, OnRequest must answer.
	Capabilities mcp.ClientCapabilities

	// ConnectTimeout bounds Connect as a whole, from spawning to the end of the handshake; nothing extends it
	// (0: 1 min; negative: none but ctx).
	ConnectTimeout time.Duration
	// Timeout is how long a request waits for its answer unless its own options say otherwise (0: the carrier's
	// default, 30 s unless configured; negative: no limit).
	Timeout time.Duration
	// ListTimeout bounds the walk through all pages of one list (0: 1 min; negative: none but ctx).
	ListTimeout time.Duration
	// ListPages bounds the pages of one list (0: 1,000).
	ListPages int
	// Protocol pins what is spoken: a revision, ProtocolSession or ProtocolStateless. Empty: what both sides speak is
	// found out, the newest first.
	Protocol string
	// Known is the revision that the server was found to speak before, if any (Server.Revision): an older server is then
	// not asked again whether it is a newer one. If it proves wrong it is found out anew.
	Known string
	// ProbeTimeout is how long a server on pipes may be silent when it is asked whether it speaks a stateless revision,
	// before it is spoken to in both ways at once (0: 2 s).
	ProbeTimeout time.Duration
	// InputRounds bounds how often in a row a server may ask for input before it completes one request (0: 10).
	InputRounds int
	// ValidateArguments checks arguments against the tool's input schema before they are sent, if ListTools has read it:
	// see ArgumentError.
	ValidateArguments bool
	// SkipResultValidation leaves structured content unchecked. Otherwise it is checked against the tool's output schema,
	// if ListTools has read it: see mcp.CallToolResult.SchemaError.
	SkipResultValidation bool
	// StringIDs numbers requests with strings, for servers that answer only those.
	StringIDs bool

	// OnNotification gets the server's notifications, in order, except progress of our requests.
	OnNotification func(ctx context.Context, method string, params json.RawMessage)
	// OnRequest answers the server's requests (roots, sampling, elicitation), except ping, which the client answers. If
	// nil they are refused with -32601.
	OnRequest func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Input answers what the server asks of the host: roots, sampling, elicitation. What it does not offer is not
	// advertised.
	Input *InputHandler
	// OnError is told what went wrong without ending the connection, or just before it ends.
	OnError func(err error)
	// OnRenewed is told that the server had forgotten the HTTP session and a new one was opened, so that lists may have
	// changed. ctx is done when the client is closed; Close waits for OnRenewed unless it is called with ctx.
	OnRenewed func(ctx context.Context)
	// OnClose is told once that a connection that Connect had returned has ended: nil after Close, otherwise why.
	OnClose func(err error)
	// Tracer follows what the client does (nil: nothing does).
	Tracer Tracer
	// Logger gets what is odd but harmless (nil: discarded). Its handler must be quick.
	Logger *slog.Logger
}

// Server is what a server said of itself in the handshake.
type Server struct {
	Info         mcp.Implementation
	Revision     string // the protocol revision that both sides speak
	Capabilities mcp.ServerCapabilities
	Instructions string // how to use the server, for a model to read; may be empty
}

// A Client is a connection to one server, ready for use. Its methods may be called from several goroutines at once.
type Client struct {
	options   Options
	log       *slog.Logger
	transport transport.Transport
	era       era                       // found once, before Connect returns
	newer     atomic.Pointer[stateless] // era, if it is that; for callbacks, which may run before
	mirrors   mirrors
	schemas   schemas
	watches   watches

	base       context.Context // of what runs in the background; done when the client is closed
	end        context.CancelFunc
	background sync.WaitGroup

	mu      sync.Mutex
	line    *line         // the one in use
	renewal *renewal      // the one that is under way; nil if none is
	done    chan struct{} // closed when the client has ended
	err     error         // why done is closed

	toldClosed atomic.Bool // OnClose was called
}

// Connect opens a connection of t and shakes hands. Both together are bounded by ctx and Options.ConnectTimeout. The
// errors are: a *VersionError when there is no common revision, a *jsonrpc.Error when the server refused the handshake,
// context.Cause(ctx) when the caller ended it, otherwise a *transport.Error. After an error nothing is left running.
func Connect(ctx context.Context, t transport.Transport, o Options) (*Client, error) {
	o = o.withDefaults()
	c := &Client{
		options:   o,
		log:       o.Logger.With("server", o.Server),
		transport: t,
		done:      make(chan struct{}),
	}
	c.base, c.end = context.WithCancel(context.WithValue(context.Background(), callbackKey{}, c))
	l, err := c.negotiate(ctx)
	if err != nil {
		c.end()
		return nil, err
	}
	c.use(l)
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "mcpwire", Version: Version}
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = DefaultConnectTimeout
	}
	if o.ListTimeout == 0 {
		o.ListTimeout = DefaultListTimeout
	}
	if o.ListPages == 0 {
		o.ListPages = DefaultListPages
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = DefaultProbeTimeout
	}
	if o.InputRounds == 0 {
		o.InputRounds = DefaultInputRounds
	}
	o.Capabilities = o.Input.capabilities(o.Capabilities)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// callbackKey marks the contexts of the client's own callbacks.
type callbackKey struct{}

// Server returns what the server said of itself, the last time if its session was renewed.
func (c *Client) Server() Server { return c.current().server }

// Done is closed when the connection has ended for good, by Close or otherwise. A lost HTTP session does not end it:
// the next call opens a new one.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err tells why Done is closed: it satisfies errors.Is(err, transport.ErrClosed); nil before.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// reason returns why something in the background has failed: because the client has ended, if it has.
func (c *Client) reason(err error) error {
	if err != nil && c.base.Err() != nil {
		return c.Err()
	}
	return err
}

// Close ends the connection: open requests fail with transport.ErrClosed, a server process is shut down in order. It
// waits for all that, and is idempotent; a done ctx makes it hurry. For calls from inside a callback see rpc.Options.
func (c *Client) Close(ctx context.Context) error {
	// Before end, so that what it stops can tell why.
	c.ended(&transport.Error{Server: c.options.Server, Err: transport.ErrClosed})
	c.mu.Lock() // from here on nothing more is started in the background
	c.end()
	c.mu.Unlock()
	if ctx.Value(callbackKey{}) != c {
		c.background.Wait()
	}
	return c.closeLine(ctx)
}

// Ping asks the server for a sign of life (2025-11-25, ping). Any answer counts, a refusal too.
func (c *Client) Ping(ctx context.Context) error { return c.era.ping(ctx) }
