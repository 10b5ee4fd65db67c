package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// A transcript is what a client got in a session, a line each, and what came beside it in any order.
type transcript struct {
	mu     sync.Mutex
	lines  []string
	beside []string
}

func (r *transcript) got(what string, result any, err error) {
	var refusal *jsonrpc.Error
	switch text, _ := jsonv2.Marshal(result, jsonv2.Deterministic(true)); {
	case errors.As(err, &refusal):
		r.lines = append(r.lines, fmt.Sprintf("%s: error %d %s", what, refusal.Code, refusal.Message))
	case err != nil:
		r.lines = append(r.lines, fmt.Sprintf("%s: error %v", what, err))
	default:
		r.lines = append(r.lines, what+": "+string(text))
	}
}

func (r *transcript) came(what string, params any) {
	text, _ := jsonv2.Marshal(params, jsonv2.Deterministic(true))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beside = append(r.beside, what+" "+string(text))
}

func (r *transcript) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.beside)
	return strings.Join(r.lines, "\n") + "\nbeside:\n" + strings.Join(r.beside, "\n")
}

// A calling is a tool with its arguments.
type toolCall struct{ tool, args string }

// An actor is a client that does the same each time.
type actor func(t *testing.T, entry config.Server, calls []toolCall) *transcript

// ours is our client in one revision.
func ours(revision string) actor {
	return func(t *testing.T, entry config.Server, calls []toolCall) *transcript {
		t.Helper()
		r := &transcript{}
		o := mcpwire.Options{CacheDir: "none"}
		o.Protocol = revision
		o.OnNotification = func(_ context.Context, method string, params json.RawMessage) { r.came(method, params) }
		o.Input = &client.InputHandler{
			Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///x", Name: "x"}}, nil },
			Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Model: "m", Content: mcp.Blocks{mcp.Text("sampled")}}, nil
			},
			Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "decline"}, nil
			},
		}
		c, err := mcpwire.Connect(t.Context(), entry, o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Close(context.Background()); err != nil {
				t.Errorf("Close: %v", err)
			}
		}()
		ctx := t.Context()
		r.got("server", c.Server(), nil)
		tools, err := c.ListTools(ctx)
		r.got("tools", tools, err)
		for _, call := range calls {
			result, err := c.CallTool(ctx, call.tool, json.RawMessage(call.args), &client.CallOptions{
				OnProgress: func(p mcp.ProgressParams) {
					r.came(call.tool, fmt.Sprint(p.Progress, p.Total, p.Message))
				},
			})
			r.got(call.tool, result, err)
		}
		resources, err := c.ListResources(ctx)
		r.got("resources", resources, err)
		for _, one := range resources[:min(len(resources), 2)] {
			result, err := c.ReadResource(ctx, one.URI)
			r.got(one.URI, result, err)
		}
		templates, err := c.ListResourceTemplates(ctx)
		r.got("templates", templates, err)
		prompts, err := c.ListPrompts(ctx)
		r.got("prompts", prompts, err)
		for _, one := range prompts[:min(len(prompts), 2)] {
			result, err := c.GetPrompt(ctx, one.Name, nil)
			r.got(one.Name, result, err)
		}
		r.got("ping", nil, c.Ping(ctx))
		return r
	}
}

