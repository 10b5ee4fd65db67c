package streamable_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport/streamable"
)

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
	`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}`

// An eraServer answers server/discover as discover says, and initialize like an older server.
type eraServer struct {
	discover func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message)

	mu   sync.Mutex
	seen []seen
}

func (s *eraServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	m, _ := jsonrpc.Parse(text)
	s.mu.Lock()
	s.seen = append(s.seen, seen{r.Method, m.Method, r.Header.Clone(), string(text), time.Now()})
	s.mu.Unlock()
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.Method == "server/discover":
		s.discover(w, r, m)
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "s1")
		reply(w, m, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`)
	case m.Kind == jsonrpc.Request:
		reply(w, m, `{"content":[],"resultType":"complete"}`)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (s *eraServer) count(rpc string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.seen {
		if one.rpc == rpc {
			n++
		}
	}
	return n
}

func TestTheEraOfAServerOnTheWeb(t *testing.T) {
	type answer = func(http.ResponseWriter, *http.Request, jsonrpc.Message)
	rpcError := func(status, code int, data string) answer {
		return func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"m","data":%s}}`, m.ID, code, data)
		}
	}
	result := func(text string) answer {
		return func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) { reply(w, m, text) }
	}
	first := func(one, then answer) answer {
		asked := false
		return func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			if !asked {
				asked = true
				one(w, r, m)
			} else {
				then(w, r, m)
			}
		}
	}
	const session, stateless = "2025-11-25", "2026-07-28"
	for _, row := range []struct {
		name     string
		discover answer
		revision string // empty: it fails
		fails    string // what the failure says
	}{
		{"a newer one", result(discovered), stateless, ""},
		{"newer, on a stream", func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			events(w, r, answerEvent(m, discovered), true)
		}, stateless, ""},
		{"400 without a body", reject(400, "text/plain", ""), session, ""},
		{"400 with HTML", reject(400, "text/html", "<h1>no</h1>"), session, ""},
		{"400 with -32000", rpcError(400, -32000, "null"), session, ""},
		{"404 without a body", reject(404, "text/plain", ""), session, ""},
		{"404 with -32601", rpcError(404, -32601, "null"), session, ""},
		{"405", reject(405, "text/plain", ""), session, ""},
		{"200 with -32601", rpcError(200, -32601, "null"), session, ""},
		{"200 without versions", result(`{}`), session, ""},
		{"200 with older versions", result(`{"supportedVersions":["2025-11-25"],"capabilities":{}}`), session, ""},
		{"200 with no JSON", reject(200, "application/json", "oops"), session, ""},
		{"500 with -32603", rpcError(500, -32603, "null"), session, ""},
		{"400 with -32022 and the same", first(
			rpcError(400, -32022, `{"supported":["2026-07-28"]}`), result(discovered)), stateless, ""},
		{"400 with -32022 and older ones", rpcError(400, -32022, `{"supported":["2025-06-18"]}`), session, ""},
		{"400 with -32022 and others", rpcError(400, -32022, `{"supported":["2031-01-01"]}`), "", "no common protocol revision"},
		{"400 with -32020", rpcError(400, -32020, "null"), "", "MCP error -32020"},
		{"401", reject(401, "text/plain", "", "WWW-Authenticate", "Bearer"), "", "HTTP 401"},
		{"403", reject(403, "text/plain", ""), "", "HTTP 403"},
		{"a bare 500", reject(500, "text/plain", "oops"), "", "HTTP 500"},
		{"a bare 503", reject(503, "text/html", "oops"), "", "HTTP 503"},
		{
			"silence", func(_ http.ResponseWriter, r *http.Request, _ jsonrpc.Message) { <-r.Context().Done() }, "",
			"connect timeout after 1000ms",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &eraServer{discover: row.discover}
			url := serve(t, s)
			start := time.Now()
			limit := soon
			if strings.HasPrefix(row.fails, "connect timeout") {
				limit = time.Second
			}
			c, err := client.Connect(t.Context(), streamable.New(streamable.Options{URL: url}), client.Options{ConnectTimeout: limit})
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
			if row.revision == "" {
				wantText(t, err, row.fails)
				if s.count("initialize") != 0 {
					t.Error("it was taken for an older server")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(context.Background())
			if got := c.Server().Revision; got != row.revision || (s.count("initialize") == 0) != (got == stateless) {
				t.Errorf("it speaks %s, after %d handshakes", got, s.count("initialize"))
			}
			if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestARequestThatDescribesItselfShowsItInHeaders(t *testing.T) {
	s := &eraServer{discover: func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) { reply(w, m, discovered) }}
	c, err := client.Connect(t.Context(), streamable.New(streamable.Options{URL: serve(t, s)}), client.Options{
		OnNotification: listening().OnNotification,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(t.Context(), "größe", map[string]int{"a": 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(s.seen) != 2 {
		t.Fatalf("%d requests came, want two POSTs", len(s.seen))
	}
	h := s.seen[1].header
	if h.Get("Mcp-Protocol-Version") != "2026-07-28" || h.Get("Mcp-Method") != "tools/call" ||
		h.Get("Mcp-Name") != "=?base64?Z3LDtsOfZQ==?=" || h.Get("Mcp-Session-Id") != "" {
		t.Errorf("got %v", h)
	}
	for _, want := range []string{
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`,
		`"io.modelcontextprotocol/clientInfo":{"name":"mcpwire"`,
	} {
		if !strings.Contains(s.seen[1].body, want) {
			t.Errorf("the body lacks %s: %s", want, s.seen[1].body)
		}
	}
}

func TestEndingAnExchangeIsAllThatCancelsIt(t *testing.T) {
	gone := make(chan struct{})
	s := &eraServer{}
	s.discover = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) { reply(w, m, discovered) }
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			_, _ = io.ReadAll(r.Body)
			events(w, r, ": working\n\n", true)
			close(gone)
			return
		}
		s.ServeHTTP(w, r)
	}))
	c, err := client.Connect(t.Context(), streamable.New(streamable.Options{URL: url}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.CallTool(ctx, "x", nil, nil); err == nil {
		t.Error("it was answered")
	}
	<-gone
	if n := s.count("notifications/cancelled"); n != 0 {
		t.Errorf("%d cancel notes came", n)
	}
}
