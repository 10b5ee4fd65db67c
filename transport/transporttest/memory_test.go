package transporttest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

func TestMemory(t *testing.T) {
	transporttest.Run(t, transporttest.Harness{Open: openMemory, Shared: true})
}

func openMemory(t *testing.T, b transporttest.Behaviour, maxMessage int, r transport.Receiver) transport.Conn {
	t.Helper()
	serve := func(s *transporttest.Server) { serveScript(s, transporttest.NewScript(b), maxMessage) }
	return open(t, transporttest.NewMemory(serve), r)
}

func open(t *testing.T, carrier transport.Transport, r transport.Receiver) transport.Conn {
	t.Helper()
	conn, err := carrier.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// serveScript is a fake server in memory.
func serveScript(s *transporttest.Server, script *transporttest.Script, maxMessage int) {
	steps := script.Begin()
	for {
		for _, step := range steps {
			if !take(s, step, maxMessage) {
				return
			}
		}
		msg, ok := s.Read()
		if !ok {
			return
		}
		steps = script.Next(msg)
	}
}

// take does one step, and reports whether the server goes on.
func take(s *transporttest.Server, step transporttest.Step, maxMessage int) bool {
	switch step.Do {
	case transporttest.Say, transporttest.Raw, transporttest.Trickle:
		if maxMessage > 0 && len(step.Data) > maxMessage {
			s.Oversize(step.Data[:4<<10], step.Data[len(step.Data)-4<<10:], int64(len(step.Data)))
		} else {
			s.Write(step.Data)
		}
	case transporttest.Complain: // there is nobody to listen
	case transporttest.Pause:
		select {
		case <-s.Done():
		case <-time.After(step.Wait):
		}
	case transporttest.Stall:
		<-s.Done()
	case transporttest.HangUp, transporttest.Exit:
		s.End(errors.New("the server is gone"))
		return false
	}
	return true
}

// call returns a request with a cancel note.
func call(id int64, timeout time.Duration) *transport.Call {
	return &transport.Call{
		Body:     jsonrpc.AppendRequest(nil, jsonrpc.IntID(id), "work", nil),
		Abandon:  fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id),
		Timeout:  timeout,
		Envelope: transport.Envelope{Method: "work", Name: "hard"},
	}
}

func wantError(t *testing.T, err error, text string, delivery transport.Delivery) {
	t.Helper()
	var e *transport.Error
	if !errors.As(err, &e) || e.Error() != text || e.Delivery != delivery {
		t.Errorf("got %v (%+v), want %q, %v", err, e, text, delivery)
	}
}

func TestAMemoryServerThatReadsGetsTheCancelNoteOfASilentCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		conn := open(t, transporttest.NewMemory(func(s *transporttest.Server) {
			for msg, ok := s.Read(); ok; msg, ok = s.Read() {
				got = append(got, string(msg))
			}
		}), transporttest.NewRecorder())
		c, start := call(7, 0), time.Now()
		wantError(t, conn.Exchange(t.Context(), c), "work hard: request timeout after 30000ms", transport.MaybeDelivered)
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("the timeout came after %v", took)
		}
		synctest.Wait()
		if want := []string{string(c.Body), string(c.Abandon)}; !slices.Equal(got, want) {
			t.Errorf("the server got %q, want %q", got, want)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAMemoryServerThatDoesNotReadLeavesCallsUndelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late [][]byte
		conn := open(t, transporttest.NewMemory(func(s *transporttest.Server) {
			time.Sleep(time.Minute)
			for msg, ok := s.Read(); ok; msg, ok = s.Read() {
				late = append(late, msg)
			}
		}), transporttest.NewRecorder())
		start := time.Now()
		wantError(t, conn.Exchange(t.Context(), call(1, time.Second)),
			"work hard: request timeout after 1000ms", transport.NotDelivered)
		wantError(t, conn.Send(t.Context(), call(2, time.Second)),
			"work hard: notify timeout after 1000ms", transport.NotDelivered)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("the timeouts came after %v", took)
		}
		time.Sleep(2 * time.Minute)
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if len(late) > 0 {
			t.Errorf("the server got what was withdrawn: %q", late)
		}
	})
}

