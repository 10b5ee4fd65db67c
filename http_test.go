package mcpwire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

const handshake = `{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`

// An oldServer speaks HTTP+SSE, and refuses POSTs to its stream's address with post. stream refuses the GET if it is
// not 0.
type oldServer struct {
	post   func(w http.ResponseWriter)
	stream int
	gets   atomic.Int32
	events chan []byte
}

func (s *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/messages":
		text, _ := io.ReadAll(r.Body)
		if m, err := jsonrpc.Parse(text); err == nil && m.Kind == jsonrpc.Request {
			s.events <- transporttest.Event(jsonrpc.AppendResult(nil, m.ID, json.RawMessage(handshake)))
		}
		w.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPost:
		s.post(w)
	case r.Method == http.MethodGet:
		s.gets.Add(1)
		if s.stream != 0 {
			http.Error(w, "no stream", s.stream)
			return
		}
		s.serveStream(w, r)
	}
}

func (s *oldServer) serveStream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "event: endpoint\ndata: /messages?id=1\n\n")
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case event := <-s.events:
			_, _ = w.Write(event)
		case <-r.Context().Done():
			return
		}
	}
}

func refuse(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestOlderServersAreTriedOnlyWhenTheyShowThatTheyAre(t *testing.T) {
	const modern = `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported","data":{"supported":["2026-07-28"]}}}`
	for _, row := range []struct {
		name   string
		kind   string // of the entry
		post   func(http.ResponseWriter)
		stream int // the status of the GET; 0: a stream
		gets   int32
		wants  []string // what the error says, in order; none: success
	}{
		{"400", "", refuse(400, "what?"), 0, 1, nil},
		{"404", "", refuse(404, "what?"), 0, 1, nil},
		{"405", "", refuse(405, ""), 0, 1, nil},
		{"401", "", refuse(401, ""), 0, 0, []string{"HTTP 401"}},
		{"403", "", refuse(403, ""), 0, 0, []string{"HTTP 403"}},
		{"429", "", refuse(429, ""), 0, 0, []string{"HTTP 429"}},
		{"500", "", refuse(500, ""), 0, 0, []string{"HTTP 500"}},
		{"400 with a modern error", "", refuse(400, modern), 0, 0, []string{"MCP error -32022"}},
		{"404 and no stream", "", refuse(404, "what?"), 405, 1, []string{"HTTP 404", "HTTP 405"}},
		{"404 with type http", "http", refuse(404, "what?"), 0, 0, []string{"HTTP 404"}},
		{"type sse", "sse", refuse(404, "what?"), 0, 1, nil},
		{"type sse and neither", "sse", refuse(404, "what?"), 405, 1, []string{"HTTP 405", "HTTP 404"}},
		{"type sse and a refusal", "sse", refuse(404, "what?"), 401, 1, []string{"HTTP 401"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			server := &oldServer{post: row.post, stream: row.stream, events: make(chan []byte, 10)}
			web := httptest.NewServer(server)
			t.Cleanup(web.Close)
			entry := config.Server{Name: "old", Type: row.kind, URL: web.URL + "/sse"}
			c, err := mcpwire.Connect(t.Context(), entry, mcpwire.Options{CacheDir: "none"})
			if err == nil {
				if got := c.Server().Info.Name; got != "old" {
					t.Errorf("got the server %q", got)
				}
				if err := c.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
			if (err == nil) != (row.wants == nil) || server.gets.Load() != row.gets {
				t.Errorf("after %d GETs: %v", server.gets.Load(), err)
			}
			rest := fmt.Sprint(err)
			for _, want := range row.wants {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Errorf("got %v, want %q", err, row.wants)
				}
				rest = after
			}
		})
	}
	t.Run("nobody is there", func(t *testing.T) {
		_, err := mcpwire.Connect(t.Context(), config.Server{Name: "x", URL: "http://127.0.0.1:1/"}, mcpwire.Options{CacheDir: "none"})
		var carriage *transport.Error
		if !errors.As(err, &carriage) || carriage.Delivery != transport.NotDelivered {
			t.Errorf("got %v", err)
		}
	})
}

func TestAllTriesShareOneDeadline(t *testing.T) {
	transporttest.CheckLeaks(t)
	release := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		<-release
	}))
	t.Cleanup(web.Close)
	t.Cleanup(func() { close(release) })
	limit := 300 * time.Millisecond
	start := time.Now()
	entry := config.Server{Name: "x", URL: web.URL, ConnectTimeout: &limit}
	_, err := mcpwire.Connect(t.Context(), entry, mcpwire.Options{CacheDir: "none"})
	if took := time.Since(start); took > 5*time.Second || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after %v: %v", took, err)
	}
	if !strings.Contains(err.Error(), "connect timeout after 300ms") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsWrongWithAnEntryIsNamed(t *testing.T) {
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		entry config.Server
		want  string
	}{
		{config.Server{Name: "x", URL: "https://h", TLS: config.TLS{CA: empty}}, `server "x": tls.ca: there is no PEM certificate in`},
		{config.Server{Name: "x", URL: "https://h", TLS: config.TLS{CA: "none.pem"}}, `server "x": tls.ca: open none.pem:`},
		{config.Server{Name: "x", URL: "https://h", TLS: config.TLS{Cert: empty, Key: empty}}, `server "x": tls.cert and tls.key:`},
		{config.Server{Name: "x", URL: "https://h", Proxy: "nonsense"}, `server "x": proxy must be a URL`},
		{config.Server{Name: "x", URL: "ftp://h"}, `x: open: the url must begin with http:// or https://`},
		{config.Server{Name: "x", URL: "http://h", Command: "c"}, `it has both a command and a url`},
	} {
		_, err := mcpwire.Connect(t.Context(), row.entry, mcpwire.Options{CacheDir: "none"})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("got %v, want %q", err, row.want)
		}
	}
}
