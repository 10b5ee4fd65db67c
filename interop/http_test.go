package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/mcp"
	"mcpwire/transport"
)

// A webServer is one way to start somebody else's server on a port of the loopback address. In its command and url,
// {port} is that port, and the other folders are those of server.
type webServer struct {
	server
	kind    string // the type of its entry: http or sse
	url     string
	headers map[string]string
	call    []string // a tool that works offline and its arguments; may be empty
}

var webServers = []webServer{
	{
		server: server{"everything-http", node("@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp")},
		kind:   "http", url: "http://localhost:{port}/mcp", call: []string{"echo", `{"message":"hi"}`},
	},
	{
		server: server{"everything-sse", node("@modelcontextprotocol/server-everything/dist/index.js", "sse")},
		kind:   "sse", url: "http://localhost:{port}/sse", call: []string{"echo", `{"message":"hi"}`},
	},
	{
		server: server{"playwright-http", node("@playwright/mcp/cli.js", "--headless", "--port", "{port}")},
		kind:   "http", url: "http://localhost:{port}/mcp",
	},
	{
		server: server{"playwright-sse", node("@playwright/mcp/cli.js", "--headless", "--port", "{port}")},
		kind:   "sse", url: "http://localhost:{port}/sse",
	},
	{
		server: server{"context7-http", node("@upstash/context7-mcp/dist/index.js",
			"--transport", "http", "--port", "{port}")},
		kind: "http", url: "http://localhost:{port}/mcp",
	},
	{
		server: server{"hello-world-sse", node("mcp-hello-world/build/http.js")},
		kind:   "sse", url: "http://localhost:{port}/sse",
	},
	{
		server: server{"notion-http", node("@notionhq/notion-mcp-server/bin/cli.mjs",
			"--transport", "http", "--port", "{port}", "--auth-token", "t")},
		kind: "http", url: "http://127.0.0.1:{port}/mcp", headers: map[string]string{"Authorization": "Bearer t"},
	},
	{
		server: server{"antv-chart-http", node("@antv/mcp-server-chart/build/index.js",
			"--transport", "streamable", "--port", "{port}")},
		kind: "http", url: "http://localhost:{port}/mcp",
	},
	{
		server: server{"antv-chart-sse", node("@antv/mcp-server-chart/build/index.js",
			"--transport", "sse", "--port", "{port}")},
		kind: "sse", url: "http://localhost:{port}/sse",
	},
	{
		server: server{"mcp-proxy-http", node("mcp-proxy/dist/bin/mcp-proxy.mjs", "--port", "{port}", "--",
			"node", "{modules}/@modelcontextprotocol/server-memory/dist/index.js")},
		kind: "http", url: "http://localhost:{port}/mcp", call: []string{"read_graph", `{}`},
	},
	{
		server: server{"mcp-proxy-sse", node("mcp-proxy/dist/bin/mcp-proxy.mjs", "--port", "{port}", "--",
			"node", "{modules}/@modelcontextprotocol/server-memory/dist/index.js")},
		kind: "sse", url: "http://localhost:{port}/sse", call: []string{"read_graph", `{}`},
	},
	{
		server: server{"supergateway-http", node("supergateway/dist/index.js",
			"--stdio", "node {modules}/@modelcontextprotocol/server-memory/dist/index.js",
			"--outputTransport", "streamableHttp", "--stateful", "--port", "{port}")},
		kind: "http", url: "http://localhost:{port}/mcp", call: []string{"read_graph", `{}`},
	},
	{
		server: server{"supergateway-sse", node("supergateway/dist/index.js",
			"--stdio", "node {modules}/@modelcontextprotocol/server-memory/dist/index.js",
			"--outputTransport", "sse", "--port", "{port}")},
		kind: "sse", url: "http://localhost:{port}/sse", call: []string{"read_graph", `{}`},
	},
	{
		server: server{"gosdk-conformance-http", []string{"{go}/everything-server", "-http=localhost:{port}"}},
		kind:   "http", url: "http://localhost:{port}/", call: []string{"test_simple_text", `{}`},
	},
	{
		server: server{"gosdk-conformance-http-stateful", []string{
			"{go}/everything-server", "-http=localhost:{port}", "-stateless=false",
		}},
		kind: "http", url: "http://localhost:{port}/", call: []string{"test_simple_text", `{}`},
	},
	{
		server: server{"gosdk-sse", []string{"{go}/sse", "-port", "{port}"}},
		kind:   "sse", url: "http://localhost:{port}/greeter1", call: []string{"greet1", `{"name":"Ada"}`},
	},
	{
		server: server{"mcpgo-conformance-http", []string{"env", "CONFORMANCE_ADDR=127.0.0.1:{port}", "{go}/conformance"}},
		kind:   "http", url: "http://127.0.0.1:{port}/mcp", call: []string{"test_simple_text", `{}`},
	},
}

