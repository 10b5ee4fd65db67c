package streamable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/streamable"
	"mcpwire/transport/transporttest"
)

func ok(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) { reply(w, m, `{"content":[]}`) }

func TestARefusedStandingStreamCostsNothing(t *testing.T) {
	for name, get := range map[string]http.HandlerFunc{
		"405":         nil,
		"404":         func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>404</h1>", http.StatusNotFound) },
		"406":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotAcceptable) },
		"400":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) },
		"401":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"403":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"501":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) },
		"200 HTML":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<h1>hi</h1>") },
		"no headers":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a dead port": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{answer: ok, get: get, session: "s1"}
			start := time.Now()
			c := connect(t, streamable.Options{URL: serve(t, f)}, listening())
			for range 10 {
				if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
			if n := len(f.requests("GET", "")); n != 1 && name != "a dead port" {
				t.Errorf("%d GETs", n)
			}
			if c.Err() != nil || len(f.requests("POST", "initialize")) != 1 {
				t.Errorf("the connection did not survive: %v", c.Err())
			}
		})
	}
}

// listening has a client hold the standing stream.
func listening() client.Options {
	return client.Options{OnNotification: func(context.Context, string, json.RawMessage) {}}
}

func TestTheServerSpeaksOnItsStandingStream(t *testing.T) {
	got := make(chan string, 10)
	f := &fake{answer: ok, session: "s1"}
	f.get = func(w http.ResponseWriter, r *http.Request) {
		events(w, r, "data: {oops\n\n"+
			`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n"+
			`data: {"jsonrpc":"2.0","id":"q1","method":"roots/list"}`+"\n\n", true)
	}
	c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{
		OnNotification: func(_ context.Context, method string, _ json.RawMessage) { got <- method },
		OnRequest: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"roots":[]}`), nil
		},
		OnError: func(err error) { got <- err.Error() },
	})
	if fault := <-got; !strings.Contains(fault, "on the standing stream: the answer is no JSON-RPC message: {oops") {
		t.Errorf("got %q", fault)
	}
	if method := <-got; method != "notifications/tools/list_changed" {
		t.Errorf("got %q", method)
	}
	for range 100 {
		for _, s := range f.requests("POST", "") {
			if s.body == `{"jsonrpc":"2.0","id":"q1","result":{"roots":[]}}` && s.header.Get("Mcp-Session-Id") == "s1" {
				if err := c.Ping(t.Context()); err != nil {
					t.Error(err)
				}
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the request was not answered by a POST")
}

func TestTheFirstCallWaitsForTheStandingStream(t *testing.T) {
	var standing atomic.Bool
	f := &fake{get: func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(50 * time.Millisecond)
		standing.Store(true)
		events(w, r, ": hi\n\n", true)
	}}
	f.answer = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
		if !standing.Load() {
			t.Error("the call came before the stream")
		}
		ok(w, r, m)
	}
	c := connect(t, streamable.Options{URL: serve(t, f)}, listening())
	if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
		t.Error(err)
	}
}

