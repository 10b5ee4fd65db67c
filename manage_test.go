package mcpwire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
	"mcpwire/trace"
	"mcpwire/transport/transporttest"
)

// A counter is a server over HTTP that counts how often its tools run.
type counter struct {
	runs  atomic.Int32
	drops atomic.Int32 // how many of the next runs end the connection in place of an answer
}

func (s *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	m, malformed := jsonrpc.Parse(text)
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case err != nil || malformed != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case m.Kind != jsonrpc.Request:
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == mcp.MethodCallTool:
		s.runs.Add(1)
		if s.drops.Add(-1) >= 0 {
			panic(http.ErrAbortHandler) // which closes the connection
		}
	}
	result := map[string]string{
		mcp.MethodInitialize: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"counter","version":"1"}}`,
		mcp.MethodListTools: `{"tools":[{"name":"write","inputSchema":{"type":"object"}},` +
			`{"name":"set","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}]}`,
		mcp.MethodCallTool: `{"content":[]}`,
		mcp.MethodPing:     `{}`,
	}[m.Method]
	w.Header().Set("Content-Type", "application/json")
	if result == "" {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
		return
	}
	_, _ = w.Write(jsonrpc.AppendResult(nil, m.ID, json.RawMessage(result))) // the client may have gone
}

// counted returns a manager of a counter.
func counted(t *testing.T, url string, o mcpwire.ManageOptions) *manager.Manager {
	t.Helper()
	o.CacheDir, o.StateDir = "none", "none"
	m := mcpwire.Manage([]config.Server{{Name: "counter", URL: url}}, o)
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := m.Settle(t.Context(), "counter"); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestACallOverHTTPThatMayHaveRunIsNotRepeatedUnlessItMayBe(t *testing.T) {
	for _, row := range []struct {
		name, tool string
		drops      int32
		runs       int32
		succeeds   bool
	}{
		{"a tool that says nothing", "write", 1, 1, false},
		{"an idempotent tool", "set", 1, 2, true},
		{"an idempotent tool, lost twice", "set", 2, 2, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			server := &counter{}
			web := httptest.NewServer(server)
			t.Cleanup(web.Close)
			m := counted(t, web.URL, mcpwire.ManageOptions{})
			server.drops.Store(row.drops)
			_, err := m.CallTool(t.Context(), "counter", row.tool, nil, nil)
			if n := server.runs.Load(); n != row.runs {
				t.Errorf("it ran %d times", n)
			}
			if _, unknown := errors.AsType[*manager.OutcomeUnknown](err); unknown == row.succeeds || row.succeeds && err != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

func TestACallThatCouldNotBeDialledIsSentAgainAndRunsOnce(t *testing.T) {
	transporttest.CheckLeaks(t)
	server := &counter{}
	first, address := serveAt(t, server, "127.0.0.1:0")
	refused := make(chan struct{}, 100)
	m := counted(t, "http://"+address, mcpwire.ManageOptions{OnHTTP: func(_ string, x mcpwire.HTTPTrace) {
		if x.Err != nil {
			refused <- struct{}{}
		}
	}})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := make(chan *http.Server, 1)
	go func() {
		<-refused
		web, _ := serveAt(t, server, address)
		again <- web
	}()
	_, err := m.CallTool(t.Context(), "counter", "write", nil, nil)
	web := <-again
	t.Cleanup(func() { _ = web.Close() })
	if n := server.runs.Load(); err != nil || n != 1 {
		t.Errorf("it ran %d times: %v", n, err)
	}
}

func TestTheLinesOfAServerThatIsConnectedAnewAreCountedOn(t *testing.T) {
	transporttest.CheckLeaks(t)
	web := httptest.NewServer(&counter{})
	t.Cleanup(web.Close)
	var mu sync.Mutex
	var lines []int
	m := counted(t, web.URL, mcpwire.ManageOptions{Trace: func(e *trace.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == trace.Opening {
			lines = append(lines, e.Line)
		}
	}})
	for range 2 {
		if err := m.Reconnect("counter"); err != nil {
			t.Fatal(err)
		}
		if err := m.Settle(t.Context(), "counter"); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for i, line := range lines {
		if line != i+1 {
			t.Fatalf("the lines are %v", lines)
		}
	}
	if len(lines) < 3 {
		t.Errorf("there are only the lines %v", lines)
	}
}

// serveAt serves at an address, which may have been served at before.
func serveAt(t *testing.T, handler http.Handler, address string) (*http.Server, string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Error(err)
		return &http.Server{}, ""
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(listener) }()
	return web, listener.Addr().String()
}
