package transporttest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"mcpwire/transport"
)

const exitStatus = 3

// exitRows have a server that ends the connection.
var exitRows = []row{
	{
		name:      "a server that exits at once is told of with its status and last words",
		need:      shared,
		behaviour: Behaviour{Name: ExitsBefore, N: exitStatus},
		run: func(s *scene) {
			_, err := s.exchange(s.call("silent", ""))
			s.wantExit("Exchange", err, exitStatus)
			s.awaitEnd()
			s.wantAfterEnd()
		},
	},
	{
		name:      "a server that exits during calls fails all of them at once",
		need:      shared,
		behaviour: Behaviour{Name: ExitsDuring, N: exitStatus},
		run:       func(s *scene) { s.endAll(exitStatus) },
	},
	{
		name:      "a server that exits after its answer has answered",
		need:      shared,
		behaviour: Behaviour{Name: ExitsAfter, N: exitStatus},
		run:       func(s *scene) { s.exitAnswered() },
	},
	{
		name:      "a last line without its LF is taken",
		need:      lines,
		behaviour: Behaviour{Name: ExitsUnended, N: exitStatus},
		run:       func(s *scene) { s.exitAnswered() },
	},
	{
		name:      "a server that closes its output and lives on ends the connection",
		need:      shared,
		behaviour: Behaviour{Name: ClosesOutput},
		run:       func(s *scene) { s.endAll(-1) },
	},
	{
		name:      "a child of the server that holds its output open goes with Close",
		need:      process,
		behaviour: Behaviour{Name: Grandchild},
		run: func(s *scene) {
			pid := s.grandchild()
			s.echo(`{}`)
			s.close(s.Context())
			checkGone(s, pid)
		},
	},
	{
		name:      "a child of the server that holds its output open does not hide the exit",
		need:      process,
		behaviour: Behaviour{Name: Grandchild, N: exitStatus},
		run: func(s *scene) {
			pid := s.grandchild()
			s.endAll(exitStatus)
			s.close(s.Context())
			checkGone(s, pid)
		},
	},
}

// grandchild returns the id of the server's child.
func (s *scene) grandchild() int {
	s.Helper()
	s.await("the child's id", func(r *Recorder) bool { return len(r.Messages()) > 0 })
	var params struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(s.recorder.Messages()[0].Params, &params); err != nil || params.PID == 0 {
		s.Fatalf("no child's id in %s: %v", s.recorder.Messages()[0].Text, err)
	}
	return params.PID
}

// endAll has calls wait, lets the server end the connection, and checks that all calls fail at once. status is the exit
// status to be told, or -1 if there may be none.
func (s *scene) endAll(status int) {
	s.Helper()
	const n = 20
	waiting := s.begin(n, "silent", "")
	s.awaitSeen("the calls", func(now seen) bool { return now.Silent == n })
	_, err := s.exchange(s.call("exit", ""))
	s.wantExit("the call during which the server ended", err, status)
	first, last := time.Now(), time.Time{}
	for range n {
		o := s.outcome(waiting)
		s.wantExit("a waiting call", o.err, status)
		s.wantError("a waiting call", o.err, transport.MaybeDelivered)
		if o.at.Before(first) {
			first = o.at
		}
		if o.at.After(last) {
			last = o.at
		}
	}
	if last.Sub(first) > atOnce {
		s.Errorf("the last call ended %v after the first", last.Sub(first))
	}
	s.awaitEnd()
	s.wantAfterEnd()
}

// exitAnswered lets the server answer and exit.
func (s *scene) exitAnswered() {
	s.Helper()
	if _, err := s.exchange(s.call("exit", "")); err != nil {
		s.Errorf("the call that was answered: %v", err)
	}
	s.awaitEnd()
	s.wantExit("Err", s.conn.Err(), exitStatus)
	s.wantExit("Closed", s.recorder.Closes()[0], exitStatus)
	s.wantAfterEnd()
}

