package stdio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/proc/proctest"
	"mcpwire/transport"
	"mcpwire/transport/stdio"
)

// A receiver settles the call that a message names, and keeps what else it is told.
type receiver struct {
	mu       sync.Mutex
	open     map[int]*transport.Call
	lines    map[int][]byte
	sizes    []int64
	faults   []error
	closed   []error
	received chan string // messages without an id
	over     chan struct{}
}

func newReceiver() *receiver {
	return &receiver{
		open: map[int]*transport.Call{}, lines: map[int][]byte{},
		received: make(chan string, 1000), over: make(chan struct{}),
	}
}

func (r *receiver) Receive(_ *transport.Call, msg []byte) transport.Verdict {
	if !jsontext.Value(msg).IsValid(jsontext.AllowInvalidUTF8(true)) {
		return transport.Malformed
	}
	var id int
	if _, err := fmt.Sscanf(string(msg[:min(len(msg), 40)]), `{"id":%d`, &id); err != nil {
		r.received <- string(msg)
		return transport.Reuse
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if call := r.open[id]; call != nil {
		r.lines[id] = msg
		call.Settle()
	}
	return transport.Kept
}

func (r *receiver) Oversize(_ *transport.Call, head, _ []byte, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sizes = append(r.sizes, size)
	var id int
	if _, err := fmt.Sscanf(string(head[:min(len(head), 40)]), `{"id":%d`, &id); err == nil && r.open[id] != nil {
		r.open[id].Settle()
	}
}

func (r *receiver) Fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, err)
}

func (r *receiver) Closed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = append(r.closed, err)
	if len(r.closed) == 1 {
		close(r.over)
	}
}

// A server is a connection to a fake, and what it has told.
type server struct {
	transport.Conn
	*receiver
	t testing.TB
}

// open starts a fake, which is closed with the test; then there must be no leaks and one Closed.
func open(t testing.TB, name string, change ...func(*stdio.Options)) *server {
	t.Helper()
	proctest.NoLeaks(t)
	o := stdio.Options{Name: "demo", Command: os.Args[0], Env: map[string]string{role: name, noDelay: "atexit_sleep_ms=0"}}
	for _, f := range change {
		f(&o)
	}
	r := newReceiver()
	conn, err := stdio.New(o).Open(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{conn, r, t}
	t.Cleanup(func() {
		s.closeNow()
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.closed) != 1 {
			t.Errorf("Closed was called %d times", len(r.closed))
		}
		if s.Err() == nil || !errors.Is(s.Err(), transport.ErrClosed) {
			t.Errorf("Err is %v", s.Err())
		}
	})
	return s
}

func (s *server) closeNow() {
	if err := s.Close(done()); err != nil {
		s.t.Error(err)
	}
}

// done is a context that has ended.
func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// waitReady waits until the fake says that it is ready.
func (s *server) waitReady() {
	s.t.Helper()
	select {
	case <-s.received:
	case <-s.over:
		s.t.Fatal(s.Err())
	}
}

func (s *server) waitClosed() error {
	<-s.over
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed[0]
}

// request makes a call with the given rest of its body, which the receiver knows.
func (s *server) request(id int, rest string) *transport.Call {
	call := &transport.Call{
		Body:     fmt.Appendf(nil, `{"id":%d%s}`, id, rest),
		Envelope: transport.Envelope{Method: "tools/call", Name: "demo"},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[id] = call
	return call
}

func (s *server) answer(id int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines[id]
}

// noise returns the last lines that were no messages.
func (s *server) noise() []string {
	s.t.Helper()
	conn, ok := s.Conn.(interface {
		Output() (stderr string, noise []string)
	})
	if !ok {
		s.t.Fatal("the connection has no method Output")
	}
	_, noise := conn.Output()
	return noise
}

// mustAnswer makes a call whose answer must be its body.
func (s *server) mustAnswer(id int, rest string) {
	s.t.Helper()
	call := s.request(id, rest)
	if err := s.Exchange(context.Background(), call); err != nil {
		s.t.Error(err)
	} else if got := s.answer(id); !bytes.Equal(got, call.Body) {
		s.t.Errorf("got %.100q, want %.100q", got, call.Body)
	}
}

// failed checks the parts of an error that every caller relies on.
func failed(t testing.TB, err error, delivery transport.Delivery, cause error) {
	t.Helper()
	var fail *transport.Error
	if !errors.As(err, &fail) {
		t.Errorf("got %v, want a *transport.Error", err)
		return
	}
	if fail.Server != "demo" || fail.Delivery != delivery || !errors.Is(err, cause) {
		t.Errorf("got %q (%v), want %v and %q", err, fail.Delivery, delivery, cause)
	}
}

// exited checks that an error tells how the server ended.
func exited(t testing.TB, err error) *transport.ExitError {
	t.Helper()
	var exit *transport.ExitError
	if !errors.As(err, &exit) || !errors.Is(err, transport.ErrClosed) {
		t.Fatalf("got %v, want transport closed and how the server ended", err)
	}
	return exit
}

// soon checks that something did not take long.
func soon(t testing.TB, begin time.Time, limit time.Duration) {
	t.Helper()
	if took := time.Since(begin); took > limit {
		t.Errorf("took %v", took)
	}
}

// collector gathers lines from a callback.
type collector struct {
	mu    sync.Mutex
	lines []string
}

func (c *collector) add(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, string(line))
}

func (c *collector) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}
