package transporttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// A Harness lets Run test one carrier.
type Harness struct {
	// Open starts a fake server that shows b, and opens a connection to it whose messages are capped at maxMessage
	// bytes, or at the carrier's default if that is 0. It fails t if it can't. Run closes the connection.
	Open func(t *testing.T, b Behaviour, maxMessage int, r transport.Receiver) transport.Conn
	// Shared: all calls share one channel each way, whose end is the end of the connection.
	Shared bool
	// Lines: the channel carries bytes, cut into messages at line feeds.
	Lines bool
	// Posts: each message of the client goes its own way, so that none waits behind another that is not read.
	Posts bool
	// Waiting is what a timeout names that strikes while an answer is awaited; "request" if empty.
	Waiting string
	// Silent: the server sends nothing but answers.
	Silent bool
	// Process: the server is a process, with a standard error, an exit status and signals.
	Process bool
}

// Limits that the suite holds carriers to. The system under a test may be busy, so they are wider than what is felt.
const (
	closeLimit  = 5 * time.Second         // of Close, whatever the server does
	promptLimit = 1500 * time.Millisecond // from the end of a clock or context to the end of the call
	atOnce      = 500 * time.Millisecond  // between the end of the connection and that of every call
	longWait    = 20 * time.Second        // when something is broken
)

// A need is what a row asks of a carrier.
type need uint8

const (
	anyCarrier need = iota
	talkative
	shared
	queued
	lines
	process
)

func (h Harness) has(n need) bool {
	return [...]bool{
		anyCarrier: true, talkative: !h.Silent, shared: h.Shared, queued: h.Shared && !h.Posts, lines: h.Lines,
		process: h.Process,
	}[n]
}

// A row is one property that carriers have.
type row struct {
	name       string
	need       need
	behaviour  Behaviour
	maxMessage int // bytes; 0: the default
	run        func(s *scene)
}

// Run tests a carrier against the contract of package transport, one subtest a property. After each it checks that
// nothing is left behind (CheckLeaks) and that the receiver was treated as the contract says.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, r := range slices.Concat(callRows, clockRows, streamRows, blockedRows, exitRows, closeRows) {
		t.Run(r.name, func(t *testing.T) {
			if !h.has(r.need) {
				t.Skip("not of this carrier")
			}
			CheckLeaks(t)
			s := &scene{T: t, h: h, recorder: NewRecorder()}
			s.conn = h.Open(t, r.behaviour, r.maxMessage, s.recorder)
			t.Cleanup(s.finish)
			r.run(s)
		})
	}
}

// A scene is one connection under test.
type scene struct {
	*testing.T
	h        Harness
	conn     transport.Conn
	recorder *Recorder
	ids      atomic.Int64
}

// finish closes the connection, in case the row has not, and looks at what it told.
func (s *scene) finish() {
	s.close(context.WithoutCancel(s.Context())) // a test's context is done before its clean-up
	if n := len(s.recorder.Closes()); n != 1 {
		s.Errorf("Closed was called %d times, want once", n)
	}
	for _, v := range s.recorder.Violations() {
		s.Error(v)
	}
}

// close closes the connection and returns how long that took.
func (s *scene) close(ctx context.Context) time.Duration {
	s.Helper()
	start, closed := time.Now(), make(chan error, 1)
	go func() { closed <- s.conn.Close(ctx) }()
	select {
	case err := <-closed:
		if err != nil {
			s.Errorf("Close: %v", err)
		}
	case <-time.After(longWait):
		s.Fatal("Close does not return")
	}
	took := time.Since(start)
	if took > closeLimit {
		s.Errorf("Close took %v, want at most %v", took, closeLimit)
	}
	return took
}

// call returns a call that must not time out unless something is broken.
func (s *scene) call(method, params string) *transport.Call {
	id := s.ids.Add(1)
	return &transport.Call{
		Body:     jsonrpc.AppendRequest(nil, jsonrpc.IntID(id), method, []byte(params)),
		Abandon:  fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id),
		Timeout:  longWait,
		Envelope: transport.Envelope{Method: method},
	}
}

func (s *scene) exchange(call *transport.Call) (Answer, error) {
	return s.recorder.Exchange(s.Context(), s.conn, call)
}