func TestTheClocksOfACallOnTheMemoryCarrierAreExact(t *testing.T) {
	const s = time.Second
	type plan map[time.Duration]func(*transport.Call)
	touch, hold, release := (*transport.Call).Touch, (*transport.Call).Hold, (*transport.Call).Release
	tests := map[string]struct {
		timeout, limit time.Duration
		at             plan
		want           time.Duration
		text           string
	}{
		"touch":            {3 * s, 0, plan{2 * s: touch}, 5 * s, "3000"},
		"limit":            {3 * s, 4 * s, plan{2 * s: touch}, 4 * s, "4000"},
		"default limit":    {-1, 0, nil, 600 * s, "600000"},
		"no limit":         {700 * s, -1, nil, 700 * s, "700000"},
		"hold":             {3 * s, 9 * s, plan{2 * s: hold}, 9 * s, "9000"},
		"hold and release": {3 * s, 0, plan{2 * s: hold, 8 * s: release}, 11 * s, "3000"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				silence := transporttest.Respond(func(jsonrpc.Message) []byte { return nil })
				conn := open(t, transporttest.NewMemory(silence), transporttest.NewRecorder())
				c, start := call(1, test.timeout), time.Now()
				c.Limit = test.limit
				for after, do := range test.at {
					time.AfterFunc(after, func() { do(c) })
				}
				err := conn.Exchange(t.Context(), c)
				wantError(t, err, "work hard: request timeout after "+test.text+"ms", transport.MaybeDelivered)
				if took := time.Since(start); took != test.want {
					t.Errorf("it ended after %v, want %v", took, test.want)
				}
				if err := conn.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestRespondAnswersRequestsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		respond := transporttest.Respond(func(m jsonrpc.Message) []byte {
			return jsonrpc.AppendResult(nil, m.ID, []byte(`"`+m.Method+`"`))
		})
		recorder := transporttest.NewRecorder()
		conn := open(t, transporttest.NewMemory(respond), recorder)
		for _, text := range []string{`{"jsonrpc":"2.0","method":"note"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `junk`} {
			if err := conn.Send(t.Context(), &transport.Call{Body: []byte(text)}); err != nil {
				t.Error(err)
			}
		}
		answer, err := recorder.Exchange(t.Context(), conn, call(5, 0))
		if err != nil || string(answer.Result) != `"work"` || answer.ID != jsonrpc.IntID(5) {
			t.Errorf("got %+v, %v", answer, err)
		}
		if recorder.Late() > 0 {
			t.Error("something else was answered")
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTheEndOfAMemoryServerIsTheEndOfTheConnection(t *testing.T) {
	died := errors.New("out of paper")
	endAndGoOn := func(s *transporttest.Server, err error) {
		s.End(err)
		s.Write([]byte(`{"jsonrpc":"2.0","method":"too late"}`))
		<-s.Done()
	}
	tests := map[string]struct {
		serve func(s *transporttest.Server)
		text  string
	}{
		"End with an error": {
			func(s *transporttest.Server) { endAndGoOn(s, died) },
			"transport closed: out of paper",
		},
		"End without an error": {func(s *transporttest.Server) { endAndGoOn(s, nil) }, "transport closed"},
		"return":               {func(*transporttest.Server) {}, "transport closed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recorder := transporttest.NewRecorder()
				conn := open(t, transporttest.NewMemory(func(s *transporttest.Server) {
					s.Read()
					s.Fault(died)
					s.Write([]byte(`{"jsonrpc":"2.0","method":"last"}`))
					test.serve(s)
				}), recorder)
				err := conn.Exchange(t.Context(), call(1, 0))
				wantError(t, err, "work hard: "+test.text, transport.MaybeDelivered)
				wantError(t, conn.Err(), test.text, transport.MaybeDelivered)
				if err := conn.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if closes := recorder.Closes(); len(closes) != 1 || closes[0].Error() != test.text {
					t.Errorf("Closed with %v, want once with %q", closes, test.text)
				}
				if n := len(recorder.Messages()); n != 1 {
					t.Errorf("%d messages came, want the one before the end", n)
				}
				if faults := recorder.Faults(); len(faults) != 1 || !errors.Is(faults[0], died) {
					t.Errorf("faults: %v", faults)
				}
				for _, v := range recorder.Violations() {
					t.Error(v)
				}
			})
		})
	}
}

// A borrower gives all memory back, and goes on using it.
type borrower struct {
	transport.Receiver
	msg []byte
}

func (b *borrower) Receive(_ *transport.Call, msg []byte) transport.Verdict {
	b.msg = msg
	return transport.Reuse
}

func TestTheMemoryCarrierSpoilsWhatWasGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := borrower{Receiver: transporttest.NewRecorder()}
		conn := open(t, transporttest.NewMemory(func(s *transporttest.Server) { s.Write([]byte("lent")) }), &b)
		synctest.Wait()
		if string(b.msg) != "!!!!" {
			t.Errorf("the memory holds %q", b.msg)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTheMemoryCarrierDoesNotOpenOnceTheContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("not today"))
	serve := func(*transporttest.Server) { t.Error("it was served") }
	_, err := transporttest.NewMemory(serve).Open(ctx, transporttest.NewRecorder())
	wantError(t, err, "open: not today", transport.NotDelivered)
}

func TestAMemoryServerLearnsWhatWasNegotiated(t *testing.T) {
	wires := make(chan transport.Wire, 1)
	conn := open(t, transporttest.NewMemory(func(s *transporttest.Server) {
		s.Read()
		wires <- s.Negotiated()
	}), transporttest.NewRecorder())
	conn.Negotiated(transport.Wire{Revision: "2025-11-25"})
	if err := conn.Send(t.Context(), call(1, 0)); err != nil {
		t.Error(err)
	}
	if wire := <-wires; wire.Revision != "2025-11-25" {
		t.Errorf("got %+v", wire)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