func node(script string, args ...string) []string {
	return append([]string{
		"env", "PORT={port}", "NOTION_TOKEN=dummy", "MEMORY_FILE_PATH={work}/memory.jsonl", "node", "{modules}/" + script,
	}, args...)
}

func namedWeb(t *testing.T, name string) webServer {
	t.Helper()
	for _, s := range webServers {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no server is called %s", name)
	return webServer{}
}

// A running server is on the web.
type running struct {
	entry  config.Server
	argv   []string
	cmd    *exec.Cmd
	output *output
}

// An output keeps what a server writes, for when a test fails.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// start starts the server and waits until its port is open. It is stopped at the end of the test.
func (s webServer) start(t *testing.T) *running {
	t.Helper()
	port := freePort(t)
	r := &running{output: &output{}}
	for _, word := range s.argv(t) {
		r.argv = append(r.argv, strings.ReplaceAll(word, "{port}", port))
	}
	r.entry = config.Server{
		Name: s.name, Type: s.kind, URL: strings.ReplaceAll(s.url, "{port}", port), Headers: s.headers,
	}
	r.launch(t, port)
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", s.name, r.output.buf.String())
		}
	})
	return r
}

func (r *running) launch(t *testing.T, port string) {
	t.Helper()
	r.cmd = exec.Command(r.argv[0], r.argv[1:]...)
	r.cmd.Stdout, r.cmd.Stderr = r.output, r.output
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.WaitDelay = time.Second
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", net.JoinHostPort("localhost", port), time.Second)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not listen: %v\n%s", err, r.output.buf.String())
		}
	}
}

// stop kills the server with what it has started.
func (r *running) stop() {
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	_ = r.cmd.Wait()
}