// echo makes one call that must be answered: the line lives.
func (s *scene) echo(params string) Answer {
	s.Helper()
	answer, err := s.exchange(s.call("echo", params))
	if err != nil {
		s.Fatalf("echo: %v", err)
	}
	if string(answer.Result) != params {
		s.Fatalf("echo: got %.100q (%d bytes), want %.100q (%d bytes)",
			answer.Result, len(answer.Result), params, len(params))
	}
	return answer
}

// begin starts n calls of method and returns the channel on which their outcomes come.
func (s *scene) begin(n int, method, params string) <-chan outcome {
	outcomes := make(chan outcome, n)
	for range n {
		call := s.call(method, params)
		go func() {
			answer, err := s.exchange(call)
			outcomes <- outcome{answer, err, time.Now()}
		}()
	}
	return outcomes
}

// An outcome is what became of a call, and when.
type outcome struct {
	answer Answer
	err    error
	at     time.Time
}

// outcome waits for a call that was begun.
func (s *scene) outcome(outcomes <-chan outcome) outcome {
	s.Helper()
	select {
	case o := <-outcomes:
		return o
	case <-time.After(longWait):
		s.Fatal("a call does not return")
		return outcome{}
	}
}

// await waits until what done looks for has been told to the receiver.
func (s *scene) await(what string, done func(*Recorder) bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), longWait)
	defer cancel()
	if err := s.recorder.Await(ctx, done); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// awaitEnd waits until the connection has ended by itself, and checks what it says of that.
func (s *scene) awaitEnd() {
	s.Helper()
	for what, done := range map[string]<-chan struct{}{"Done": s.conn.Done(), "Closed": s.recorder.Done()} {
		select {
		case <-done:
		case <-time.After(longWait):
			s.Fatalf("%s: the end is not told", what)
		}
	}
	s.wantClosed("Err", s.conn.Err())
	for _, err := range s.recorder.Closes() {
		s.wantClosed("Closed", err)
	}
}

// seen is what the server has seen.
type seen struct {
	Silent int              `json:"silent"`
	Notes  []jsontext.Value `json:"notes"`
}

// awaitSeen asks the server until it has seen what done looks for.
func (s *scene) awaitSeen(what string, done func(seen) bool) seen {
	s.Helper()
	for end := time.Now().Add(longWait); ; time.Sleep(time.Millisecond) {
		answer, err := s.exchange(s.call("seen", ""))
		if err != nil {
			s.Fatalf("%s: %v", what, err)
		}
		var now seen
		if err := json.Unmarshal(answer.Result, &now); err != nil {
			s.Fatalf("%s: %v", what, err)
		}
		if done(now) {
			return now
		}
		if time.Now().After(end) {
			s.Fatalf("%s: the server has seen %s", what, answer.Result)
		}
	}
}

// wantError checks that err is the carrier's error with a delivery.
func (s *scene) wantError(what string, err error, delivery transport.Delivery) {
	s.Helper()
	var e *transport.Error
	if !errors.As(err, &e) {
		s.Fatalf("%s: got %v, want a *transport.Error", what, err)
	}
	if e.Delivery != delivery {
		s.Errorf("%s: got %q as %v, want %v", what, err, e.Delivery, delivery)
	}
}

// wantClosed checks that err tells of the end of the connection.
func (s *scene) wantClosed(what string, err error) {
	s.Helper()
	var e *transport.Error
	if !errors.As(err, &e) || !errors.Is(err, transport.ErrClosed) {
		s.Fatalf("%s: got %v, want a *transport.Error that is %q", what, err, transport.ErrClosed)
	}
}

// wantTimeout checks that err is an expired clock of ours. text is as for a carrier that waits for a "request".
func (s *scene) wantTimeout(what string, err error, text string) {
	s.Helper()
	if rest, ok := strings.CutPrefix(text, "request "); ok && s.h.Waiting != "" {
		text = s.h.Waiting + " " + rest
	}
	var e *transport.TimeoutError
	if !errors.As(err, &e) || e.Error() != text || !errors.Is(err, context.DeadlineExceeded) {
		s.Fatalf("%s: got %v, want %q", what, err, text)
	}
}

// wantPrompt checks that what came at most promptLimit after it was due, and not before.
func (s *scene) wantPrompt(what string, took, due time.Duration) {
	s.Helper()
	if took < due || took > due+promptLimit {
		s.Errorf("%s took %v, want %v and hardly more", what, took, due)
	}
}
