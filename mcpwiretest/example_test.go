package mcpwiretest_test

import (
	"context"
	"fmt"
	"testing"

	"mcpwire/client"
	"mcpwire/mcpwiretest"
)

// An agent is what is to be tested.
type agent struct{ server *client.Client }

func (a *agent) total(ctx context.Context, x, y float64) (string, error) {
	tools, err := a.server.ListTools(ctx)
	if err != nil || len(tools) == 0 {
		return "", err
	}
	r, err := a.server.CallTool(ctx, tools[0].Name, map[string]float64{"a": x, "b": y}, nil)
	if err != nil {
		return "", err
	}
	return r.Content[0].Text, nil
}

// A test of an agent runs without the server that it uses. Its recording was made once:
//
//	mcpwire call add a=2 b=40 -- mcpwire record -o testdata/add.jsonl -- mcpwire demo-server
func Example() {
	TestAgent := func(t *testing.T) { //nolint:thelper // it is a test
		a := &agent{server: mcpwiretest.Replay(t, "testdata/add.jsonl", mcpwiretest.Strict())}
		got, err := a.total(t.Context(), 2, 40)
		if err != nil || got != `{"sum":42}` {
			t.Errorf("got %s, error %v", got, err)
		}
	}
	passed := testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestAgent", F: TestAgent}})
	fmt.Println(passed)
	// Output: true
}
