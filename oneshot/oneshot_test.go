package oneshot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpwire/oneshot"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// soon is how long what needs no waiting may take on a busy machine.
const soon = 5 * time.Second

// serve starts a server, and checks for leaks when the test has ended.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	transporttest.CheckLeaks(t)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// say answers with a status, a type and a body. It holds the answer open if the body ends with "HOLD".
func say(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{kind}
		if kind == "" {
			w.Header()["Content-Type"] = nil // keeps net/http from guessing
		}
		w.WriteHeader(status)
		text, hold := strings.CutSuffix(body, "HOLD")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		if hold {
			<-r.Context().Done()
		}
	}
}

// lone returns a client that leaves no connection open.
func lone() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }

const (
	jsonType = "application/json"
	events   = "text/event-stream"
	ok       = `{"jsonrpc":"2.0","id":1,"result":{"n":1.0}}`
	refusal  = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`
)

func TestTheEnvelopeComesBackAsItCame(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"JSON", say(200, jsonType, ok), ok},
		{"JSON with space around it", say(200, "Application/JSON; charset=utf-8", "\ufeff "+ok+"\r\n"), ok},
		{"JSON without a type", say(200, "", ok), ok},
		{"JSON called text", say(200, "text/plain", ok), ok},
		{"a refusal", say(200, jsonType, refusal), refusal},
		{"a refusal with a status", say(400, jsonType, refusal), refusal},
		{"a result with a status", say(500, "text/plain", ok), ok},
		{
			"a refusal without an id", say(400, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`),
			`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
		},
		{
			"an id of another type", say(200, jsonType, `{"jsonrpc":"2.0","id":"1","result":1}`),
			`{"jsonrpc":"2.0","id":"1","result":1}`,
		},
		{"events", say(200, events, "event: message\r\ndata: "+ok+"\r\n\r\n"), ok},
		{"a stream that stays open", say(200, events, "data: "+ok+"\n\nHOLD"), ok},
		{"a refusal on a stream", say(200, events, "data: "+refusal+"\n\n"), refusal},
		{
			"other messages first", say(200, events, ": hi\n\nid: 1\ndata:\n\nevent: ping\ndata: {oops\n\n"+
				`data: {"jsonrpc":"2.0","method":"x"}`+"\n\n"+`data: {"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n\n"+
				`data: {"jsonrpc":"2.0","id":2,"result":2}`+"\n\ndata: "+ok+"\n\n"), ok,
		},
		{
			"data on two lines", say(200, events, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":1}\n\n"),
			"{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":1}",
		},
		{"an event without its end", say(200, events, "data: "+ok), ok},
	} {
		for name, client := range map[string]*http.Client{"": nil, ", with a client": lone()} {
			t.Run(row.name+name, func(t *testing.T) {
				url := serve(t, row.answer)
				start := time.Now()
				got, err := oneshot.Call(t.Context(), client, url, "tools/list", nil)
				if err != nil || string(got) != row.want {
					t.Errorf("got %s and error %v, want %s", got, err, row.want)
				}
				if took := time.Since(start); took > soon {
					t.Errorf("it took %v", took)
				}
			})
		}
	}
}

func TestWhatTheRequestSays(t *testing.T) {
	type seen struct{ body, accept, kind, own, method, empty string }
	var got seen
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		_, hasEmpty := r.Header["X-Empty"]
		got = seen{
			string(text), r.Header.Get("Accept"), r.Header.Get("Content-Type"), r.Header.Get("X-Own"), r.Method,
			fmt.Sprint(hasEmpty),
		}
		_, _ = io.WriteString(w, ok)
	})
	for _, client := range []*http.Client{nil, lone()} {
		traces := 0
		c := oneshot.Caller{
			Client: client, Headers: map[string]string{"x-own": "1", "X-Empty": "", "Accept": "text/html"},
			OnTrace: func(tr oneshot.Trace) {
				traces++
				if tr.Status != 200 || tr.Method != "POST" || tr.URL != url+"/?key=***" || tr.Took <= 0 || tr.Err != nil {
					t.Errorf("traced %+v", tr)
				}
			},
		}
		if _, err := c.Call(t.Context(), url+"/?key=secret", "tools/call", json.RawMessage(`{"a":1.0}`)); err != nil {
			t.Fatal(err)
		}
		want := seen{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":1.0}}`, "application/json, text/event-stream",
			jsonType, "1", "POST", "false",
		}
		if got != want || traces != 1 {
			t.Errorf("got %+v, want %+v; %d traces", got, want, traces)
		}
	}
}

