package mcpwiretest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/leaks"
	"mcpwire/jsonrpc"
	"mcpwire/mcpwiretest"
)

func TestMain(m *testing.M) {
	before := leaks.Note()
	code := m.Run()
	if left := before.Left(5 * time.Second); code == 0 && len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		code = 1
	}
	os.Exit(code)
}

const adding = "testdata/add.jsonl"

func add(t *testing.T, c *client.Client, a, b int) (string, error) {
	t.Helper()
	r, err := c.CallTool(t.Context(), "add", map[string]int{"a": a, "b": b}, nil)
	if err != nil {
		return "", err
	}
	return r.Content[0].Text, nil
}

func TestAClientIsAnsweredWithoutAProcess(t *testing.T) {
	c := mcpwiretest.Replay(t, adding, mcpwiretest.Strict())
	if tools, err := c.ListTools(t.Context()); err != nil || len(tools) != 6 {
		t.Errorf("%d tools, error %v", len(tools), err)
	}
	if got, err := add(t, c, 2, 40); err != nil || got != `{"sum":42}` {
		t.Errorf("got %s, error %v", got, err)
	}
	if len(leaks.Children()) > 0 {
		t.Errorf("there are processes: %v", leaks.Children())
	}
}

func TestTheSameOverHTTP(t *testing.T) {
	url := mcpwiretest.ReplayHTTP(t, adding)
	c, err := mcpwire.Connect(t.Context(), config.Server{Name: "r", URL: url},
		mcpwire.Options{CacheDir: "none", StateDir: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := add(t, c, 2, 40); err != nil || got != `{"sum":42}` {
		t.Errorf("got %s, error %v", got, err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// A failing is a test that may fail.
type failing struct {
	testing.TB
	said []string
	ends []func()
}

func (f *failing) Helper()                           {}
func (f *failing) Cleanup(end func())                { f.ends = append(f.ends, end) }
func (f *failing) Failed() bool                      { return len(f.said) > 0 }
func (f *failing) Error(args ...any)                 { f.said = append(f.said, fmt.Sprint(args...)) }
func (f *failing) Errorf(format string, args ...any) { f.Error(fmt.Sprintf(format, args...)) }

func (f *failing) end() {
	for _, end := range slices.Backward(f.ends) {
		end()
	}
}

func TestTheTestFailsWhenSomethingDoesNotMatch(t *testing.T) {
	f := &failing{TB: t}
	c := mcpwiretest.Replay(f, adding)
	_, err := add(t, c, 2, 41)
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); !ok || refusal.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("got %v", err)
	}
	f.end()
	want := "no answer: add.jsonl has no such tools/call; the nearest, request 3, differs in " +
		"arguments.b: recorded 40, asked 41"
	if got := strings.Join(f.said, "\n"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestStrictlyAllOfTheRecordingIsToBeUsed(t *testing.T) {
	f := &failing{TB: t}
	c := mcpwiretest.Replay(f, adding, mcpwiretest.Strict())
	if _, err := c.ListTools(t.Context()); err != nil {
		t.Error(err)
	}
	f.end()
	if got := strings.Join(f.said, "\n"); got != "add.jsonl: recorded requests that never came: 3 (tools/call)" {
		t.Errorf("got %s", got)
	}
}