func (r *running) port() string {
	_, rest, _ := strings.Cut(r.entry.URL, "//")
	_, port, _ := strings.Cut(rest, ":")
	port, _, _ = strings.Cut(port, "/")
	return port
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func (r *running) connect(t *testing.T, o mcpwire.Options) *client.Client {
	t.Helper()
	return connectTo(t, r.entry, o)
}

func TestEveryWebServerListsItsToolsAndCallsOne(t *testing.T) {
	for _, s := range webServers {
		t.Run(s.name, func(t *testing.T) {
			r := s.start(t)
			c := r.connect(t, mcpwire.Options{})
			if got := c.Server(); got.Info.Name == "" || !slices.Contains(mcp.Revisions(), got.Revision) {
				t.Errorf("the handshake told %+v", got)
			}
			tools, err := c.ListTools(t.Context())
			if err != nil || len(tools) == 0 {
				t.Errorf("%d tools, error %v", len(tools), err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Errorf("ping: %v", err)
			}
			if len(s.call) > 0 {
				call(t, c, s.call[0], json.RawMessage(s.call[1]), nil)
			}
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheKindOfAWebServerIsFoundOut(t *testing.T) {
	t.Run("an older server without a type", func(t *testing.T) {
		r := namedWeb(t, "everything-sse").start(t)
		r.entry.Type = ""
		c := r.connect(t, mcpwire.Options{})
		call(t, c, "echo", map[string]string{"message": "hi"}, nil)
	})
	t.Run("a newer server with type sse", func(t *testing.T) {
		r := namedWeb(t, "everything-http").start(t)
		r.entry.Type = "sse"
		c := r.connect(t, mcpwire.Options{})
		call(t, c, "echo", map[string]string{"message": "hi"}, nil)
	})
	t.Run("an older server with type http", func(t *testing.T) {
		r := namedWeb(t, "everything-sse").start(t)
		r.entry.Type = "http"
		_, err := mcpwire.Connect(t.Context(), r.entry, mcpwire.Options{})
		var status *transport.StatusError
		if !errors.As(err, &status) || status.Status != 404 {
			t.Errorf("got %v", err)
		}
	})
}

func TestProgressArrivesOverTheWeb(t *testing.T) {
	for _, row := range []struct {
		server, tool string
		args         any
	}{
		{"everything-http", "trigger-long-running-operation", map[string]any{"duration": 2, "steps": 4}},
		{"everything-sse", "trigger-long-running-operation", map[string]any{"duration": 2, "steps": 4}},
		{"gosdk-conformance-http-stateful", "test_tool_with_progress", nil},
		{"gosdk-conformance-http", "test_tool_with_progress", nil},
	} {
		t.Run(row.server, func(t *testing.T) {
			c := namedWeb(t, row.server).start(t).connect(t, mcpwire.Options{})
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

func TestRequestsOfWebServersAreAnswered(t *testing.T) {
	for _, row := range []struct{ server, tool, args, method, answer, want string }{
		{
			"everything-http", "trigger-sampling-request", `{"prompt":"say hi"}`, mcp.MethodCreateMessage,
			`{"role":"assistant","model":"m","content":{"type":"text","text":"hi there"}}`, "hi there",
		},
		{
			"everything-sse", "trigger-sampling-request", `{"prompt":"say hi"}`, mcp.MethodCreateMessage,
			`{"role":"assistant","model":"m","content":{"type":"text","text":"hi there"}}`, "hi there",
		},
		{
			"gosdk-conformance-http-stateful", "test_elicitation", `{"message":"who?"}`, mcp.MethodElicit,
			`{"action":"accept","content":{"username":"ada","email":"ada@example.com"}}`, "ada",
		},
	} {
		t.Run(row.server, func(t *testing.T) {
			var asked sync.Map
			o := mcpwire.Options{}
			o.Capabilities.Sampling = &mcp.SamplingCapability{}
			o.Capabilities.Elicitation = &mcp.ElicitationCapability{}
			o.OnRequest = func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
				asked.Store(method, true)
				if method != row.method {
					return nil, fmt.Errorf("nobody expected %s", method)
				}
				return json.RawMessage(row.answer), nil
			}
			c := namedWeb(t, row.server).start(t).connect(t, o)
			got := call(t, c, row.tool, json.RawMessage(row.args), nil)
			if _, ok := asked.Load(row.method); !ok || !strings.Contains(got, row.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestASessionSurvivesTheRestartOfItsServer(t *testing.T) {
	for _, name := range []string{"gosdk-conformance-http-stateful", "mcpgo-conformance-http", "everything-http"} {
		t.Run(name, func(t *testing.T) {
			s := namedWeb(t, name)
			r := s.start(t)
			renewed := make(chan struct{}, 10)
			o := mcpwire.Options{}
			o.OnRenewed = func(context.Context) { renewed <- struct{}{} }
			c := r.connect(t, o)
			r.stop()
			_, err := c.CallTool(t.Context(), s.call[0], json.RawMessage(s.call[1]), nil)
			if _, ok := errors.AsType[*transport.Error](err); !ok {
				t.Errorf("while the server is down: %v", err)
			}
			r.launch(t, r.port())
			var calls sync.WaitGroup
			for range 5 {
				calls.Go(func() {
					if _, err := c.CallTool(t.Context(), s.call[0], json.RawMessage(s.call[1]), nil); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			if n := len(renewed); n > 1 {
				t.Errorf("the session was renewed %d times", n)
			}
		})
	}
}

func TestTheProgramTalksToURLs(t *testing.T) {
	r := namedWeb(t, "everything-http").start(t)
	if got := program(t, "tools", r.entry.URL); !strings.Contains(got, "get-sum") {
		t.Errorf("tools printed\n%s", got)
	}
	if got := program(t, "call", r.entry.URL, "echo", "message=hi"); !strings.Contains(got, "hi") {
		t.Errorf("call printed\n%s", got)
	}
	notion := namedWeb(t, "notion-http").start(t)
	file := t.TempDir() + "/mcp.json"
	text := fmt.Sprintf(`{"mcpServers":{"notion":{"type":"streamableHttp","url":%q,"headers":{"Authorization":"Bearer t"}}}}`,
		notion.entry.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := program(t, "tools", "notion", "--config", file); !strings.Contains(got, "API-") {
		t.Errorf("tools printed\n%s", got)
	}
}

func TestARefusedTokenIsNamed(t *testing.T) {
	r := namedWeb(t, "notion-http").start(t)
	r.entry.Headers = nil
	_, err := mcpwire.Connect(t.Context(), r.entry, mcpwire.Options{})
	var status *transport.StatusError
	const want = "notion-http: initialize: HTTP 401"
	if !errors.As(err, &status) || status.Status != 401 || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}