// theirs is the official SDK's client in one revision.
func theirs(revision string) actor {
	return func(t *testing.T, entry config.Server, calls []toolCall) *transcript {
		t.Helper()
		r := &transcript{}
		//nolint:staticcheck // servers ask for what is deprecated as long as they may
		c := sdk.NewClient(&sdk.Implementation{Name: "driver", Version: "1"}, &sdk.ClientOptions{
			CreateMessageHandler: func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
				return &sdk.CreateMessageResult{
					Model: "m", Role: "assistant", Content: &sdk.TextContent{Text: "sampled"},
				}, nil
			},
			ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				return &sdk.ElicitResult{Action: "decline"}, nil
			},
			ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { r.came("tools changed", nil) },
			LoggingMessageHandler: func(_ context.Context, q *sdk.LoggingMessageRequest) {
				r.came("log", q.Params)
			},
			ProgressNotificationHandler: func(_ context.Context, q *sdk.ProgressNotificationClientRequest) {
				r.came("progress", q.Params)
			},
		})
		c.AddRoots(&sdk.Root{URI: "file:///x", Name: "x"}) //nolint:staticcheck // as above
		var carrier sdk.Transport
		switch {
		case entry.Command != "":
			carrier = &sdk.CommandTransport{Command: exec.Command(entry.Command, entry.Args...)}
		case entry.Type == "sse":
			carrier = &sdk.SSEClientTransport{Endpoint: entry.URL}
		default:
			carrier = &sdk.StreamableClientTransport{Endpoint: entry.URL}
		}
		ctx := t.Context()
		s, err := c.Connect(ctx, carrier, &sdk.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		r.got("server", s.InitializeResult(), nil)
		tools, err := s.ListTools(ctx, nil)
		r.got("tools", tools, err)
		for i, call := range calls {
			p := &sdk.CallToolParams{Name: call.tool, Arguments: json.RawMessage(call.args)}
			p.SetProgressToken(fmt.Sprint("token-", i))
			result, err := s.CallTool(ctx, p)
			r.got(call.tool, result, err)
		}
		resources, err := s.ListResources(ctx, nil)
		r.got("resources", resources, err)
		if err == nil {
			for _, one := range resources.Resources[:min(len(resources.Resources), 2)] {
				result, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: one.URI})
				r.got(one.URI, result, err)
			}
		}
		prompts, err := s.ListPrompts(ctx, nil)
		r.got("prompts", prompts, err)
		if err == nil {
			for _, one := range prompts.Prompts[:min(len(prompts.Prompts), 2)] {
				result, err := s.GetPrompt(ctx, &sdk.GetPromptParams{Name: one.Name})
				r.got(one.Name, result, err)
			}
		}
		return r
	}
}

var actors = []struct {
	name     string
	act      actor
	revision string
}{
	{"ours in 2025-11-25", ours(mcp.Rev20251125), mcp.Rev20251125},
	{"ours in 2026-07-28", ours(mcp.Rev20260728), mcp.Rev20260728},
	{"the SDK in 2025-11-25", theirs(mcp.Rev20251125), mcp.Rev20251125},
	{"the SDK in 2026-07-28", theirs(mcp.Rev20260728), mcp.Rev20260728},
}

// everythingCalls are those of server-everything.
var everythingCalls = []toolCall{
	{"echo", `{"message":"hi — ✅"}`},
	{"get-sum", `{"a":2,"b":40}`},
	{"get-structured-content", `{"location":"New York"}`},
	{"get-annotated-message", `{"messageType":"error","includeImage":true}`},
	{"trigger-long-running-operation", `{"duration":0.5,"steps":5}`},
	{"trigger-sampling-request", `{"prompt":"x"}`},
	{"trigger-elicitation-request", `{}`},
	{"get-roots-list", `{}`},
	{"get-sum", `{"a":2,"b":"x"}`},
	{"no-such-tool", `{}`},
}

// demoCalls are those of the demo server.
var demoCalls = []toolCall{
	{"add", `{"a":2,"b":40.50}`},
	{"add", `{"a":2}`},
	{"echo", `{"message":"hi — ✅"}`},
	{"countdown", `{"seconds":0.3,"steps":4}`},
	{"fail", `{}`},
	{"no-such-tool", `{}`},
}

// serving starts the program as a server over HTTP, and returns the address that it tells, and what ends it.
func serving(t *testing.T, args ...string) (address string, end func()) {
	t.Helper()
	cmd := exec.Command(filepath.Join(goServers(t), "mcpwire"), args...)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for address == "" && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "http://"); ok {
			address = "http://" + at
		}
	}
	var rest strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines.Scan() {
			rest.WriteString(lines.Text() + "\n")
		}
	}()
	end = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-done
		if err := cmd.Wait(); err != nil || rest.Len() > 0 {
			t.Errorf("mcpwire %q: %v\n%s", args, err, rest.String())
		}
	})
	t.Cleanup(end)
	if address == "" {
		t.Fatalf("mcpwire %q tells no address: %s", args, rest.String())
	}
	return address, end
}

