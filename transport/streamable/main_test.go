package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/streamable"
	"mcpwire/transport/transporttest"
)

// soon is how long what needs no waiting may take on a busy machine.
const soon = 5 * time.Second

// A fake is an HTTP server that answers initialize, and all else by method; it records what came.
type fake struct {
	answer  func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) // of requests but initialize
	note    func(w http.ResponseWriter, m jsonrpc.Message)                  // of notifications; nil: 202
	get     http.HandlerFunc                                                // nil: 405
	session string                                                          // the session that initialize opens

	mu   sync.Mutex
	seen []seen
}

// seen is one request that came.
type seen struct {
	verb, rpc string // the HTTP method, and the JSON-RPC method if there is one
	header    http.Header
	body      string
	at        time.Time
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	m, _ := jsonrpc.Parse(text)
	f.mu.Lock()
	f.seen = append(f.seen, seen{r.Method, m.Method, r.Header.Clone(), string(text), time.Now()})
	f.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && f.get != nil:
		f.get(w, r)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.Kind == jsonrpc.Request && m.Method == "initialize":
		if f.session != "" {
			w.Header().Set("Mcp-Session-Id", f.session)
		}
		reply(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case m.Kind == jsonrpc.Request:
		f.answer(w, r, m)
	case m.Kind == jsonrpc.Notification && f.note != nil:
		f.note(w, m)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// requests returns what came with this HTTP method, and this JSON-RPC method unless it is empty.
func (f *fake) requests(verb, rpc string) (some []seen) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if s.verb == verb && (rpc == "" || s.rpc == rpc) {
			some = append(some, s)
		}
	}
	return some
}

// reply answers with JSON.
func reply(w http.ResponseWriter, m jsonrpc.Message, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(jsonrpc.AppendResult(nil, m.ID, json.RawMessage(result)))
}

// events writes an event stream as it stands, and leaves it open if hold is set.
func events(w http.ResponseWriter, r *http.Request, text string, hold bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
	if hold {
		<-r.Context().Done()
	}
}

// answerEvent is the answer to m as an event.
func answerEvent(m jsonrpc.Message, result string) string {
	return "data: " + string(jsonrpc.AppendResult(nil, m.ID, json.RawMessage(result))) + "\n\n"
}

// serve starts a server, which is closed at the end of the test, and checks for leaks after that.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	transporttest.CheckLeaks(t)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// open opens a carrier without a handshake.
func open(t *testing.T, o streamable.Options) (transport.Conn, *transporttest.Recorder) {
	t.Helper()
	r := transporttest.NewRecorder()
	c, err := streamable.New(o).Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		for _, v := range r.Violations() {
			t.Error(v)
		}
	})
	return c, r
}

var ids struct {
	sync.Mutex
	last int64
}

// request is a call of the method x, with a number of its own.
func request() *transport.Call {
	const method = "x"
	ids.Lock()
	defer ids.Unlock()
	ids.last++
	return &transport.Call{
		Body:     jsonrpc.AppendRequest(nil, jsonrpc.IntID(ids.last), method, nil),
		Abandon:  fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, ids.last),
		Envelope: transport.Envelope{Method: method},
	}
}

func note(method string) *transport.Call {
	return &transport.Call{
		Body:     jsonrpc.AppendNotification(nil, method, nil),
		Envelope: transport.Envelope{Method: method},
	}
}

// connect connects a client, which must succeed.
func connect(t *testing.T, o streamable.Options, co client.Options) *client.Client {
	t.Helper()
	co.Server, co.Protocol = "fake", client.ProtocolSession
	c, err := client.Connect(t.Context(), streamable.New(o), co)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
