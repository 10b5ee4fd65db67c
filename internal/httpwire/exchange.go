package httpwire

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"mcpwire/transport"
)

const (
	statusWait = 500 * time.Millisecond // how long the body of a failure is waited for
	noteLimit  = time.Second            // how long the sending of a cancel note may take
	notesWait  = 200 * time.Millisecond // how long a connection that is closed waits for its cancel notes
	dropWait   = 20 * time.Millisecond  // how long the end of a body is waited for that nobody wants
)

// Notes are the cancel notes of one connection. They are sent in the background, since whoever gives up a call is not
// to wait for it.
type Notes struct {
	ctx      context.Context
	end      context.CancelFunc
	underWay sync.WaitGroup
}

// NewNotes returns Notes that End or Close must end.
func NewNotes() *Notes {
	n := &Notes{}
	n.ctx, n.end = context.WithCancel(context.Background())
	return n
}

// Send has post send a note, and drops what comes back. done is called when that is over. It must not be called once
// Close has been.
func (n *Notes) Send(post func(ctx context.Context) (*http.Response, error), done func()) {
	n.underWay.Go(func() {
		defer done()
		ctx, cancel := context.WithTimeout(n.ctx, noteLimit)
		defer cancel()
		if resp, err := post(ctx); err == nil {
			Drop(resp, dropWait, cancel)
		}
	})
}

// End ends the notes that are on their way.
func (n *Notes) End() { n.end() }

// Close waits a moment for the notes that are on their way, as a program that gives up a call often closes right after,
// and ends those that are left then. A done ctx ends them at once.
func (n *Notes) Close(ctx context.Context) {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		n.underWay.Wait()
	}()
	timer := time.NewTimer(notesWait)
	defer timer.Stop()
	select {
	case <-sent:
	case <-timer.C:
	case <-ctx.Done():
	}
	n.end()
}

// Refusal is Failure with a bound on the time that the body may take: cancel, which must end the exchange, is called
// then. It closes the body.
func (e *Endpoint) Refusal(resp *http.Response, cancel func()) *transport.StatusError {
	defer time.AfterFunc(statusWait, cancel).Stop()
	defer resp.Body.Close()
	return e.Failure(resp)
}

// Cause returns why an exchange was not settled, where err is what it felt like; caller is the context of whoever
// called, and ended is the connection's Err. What the server has said comes first, then the end of the caller, of the
// call and of the connection.
//
//nolint:revive // the caller's context is asked, not used
func Cause(call *transport.Call, caller context.Context, ended, err error) error {
	_, spoken := errors.AsType[*transport.StatusError](err)
	_, expired := errors.AsType[*transport.TimeoutError](call.Err())
	switch {
	case spoken:
		return err
	case caller.Err() != nil:
		return context.Cause(caller)
	case expired:
		return call.Err()
	case ended != nil:
		return Reason(ended)
	case err == nil:
		return errors.New("the exchange ended without an answer")
	}
	return err
}

// Reason returns why a connection has ended, of its Err, without the operation and name around it.
func Reason(ended error) error {
	if carriage, ok := errors.AsType[*transport.Error](ended); ok {
		return carriage.Err
	}
	return transport.ErrClosed
}
