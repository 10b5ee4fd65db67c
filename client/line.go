package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// A line is one connection with its handshake done. A client has one at a time; a lost HTTP session brings a new one.
type line struct {
	peer   *rpc.Peer
	server Server

	mu       sync.Mutex
	inUse    bool // its end is the client's end, unless only the session was lost
	ended    bool // OnEnd and OnClose of the peer have been called
	closed   bool
	endError error
	gone     chan struct{} // closed with closed

	standing chan struct{} // closed when the standing stream stands or there will be none; nil if none is wanted
	awaited  atomic.Bool   // a call has waited for it
	gaveUp   atomic.Bool   // listening has ended and may be tried again
}

// open opens a connection and shakes hands. Until the line is used, nobody but the caller of open is told of its end.
func (c *Client) open(ctx context.Context) (*line, error) {
	connecting := ctx
	if d := c.options.ConnectTimeout; d > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, d, &transport.TimeoutError{What: "connect", After: d})
		defer cancel()
		connecting = bounded
	}
	l := &line{gone: make(chan struct{})}
	peer, err := rpc.Open(connecting, c.transport, rpc.Options{
		Server:         c.options.Server,
		StringIDs:      c.options.StringIDs,
		OnNotification: c.options.OnNotification,
		OnRequest:      c.options.OnRequest,
		Instant:        map[string]json.RawMessage{mcp.MethodPing: json.RawMessage(`{}`)},
		OnError:        c.options.OnError,
		OnEnd:          func(err error) { c.lineEnded(l, err) },
		OnClose:        func(err error) { c.lineClosed(l, err) },
		Logger:         c.options.Logger,
	})
	if err != nil {
		return nil, err
	}
	l.peer = peer
	if l.server, err = c.era.open(connecting, peer); err != nil {
		err = c.explain(ctx, peer, err)
		// The handshake has failed; how the shutdown goes changes nothing about that.
		_ = peer.Close(connecting)
		return nil, err
	}
	return l, nil
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

// use makes a line the one in use.
func (c *Client) use(l *line) {
	wanted := c.options.OnNotification != nil || c.options.OnRequest != nil
	if wanted && l.peer.Conn().Traits().Standing {
		l.standing = make(chan struct{})
		c.listen(l, func() { close(l.standing) })
	}
	c.mu.Lock()
	c.line = l
	c.mu.Unlock()
	l.mu.Lock()
	l.inUse = true
	ended, closed, err := l.ended, l.closed, l.endError
	l.mu.Unlock()
	if ended {
		c.lineEnded(l, err)
	}
	if closed {
		c.lineClosed(l, err)
	}
}

func (c *Client) current() *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line
}

// listen holds the standing stream of a line in the background. ready is called once, when it stands or has ended.
func (c *Client) listen(l *line, ready func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base.Err() != nil {
		ready()
		return
	}
	c.background.Go(func() {
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
			l.gaveUp.Store(!errors.Is(err, transport.ErrNoStream))
		}
	})
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
	inUse := l.inUse
	l.mu.Unlock()
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
	if inUse && !errors.Is(err, transport.ErrSessionLost) && c.options.OnClose != nil {
		c.options.OnClose(err)
	}
}

// ended marks the client as ended; the first reason counts.
func (c *Client) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}
