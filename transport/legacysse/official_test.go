package legacysse_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpwire/client"
	"mcpwire/transport/legacysse"
	"mcpwire/transport/transporttest"
)

func TestAClientTalksToTheOfficialServer(t *testing.T) {
	transporttest.CheckLeaks(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "official", Version: "1"}, nil)
	type input struct {
		Name string `json:"name"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(ctx context.Context, req *mcp.CallToolRequest, in input,
	) (*mcp.CallToolResult, any, error) {
		err := req.Session.Ping(ctx, nil) // a request of the server, answered by a POST
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hi " + in.Name}}}, nil, err
	})
	s := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	c, err := client.Connect(t.Context(), legacysse.New(legacysse.Options{URL: s.URL}), client.Options{Server: "official"})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := c.ListTools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Name != "greet" {
		t.Errorf("got %+v and error %v", tools, err)
	}
	result, err := c.CallTool(t.Context(), "greet", json.RawMessage(`{"name":"you"}`), nil)
	if err != nil || result.IsError || len(result.Content) != 1 {
		t.Errorf("got %+v and error %v", result, err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
