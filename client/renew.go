package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mcpwire/rpc"
	"mcpwire/transport"
)

// A renewal is the opening of a new session in place of one that the server has forgotten. All calls that find it lost
// share one.
type renewal struct {
	done chan struct{}
	line *line
	err  error
}

// request sends one request. If the session is lost and the server has not run the request, it is sent again, once, in
// a new session (2025-11-25, transports, session management 4).
func (c *Client) request(
	ctx context.Context, method string, params json.RawMessage, o rpc.RequestOptions,
) (json.RawMessage, error) {
	l := c.current()
	c.awaitStanding(ctx, l)
	raw, err := c.send(ctx, l.peer, l.server.Revision, method, params, o)
	if err == nil || !rejectedForSession(err) {
		return raw, err
	}
	fresh, renewErr := c.renew(ctx, l)
	if renewErr != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w; a new session could not be opened: %w", err, renewErr)
	}
	c.awaitStanding(ctx, fresh)
	return c.send(ctx, fresh.peer, fresh.server.Revision, method, params, o)
}

// rejectedForSession reports whether a request failed because its session is lost, and was not run.
func rejectedForSession(err error) bool {
	var carriage *transport.Error
	return errors.Is(err, transport.ErrSessionLost) && errors.As(err, &carriage) &&
		carriage.Delivery == transport.NotDelivered
}

// renew returns the line that takes the place of a lost one.
func (c *Client) renew(ctx context.Context, lost *line) (*line, error) {
	c.mu.Lock()
	if c.line != lost {
		defer c.mu.Unlock()
		return c.line, nil
	}
	r := c.renewal
	if r == nil {
		if c.base.Err() != nil {
			defer c.mu.Unlock()
			return nil, transport.ErrClosed
		}
		r = &renewal{done: make(chan struct{})}
		c.renewal = r
		c.background.Go(func() { c.reopen(lost, r) })
	}
	c.mu.Unlock()
	select {
	case <-r.done:
		return r.line, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// reopen carries a renewal out.
func (c *Client) reopen(lost *line, r *renewal) {
	c.log.Info("the server has forgotten the session; a new one is opened")
	r.line, r.err = c.open(c.base)
	if r.err = c.reason(r.err); r.err == nil {
		c.use(r.line)
	}
	c.mu.Lock()
	c.renewal = nil
	c.mu.Unlock()
	close(r.done)
	if r.err == nil {
		c.era.restore(c.base)
		if c.options.OnRenewed != nil {
			c.options.OnRenewed(c.base)
		}
	}
	// Not before all of its calls have heard whether the server ran them.
	select {
	case <-lost.gone:
	case <-c.base.Done():
	}
	_ = lost.peer.Close(c.base) // it has ended already
}
