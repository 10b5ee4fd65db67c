package transporttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

var callRows = []row{
	{name: "an answer reaches its caller", run: func(s *scene) {
		s.echo(`{"text":"grüße 🌍"}`)
		s.echo(`{"digits":12345678901234567890.10}`)
	}},
	{name: "sixty-four callers at once get their own answers", run: func(s *scene) {
		s.echoAll(64, 4)
	}},
	{
		name:      "answers in another order reach their callers",
		behaviour: Behaviour{Name: Reverses, N: 8},
		run:       func(s *scene) { s.echoAll(8, 3) },
	},
	{name: "a call whose context is done is not sent", run: func(s *scene) {
		changedMind := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(s.Context())
		cancel(changedMind)
		for n := range 100 {
			_, err := s.recorder.Exchange(ctx, s.conn, s.call("silent", ""))
			s.wantError("Exchange", err, transport.NotDelivered)
			s.wantCause("Exchange", err, changedMind)
			err = s.conn.Send(ctx, s.note(n))
			s.wantError("Send", err, transport.NotDelivered)
			s.wantCause("Send", err, changedMind)
		}
		if now := s.awaitSeen("seen", func(seen) bool { return true }); now.Silent != 0 || len(now.Notes) != 0 {
			s.Errorf("the server has seen %+v, want nothing", now)
		}
	}},
	{name: "the caller's cancellation is the caller's own error", run: func(s *scene) {
		changedMind := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(s.Context())
		defer cancel(nil)
		errs := make(chan error, 1)
		call := s.call("silent", "")
		go func() {
			_, err := s.recorder.Exchange(ctx, s.conn, call)
			errs <- err
		}()
		s.awaitSeen("the call", func(now seen) bool { return now.Silent == 1 })
		cancel(changedMind)
		cancelled := time.Now()
		err := <-errs
		s.wantPrompt("the end of the call", time.Since(cancelled), 0)
		s.wantError("Exchange", err, transport.MaybeDelivered)
		s.wantCause("Exchange", err, changedMind)
		s.awaitAbandon(call)
		s.echo(`{}`)
	}},
	{name: "the caller's own deadline is the caller's own error", run: func(s *scene) {
		tooSlow := errors.New("too slow for me")
		start := time.Now()
		ctx, cancel := context.WithTimeoutCause(s.Context(), 200*time.Millisecond, tooSlow)
		defer cancel()
		_, err := s.recorder.Exchange(ctx, s.conn, s.call("silent", ""))
		s.wantPrompt("the end of the call", time.Since(start), 200*time.Millisecond)
		s.wantError("Exchange", err, transport.MaybeDelivered)
		s.wantCause("Exchange", err, tooSlow)
		s.echo(`{}`)
	}},
	{
		name:      "a late answer is ignored and the line lives",
		need:      shared,
		behaviour: Behaviour{Name: Late},
		run: func(s *scene) {
			call := s.call("silent", "")
			call.Timeout = 200 * time.Millisecond
			_, err := s.exchange(call)
			s.wantTimeout("Exchange", err, "request timeout after 200ms")
			s.await("the late answer", func(r *Recorder) bool { return r.Late() == 1 })
			s.echo(`{}`)
		},
	},
	{name: "notifications of the client arrive in order", run: func(s *scene) {
		const n = 100
		for i := range n {
			if err := s.conn.Send(s.Context(), s.note(i)); err != nil {
				s.Fatalf("Send: %v", err)
			}
		}
		now := s.awaitSeen("the notifications", func(now seen) bool { return len(now.Notes) == n })
		for i, note := range now.Notes {
			if want := s.note(i).Body; string(note) != string(want) {
				s.Fatalf("notification %d: got %s, want %s", i, note, want)
			}
		}
	}},
	{name: "a carrier without a standing stream says so", run: func(s *scene) {
		if s.conn.Traits().Name == "" {
			s.Error("the carrier has no name")
		}
		if s.conn.Traits().Standing {
			s.Skip("it has one")
		}
		opened := func() { s.Error("opened was called") }
		if err := s.conn.Listen(s.Context(), opened); !errors.Is(err, transport.ErrNoStream) {
			s.Errorf("Listen: got %v, want %v", err, transport.ErrNoStream)
		}
	}},
}

