package trace

import (
	"context"
	"time"

	"mcpwire/transport"
)

// A conn is a connection with a tap.
type conn struct {
	transport.Conn
	line *line
}

// Exchange implements transport.Conn.
func (c *conn) Exchange(ctx context.Context, call *transport.Call) error {
	return c.carry(ctx, call, c.Conn.Exchange)
}

// Send implements transport.Conn.
func (c *conn) Send(ctx context.Context, call *transport.Call) error {
	return c.carry(ctx, call, c.Conn.Send)
}

func (c *conn) carry(
	ctx context.Context, call *transport.Call, by func(context.Context, *transport.Call) error,
) error {
	n := c.line.begin(call)
	defer c.line.finish(call)
	start := time.Now()
	c.line.tell(Event{Time: start, Kind: Sent, Exchange: n, Message: call.Body})
	if !c.line.piped {
		ctx = transport.WithExchange(ctx, n)
	}
	err := by(ctx, call)
	if err != nil {
		e := failure(err)
		e.Exchange, e.Took = n, since(start)
		e.GivenUp = ctx.Err() != nil
		if e.Delivery != transport.NotDelivered.String() && (c.line.piped || call.Envelope.Revision == "") {
			e.Message = call.Abandon
		}
		c.line.tell(e)
	}
	return err
}

// Listen implements transport.Conn.
func (c *conn) Listen(ctx context.Context, opened func()) error {
	start := time.Now()
	err := c.Conn.Listen(ctx, func() {
		c.line.tell(Event{Kind: Stream})
		opened()
	})
	e := Event{Kind: Stream, Took: since(start)}
	if err != nil {
		e.Error = err.Error()
	}
	c.line.tell(e)
	return err
}

// Close implements transport.Conn.
func (c *conn) Close(ctx context.Context) error {
	c.line.tell(Event{Kind: Closing})
	return c.Conn.Close(ctx)
}

// Output implements transport.Witness.
func (c *conn) Output() (stderr string, noise []string) {
	if w, ok := c.Conn.(transport.Witness); ok {
		return w.Output()
	}
	return "", nil
}

// Mask implements transport.Masker.
func (c *conn) Mask(text string) string {
	if m, ok := c.Conn.(transport.Masker); ok {
		return m.Mask(text)
	}
	return text
}

// SessionID implements transport.Sessioned.
func (c *conn) SessionID() string {
	if s, ok := c.Conn.(transport.Sessioned); ok {
		return s.SessionID()
	}
	return ""
}
