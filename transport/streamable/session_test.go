package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/streamable"
)

// A forgetful server opens sessions s1, s2, … and knows only the latest.
type forgetful struct {
	refuse func(w http.ResponseWriter) // how it says that it knows a session not; nil: 404
	hold   func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) bool
	always bool // it never knows a session

	fake
	mu      sync.Mutex
	started int
	ran     int // tool calls
}

func newForgetful() *forgetful {
	f := &forgetful{}
	f.answer = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
		if f.hold != nil && f.hold(w, r, m) {
			return
		}
		f.mu.Lock()
		f.ran++
		f.mu.Unlock()
		reply(w, m, `{"content":[]}`)
	}
	return f
}

func (f *forgetful) current() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("s%d", f.started)
}

// restart forgets the session.
func (f *forgetful) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started += 10
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch id := r.Header.Get("Mcp-Session-Id"); {
	case id == "" && r.Method == http.MethodPost:
		f.mu.Lock()
		f.started++
		f.session = fmt.Sprintf("s%d", f.started)
		f.mu.Unlock()
	case id != "" && (id != f.current() || f.always) && r.Method == http.MethodPost:
		if f.refuse != nil {
			f.refuse(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`))
		return
	}
	f.fake.ServeHTTP(w, r)
}

func (f *forgetful) initialized() int { return len(f.requests("POST", "initialize")) }

func TestALostSessionIsReplacedOnceForAllCalls(t *testing.T) {
	for name, refuse := range map[string]func(http.ResponseWriter){
		"404 with an error": nil,
		"404 with HTML":     func(w http.ResponseWriter) { http.Error(w, "<h1>what?</h1>", http.StatusNotFound) },
		"400 with session": func(w http.ResponseWriter) {
			refuseWith(w, 400, -32000, "Bad Request: No valid session ID provided")
		},
		"410 with session": func(w http.ResponseWriter) { refuseWith(w, 410, -32001, "Session expired") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newForgetful()
			f.refuse = refuse
			renewed := make(chan struct{}, 10)
			c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{
				OnRenewed: func(context.Context) { renewed <- struct{}{} },
				OnClose: func(err error) {
					if err != nil {
						t.Errorf("the host was told of an end: %v", err)
					}
				},
			})
			f.restart()
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			<-renewed
			if n := f.initialized(); n != 2 || len(renewed) != 0 {
				t.Errorf("%d handshakes, want 2", n)
			}
			if second := f.requests("POST", "initialize")[1]; second.header.Get("Mcp-Session-Id") != "" ||
				second.header.Get("Mcp-Protocol-Version") != "" {
				t.Errorf("the second handshake came with %v", second.header)
			}
			if got := f.requests("POST", "notifications/initialized"); len(got) != 2 ||
				got[1].header.Get("Mcp-Session-Id") != f.current() {
				t.Errorf("%d handshakes were ended", len(got))
			}
			if f.ran != 5 || c.Err() != nil {
				t.Errorf("%d calls were run; the client's end is %v", f.ran, c.Err())
			}
		})
	}
}

func refuseWith(w http.ResponseWriter, status int, code int64, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(jsonrpc.AppendError(nil, jsonrpc.NullID, &jsonrpc.Error{Code: code, Message: message}))
}

func TestASecondLossIsAnErrorAndNoLoop(t *testing.T) {
	f := newForgetful()
	c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
	f.refuse = func(w http.ResponseWriter) { refuseWith(w, 404, -32001, "Session not found") }
	f.always = true
	// The notification that ends the second handshake is refused too, so that the new session does not even open.
	_, err := c.CallTool(t.Context(), "x", nil, nil)
	if !errors.Is(err, transport.ErrSessionLost) {
		t.Errorf("got %v", err)
	}
	wantText(t, err, "Session not found")
	if n := f.initialized(); n != 2 {
		t.Errorf("%d handshakes, want 2", n)
	}
	f.always = false
	if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
		t.Errorf("the server has come to its senses, but: %v", err)
	}
}

func TestOtherRefusalsDoNotEndASession(t *testing.T) {
	f := newForgetful()
	refusals := []func(http.ResponseWriter){
		func(w http.ResponseWriter) { refuseWith(w, 400, -32602, "session is no valid argument") },
		func(w http.ResponseWriter) { http.Error(w, "no session", http.StatusBadRequest) },
		func(w http.ResponseWriter) { http.Error(w, "log in", http.StatusUnauthorized) },
		func(w http.ResponseWriter) { http.Error(w, "broken", http.StatusInternalServerError) },
	}
	f.hold = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) bool {
		if len(refusals) == 0 {
			return false
		}
		refusals[0](w)
		refusals = refusals[1:]
		return true
	}
	c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
	for range slices.Clone(refusals) {
		if _, err := c.CallTool(t.Context(), "x", nil, nil); err == nil || errors.Is(err, transport.ErrSessionLost) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil || f.initialized() != 1 {
		t.Errorf("%d handshakes; %v", f.initialized(), err)
	}
}

func TestCallsOnStreamsOfALostSessionEndAndAreNotRepeated(t *testing.T) {
	f := newForgetful()
	waiting := make(chan struct{})
	f.hold = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) bool {
		if string(m.Params) != `{"name":"slow"}` {
			return false
		}
		close(waiting) // a second call of it would panic
		events(w, r, ": working\n\n", true)
		return true
	}
	c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
	slow := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), "slow", nil, nil)
		slow <- err
	}()
	<-waiting
	f.restart()
	start := time.Now()
	if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
		t.Error(err)
	}
	err := <-slow
	var carriage *transport.Error
	if !errors.As(err, &carriage) || carriage.Delivery != transport.MaybeDelivered ||
		!errors.Is(err, transport.ErrSessionLost) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > soon {
		t.Errorf("it took %v", took)
	}
}

func TestALateAnswerBringsNoOldSessionBack(t *testing.T) {
	f := newForgetful()
	f.hold = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) bool {
		w.Header().Set("Mcp-Session-Id", "old")
		return false
	}
	c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
	for range 2 {
		if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range f.requests("POST", "tools/call") {
		if got := s.header.Get("Mcp-Session-Id"); got != "s1" {
			t.Errorf("a call came with the session %q", got)
		}
	}
}

func TestTheSessionIsDeletedAtCloseButNobodyWaitsForThat(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"done":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"refused":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"unmoved":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"unending": func(w http.ResponseWriter, r *http.Request) { events(w, r, ": hi\n\n", true) },
	} {
		t.Run(name, func(t *testing.T) {
			deletes := make(chan string, 10)
			f := newForgetful()
			c := connect(t, streamable.Options{URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete {
					deletes <- r.Header.Get("Mcp-Session-Id")
					answer(w, r)
					return
				}
				f.ServeHTTP(w, r)
			}))}, client.Options{})
			start := time.Now()
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > soon {
				t.Errorf("it took %v", took)
			}
			if len(deletes) != 1 || <-deletes != "s1" {
				t.Error("the session was not deleted once")
			}
		})
	}
	t.Run("not without a session", func(t *testing.T) {
		f := &fake{}
		c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
		if err := c.Close(context.Background()); err != nil || len(f.requests("DELETE", "")) != 0 {
			t.Errorf("%v; deleted %d times", err, len(f.requests("DELETE", "")))
		}
	})
}
