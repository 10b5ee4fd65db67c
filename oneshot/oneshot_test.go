package oneshot_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpwire/internal/jsonscan"
	"mcpwire/oneshot"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

const envelope = `{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890.10}}`

func answering(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestTheEnvelopeComesBackAsItWas(t *testing.T) {
	const refusal = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"JSON", answering(200, "application/json; charset=utf-8", " "+envelope+"\n"), envelope},
		{"an error", answering(200, "application/json", refusal), refusal},
		{"an error with a status", answering(400, "application/json", refusal), refusal},
		{
			"an id as text", answering(200, "application/json", `{"jsonrpc":"2.0","id":"1","result":1}`),
			`{"jsonrpc":"2.0","id":"1","result":1}`,
		},
		{"a stream", answering(200, "text/event-stream",
			": hi\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n\ndata: "+envelope+"\n\ndata: more\n\n"), envelope},
		{"a stream that stays open", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+envelope+"\n\n")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.ReadAll(r.Body)
			<-r.Context().Done()
		}, envelope},
	} {
		for client, c := range map[string]*http.Client{"own": nil, "given": {}} {
			t.Run(row.name+" with the client "+client, func(t *testing.T) {
				transporttest.CheckLeaks(t)
				web := httptest.NewServer(row.handler)
				t.Cleanup(web.Close)
				if c != nil {
					t.Cleanup(c.CloseIdleConnections)
				}
				got, err := oneshot.Call(t.Context(), c, web.URL, "x", nil)
				if err != nil || string(got) != row.want {
					t.Errorf("got %s and error %v", got, err)
				}
			})
		}
	}
}

func TestWhatIsNoEnvelopeIsAnError(t *testing.T) {
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"a status", answering(500, "text/plain", "on fire"), "HTTP 500: Internal Server Error: on fire"},
		{"a login", answering(401, "text/plain", ""), "HTTP 401: Unauthorized"},
		{"no JSON", answering(200, "application/json", "oops"), "oops"},
		{"another id", answering(200, "application/json", `{"jsonrpc":"2.0","id":2,"result":1}`), "answered another request"},
		{"an empty stream", answering(200, "text/event-stream", ": hi\n\n"), "no response received for request ID 1"},
		{"a broken event", answering(200, "text/event-stream", "data: oops\n\n"), "no JSON-RPC message: oops"},
	} {
		t.Run(row.name, func(t *testing.T) {
			web := httptest.NewServer(row.handler)
			t.Cleanup(web.Close)
			_, err := oneshot.Call(t.Context(), nil, web.URL, "x", nil)
			var carriage *transport.Error
			if err == nil || !strings.Contains(err.Error(), row.want) || !errors.As(err, &carriage) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestTheContextIsTheOnlyDeadline(t *testing.T) {
	transporttest.CheckLeaks(t)
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // until then the server does not notice that the client goes
		<-r.Context().Done()
	}))
	t.Cleanup(web.Close)
	stop := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, stop)
	defer cancel()
	start := time.Now()
	if _, err := oneshot.Call(ctx, nil, web.URL, "x", nil); !errors.Is(err, stop) || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func TestAnAnswerAboveTheCapIsRefused(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		body := envelope
		if kind == "text/event-stream" {
			body = "data: " + envelope + "\n\n"
		}
		web := httptest.NewServer(answering(200, kind, body))
		t.Cleanup(web.Close)
		_, err := oneshot.Caller{MaxAnswer: 20}.Call(t.Context(), web.URL, "x", nil)
		if !errors.Is(err, transport.ErrTooLarge) {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}

func TestTextThatWasReadWholeIsParsed(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"data: {\"a\":1}\n\n", `{"a":1}`},
		{"event: message\r\nid: 1\r\ndata: {\"a\":1}\r\n\r\ndata: 2\r\n\r\n", `{"a":1}`},
		{"data: {\"a\":\ndata: 1}", "{\"a\":\n1}"},
		{": hi\n\ndata:\n\ndata: [1]\n\n", `[1]`},
		{` {"a":1} `, `{"a":1}`},
		{"\ufeff{}", `{}`},
	} {
		if got, err := oneshot.ParseSSE(row.text); err != nil || string(got) != row.want {
			t.Errorf("%q: got %s and error %v", row.text, got, err)
		}
	}
	for _, text := range []string{"", "hello", "data: hello\n\n", ": only\n\n", `{"a":`} {
		if got, err := oneshot.ParseSSE(text); err == nil {
			t.Errorf("%q: got %s", text, got)
		}
	}
}

func FuzzParseSSE(f *testing.F) {
	for _, s := range []string{"data: {}\n\n", "{}", "data", "\r\rdata:\x00", "id: 1\ndata: [\ndata: 1]\n\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := oneshot.ParseSSE(text); err == nil && !jsonscan.Valid(got) {
			t.Errorf("%q: got %q", text, got)
		}
	})
}