// note returns a call for Send.
func (s *scene) note(n int) *transport.Call {
	params := fmt.Sprintf(`{"n":%d}`, n)
	return &transport.Call{
		Body:     jsonrpc.AppendNotification(nil, numbered, json.RawMessage(params)),
		Timeout:  longWait,
		Envelope: transport.Envelope{Method: numbered},
	}
}

// echoAll makes rounds of n calls at once, each with a text of its own.
func (s *scene) echoAll(n, rounds int) {
	s.Helper()
	for round := range rounds {
		results := make(chan error, n)
		for i := range n {
			go func() {
				want := fmt.Sprintf(`{"caller":%d,"round":%d}`, i, round)
				answer, err := s.exchange(s.call("echo", want))
				if err == nil && string(answer.Result) != want {
					err = fmt.Errorf("got %s, want %s", answer.Result, want)
				}
				results <- err
			}()
		}
		for range n {
			if err := <-results; err != nil {
				s.Error(err)
			}
		}
	}
}

// awaitAbandon waits until the server has seen the note that call is given up.
func (s *scene) awaitAbandon(call *transport.Call) {
	s.Helper()
	now := s.awaitSeen("the cancel note", func(now seen) bool { return len(now.Notes) > 0 })
	if len(now.Notes) != 1 || string(now.Notes[0]) != string(call.Abandon) {
		s.Errorf("the server has seen %s, want %s", now.Notes, call.Abandon)
	}
}

// wantCause checks that err is cause and no clock of ours.
func (s *scene) wantCause(what string, err, cause error) {
	s.Helper()
	var timeout *transport.TimeoutError
	if !errors.Is(err, cause) || errors.As(err, &timeout) {
		s.Errorf("%s: got %v, want %v", what, err, cause)
	}
}

var clockRows = []row{
	{name: "silence ends in a timeout that names its milliseconds", run: func(s *scene) {
		call := s.call("silent", "")
		call.Timeout = 200 * time.Millisecond
		start := time.Now()
		_, err := s.exchange(call)
		s.wantPrompt("the timeout", time.Since(start), call.Timeout)
		s.wantTimeout("Exchange", err, "request timeout after 200ms")
		s.wantError("Exchange", err, transport.MaybeDelivered)
		s.awaitAbandon(call)
		s.echo(`{}`)
	}},
	{name: "touch restarts the idle clock", run: func(s *scene) {
		const touchAfter, idle = 200 * time.Millisecond, time.Second
		call := s.call("silent", "")
		call.Timeout = idle
		touched := make(chan time.Time, 1)
		time.AfterFunc(touchAfter, func() {
			touched <- time.Now()
			call.Touch()
		})
		_, err := s.exchange(call)
		s.wantPrompt("the timeout after the touch", time.Since(<-touched), idle)
		s.wantTimeout("Exchange", err, "request timeout after 1000ms")
	}},
	{name: "the limit ends a call that is touched again and again", run: func(s *scene) {
		call := s.call("silent", "")
		call.Limit = 300 * time.Millisecond
		stop := make(chan struct{})
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			ticker := time.NewTicker(time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					call.Touch()
				case <-stop:
					return
				}
			}
		}()
		start := time.Now()
		_, err := s.exchange(call)
		s.wantPrompt("the timeout", time.Since(start), call.Limit)
		s.wantTimeout("Exchange", err, "request timeout after 300ms")
		close(stop)
		<-stopped
		s.echo(`{}`)
	}},
	{name: "hold stops the idle clock until release", run: func(s *scene) {
		const held, idle = 500 * time.Millisecond, 200 * time.Millisecond
		call := s.call("silent", "")
		call.Timeout = idle
		call.Hold()
		released := make(chan time.Time, 1)
		time.AfterFunc(held, func() {
			released <- time.Now()
			call.Release()
		})
		_, err := s.exchange(call)
		s.wantPrompt("the timeout after the release", time.Since(<-released), idle)
		s.wantTimeout("Exchange", err, "request timeout after 200ms")
	}},
}
