// Package rpc is one conversation over one carrier: it numbers requests, matches answers to questions, tells progress
// and cancellation, and hands what the server sends to callbacks. It knows JSON-RPC and the two notifications that MCP
// hangs on ids (progress and cancelled), and no other method of MCP.
package rpc

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// Defaults of Options.
const (
	DefaultQueue      = 1000     // notifications
	DefaultQueueBytes = 16 << 20 // 16 MiB
	DefaultServing    = 64       // requests of the server
)

// closeGrace bounds how long Close waits for callbacks that are still running.
const closeGrace = time.Second

// Options configure a Peer. The zero value works. Callbacks are fixed before the first byte is read; none of them runs
// on a goroutine that reads, so they may block and may use the Peer. The context that a callback gets is done when the
// connection has ended; Close, called with it, does not wait for callbacks. They should return then: Close, called with
// another context from inside a callback, waits a second in vain.
type Options struct {
	// Server is the server's name in errors and logs.
	Server string
	// StringIDs numbers requests with "1", "2", … in place of 1, 2, …, for servers that answer only those.
	StringIDs bool
	// OnNotification gets the server's notifications, one at a time, in order. Progress for a request of ours goes to
	// that request, and cancellation of a request that is being served to its context. If nil they are dropped.
	OnNotification func(ctx context.Context, method string, params json.RawMessage)
	// OnRequest answers the server's requests, several at a time. An error that is a *Refusal is sent as it is, any
	// other as an internal error (-32603). If the server has cancelled the request, nothing is sent. If nil, requests
	// are refused with -32601.
	OnRequest func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Instant holds the answers that don't depend on the question, by method. They are sent at once, whatever else is
	// going on.
	Instant map[string]json.RawMessage
	// OnError is told what went wrong without ending the connection, or just before it ends; in order with
	// OnNotification.
	OnError func(err error)
	// OnEnd is told once, at once, that the connection has ended, with what OnClose will be told. Unlike the other
	// callbacks it runs on the goroutine that noticed, and must not block.
	OnEnd func(err error)
	// OnClose is told once that the connection has ended, after everything else: nil after Close, otherwise why.
	OnClose func(err error)
	// Queue and QueueBytes bound the notifications that wait for OnNotification (0: 1,000, and 16 MiB). When they are
	// full the oldest are dropped and OnError is told how many, with an ErrDropped.
	Queue      int
	QueueBytes int
	// Serving bounds the requests of the server that are being answered at once (0: 64); more are refused.
	Serving int
	// Logger gets what is odd but harmless (nil: discarded). Its handler runs on goroutines that read: it must be quick.
	Logger *slog.Logger
}

// A Peer is our side of a conversation. Its methods may be called from several goroutines at once.
type Peer struct {
	options Options
	log     *slog.Logger
	conn    transport.Conn

	callbacks *lane              // notifications, progress, errors, and the close, in order
	answers   *lane              // answers that need no callback
	base      context.Context    // of callbacks; done when the connection has ended
	end       context.CancelFunc // ends base
	serving   sync.WaitGroup
	ready     chan struct{} // closed when conn is set

	mu        sync.Mutex
	clocks    transport.Clocks
	lastID    int64
	pending   map[int64]*pending
	abandoned ring                    // requests that ended without an answer
	stray     stray                   // answers that nobody had asked for
	inbound   map[jsonrpc.ID]*inbound // the server's requests that are being served
	warned    bool                    // of ids that came back as another type
}

// Open opens a connection of t and returns the conversation over it. ctx bounds opening only.
func Open(ctx context.Context, t transport.Transport, o Options) (*Peer, error) {
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = DefaultQueueBytes
	}
	if o.Serving == 0 {
		o.Serving = DefaultServing
	}
	p := &Peer{
		options: o,
		log:     o.Logger,
		pending: map[int64]*pending{},
		ready:   make(chan struct{}),
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.log = p.log.With("server", o.Server)
	base, end := context.WithCancel(context.Background())
	p.base, p.end = context.WithValue(base, callbackKey{}, p), end
	p.callbacks = newLane(o.Queue, o.QueueBytes, p.dropped)
	p.answers = newLane(o.Queue, o.QueueBytes, p.unanswered)

	conn, err := t.Open(ctx, (*receiver)(p))
	if err != nil {
		end()
		p.callbacks.discard()
		p.answers.discard()
		return nil, err
	}
	p.conn = conn
	close(p.ready)
	return p, nil
}

type callbackKey struct{}

// Conn returns the connection underneath, for what the handshake tells it and for its standing stream.
func (p *Peer) Conn() transport.Conn { return p.conn }

// settled returns when asked is sure to see that base is done, so that serving grows no more.
func (p *Peer) settled() {
	p.mu.Lock()
	defer p.mu.Unlock()
}

// carrier returns the connection for callbacks, which may run before Open has returned; nil if it never will.
func (p *Peer) carrier() transport.Conn {
	select {
	case <-p.ready:
		return p.conn
	case <-p.base.Done():
	}
	select {
	case <-p.ready: // it has opened, and ended
		return p.conn
	default:
		return nil
	}
}

// Connected reports whether the connection can still carry something.
func (p *Peer) Connected() bool {
	select {
	case <-p.conn.Done():
		return false
	default:
		return true
	}
}

// Notify sends a notification. Params are as for Request. It returns when the message is written.
func (p *Peer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if err := checkParams(method, params); err != nil {
		return err
	}
	call := &transport.Call{
		Body:     jsonrpc.AppendNotification(nil, method, params),
		Envelope: transport.Envelope{Method: method},
	}
	return callerEnded(ctx, p.conn.Send(ctx, call))
}

// Close ends the conversation: requests that are open fail with transport.ErrClosed, then the carrier shuts down, then
// callbacks end. It waits for all that; a done ctx makes the shutdown hurry. Callbacks that don't return although
// their context is done are waited for no longer than a second. Close is idempotent.
func (p *Peer) Close(ctx context.Context) error {
	err := p.conn.Close(ctx)
	p.clocks.Close()
	p.end()
	p.answers.discard()
	p.callbacks.discard()
	if ctx.Value(callbackKey{}) == p {
		return err
	}
	p.settled()
	done := make(chan struct{})
	go func() {
		p.serving.Wait()
		p.callbacks.wait()
		p.answers.wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(closeGrace):
		p.log.Warn("a callback still runs after Close")
	}
	return err
}
