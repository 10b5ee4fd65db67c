package interop_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// connect starts a server on pipes and connects to it.
func (s server) connect(t *testing.T) *client.Client {
	t.Helper()
	argv := s.argv(t)
	return connectTo(t, config.Server{Name: s.name, Command: argv[0], Args: argv[1:]}, mcpwire.Options{})
}

// connectTo connects to a server and closes the line at the end of the test.
func connectTo(t *testing.T, entry config.Server, o mcpwire.Options) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	c, err := mcpwire.Connect(ctx, entry, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		start := time.Now()
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("Close took %v", took)
		}
	})
	return c
}

func named(t *testing.T, name string) server {
	t.Helper()
	for _, s := range stdioServers {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no server is called %s", name)
	return server{}
}

// call calls a tool that must succeed, and returns its text.
func call(t *testing.T, c *client.Client, tool string, args any, o *client.CallOptions) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), tool, args, o)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var text []string
	for _, content := range r.Content {
		text = append(text, content.Text)
	}
	if r.IsError {
		t.Fatalf("%s reported an error: %s", tool, text)
	}
	return strings.Join(text, "\n")
}

func TestEveryServerListsItsToolsAndAnswersPings(t *testing.T) {
	for _, s := range stdioServers {
		t.Run(s.name, func(t *testing.T) {
			c := s.connect(t)
			server := c.Server()
			if server.Info.Name == "" || !slices.Contains(mcp.Revisions(), server.Revision) {
				t.Errorf("the handshake told %+v", server)
			}
			tools, err := c.ListTools(t.Context())
			if err != nil || len(tools) == 0 {
				t.Fatalf("%d tools, error %v", len(tools), err)
			}
			for _, tool := range tools {
				if tool.Name == "" || !strings.HasPrefix(string(tool.InputSchema), "{") {
					t.Errorf("got tool %+v", tool)
				}
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Errorf("ping: %v", err)
			}
		})
	}
}

func TestToolsOfOthersCanBeCalled(t *testing.T) {
	t.Run("everything", func(t *testing.T) {
		c := named(t, "everything").connect(t)
		if got := call(t, c, "echo", map[string]string{"message": "hi — ✅"}, nil); !strings.Contains(got, "hi — ✅") {
			t.Errorf("echo said %q", got)
		}
		if got := call(t, c, "get-sum", map[string]int{"a": 2, "b": 40}, nil); !strings.Contains(got, "42") {
			t.Errorf("get-sum said %q", got)
		}
	})
	t.Run("filesystem", func(t *testing.T) {
		s := named(t, "filesystem")
		folder := t.TempDir()
		s.command = append(append([]string(nil), s.command[:2]...), folder)
		if err := os.WriteFile(filepath.Join(folder, "note.txt"), []byte("a line\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := s.connect(t)
		path := map[string]string{"path": filepath.Join(folder, "note.txt")}
		if got := call(t, c, "read_text_file", path, nil); !strings.Contains(got, "a line") {
			t.Errorf("read_text_file said %q", got)
		}
		outside := map[string]string{"path": "/etc/hostname"}
		if r, err := c.CallTool(t.Context(), "read_text_file", outside, nil); err != nil || !r.IsError {
			t.Errorf("a file outside its folders gave %+v and error %v", r, err)
		}
	})
	t.Run("memory", func(t *testing.T) {
		c := named(t, "memory").connect(t)
		call(t, c, "create_entities", map[string]any{"entities": []any{map[string]any{
			"name": "mcpwire", "entityType": "library", "observations": []string{"keeps the lines up"},
		}}}, nil)
		r, err := c.CallTool(t.Context(), "read_graph", nil, nil)
		if err != nil || !strings.Contains(string(r.StructuredContent), "keeps the lines up") {
			t.Errorf("read_graph gave %+v and error %v", r, err)
		}
	})
	t.Run("gosdk-everything", func(t *testing.T) {
		c := named(t, "gosdk-everything").connect(t)
		if got := call(t, c, "greet", map[string]string{"name": "Ada"}, nil); !strings.Contains(got, "Ada") {
			t.Errorf("greet said %q", got)
		}
	})
}

func TestProgressOfOthersArrives(t *testing.T) {
	for _, row := range []struct {
		server, tool string
		args         any
	}{
		{"everything", "trigger-long-running-operation", map[string]any{"duration": 2, "steps": 4}},
		{"gosdk-conformance", "test_tool_with_progress", nil},
	} {
		t.Run(row.server, func(t *testing.T) {
			c := named(t, row.server).connect(t)
			var steps []float64
			call(t, c, row.tool, row.args, &client.CallOptions{
				Timeout:          1500 * time.Millisecond,
				ExtendOnProgress: true,
				OnProgress:       func(p mcp.ProgressParams) { steps = append(steps, p.Progress) },
			})
			if len(steps) < 3 {
				t.Errorf("progress was %v", steps)
			}
		})
	}
}

func TestACancelledCallLeavesTheServerUsable(t *testing.T) {
	c := named(t, "everything").connect(t)
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	started := make(chan struct{}, 100)
	go func() {
		<-started
		cancel(stop)
	}()
	_, err := c.CallTool(ctx, "trigger-long-running-operation", map[string]any{"duration": 60, "steps": 120},
		&client.CallOptions{OnProgress: func(mcp.ProgressParams) { started <- struct{}{} }})
	if err != stop { //nolint:errorlint // the caller's own error itself is promised
		t.Errorf("got %v", err)
	}
	if got := call(t, c, "echo", map[string]string{"message": "still here"}, nil); !strings.Contains(got, "still here") {
		t.Errorf("echo said %q", got)
	}
}

func TestAnUnknownToolIsTheServersRefusal(t *testing.T) {
	for _, name := range []string{"everything", "gosdk-hello"} {
		t.Run(name, func(t *testing.T) {
			c := named(t, name).connect(t)
			r, err := c.CallTool(t.Context(), "no-such-tool", nil, nil)
			var refusal *jsonrpc.Error
			if !errors.As(err, &refusal) && (err != nil || !r.IsError) {
				t.Errorf("got %+v and error %v", r, err)
			}
		})
	}
}
