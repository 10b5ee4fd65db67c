package interop_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/mcp"
)

type said struct {
	Message string `json:"message"`
}

func sdkServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
	addEcho(s, "echo")
	return s
}

func addEcho(s *sdk.Server, name string) {
	sdk.AddTool(s, &sdk.Tool{Name: name}, func(_ context.Context, _ *sdk.CallToolRequest, in said) (
		*sdk.CallToolResult, any, error,
	) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Message}}}, nil, nil
	})
}

func TestTheOfficialServerInEveryMode(t *testing.T) {
	for name, o := range map[string]*sdk.StreamableHTTPOptions{
		"stateful":            {},
		"stateful with JSON":  {JSONResponse: true},
		"stateless":           {Stateless: true},
		"stateless with JSON": {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := sdkServer()
			web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, o))
			t.Cleanup(web.Close)
			c := connectTo(t, config.Server{Name: name, Type: "http", URL: web.URL}, mcpwire.Options{})
			if got := call(t, c, "echo", said{"hi"}, nil); got != "hi" {
				t.Errorf("echo said %q", got)
			}
			if tools, err := c.ListTools(t.Context()); err != nil || len(tools) != 1 {
				t.Errorf("%d tools, error %v", len(tools), err)
			}
		})
	}
}

func TestListChangesArrive(t *testing.T) {
	s := sdkServer()
	for name, handler := range map[string]http.Handler{
		"http": sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil),
		"sse":  sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil),
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(handler)
			t.Cleanup(web.Close)
			changed := make(chan struct{}, 100)
			o := mcpwire.Options{}
			o.OnNotification = func(_ context.Context, method string, _ json.RawMessage) {
				if method == mcp.NotificationToolsChanged {
					changed <- struct{}{}
				}
			}
			c := connectTo(t, config.Server{Name: name, Type: name, URL: web.URL}, o)
			before, err := c.ListTools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			addEcho(s, "added-over-"+name)
			select {
			case <-changed:
			case <-time.After(20 * time.Second):
				t.Fatal("nothing was said of the new tool")
			}
			if after, err := c.ListTools(t.Context()); err != nil || len(after) != len(before)+1 {
				t.Errorf("%d tools, then %d; error %v", len(before), len(after), err)
			}
			// The line goes before the server, which would wait for it.
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
