package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// A Recorder is a receiver that matches answers to calls by id, settles the calls and keeps whatever else it is told.
// It keeps the memory of some messages and gives that of others back, and notes where the carrier breaks the contract.
// All methods may be called from several goroutines at once.
type Recorder struct {
	busy atomic.Int32 // calls on the shared channel that are under way
	done chan struct{}

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at each change
	pending    map[jsonrpc.ID]*pending
	messages   []Inbound
	malformed  [][]byte
	late       int
	oversizes  []Oversize
	faults     []error
	closes     []error
	violations []string
}

type pending struct {
	call   *transport.Call
	answer Answer
}

// An Inbound is a request or notification of the server.
type Inbound struct {
	jsonrpc.Message
	Text []byte // the whole message
}

// An Answer is the server's answer to a call.
type Answer struct {
	jsonrpc.Message
	After int // how many requests and notifications of the server had come before it
}

// An Oversize is a report of a message above the cap.
type Oversize struct {
	Head, Tail []byte
	Size       int64 // bytes
}

// NewRecorder returns a Recorder for one connection.
func NewRecorder() *Recorder {
	return &Recorder{
		done:    make(chan struct{}),
		changed: make(chan struct{}),
		pending: map[jsonrpc.ID]*pending{},
	}
}

// Exchange carries call, whose Body is a request, over conn, and returns the answer that came.
func (r *Recorder) Exchange(ctx context.Context, conn transport.Conn, call *transport.Call) (Answer, error) {
	request, err := jsonrpc.Parse(call.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("the body of the call: %w", err)
	}
	p := &pending{call: call}
	r.mu.Lock()
	r.pending[request.ID] = p
	r.mu.Unlock()
	err = conn.Exchange(ctx, call)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, request.ID)
	return p.answer, err
}

// Receive implements transport.Receiver.
func (r *Recorder) Receive(call *transport.Call, msg []byte) transport.Verdict {
	defer r.enter("Receive", call)()
	m, err := jsonrpc.Parse(msg)
	switch {
	case err != nil:
		r.malformed = append(r.malformed, bytes.Clone(msg))
		return transport.Malformed
	case m.Kind != jsonrpc.Response:
		r.messages = append(r.messages, Inbound{Message: m, Text: msg})
		return transport.Kept
	}
	r.settle(m)
	return transport.Reuse
}

// settle is called with mu held, so that no call is settled after Exchange has taken it from the table.
func (r *Recorder) settle(m jsonrpc.Message) {
	m.Result, m.Error = bytes.Clone(m.Result), bytes.Clone(m.Error)
	p := r.pending[m.ID]
	if p == nil {
		r.late++
		return
	}
	p.answer = Answer{Message: m, After: len(r.messages)}
	if !p.call.Settle() {
		r.late++
	}
}

// Oversize implements transport.Receiver.
func (r *Recorder) Oversize(call *transport.Call, head, tail []byte, size int64) {
	defer r.enter("Oversize", call)()
	r.oversizes = append(r.oversizes, Oversize{Head: bytes.Clone(head), Tail: bytes.Clone(tail), Size: size})
}

// Fault implements transport.Receiver.
func (r *Recorder) Fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.violations = append(r.violations, "Fault without an error")
	}
	if len(r.closes) > 0 {
		r.violations = append(r.violations, "Fault after Closed")
	}
	r.faults = append(r.faults, err)
	r.change()
}

// Closed implements transport.Receiver.
func (r *Recorder) Closed(err error) {
	defer r.enter("Closed", nil)()
	if r.closes = append(r.closes, err); len(r.closes) == 1 {
		close(r.done)
	}
}

// enter takes the lock and notes what the contract forbids. It returns what undoes it.
func (r *Recorder) enter(method string, call *transport.Call) (leave func()) {
	together := call == nil && r.busy.Add(1) > 1
	r.mu.Lock()
	if together {
		r.violations = append(r.violations, method+" while another message of the channel was handled")
	}
	if len(r.closes) > 0 {
		r.violations = append(r.violations, method+" after Closed")
	}
	return func() {
		r.change()
		r.mu.Unlock()
		if call == nil {
			r.busy.Add(-1)
		}
	}
}

func (r *Recorder) change() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Await waits until done reports true. It is asked anew after everything that the carrier tells.
func (r *Recorder) Await(ctx context.Context, done func(*Recorder) bool) error {
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if done(r) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Done is closed by the first Closed.
func (r *Recorder) Done() <-chan struct{} { return r.done }

// Messages returns the requests and notifications of the server, in order.
func (r *Recorder) Messages() []Inbound { return snapshot(r, &r.messages) }

// Malformed returns what was no message.
func (r *Recorder) Malformed() [][]byte { return snapshot(r, &r.malformed) }

// Oversizes returns the reports of messages above the cap.
func (r *Recorder) Oversizes() []Oversize { return snapshot(r, &r.oversizes) }

// Faults returns the failures that did not end the connection.
func (r *Recorder) Faults() []error { return snapshot(r, &r.faults) }

// Closes returns the errors that Closed was called with: one, if the carrier keeps the contract.
func (r *Recorder) Closes() []error { return snapshot(r, &r.closes) }

// Violations tells where the carrier broke the contract of transport.Receiver.
func (r *Recorder) Violations() []string { return snapshot(r, &r.violations) }

// Late returns how many answers came to no call, or to one that had ended.
func (r *Recorder) Late() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.late
}

func snapshot[T any](r *Recorder, list *[]T) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(*list)
}
