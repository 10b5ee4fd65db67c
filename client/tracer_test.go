package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport/transporttest"
)

type tracedKey struct{}

// A log is a Tracer that writes down what it is told.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

func (l *log) Request(
	ctx context.Context, t client.Traced,
) (context.Context, json.RawMessage, func(client.Outcome)) {
	if ctx.Value(tracedKey{}) != nil {
		l.add("%s runs inside of another request", t.Method)
	}
	what := strings.TrimSuffix(fmt.Sprintf("%s %s", t.Method, t.Name), " ")
	return context.WithValue(ctx, tracedKey{}, l), json.RawMessage(`{"trace":"x"}`), func(o client.Outcome) {
		l.add("%s #%s in %s over %s: %v %v", what, o.ID, t.Revision, t.Carrier, o.ToolError, o.Err)
	}
}

func (l *log) Serve(ctx context.Context, t client.Traced) (context.Context, func(client.Outcome)) {
	return context.WithValue(ctx, tracedKey{}, l), func(o client.Outcome) {
		l.add("served %s #%s %s in %s over %s: %v", t.Method, t.ID, t.Meta, t.Revision, t.Carrier, o.Err)
	}
}

func (l *log) Session(t client.Traced) func(error) {
	l.add("session in %s over %s", t.Revision, t.Carrier)
	return func(err error) { l.add("session over: %v", err) }
}

func TestATracerIsToldOfEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		f := &fake{answers: map[string]func(jsonrpc.Message) string{
			"tools/call": always(`{"content":[],"isError":true}`), "resources/read": refusing(-32002, ""),
		}}
		f.hook = func(s *transporttest.Server, text []byte) {
			if strings.Contains(string(text), `"tools/call"`) {
				s.Write([]byte(`{"jsonrpc":"2.0","id":"r","method":"roots/list","params":{"_meta":{"traceparent":"p"}}}`))
				time.Sleep(time.Millisecond)
			}
		}
		input := handler()
		input.Roots = func(ctx context.Context) ([]mcp.Root, error) {
			if ctx.Value(tracedKey{}) == nil {
				t.Error("the host is asked outside of what the tracer made")
			}
			return nil, nil
		}
		c := connect(t, f, client.Options{Tracer: &seen, Input: input})
		progress := func(mcp.ProgressParams) {}
		_, err := c.CallTool(t.Context(), "x", nil, &client.CallOptions{
			Meta: json.RawMessage(`{"own":1}`), OnProgress: progress,
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := c.ReadResource(t.Context(), "file:///a"); err == nil {
			t.Error("the refusal got lost")
		}
		closeClient(t, c)
		const in = " in 2025-11-25 over memory"
		want := []string{
			"initialize #1" + in + ": false <nil>",
			"session" + in,
			`served roots/list #"r" {"traceparent":"p"}` + in + ": <nil>",
			"tools/call x #2" + in + ": true <nil>",
			"resources/read file:///a #3" + in + ": false MCP error -32002: refused",
			"session over: <nil>",
		}
		if got := seen.told(); !slices.Equal(got, want) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, text := range f.messages() {
			if strings.Contains(text, "tools/call") &&
				!strings.Contains(text, `"_meta":{"own":1,"trace":"x","progressToken":2}`) {
				t.Errorf("sent %s", text)
			}
		}
	})
}

func TestEachRoundIsARequestForATracer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		f := newer(map[string]func(jsonrpc.Message) string{"tools/call": rounds(`{"resultType":"input_required",` +
			`"inputRequests":{"where":{"method":"roots/list"}}}`)})
		c := connectNewer(t, f, client.Options{Tracer: &seen, Input: handler()})
		if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
			t.Error(err)
		}
		closeClient(t, c)
		const in = " in 2026-07-28 over memory"
		want := []string{
			"server/discover #1" + in + ": false <nil>",
			"session" + in,
			"tools/call x #2" + in + ": false <nil>",
			"served roots/list #none " + in + ": <nil>",
			"tools/call x #3" + in + ": false <nil>",
			"session over: <nil>",
		}
		if got := seen.told(); !slices.Equal(got, want) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestATracerIsToldHowASessionWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		f := &fake{hook: func(s *transporttest.Server, text []byte) {
			if strings.Contains(string(text), `"tools/call"`) {
				s.End(nil)
			}
		}, answers: map[string]func(jsonrpc.Message) string{"tools/call": silence}}
		c := connect(t, f, client.Options{Tracer: &seen})
		if _, err := c.CallTool(t.Context(), "x", nil, nil); err == nil {
			t.Error("there was no answer")
		}
		closeClient(t, c)
		told := strings.Join(seen.told(), "\n")
		if strings.Count(told, "session over: transport closed") != 1 || strings.Count(told, "session over") != 1 {
			t.Errorf("told\n%s", told)
		}
	})
}
