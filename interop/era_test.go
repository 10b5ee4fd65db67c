package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/mcp"
)

// input is a host that answers everything.
func input() *client.InputHandler {
	return &client.InputHandler{
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///here"}}, nil },
		Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{
				Role: mcp.RoleAssistant, Model: "m", Content: mcp.Blocks{mcp.Text("a model's word")},
			}, nil
		},
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"ada"}`)}, nil
		},
	}
}

// TestTheStatelessEraOfTheTypeScriptSDK goes through what only the 2026-07-28 revision has, over pipes and over HTTP.
func TestTheStatelessEraOfTheTypeScriptSDK(t *testing.T) {
	web := webServer{
		server: server{"typescript", []string{"node", "tsserver/server.mjs", "{port}"}},
		kind:   "http", url: "http://localhost:{port}/mcp",
	}
	nodeModules(t)
	for name, entry := range map[string]func(t *testing.T) config.Server{
		"pipes": func(*testing.T) config.Server {
			return config.Server{Name: "typescript", Command: "node", Args: []string{"tsserver/server.mjs"}}
		},
		"HTTP": func(t *testing.T) config.Server { t.Helper(); return web.start(t).entry },
	} {
		t.Run(name, func(t *testing.T) {
			o := mcpwire.Options{}
			o.Input = input()
			c := connectTo(t, entry(t), o)
			if got := c.Server().Revision; got != mcp.Rev20260728 {
				t.Fatalf("it speaks %s", got)
			}
			if got := call(t, c, "hello", nil, nil); got != "hello" {
				t.Errorf("hello said %q", got)
			}
			var steps []float64
			call(t, c, "progress", nil, &client.CallOptions{OnProgress: func(p mcp.ProgressParams) {
				steps = append(steps, p.Progress)
			}})
			if len(steps) != 3 {
				t.Errorf("progress was %v", steps)
			}
			answers := call(t, c, "ask", nil, nil)
			for _, want := range []string{"ada", "file:///here", "a model's word"} {
				if !strings.Contains(answers, want) {
					t.Errorf("the server was answered %s", answers)
				}
			}
			t.Run("a subscription", func(t *testing.T) { subscribes(t, c) })
			t.Run("a cancelled call", func(t *testing.T) { cancels(t, c) })
		})
	}
}

func subscribes(t *testing.T, c *client.Client) {
	t.Helper()
	w, err := c.Watch(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true})
	if err != nil {
		t.Fatal(err)
	}
	if !w.Filter.ToolsListChanged {
		t.Errorf("the server agreed to %+v", w.Filter)
	}
	call(t, c, "change", nil, nil)
	select {
	case change := <-w.Changes:
		if change.Method != mcp.NotificationToolsChanged {
			t.Errorf("got %+v", change)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing was told")
	}
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func cancels(t *testing.T, c *client.Client) {
	t.Helper()
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := c.CallTool(ctx, "wait", nil, &client.CallOptions{OnProgress: func(mcp.ProgressParams) { cancel(stop) }})
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	for deadline := time.Now().Add(20 * time.Second); call(t, c, "cancelled", nil, nil) != "1"; {
		if time.Now().After(deadline) {
			t.Fatal("the server has not noticed")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestTheStatelessEraOfTheOfficialGoSDK(t *testing.T) {
	for name, connect := range map[string]func(t *testing.T, o mcpwire.Options) *client.Client{
		"pipes": func(t *testing.T, o mcpwire.Options) *client.Client {
			t.Helper()
			argv := named(t, "gosdk-conformance").argv(t)
			return connectTo(t, config.Server{Name: "gosdk", Command: argv[0], Args: argv[1:]}, o)
		},
		"HTTP": func(t *testing.T, o mcpwire.Options) *client.Client {
			t.Helper()
			return namedWeb(t, "gosdk-conformance-http").start(t).connect(t, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := mcpwire.Options{}
			o.Input = input()
			c := connect(t, o)
			if got := c.Server().Revision; got != mcp.Rev20260728 {
				t.Fatalf("it speaks %s", got)
			}
			for _, tool := range []string{
				"test_input_required_result_elicitation", "test_input_required_result_sampling",
				"test_input_required_result_list_roots", "test_input_required_result_multiple_inputs",
				"test_input_required_result_multi_round", "test_input_required_result_request_state",
			} {
				call(t, c, tool, nil, nil)
			}
			if resources, err := c.ListResources(t.Context()); err != nil || len(resources) == 0 {
				t.Errorf("%d resources, error %v", len(resources), err)
			}
			if read, err := c.ReadResource(t.Context(), "test://static-text"); err != nil || len(read.Contents) != 1 {
				t.Errorf("got %+v and error %v", read, err)
			}
			if prompts, err := c.ListPrompts(t.Context()); err != nil || len(prompts) == 0 {
				t.Errorf("%d prompts, error %v", len(prompts), err)
			}
		})
	}
}

// TestASessionWithTheEverythingServer goes through what a server of the session era asks and tells.
func TestASessionWithTheEverythingServer(t *testing.T) {
	argv := named(t, "everything").argv(t)
	o := mcpwire.Options{}
	o.Input = input()
	c := connectTo(t, config.Server{Name: "everything", Command: argv[0], Args: argv[1:]}, o)
	if !mcp.IsSession(c.Server().Revision) {
		t.Fatalf("it speaks %s", c.Server().Revision)
	}
	if got := call(t, c, "trigger-sampling-request", map[string]string{"prompt": "hi"}, nil); !strings.Contains(
		got, "a model's word") {
		t.Errorf("sampling gave %q", got)
	}
	if got := call(t, c, "trigger-elicitation-request", nil, nil); !strings.Contains(got, "ada") {
		t.Errorf("elicitation gave %q", got)
	}
	if got := call(t, c, "get-roots-list", nil, nil); !strings.Contains(got, "file:///here") {
		t.Errorf("the roots are %q", got)
	}
	resources, err := c.ListResources(t.Context())
	if err != nil || len(resources) == 0 {
		t.Fatalf("%d resources, error %v", len(resources), err)
	}
	if read, err := c.ReadResource(t.Context(), resources[0].URI); err != nil || len(read.Contents) == 0 {
		t.Errorf("got %+v and error %v", read, err)
	}
	w, err := c.Watch(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{resources[0].URI}})
	if err != nil {
		t.Fatal(err)
	}
	call(t, c, "toggle-subscriber-updates", nil, nil)
	select {
	case change := <-w.Changes:
		if change.URI != resources[0].URI {
			t.Errorf("got %+v", change)
		}
	case <-time.After(30 * time.Second):
		t.Error("nothing was told")
	}
	call(t, c, "toggle-subscriber-updates", nil, nil)
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