func TestWhatIsNoEnvelopeIsAnError(t *testing.T) {
	for _, row := range []struct {
		name     string
		answer   http.HandlerFunc
		want     string
		delivery transport.Delivery
		status   int
	}{
		{
			"500", say(500, "text/plain", "the disk is full"),
			"x: HTTP 500: Internal Server Error: the disk is full", transport.Answered, 500,
		},
		{"401", say(401, "text/plain", ""), "HTTP 401: Unauthorized", transport.Answered, 401},
		{"404 without an end", say(404, "text/plain", "noHOLD"), "HTTP 404: Not Found: no", transport.Answered, 404},
		{
			"400 with an envelope for another", say(400, jsonType, `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"m"}}`),
			"HTTP 400: Bad Request: MCP error -1: m", transport.Answered, 400,
		},
		{"202", say(202, "", ""), "the answer is empty", transport.Answered, 0},
		{
			"HTML", say(200, "text/html", "<p>"),
			"HTTP 200 with text/html: the answer is no JSON-RPC message: <p>", transport.Answered, 0,
		},
		{"no JSON", say(200, jsonType, "{oops"), "x: the answer is no JSON-RPC message: {oops", transport.Answered, 0},
		{
			"another id", say(200, jsonType, `{"jsonrpc":"2.0","id":7,"result":1}`),
			"answered another request", transport.Answered, 0,
		},
		{
			"an event that is no JSON", say(200, events, "data: {oops\n\nHOLD"),
			"no JSON-RPC message: {oops", transport.Answered, 0,
		},
		{
			"a stream without the answer", say(200, events, ": hi\n\n"),
			"no response received for request ID 1", transport.MaybeDelivered, 0,
		},
		{
			"a stream that breaks off in the answer", say(200, events, `data: {"jsonrpc":"2.0","id":1,"re`),
			"no response received for request ID 1", transport.MaybeDelivered, 0,
		},
		{
			"a reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF",
			transport.MaybeDelivered, 0,
		},
		{"too large", say(200, jsonType, strings.Repeat(" ", 2000)), "message too large", transport.Answered, 0},
		{
			"an event that is too large", say(200, events, "data: "+strings.Repeat("x", 2000)+"\n\nHOLD"),
			"message too large", transport.Answered, 0,
		},
		{
			"another origin", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://other.test/", http.StatusTemporaryRedirect)
			},
			"redirected to another origin", transport.NotDelivered, 0,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			url := serve(t, row.answer)
			start := time.Now()
			got, err := oneshot.Caller{MaxAnswer: 1000}.Call(t.Context(), url, "x", nil)
			wantText(t, err, row.want)
			var e *transport.Error
			if !errors.As(err, &e) || e.Delivery != row.delivery || got != nil {
				t.Errorf("got %s and %#v, want %v", got, err, row.delivery)
			}
			status, spoken := errors.AsType[*transport.StatusError](err)
			if spoken != (row.status != 0) || spoken && status.Status != row.status {
				t.Errorf("got %v, want status %d", err, row.status)
			}
			if took := time.Since(start); took > soon {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestTheEndOfTheContextIsTheOnlyDeadline(t *testing.T) {
	changedMind := errors.New("changed my mind")
	for name, answer := range map[string]http.HandlerFunc{
		"no headers": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"no body":     say(200, jsonType, "HOLD"),
		"no answer":   say(200, events, ": hi\n\nHOLD"),
		"half a body": say(200, jsonType, `{"jsonrpc"HOLD`),
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, answer)
			start := time.Now()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, changedMind)
			defer cancel()
			_, err := oneshot.Call(ctx, nil, url, "x", nil)
			if !errors.Is(err, changedMind) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(start); took < 100*time.Millisecond || took > soon {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestMistakesAreFoundBeforeAnythingIsSent(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request came") })
	for _, row := range []struct{ url, params, want string }{
		{url, "{", "params: not a JSON object or array"},
		{url, "7", "params: not a JSON object or array"},
		{url, " ", "params: not a JSON object or array"},
		{"localhost:1", "", "the url must begin with http:// or https://"},
	} {
		_, err := oneshot.Call(t.Context(), nil, row.url, "x", json.RawMessage(row.params))
		wantText(t, err, row.want)
		var e *transport.Error
		if !errors.As(err, &e) || e.Delivery != transport.NotDelivered {
			t.Errorf("got %#v", err)
		}
	}
	_, err := oneshot.Call(t.Context(), http.DefaultClient, "http://me:secret@[::1/", "x", nil)
	wantText(t, err, "the url is not valid")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("it tells a secret: %v", err)
	}
}

func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestSecretsOfTheCallAreMaskedInErrors(t *testing.T) {
	for _, kind := range []string{"text/plain", jsonType, events} {
		status := 200
		if kind == "text/plain" {
			status = 500
		}
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			said := "data: you said " + r.Header.Get("Authorization") + " and " + r.URL.Query().Get("token") + "\n\n"
			say(status, kind, said)(w, r)
		})
		for name, client := range map[string]*http.Client{"its own client": nil, "another": http.DefaultClient} {
			c := oneshot.Caller{Client: client, Headers: map[string]string{"Authorization": "Bearer h5ecret"}}
			_, err := c.Call(t.Context(), url+"?token=q5ecret", "x", nil)
			wantText(t, err, "and ***")
			if err != nil && strings.Contains(err.Error(), "5ecret") {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
		}
	}
}
