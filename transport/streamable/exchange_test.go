package streamable_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport"
	"mcpwire/transport/streamable"
)

func TestWhatEachRequestSays(t *testing.T) {
	f := &fake{session: "s1", answer: func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) { reply(w, m, `{}`) }}
	url := serve(t, f)
	c := connect(t, streamable.Options{URL: url, Headers: map[string]string{
		"X-Own": "1", "X-Empty": "", "Content-Type": "text/plain", "Mcp-Session-Id": "mine",
	}}, client.Options{})
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		verb, rpc         string
		session, revision string
		accept, kind      string
	}{
		{"POST", "initialize", "", "", "application/json, text/event-stream", "application/json"},
		{"POST", "notifications/initialized", "s1", "2025-11-25", "application/json, text/event-stream", "application/json"},
		{"POST", "ping", "s1", "2025-11-25", "application/json, text/event-stream", "application/json"},
		{"DELETE", "", "s1", "2025-11-25", "", ""},
	} {
		got := f.requests(row.verb, row.rpc)
		if len(got) != 1 {
			t.Errorf("%s %s came %d times", row.verb, row.rpc, len(got))
			continue
		}
		h := got[0].header
		session := row.session
		if row.rpc == "initialize" {
			session = "mine" // nothing of the protocol's stands against it yet
		}
		if h.Get("Mcp-Session-Id") != session || h.Get("Mcp-Protocol-Version") != row.revision ||
			h.Get("Accept") != row.accept || row.kind != "" && h.Get("Content-Type") != row.kind ||
			h.Get("X-Own") != "1" || len(h.Values("X-Empty")) != 0 {
			t.Errorf("%s %s came with %v", row.verb, row.rpc, h)
		}
	}
}