func TestAStandingStreamThatIsOnlyOpenedAndClosedIsGivenUp(t *testing.T) {
	f := &fake{get: func(w http.ResponseWriter, r *http.Request) { events(w, r, "", false) }}
	c, r := open(t, streamable.Options{URL: serve(t, f)})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	opened := 0
	if err := c.Listen(ctx, func() { opened++ }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if n := len(f.requests("GET", "")); n < 2 || n > 6 || opened != 1 {
		t.Errorf("%d GETs in 10 s; opened was called %d times", n, opened)
	}
	if n := len(r.Faults()); n > 0 {
		t.Errorf("%d faults", n)
	}
}

func TestAStandingStreamThatBringsALittleEachTimeIsNotAskedForTooOften(t *testing.T) {
	f := &fake{}
	f.get = func(w http.ResponseWriter, r *http.Request) {
		events(w, r, fmt.Sprintf("id: %d\nretry: 0\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n", len(f.requests("GET", ""))), false)
	}
	c, _ := open(t, streamable.Options{URL: serve(t, f)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := c.Listen(ctx, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if n := len(f.requests("GET", "")); n < 2 || n > 11 {
		t.Errorf("%d GETs in a second", n)
	}
}

func TestAStandingStreamGoesOnWhereItBrokeOff(t *testing.T) {
	var gets atomic.Int32
	f := &fake{get: func(w http.ResponseWriter, r *http.Request) {
		n := gets.Add(1)
		events(w, r, fmt.Sprintf("id: e%d\nretry: 100\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n%d\"}\n\n", n, n), n == 3)
	}}
	c, r := open(t, streamable.Options{URL: serve(t, f)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Listen(ctx, func() {}) }()
	if err := r.Await(t.Context(), func(r *transporttest.Recorder) bool { return len(r.Messages()) == 3 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	got := f.requests("GET", "")
	for i, want := range []string{"", "e1", "e2"} {
		if id := got[i].header.Get("Last-Event-Id"); id != want {
			t.Errorf("GET %d came with the last id %q, want %q", i, id, want)
		}
		if i > 0 && got[i].at.Sub(got[i-1].at) < 100*time.Millisecond {
			t.Errorf("GET %d came %v after the one before", i, got[i].at.Sub(got[i-1].at))
		}
	}
}

func TestACallsStreamIsResumed(t *testing.T) {
	f := &fake{session: "s1"}
	f.answer = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
		events(w, r, fmt.Sprintf("id: %s-0\nretry: 300\ndata:\n\n", m.ID), false)
	}
	f.get = func(w http.ResponseWriter, r *http.Request) {
		id, _, _ := strings.Cut(r.Header.Get("Last-Event-Id"), "-")
		if id == "" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
		events(w, r, fmt.Sprintf("id: %s-1\ndata: %s\n\n", id, answer), true)
	}
	c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
	errs := make(chan error, 2)
	for range cap(errs) {
		go func() {
			_, err := c.CallTool(t.Context(), "x", nil, nil)
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	posts, gets := f.requests("POST", "tools/call"), f.requests("GET", "")
	if len(posts) != 2 || len(gets) != 2 {
		t.Fatalf("%d POSTs and %d GETs", len(posts), len(gets))
	}
	for i, get := range gets {
		if get.header.Get("Mcp-Session-Id") != "s1" {
			t.Error("a GET came without the session")
		}
		if early := get.at.Sub(posts[min(i, 1)].at); early < 290*time.Millisecond {
			t.Errorf("a GET came after %v", early)
		}
	}
	for _, post := range posts {
		if post.header.Get("Last-Event-Id") != "" {
			t.Error("a POST came with an event's id")
		}
	}
}

func TestAStreamThatCannotBeResumedFailsItsCallPromptly(t *testing.T) {
	f := &fake{answer: func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) {
		events(w, r, "id: a\nretry: 10\ndata:\n\n", false)
	}}
	c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
	start := time.Now()
	_, err := c.CallTool(t.Context(), "x", nil, nil)
	wantText(t, err, "no response received for request ID 2: HTTP 405: Method Not Allowed")
	var carriage *transport.Error
	if !errors.As(err, &carriage) || carriage.Delivery != transport.MaybeDelivered || time.Since(start) > soon {
		t.Errorf("after %v: %#v", time.Since(start), err)
	}
}

func TestCloseLeavesNoneOfFiftyOpenStreams(t *testing.T) {
	f := &fake{get: func(w http.ResponseWriter, r *http.Request) { events(w, r, ": hi\n\n", true) }}
	f.answer = func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) { events(w, r, ": hi\n\n", true) }
	url := serve(t, f) // checks for leaks at the end
	c := connect(t, streamable.Options{URL: url}, listening())
	errs := make(chan error, 50)
	for range cap(errs) {
		go func() {
			_, err := c.CallTool(t.Context(), "x", nil, nil)
			errs <- err
		}()
	}
	for len(f.requests("POST", "tools/call")) < cap(errs) {
		time.Sleep(10 * time.Millisecond)
	}
	start := time.Now()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	for range cap(errs) {
		if err := <-errs; !errors.Is(err, transport.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if took := time.Since(start); took > soon {
		t.Errorf("it took %v", took)
	}
}