// replays compares what an actor got while it was recorded with what it gets from the recording over both carriers.
func replays(t *testing.T, act actor, calls []toolCall, recorded *transcript, file string) {
	t.Helper()
	want := recorded.String()
	program := filepath.Join(goServers(t), "mcpwire")
	t.Run("over pipes", func(t *testing.T) {
		entry := config.Server{Name: "s", Command: program, Args: []string{"replay", file, "--strict"}}
		if got := act(t, entry, calls).String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
	t.Run("over HTTP", func(t *testing.T) {
		address, end := serving(t, "replay", file, "--http", "127.0.0.1:0")
		if got := act(t, config.Server{Name: "s", Type: "http", URL: address}, calls).String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		end()
	})
}

func TestARecordedSessionOnPipesReplaysTheSame(t *testing.T) {
	program := filepath.Join(goServers(t), "mcpwire")
	for _, s := range []struct {
		server server
		calls  []toolCall
		newer  bool
	}{
		{server{"demo", []string{program, "demo-server"}}, demoCalls, true},
		{named(t, "everything"), everythingCalls, false},
	} {
		for _, a := range actors {
			if a.revision == mcp.Rev20260728 && !s.newer {
				continue
			}
			t.Run(s.server.name+"/"+a.name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "r.jsonl")
				args := append([]string{"record", "-o", file, "--"}, s.server.argv(t)...)
				recorded := a.act(t, config.Server{Name: "s", Command: program, Args: args}, s.calls)
				if len(recorded.lines) < len(s.calls)+4 || len(recorded.beside) < 4 {
					t.Errorf("little was recorded: %s", recorded)
				}
				replays(t, a.act, s.calls, recorded, file)
			})
		}
	}
}

func TestARecordedSessionOnTheWebReplaysTheSame(t *testing.T) {
	for _, s := range []struct {
		name  string
		calls []toolCall
	}{{"everything-http", everythingCalls}, {"everything-sse", everythingCalls}} {
		for _, a := range actors {
			if a.revision == mcp.Rev20260728 {
				continue
			}
			t.Run(s.name+"/"+a.name, func(t *testing.T) {
				web := namedWeb(t, s.name).start(t)
				recordOnTheWeb(t, a.act, s.calls, web.entry.URL, web.entry.Type)
			})
		}
	}
	for _, a := range actors {
		if a.revision == mcp.Rev20251125 { // the demo server has sessions over HTTP
			t.Run("demo/"+a.name, func(t *testing.T) {
				recordOnTheWeb(t, a.act, demoCalls, demoOnTheWeb(t), "http")
			})
		}
		t.Run("stateless/"+a.name, func(t *testing.T) {
			s := sdkServer()
			sdk.AddTool(s, &sdk.Tool{Name: "steps"}, steps)
			web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
				&sdk.StreamableHTTPOptions{Stateless: true}))
			defer web.Close()
			calls := []toolCall{{"echo", `{"message":"hi"}`}, {"steps", `{"message":""}`}}
			recordOnTheWeb(t, a.act, calls, web.URL, "http")
		})
	}
}

// steps is a tool that reports progress.
func steps(ctx context.Context, q *sdk.CallToolRequest, _ said) (*sdk.CallToolResult, any, error) {
	for i := range 3 {
		p := &sdk.ProgressNotificationParams{ProgressToken: q.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3}
		if err := q.Session.NotifyProgress(ctx, p); err != nil {
			return nil, nil, err
		}
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil, nil
}

func recordOnTheWeb(t *testing.T, act actor, calls []toolCall, url, kind string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "r.jsonl")
	address, end := serving(t, "record", "-o", file, url)
	recorded := act(t, config.Server{Name: "s", Type: kind, URL: address}, calls)
	end()
	replays(t, act, calls, recorded, file)
}

// demoOnTheWeb starts the demo server over HTTP, until the test ends.
func demoOnTheWeb(t *testing.T) (url string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(goServers(t), "mcpwire"), "demo-server", "--http")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ = strings.Cut(strings.TrimSpace(line), "listening on ")
	return url
}