// wantExit checks that err tells of the end of the server: for a process, with the status and the last words.
func (s *scene) wantExit(what string, err error, status int) {
	s.Helper()
	s.wantClosed(what, err)
	if !strings.Contains(err.Error(), "transport closed") {
		s.Errorf("%s: got %q, want a text with %q", what, err, "transport closed")
	}
	if !s.h.Process || status < 0 {
		return
	}
	var exit *transport.ExitError
	if !errors.As(err, &exit) {
		s.Fatalf("%s: got %v, want a *transport.ExitError", what, err)
	}
	if exit.Code != status || exit.Running || !strings.Contains(exit.Stderr, lastWords) {
		s.Errorf("%s: got %+v, want the status %d and the last words", what, exit, status)
	}
}

// wantAfterEnd checks that nothing can be sent any more, and that it says so at once.
func (s *scene) wantAfterEnd() {
	s.Helper()
	start := time.Now()
	_, err := s.exchange(s.call("echo", `{}`))
	s.wantClosed("Exchange after the end", err)
	s.wantError("Exchange after the end", err, transport.NotDelivered)
	err = s.conn.Send(s.Context(), s.note(0))
	s.wantClosed("Send after the end", err)
	s.wantError("Send after the end", err, transport.NotDelivered)
	s.wantPrompt("calls after the end", time.Since(start), 0)
}

// closeRows end the connection from our side.
var closeRows = []row{
	{name: "close ends fifty waiting calls", run: func(s *scene) {
		const n = 50
		waiting := s.begin(n, "silent", "")
		s.awaitSeen("the calls", func(now seen) bool { return now.Silent == n })
		if err := s.conn.Err(); err != nil {
			s.Errorf("Err before the end: %v", err)
		}
		start := time.Now()
		s.close(s.Context())
		for range n {
			o := s.outcome(waiting)
			s.wantEnded(o, start)
			s.wantError("a waiting call", o.err, transport.MaybeDelivered)
		}
		s.wantCleanEnd()
	}},
	{name: "close may be called again and from many goroutines", run: func(s *scene) {
		s.echo(`{}`)
		var closers sync.WaitGroup
		for range 10 {
			closers.Go(func() {
				if err := s.conn.Close(s.Context()); err != nil {
					s.Errorf("Close: %v", err)
				}
				if len(s.recorder.Closes()) == 0 {
					s.Error("a caller of Close did not wait for the end")
				}
			})
		}
		closers.Wait()
		s.close(s.Context())
		s.wantCleanEnd()
	}},
	{name: "a connection that was never used closes", run: func(s *scene) {
		s.close(s.Context())
		s.wantCleanEnd()
	}},
	{name: "nothing is sent after close", run: func(s *scene) {
		s.close(s.Context())
		s.wantAfterEnd()
	}},
	{
		name:      "close ends calls first and a stubborn server within its time",
		need:      process,
		behaviour: Behaviour{Name: Stubborn},
		run: func(s *scene) {
			waiting := s.begin(1, "silent", "")
			s.awaitSeen("the call", func(now seen) bool { return now.Silent == 1 })
			start := time.Now()
			s.close(s.Context())
			s.wantEnded(s.outcome(waiting), start)
			s.wantCleanEnd()
		},
	},
	{
		name:      "close with a done context does not wait for a stubborn server",
		need:      process,
		behaviour: Behaviour{Name: Stubborn},
		run: func(s *scene) {
			s.echo(`{}`)
			ctx, cancel := context.WithCancel(s.Context())
			cancel()
			s.wantPrompt("Close", s.close(ctx), 0)
			s.wantCleanEnd()
		},
	},
}

// wantCleanEnd checks what a connection tells after Close.
func (s *scene) wantCleanEnd() {
	s.Helper()
	select {
	case <-s.conn.Done():
	default:
		s.Error("Done is open after Close")
	}
	s.wantClosed("Err", s.conn.Err())
	if closes := s.recorder.Closes(); len(closes) != 1 || closes[0] != nil {
		s.Errorf("Closed was called with %v, want once with nil", closes)
	}
}
