package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// A line is one connection with its handshake done. A client has one at a time; a lost HTTP session brings a new one.
type line struct {
	peer   *rpc.Peer
	server Server

	mu       sync.Mutex
	inUse    bool        // its end is the client's end, unless only the session was lost
	session  func(error) // tells the tracer of its end; nil where there is none
	ended    bool        // OnEnd and OnClose of the peer have been called
	closed   bool
	endError error
	gone     chan struct{} // closed with closed

	standing chan struct{} // closed when the standing stream stands or there will be none; nil if none is wanted
	awaited  atomic.Bool   // a call has waited for it
	gaveUp   atomic.Bool   // listening has ended and may be tried again
}

// bounded returns the context of an attempt to connect: ctx with the limit of Options.ConnectTimeout.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	d := c.options.ConnectTimeout
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &transport.TimeoutError{What: "connect", After: d})
}

// negotiate opens the first line, and finds the era.
func (c *Client) negotiate(ctx context.Context) (*line, error) {
	connecting, cancel := c.bounded(ctx)
	defer cancel()
	n := &negotiation{client: c, dial: c.dial}
	l, err := n.open(connecting)
	if err != nil {
		return nil, c.abandon(ctx, connecting, n.line, err)
	}
	return l, nil
}

// open opens a line in the era that was found.
func (c *Client) open(ctx context.Context) (*line, error) {
	connecting, cancel := c.bounded(ctx)
	defer cancel()
	l, err := c.dial(connecting)
	if err == nil {
		l.server, err = c.era.open(connecting, l.peer)
	}
	if err != nil {
		return nil, c.abandon(ctx, connecting, l, err)
	}
	return l, nil
}

// abandon closes a line, if there is one, on which the handshake has failed, and returns why in words.
func (c *Client) abandon(ctx, connecting context.Context, l *line, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = context.Cause(ctx) // a carrier that could not open wraps it
	}
	if l == nil {
		return err
	}
	err = c.explain(ctx, l.peer, err)
	// How the shutdown goes changes nothing about that the handshake has failed.
	_ = l.peer.Close(connecting)
	return err
}

// instant are the answers that the client gives at once. It is never changed.
var instant = map[string]json.RawMessage{mcp.MethodPing: json.RawMessage(`{}`)}

// dial opens a connection. Until the line is used, nobody but the caller of dial is told of its end.
func (c *Client) dial(ctx context.Context) (*line, error) {
	l := &line{gone: make(chan struct{})}
	peer, err := rpc.Open(ctx, c.transport, rpc.Options{
		Server:         c.options.Server,
		StringIDs:      c.options.StringIDs,
		OnNotification: c.notified,
		OnRequest:      c.asked,
		Instant:        instant,
		OnError:        c.options.OnError,
		OnEnd:          func(err error) { c.lineEnded(l, err) },
		OnClose:        func(err error) { c.lineClosed(l, err) },
		Logger:         c.options.Logger,
	})
	if err != nil {
		return nil, err
	}
	l.peer = peer
	return l, nil
}

// notified takes the server's notifications.
func (c *Client) notified(ctx context.Context, method string, params json.RawMessage) {
	if e := c.newer.Load(); e != nil {
		e.outdate(method, params) // before anybody is told, who may ask at once
	}
	c.watches.tell(method, params)
	if f := c.options.OnNotification; f != nil {
		f(ctx, method, params)
	}
}

// asked answers the server's requests. In the stateless era it may send none (2026-07-28, base protocol, patterns).
func (c *Client) asked(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if c.newer.Load() != nil {
		c.log.Warn("the server sent a request, which its revision doesn't know; it is ignored", "method", method)
		return nil, rpc.ErrNoAnswer
	}
	return c.serve(ctx, c.current(), rpc.RequestID(ctx), method, params, c.answer)
}

// answer has the host answer a request of the server.
func (c *Client) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if c.options.Input.offers(method) {
		return c.options.Input.answer(ctx, method, params)
	}
	if f := c.options.OnRequest; f != nil {
		return f(ctx, method, params)
	}
	return nil, &rpc.Refusal{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + method}
}

// explain adds to a handshake that took too long what the server said beside messages.
func (c *Client) explain(ctx context.Context, peer *rpc.Peer, err error) error {
	var limit *transport.TimeoutError
	if !errors.As(err, &limit) || ctx.Err() != nil {
		return err
	}
	cause := err
	if w, ok := peer.Conn().(transport.Witness); ok {
		stderr, noise := w.Output()
		said := transport.Quote("stdout", strings.Join(noise, "\n")) + transport.Quote("stderr", stderr)
		cause = fmt.Errorf("%w%s", err, said)
	}
	return &transport.Error{Op: "connect", Server: c.options.Server, Err: cause}
}

