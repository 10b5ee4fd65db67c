package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport/streamable"
)

// Much of an HTTP exchange is used again for the next one. No result may share memory with it.
func TestNoResultOverHTTPSharesMemoryThatIsUsedAgain(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			m, err := jsonrpc.Parse(body)
			if err != nil || m.Kind != jsonrpc.Request {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			var params mcp.CallToolParams
			_ = mcp.Decode(m.Params, &params)
			answer := result(m, initialized)
			if m.Method == mcp.MethodCallTool {
				var size int
				_, _ = fmt.Sscan(params.Name, &size)
				answer = result(m, poisonResult(size))
			}
			w.Header().Set("Content-Type", kind)
			if kind == "text/event-stream" {
				answer = "data: " + answer + "\n\n"
			}
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(server.Close)
		c, err := client.Connect(t.Context(), streamable.New(streamable.Options{URL: server.URL}),
			client.Options{Protocol: client.ProtocolSession})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeClient(t, c) })
		sizes := []int{1, 100, 3700, 3900, 4000, 4096, 4100, 15_000, 17_001, 70_000, 300_001}
		results := make([][]*mcp.CallToolResult, 4)
		var running sync.WaitGroup
		for i := range results {
			results[i] = make([]*mcp.CallToolResult, 3*len(sizes))
			running.Go(func() {
				for j := range results[i] {
					got, err := c.CallTool(t.Context(), fmt.Sprint(sizes[(i+5*j)%len(sizes)]), nil, nil)
					if err != nil {
						t.Error(kind, err)
						return
					}
					results[i][j] = got
				}
			})
		}
		running.Wait()
		for i := range results {
			for j, got := range results[i] {
				if size := sizes[(i+5*j)%len(sizes)]; got != nil {
					checkPoisoned(t, size, got)
				}
			}
		}
		if text := strings.Repeat("x", 20); callText(t, c, fmt.Sprint(len(text)), nil) != text {
			t.Error(kind, "the next call fails")
		}
	}
}
