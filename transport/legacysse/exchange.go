package legacysse

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
)

// dropWait is how long the end of a body is waited for that nobody wants, and the end of a POST whose call is over.
const dropWait = 20 * time.Millisecond

// An exchange is one POST and, for a request, the wait for what comes on the stream.
type exchange struct {
	conn   *conn
	call   *transport.Call
	caller context.Context
	ctx    context.Context // of the POST
	cancel context.CancelCauseFunc
	untie  func() bool
	grace  *time.Timer // ends the POST of a call that is over; written by OnEnd
}

// begin starts the clocks of a call and ties its POST to all that may end it. The answer often comes before the POST's
// own, which has a moment left then, so that its connection can be used again.
func (c *conn) begin(ctx context.Context, call *transport.Call, what string) *exchange {
	call.Start(what, c.options.Timeout)
	x := &exchange{conn: c, call: call, caller: ctx}
	if c.options.ShowCalls && what == "request" {
		ctx = transport.WithCall(ctx, call)
	}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.untie = context.AfterFunc(c.all, func() { x.cancel(context.Cause(c.all)) })
	call.OnEnd(func() { x.grace = time.AfterFunc(dropWait, func() { x.cancel(nil) }) })
	return x
}

// finish ends what begin has begun. The call has been stopped, so that OnEnd has run.
func (x *exchange) finish() {
	if x.grace != nil {
		x.grace.Stop()
	}
	x.untie()
	x.cancel(nil)
}

// Exchange implements transport.Conn.
func (c *conn) Exchange(ctx context.Context, call *transport.Call) error {
	op := call.Envelope.String()
	if !c.enter() {
		return c.fail(op, transport.NotDelivered, httpwire.Reason(c.Err()))
	}
	defer c.active.Done()
	if ctx.Err() != nil {
		return c.fail(op, transport.NotDelivered, context.Cause(ctx))
	}
	x := c.begin(ctx, call, "request")
	defer x.finish()
	delivery, err := x.run()
	if call.Stop() {
		return nil
	}
	if delivery == transport.MaybeDelivered {
		c.abandon(call.Abandon)
	}
	return x.failure(op, delivery, err)
}

// run posts the request and waits until the call is over. A nil error means that nothing went wrong with the POST;
// whether the call was settled is the call's to say.
func (x *exchange) run() (transport.Delivery, error) {
	resp, delivery, err := x.conn.post(x.ctx, x.call.Body)
	if err != nil {
		return delivery, err
	}
	if delivery, err = x.acknowledged(resp); err != nil {
		return delivery, err
	}
	x.call.OnEnd(func() {})
	select {
	case <-x.call.Ended():
	case <-x.caller.Done():
	case <-x.conn.done:
	}
	return transport.MaybeDelivered, nil
}

// post sends one message. Any answer will do, so none is named by Accept.
func (c *conn) post(ctx context.Context, body []byte) (*http.Response, transport.Delivery, error) {
	header := c.header()
	header.Set("Content-Type", "application/json")
	return c.endpoint.Do(ctx, httpwire.Request{
		Method: http.MethodPost, URL: c.address(), Body: body, Headers: c.endpoint.Headers(header),
	})
}

// acknowledged reads the POST's own answer. Any success is one; what comes with it is dropped, unless it is JSON: some
// servers answer the message itself there.
func (x *exchange) acknowledged(resp *http.Response) (transport.Delivery, error) {
	switch {
	case !httpwire.Succeeded(resp):
		return transport.Answered, x.status(resp)
	case httpwire.MediaOf(resp) == httpwire.JSON:
		return x.readJSON(resp)
	}
	httpwire.Drop(resp, dropWait, func() { x.cancel(nil) })
	return transport.MaybeDelivered, nil
}

// status makes an error of an answer's status and the beginning of its body, and closes it.
func (x *exchange) status(resp *http.Response) *transport.StatusError {
	return x.conn.endpoint.Refusal(resp, func() { x.cancel(nil) })
}

// readJSON hands a body to the receiver. If it is not the answer, that is still to come on the stream.
func (x *exchange) readJSON(resp *http.Response) (transport.Delivery, error) {
	defer resp.Body.Close()
	text, err := httpwire.ReadAll(resp, x.conn.options.MaxMessage)
	switch {
	case errors.Is(err, transport.ErrTooLarge):
		return transport.Answered, err
	case err != nil:
		return transport.MaybeDelivered, err
	case len(text) > 0:
		x.conn.receiver.Receive(x.call, text)
	}
	return transport.MaybeDelivered, nil
}

// abandon sends the cancel note of a call.
func (c *conn) abandon(note []byte) {
	if note == nil || !c.enter() {
		return
	}
	c.notes.Send(func(ctx context.Context) (*http.Response, error) {
		resp, _, err := c.post(ctx, note)
		return resp, err
	}, c.active.Done)
}

// failure makes the error of an exchange that was not settled.
func (x *exchange) failure(op string, delivery transport.Delivery, err error) error {
	return x.conn.fail(op, delivery, httpwire.Cause(x.call, x.caller, x.conn.Err(), err))
}

// Send implements transport.Conn. Any 2xx is success, whatever comes with it.
func (c *conn) Send(ctx context.Context, call *transport.Call) error {
	op := call.Envelope.String()
	if !c.enter() {
		return c.fail(op, transport.NotDelivered, httpwire.Reason(c.Err()))
	}
	defer c.active.Done()
	if ctx.Err() != nil {
		return c.fail(op, transport.NotDelivered, context.Cause(ctx))
	}
	x := c.begin(ctx, call, "notify")
	defer x.finish()
	resp, delivery, err := c.post(x.ctx, call.Body)
	switch {
	case err == nil && httpwire.Succeeded(resp):
		httpwire.Drop(resp, dropWait, func() { x.cancel(nil) })
		call.Stop()
		return nil
	case err == nil:
		delivery, err = transport.Answered, x.status(resp)
	}
	call.Stop()
	return x.failure(op, delivery, err)
}