func TestAnswersOfEveryForm(t *testing.T) {
	plain := func(kind, format string) func(http.ResponseWriter, *http.Request, jsonrpc.Message) {
		return func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header()["Content-Type"] = []string{kind}
			if kind == "" {
				w.Header()["Content-Type"] = nil // keeps net/http from guessing
			}
			_, _ = fmt.Fprintf(w, format, m.ID)
		}
	}
	const ok = `{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Message){
		"JSON":                          plain("application/json", ok),
		"JSON with a charset":           plain("application/json; charset=utf-8", ok),
		"JSON in capitals":              plain("Application/JSON", ok),
		"JSON with a broken parameter":  plain("application/json; charset", ok),
		"JSON without a type":           plain("", " "+ok),
		"events":                        plain("text/event-stream", "data: "+ok+"\n\n"),
		"events in capitals":            plain("TEXT/EVENT-STREAM;charset=UTF-8", "data: "+ok+"\n\n"),
		"events without a type":         plain("", "id: 1\ndata: "+ok+"\n\n"),
		"events without a type, a note": plain("", ": hello\n\ndata: "+ok+"\n\n"),
		"CR LF":                         plain("text/event-stream", "event: message\r\ndata: "+ok+"\r\n\r\n"),
		"CR":                            plain("text/event-stream", "data: "+ok+"\r\r"),
		"an event that has no end":      plain("text/event-stream", "data: "+ok),
		"a priming event":               plain("text/event-stream", "id: a1\nretry: 200\ndata:\n\ndata: "+ok+"\n\n"),
		"other events and comments": plain("text/event-stream",
			": hi\n\nevent: ping\ndata: {\"t\":1}\n\nfoo: bar\nretry: soon\ndata: "+ok+"\n\n"),
		"two data lines": plain("text/event-stream",
			"data: {\"jsonrpc\":\"2.0\",\n"+
				"data: \"id\":%s,\"result\":{\"ok\":true}}\n\n"),
		"an open stream": func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			events(w, r, answerEvent(m, `{"ok":true}`), true)
		},
		"packed though it was asked for by hand": func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = fmt.Fprintf(z, ok, m.ID)
			_ = z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, &fake{answer: answer})
			c, r := open(t, streamable.Options{URL: url, Headers: map[string]string{"Accept-Encoding": "gzip"}})
			for range 2 {
				start := time.Now()
				answer, err := r.Exchange(t.Context(), c, request())
				if err != nil || string(answer.Result) != `{"ok":true}` {
					t.Errorf("got %s and error %v", answer.Result, err)
				}
				if took := time.Since(start); took > soon {
					t.Errorf("it took %v", took)
				}
			}
			if n := len(r.Faults()) + len(r.Malformed()); n > 0 {
				t.Errorf("%d complaints", n)
			}
		})
	}
}

// reject answers with a status.
func reject(status int, kind, body string, header ...string) func(http.ResponseWriter, *http.Request, jsonrpc.Message) {
	return func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Message) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestEachFailureIsThatOfItsOwnCall(t *testing.T) {
	stream := func(text string) func(http.ResponseWriter, *http.Request, jsonrpc.Message) {
		return func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) { events(w, r, text, false) }
	}
	for _, row := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request, jsonrpc.Message)
		want   string
	}{
		{"500", reject(500, "text/plain", "the disk is full"), "HTTP 500: Internal Server Error: the disk is full"},
		{
			"503", reject(503, "text/plain", "busy", "Retry-After", "7"),
			"HTTP 503: Service Unavailable: busy (try again after 7s)",
		},
		{
			"401", reject(401, "text/plain", "", "WWW-Authenticate", `Bearer realm="x"`, "Mcp-Auth-Server", "https://as.test"),
			`HTTP 401: Unauthorized (WWW-Authenticate: Bearer realm="x") (Mcp-Auth-Server: https://as.test)`,
		},
		{"404 without a session", reject(404, "text/html", "<h1>nothing</h1>"), "HTTP 404: Not Found: <h1>nothing</h1>"},
		{
			"a secret in the body", reject(500, "text/plain", "Bearer abcdefghij"),
			"HTTP 500: Internal Server Error: Bearer ***",
		},
		{
			"HTML", reject(200, "text/html", "<html>log in</html>"),
			"HTTP 200 with text/html in place of JSON or an event stream: <html>log in</html>",
		},
		{"202", reject(202, "text/plain", ""), "HTTP 202: the server accepted the request and gave no answer"},
		{
			"no JSON", reject(200, "application/json", "{oops"),
			"cannot decode the answer: the answer is no JSON-RPC message: {oops",
		},
		{"nothing", reject(200, "application/json", ""), "cannot decode the answer: the answer is empty"},
		{
			"another id", reject(200, "application/json", `{"jsonrpc":"2.0","id":99,"result":{}}`),
			"the server answered another request than was asked",
		},
		{
			"an event that is no JSON", stream("data: {oops\n\n"),
			"cannot decode the answer: the answer is no JSON-RPC message: {oops",
		},
		{"a stream without the answer", stream(": hi\n\n"), "no response received for request ID 2"},
		{
			"a stream with progress only", stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"),
			"no response received for request ID 2",
		},
		{
			"a stream that breaks off in the answer", stream("data: {\"jsonrpc\":\"2.0\",\"id\":2,\"re"),
			"no response received for request ID 2",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			calls := 0
			f := &fake{}
			f.answer = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
				if calls++; calls == 1 {
					row.answer(w, r, m)
				} else {
					reply(w, m, `{"content":[]}`)
				}
			}
			c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
			start := time.Now()
			_, err := c.CallTool(t.Context(), "x", nil, nil)
			wantText(t, err, row.want)
			if took := time.Since(start); took > soon {
				t.Errorf("it took %v", took)
			}
			if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
				t.Errorf("the next call failed: %v", err)
			}
			if len(f.requests("POST", "initialize")) != 1 || c.Err() != nil {
				t.Error("the connection did not survive")
			}
		})
	}
}

func TestAnErrorInTheBodyOfARefusalReachesTheCaller(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Message){
		"with its id": func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: -32602, Message: "no such thing"}))
		},
		"with a null id": reject(400, "application/json",
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such thing"}}`),
		"with a null id and 200": reject(200, "application/json",
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such thing"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, streamable.Options{URL: serve(t, &fake{answer: answer})}, client.Options{})
			_, err := c.CallTool(t.Context(), "x", nil, nil)
			var refusal *jsonrpc.Error
			if !errors.As(err, &refusal) || refusal.Code != -32602 {
				t.Errorf("got %v", err)
			}
			wantText(t, err, "no such thing")
		})
	}
}

