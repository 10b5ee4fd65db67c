package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
)

// An exchange is one POST and what belongs to it. Most of what it needs outlives it, for the next one.
type exchange struct {
	conn   *conn
	call   *transport.Call
	caller context.Context
	ctx    context.Context // done when the exchange must end
	cancel context.CancelCauseFunc
	untie  func() bool // from the caller; nil: it has no end, or ctx is a child of it
	once   bool        // it is not used again
	own    atomic.Bool // the answer is being read: the call's end is seen without being woken
	stream bool        // it waits on an event stream; guarded by conn.mu

	lastEvent string // the id of the last event on the call's stream
	retry     time.Duration

	stop, over, left func() // cancel, as such, for the call's end, and for the caller's
}

// begin starts the clocks of a call and ties the exchange to all that may end it.
func (c *conn) begin(ctx context.Context, call *transport.Call, what string) *exchange {
	call.Start(what, c.options.Timeout)
	seen := ctx
	if c.options.ShowCalls && what == "request" {
		seen = transport.WithCall(ctx, call)
	}
	x := c.exchange(seen)
	x.call, x.caller, x.retry = call, ctx, -1
	call.OnEnd(x.over)
	if !x.once && ctx.Done() != nil {
		x.untie = context.AfterFunc(ctx, x.left)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exchanges[x] = struct{}{}
	switch { // before anything is sent
	case c.all.Err() != nil:
		x.cancel(context.Cause(c.all))
	case ctx.Err() != nil:
		x.cancel(context.Cause(ctx))
	}
	return x
}

// exchange returns one that has not begun: one that is used again, unless somebody looks for the caller's values.
func (c *conn) exchange(ctx context.Context) *exchange {
	o := c.options
	looked := o.Wrap != nil && !o.Discreet || o.ShowCalls || o.OnTrace != nil ||
		httptrace.ContextClientTrace(ctx) != nil
	if !looked {
		if x, ok := c.spare.Get().(*exchange); ok {
			return x
		}
		ctx = context.Background()
	}
	x := &exchange{conn: c, once: looked}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.stop = func() { x.cancel(nil) }
	x.over = func() {
		if !x.own.Load() {
			x.cancel(nil)
		}
	}
	x.left = func() { x.cancel(context.Cause(x.caller)) }
	return x
}

// streaming has the exchange end with all that wait on an event stream.
func (x *exchange) streaming() {
	c := x.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	x.stream = true
	if c.streams.Err() != nil {
		x.cancel(context.Cause(c.streams))
	}
}

// finish ends an exchange whose call is over. One that went well, and that nobody may still end, is used again.
func (x *exchange) finish() {
	c := x.conn
	c.mu.Lock()
	delete(c.exchanges, x)
	x.stream = false
	c.mu.Unlock()
	tied := x.untie != nil && !x.untie()
	if x.once || tied || !x.call.Settled() || x.ctx.Err() != nil {
		x.cancel(nil)
		return
	}
	x.call, x.caller, x.untie, x.lastEvent = nil, nil, nil, ""
	x.own.Store(false)
	c.spare.Put(x)
}

// Exchange implements transport.Conn.
func (c *conn) Exchange(ctx context.Context, call *transport.Call) error {
	if !c.enter() {
		return c.fail(call.Envelope.String(), transport.NotDelivered, httpwire.Reason(c.Err()))
	}
	defer c.active.Done()
	if ctx.Err() != nil {
		return c.fail(call.Envelope.String(), transport.NotDelivered, context.Cause(ctx))
	}
	x := c.begin(ctx, call, "request")
	defer x.finish()
	delivery, err := x.run()
	if call.Stop() {
		return nil
	}
	err = x.failure(delivery, err)
	var carriage *transport.Error
	told := call.Envelope.Revision != "" // by the end of the exchange
	if errors.As(err, &carriage) && carriage.Delivery == transport.MaybeDelivered && !told {
		c.abandon(call.Abandon)
	}
	return err
}

// abandon sends the cancel note of a call.
func (c *conn) abandon(note []byte) {
	if note == nil || !c.enter() {
		return
	}
	c.notes.Send(func(ctx context.Context) (*http.Response, error) {
		resp, _, err := c.post(ctx, note, transport.Envelope{})
		return resp, err
	}, c.active.Done)
}

// post sends one message.
func (c *conn) post(
	ctx context.Context, body []byte, facts transport.Envelope,
) (*http.Response, transport.Delivery, error) {
	return c.endpoint.Do(ctx, httpwire.Request{Method: http.MethodPost, Body: body, Headers: c.postHeaders(facts)})
}

// run sends the request and reads its answer. A nil error means that the exchange went well; whether the call was
// settled is the call's to say.
func (x *exchange) run() (transport.Delivery, error) {
	c := x.conn
	ownFacts := x.call.Envelope.Revision != ""
	hadSession := c.session.current() != "" && !ownFacts
	resp, delivery, err := c.post(x.ctx, x.call.Body, x.call.Envelope)
	if err != nil {
		return delivery, err
	}
	if !httpwire.Succeeded(resp) {
		return x.refused(resp, hadSession)
	}
	if !ownFacts {
		c.session.adopt(resp)
	}
	switch media := httpwire.MediaOf(resp); {
	case media == httpwire.EventStream:
		x.streaming()
		x.call.Rename("SSE response")
		return transport.MaybeDelivered, x.readStream(resp)
	case media == httpwire.JSON:
		return x.readJSON(resp)
	case resp.StatusCode == http.StatusAccepted:
		c.drop(resp, x)
		return transport.Answered, errors.New("HTTP 202: the server accepted the request and gave no answer")
	}
	return transport.Answered, x.unreadable(resp)
}

// refused makes an error of an answer that is no success, and ends the connection if the session is lost.
func (x *exchange) refused(resp *http.Response, hadSession bool) (transport.Delivery, error) {
	status := x.status(resp)
	if hadSession && lost(status) {
		x.conn.lose()
		return transport.NotDelivered, fmt.Errorf("%w: %w", transport.ErrSessionLost, status)
	}
	return transport.Answered, status
}

// status makes an error of an answer's status and the beginning of its body, and closes it.
func (x *exchange) status(resp *http.Response) *transport.StatusError {
	return x.conn.endpoint.Refusal(resp, x.stop)
}

// readJSON reads an answer that is one JSON text.
func (x *exchange) readJSON(resp *http.Response) (transport.Delivery, error) {
	defer resp.Body.Close()
	var failure error // of what was read
	err := httpwire.Read(resp, x.conn.options.MaxMessage, func(text []byte) (keeps bool) {
		x.own.Store(true)
		verdict := x.conn.receiver.Receive(x.call, text)
		switch {
		case x.call.Settled():
		case verdict == transport.Malformed:
			failure = x.conn.endpoint.Malformed(text)
		default:
			failure = errors.New("the server answered another request than was asked")
		}
		return verdict == transport.Kept
	})
	switch {
	case err == nil:
		return transport.Answered, failure
	case errors.Is(err, transport.ErrTooLarge):
		return transport.Answered, err
	}
	return transport.MaybeDelivered, err
}

// kindBytes is how much is shown of the type that a body is said to have.
const kindBytes = 100

// unreadable makes an error of a success that is neither JSON nor an event stream.
func (x *exchange) unreadable(resp *http.Response) error {
	kind := x.conn.endpoint.Line(resp.Header.Get("Content-Type"), kindBytes)
	status := x.status(resp)
	if kind == "" {
		kind = "no type"
	}
	return fmt.Errorf("HTTP %d with %s in place of JSON or an event stream: %s", status.Status, kind, status.Excerpt)
}

// failure makes the error of an exchange that was not settled.
func (x *exchange) failure(delivery transport.Delivery, err error) error {
	return x.conn.fail(x.call.Envelope.String(), delivery, httpwire.Cause(x.call, x.caller, x.conn.Err(), err))
}

// Send implements transport.Conn. Any 2xx is success, whatever comes with it (2025-11-25, transports, sending 4).
func (c *conn) Send(ctx context.Context, call *transport.Call) error {
	if !c.enter() {
		return c.fail(call.Envelope.String(), transport.NotDelivered, httpwire.Reason(c.Err()))
	}
	defer c.active.Done()
	x := c.begin(ctx, call, "notify")
	defer x.finish()
	hadSession := c.session.current() != ""
	resp, delivery, err := c.post(x.ctx, call.Body, call.Envelope)
	if err == nil {
		if httpwire.Succeeded(resp) {
			c.drop(resp, x)
			call.Stop()
			return nil
		}
		delivery, err = x.refused(resp, hadSession)
	}
	call.Stop()
	return x.failure(delivery, err)
}

// dropWait is how long the end of a body is waited for that nobody wants.
const dropWait = 20 * time.Millisecond

// drop reads the rest of an answer so that its connection can be used again. A server that leaves streams open is not
// waited for a second time.
func (c *conn) drop(resp *http.Response, x *exchange) {
	c.mu.Lock()
	patient := c.patient
	c.mu.Unlock()
	if !patient {
		_ = resp.Body.Close()
		return
	}
	if !c.endpoint.Drop(resp, dropWait, x.stop) {
		x.once = true // the timer may come yet
		c.mu.Lock()
		c.patient = false
		c.mu.Unlock()
	}
}