// Mask returns a text of the server with the secrets of its configuration masked, as error texts have them. What a
// server says of itself is as it came: a host masks it before it shows it to people.
func (c *Client) Mask(text string) string {
	if m, ok := c.current().peer.Conn().(transport.Masker); ok {
		return m.Mask(text)
	}
	return text
}

// use makes a line the one in use.
func (c *Client) use(l *line) {
	_, hasSessions := c.era.(*session)
	if hasSessions && l.peer.Conn().Traits().Standing && c.wantsStanding() {
		l.standing = make(chan struct{})
		c.listen(l, func() { close(l.standing) })
	}
	c.mu.Lock()
	c.line = l
	c.mu.Unlock()
	session := c.session(l)
	l.mu.Lock()
	l.inUse, l.session = true, session
	ended, closed, err := l.ended, l.closed, l.endError
	l.mu.Unlock()
	if ended {
		c.lineEnded(l, err)
	}
	if closed {
		c.tellClosed(err)
	}
}

// wantsStanding reports whether the host has use for what a server says by itself.
func (c *Client) wantsStanding() bool {
	return c.options.OnNotification != nil || c.options.OnRequest != nil || c.options.Input != nil
}

func (c *Client) current() *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line
}

// start runs f in the background, unless the client is closed.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base.Err() != nil {
		return false
	}
	c.background.Go(f)
	return true
}

// setEra ends the negotiation.
func (c *Client) setEra(e era) {
	c.era = e
	if newer, ok := e.(*stateless); ok {
		c.newer.Store(newer)
	}
}

// listen holds the standing stream of a line in the background. ready is called once, when it stands or has ended.
func (c *Client) listen(l *line, ready func()) {
	started := c.start(func() {
		stood := false
		opened := func() {
			stood = true
			ready()
		}
		err := l.peer.Conn().Listen(c.base, opened)
		if !stood {
			ready()
		}
		if c.base.Err() == nil && l.peer.Connected() {
			c.log.Debug("there is no standing stream", "reason", err)
			l.gaveUp.Store(mayStandLater(err))
		}
	})
	if !started {
		ready()
	}
}

// mayStandLater reports whether a standing stream that has ended with err may be had another time. A server that
// refuses it to this client, as a login does that is missing, is not asked again on the same line.
func mayStandLater(err error) bool {
	status, refused := errors.AsType[*transport.StatusError](err)
	forbidden := refused && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden)
	return !forbidden && !errors.Is(err, transport.ErrNoStream)
}

// standingWait is how long the first call waits for the standing stream: some servers send requests on it and lose them
// if it does not stand.
const standingWait = 250 * time.Millisecond

// awaitStanding has the first call of a line wait for its standing stream, and any call listen again where that was
// given up.
func (c *Client) awaitStanding(ctx context.Context, l *line) {
	if l.standing == nil {
		return
	}
	if l.gaveUp.CompareAndSwap(true, false) {
		c.listen(l, func() {})
	}
	if l.awaited.Load() {
		return
	}
	timer := time.NewTimer(standingWait)
	defer timer.Stop()
	select {
	case <-l.standing:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.awaited.Store(true)
}

// lineEnded is told at once that a line has ended.
func (c *Client) lineEnded(l *line, err error) {
	l.mu.Lock()
	l.ended, l.endError = true, err
	inUse, session := l.inUse, l.session
	l.mu.Unlock()
	if session != nil {
		session(err)
	}
	if inUse && err != nil && !errors.Is(err, transport.ErrSessionLost) {
		c.ended(err)
	}
}

// lineClosed is told that a line has ended when its callbacks have run.
func (c *Client) lineClosed(l *line, err error) {
	l.mu.Lock()
	l.closed = true
	close(l.gone)
	inUse := l.inUse
	l.mu.Unlock()
	if inUse {
		c.tellClosed(err)
	}
}

// tellClosed tells the host, once, that there is no connection any more. A lost session alone is not its end.
func (c *Client) tellClosed(err error) {
	if !errors.Is(err, transport.ErrSessionLost) && c.toldClosed.CompareAndSwap(false, true) && c.options.OnClose != nil {
		c.options.OnClose(err)
	}
}

// closeLine closes the line in use. If its session was lost before, the host has not heard of the end yet.
func (c *Client) closeLine(ctx context.Context) error {
	l := c.current()
	err := l.peer.Close(ctx)
	l.mu.Lock()
	lost := errors.Is(l.endError, transport.ErrSessionLost)
	l.mu.Unlock()
	if lost {
		c.tellClosed(nil)
	}
	return err
}

// ended marks the client as ended; the first reason counts.
func (c *Client) ended(err error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
		close(c.done)
	}
	c.mu.Unlock()
	if first {
		c.watches.endAll(err)
	}
}