func TestEveryAnswerToANotificationWithASuccessIsOne(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Message){
		"202":        reject(202, "text/plain", "Accepted"),
		"204":        reject(204, "text/plain", ""),
		"200 null":   reject(200, "application/json", "null"),
		"200 object": reject(200, "application/json", "{}"),
		"an open stream": func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) {
			events(w, r, ": hi\n\n", true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{answer: func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) { reply(w, m, `{}`) }}
			f.note = func(w http.ResponseWriter, m jsonrpc.Message) {
				answer(w, (&http.Request{}).WithContext(t.Context()), m)
			}
			start := time.Now()
			c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took > soon {
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Run("a refusal is none", func(t *testing.T) {
		c, _ := open(t, streamable.Options{URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusBadRequest)
		}))})
		wantText(t, c.Send(t.Context(), note("x")), "x: HTTP 400: Bad Request: no")
	})
}

func TestTheClockCoversHeadersAndBody(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		{"no headers", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "request timeout after 200ms"},
		{"half a JSON text", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "request timeout after 200ms"},
		{"a silent stream", func(w http.ResponseWriter, r *http.Request) {
			events(w, r, ": hi\n\n", true)
		}, "SSE response timeout after 200ms"},
		{"a body that nobody sends the end of", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusInternalServerError)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "HTTP 500: Internal Server Error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := &fake{answer: func(w http.ResponseWriter, r *http.Request, _ jsonrpc.Message) { row.answer(w, r) }}
			c, r := open(t, streamable.Options{URL: serve(t, f), Timeout: 200 * time.Millisecond})
			_, err := r.Exchange(t.Context(), c, request())
			wantText(t, err, row.want)
			told := 0
			if strings.Contains(row.want, "timeout") {
				told = 1
			}
			if errors.Is(err, context.DeadlineExceeded) != (told == 1) {
				t.Errorf("got %#v", err)
			}
			_ = c.Close(context.Background())
			if got := f.requests("POST", "notifications/cancelled"); len(got) != told {
				t.Errorf("the server was told %d times", len(got))
			}
		})
	}
}

func TestAServerThatIsNotThereWasNotReached(t *testing.T) {
	c, r := open(t, streamable.Options{URL: "http://127.0.0.1:1/mcp"})
	_, err := r.Exchange(t.Context(), c, request())
	var carriage *transport.Error
	if !errors.As(err, &carriage) || carriage.Delivery != transport.NotDelivered {
		t.Errorf("got %#v", err)
	}
	wantText(t, err, "connection refused")
}

func TestAnAnswerAboveTheCapFailsItsCallAlone(t *testing.T) {
	big := `{"data":"` + strings.Repeat("x", 1<<20) + `"}`
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Message){
		"JSON": func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) { reply(w, m, big) },
		"events": func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			events(w, r, answerEvent(m, big), false)
		},
		"packed": func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(jsonrpc.AppendResult(nil, m.ID, json.RawMessage(big)))
			_ = z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{answer: func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
				if m.Method == "tools/call" {
					answer(w, r, m)
				} else {
					reply(w, m, `{}`)
				}
			}}
			c := connect(t, streamable.Options{URL: serve(t, f), MaxMessage: 64 << 10}, client.Options{})
			_, err := c.CallTool(t.Context(), "x", nil, nil)
			if !errors.Is(err, transport.ErrTooLarge) {
				t.Errorf("got %v", err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Errorf("the next call failed: %v", err)
			}
		})
	}
}

func TestADecodeErrorIsTyped(t *testing.T) {
	f := &fake{answer: reject(200, "application/json", "{oops")}
	c := connect(t, streamable.Options{URL: serve(t, f)}, client.Options{})
	_, err := c.CallTool(t.Context(), "x", nil, nil)
	var broken *rpc.DecodeError
	if !errors.As(err, &broken) || broken.Method != "tools/call" {
		t.Errorf("got %#v", err)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Message){
		"JSON": func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) { reply(w, m, `{}`) },
		"events": func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			events(w, r, answerEvent(m, `{}`), false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			peers := map[string]bool{}
			f := &fake{answer: func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
				peers[r.RemoteAddr] = true
				answer(w, r, m)
			}}
			c, r := open(t, streamable.Options{URL: serve(t, f)})
			for range 50 {
				if _, err := r.Exchange(t.Context(), c, request()); err != nil {
					t.Fatal(err)
				}
			}
			if len(peers) > 2 {
				t.Errorf("%d connections for 50 calls, one after the other", len(peers))
			}
		})
	}
}
