package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// pages answers tools/list: cursor "" is the first page.
func pages(byCursor func(cursor string) string) *fake {
	return &fake{answers: map[string]func(jsonrpc.Message) string{"tools/list": func(m jsonrpc.Message) string {
		var params string
		if m.Params != nil {
			params = strings.TrimSuffix(strings.TrimPrefix(string(m.Params), `{"cursor":"`), `"}`)
		}
		return result(m, byCursor(params))
	}}}
}

func TestListToolsFollowsTheCursors(t *testing.T) {
	tool := func(names ...string) string {
		var out []string
		for _, n := range names {
			out = append(out, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, n))
		}
		return strings.Join(out, ",")
	}
	for _, row := range []struct {
		name     string
		page     func(cursor string) string
		options  client.Options
		want     string // names
		requests int
		err      error // nil: complete
	}{
		{
			"one page", func(string) string { return `{"tools":[` + tool("a", "b") + `]}` },
			client.Options{},
			"a b", 1, nil,
		},
		{
			"three pages", func(c string) string {
				return map[string]string{
					"":  `{"tools":[` + tool("a") + `],"nextCursor":"2"}`,
					"2": `{"tools":[` + tool("b", "c") + `],"nextCursor":"3"}`,
					"3": `{"tools":[` + tool("d") + `]}`,
				}[c]
			},
			client.Options{},
			"a b c d", 3, nil,
		},
		{
			"a constant cursor", func(string) string { return `{"tools":[` + tool("a") + `],"nextCursor":"x"}` },
			client.Options{},
			"a", 2, client.ErrCursorRepeats,
		},
		{
			"an empty cursor", func(string) string { return `{"tools":[` + tool("a") + `],"nextCursor":""}` },
			client.Options{},
			"a", 1, nil,
		},
		{
			"a null cursor", func(string) string { return `{"tools":[` + tool("a") + `],"nextCursor":null}` },
			client.Options{},
			"a", 1, nil,
		},
		{
			"new cursors for ever", func(c string) string {
				return `{"tools":[` + tool("a"+c) + `],"nextCursor":"` + c + `x"}`
			},
			client.Options{ListPages: 3},
			"a ax axx", 3, client.ErrTooManyPages,
		},
		{
			"a tool twice", func(string) string {
				return `{"tools":[{"name":"a","description":"first"},{"name":"a","description":"second"},{"name":"b"}]}`
			},
			client.Options{},
			"a b", 1, nil,
		},
		{
			"a malformed tool", func(string) string { return `{"tools":[{"name":"a"},{"name":5},{"name":"b"}]}` },
			client.Options{},
			"a b", 1, nil,
		},
		{"no tools member", func(string) string { return `{}` }, client.Options{}, "", 1, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := pages(row.page)
				c := connect(t, f, row.options)
				defer closeClient(t, c)
				tools, err := c.ListTools(t.Context())
				var names []string
				for _, tool := range tools {
					names = append(names, tool.Name)
				}
				if got := strings.Join(names, " "); got != row.want || f.count("tools/list") != row.requests {
					t.Errorf("got %q in %d requests", got, f.count("tools/list"))
				}
				var list *client.ListError
				if !errors.Is(err, row.err) || errors.As(err, &list) != (row.err != nil) {
					t.Errorf("got error %v", err)
				}
				if len(tools) > 0 && tools[0].Description == "second" {
					t.Error("the second of two tools won")
				}
			})
		})
	}
}

func TestARepeatedToolIsWarnedOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		f := pages(func(c string) string {
			return `{"tools":[{"name":"a"},{"name":"a"},{"name":"a"}],"nextCursor":"` + c + `x"}`
		})
		c := connect(t, f, client.Options{ListPages: 10, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer closeClient(t, c)
		if tools, err := c.ListTools(t.Context()); !errors.Is(err, client.ErrTooManyPages) || len(tools) != 1 {
			t.Fatal(tools, err)
		}
		if got := strings.Count(log.String(), "twice"); got != 1 {
			t.Errorf("%d warnings:\n%s", got, log.String())
		}
	})
}

func TestTheWalkThroughAListHasOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pages(func(c string) string {
			time.Sleep(time.Second)
			return `{"tools":[{"name":"a` + c + `"}],"nextCursor":"` + c + `x"}`
		})
		c := connect(t, f, client.Options{ListTimeout: 3500 * time.Millisecond})
		defer closeClient(t, c)
		start := time.Now()
		tools, err := c.ListTools(t.Context())
		if took := time.Since(start); took != 3500*time.Millisecond || len(tools) != 3 {
			t.Errorf("%d tools after %v", len(tools), took)
		}
		const want = "demo: tools/list: incomplete after 3 pages: tools/list timeout after 3500ms"
		if err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAWalkThatEndsOnItsFirstPageNamesTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"tools/list": silence}}
		c := connect(t, f, client.Options{ListTimeout: time.Second})
		defer closeClient(t, c)
		_, err := c.ListTools(t.Context())
		const want = "demo: tools/list timeout after 1000ms"
		if err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAServerWithoutToolsHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, &fake{}, client.Options{})
		defer closeClient(t, c)
		if tools, err := c.ListTools(t.Context()); err != nil || len(tools) != 0 {
			t.Errorf("got %v and error %v", tools, err)
		}
	})
}

func TestSchemasStayAsTheyWere(t *testing.T) {
	const schema = `{"type":"object", "properties":{"n":{"maximum":12345678901234567890.0}},"$defs":{"x":{"$ref":"#/nowhere"}}}`
	synctest.Test(t, func(t *testing.T) {
		f := pages(func(string) string { return `{"tools":[{"name":"a","inputSchema":` + schema + `}]}` })
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		tools, err := c.ListTools(t.Context())
		if err != nil || len(tools) != 1 || string(tools[0].InputSchema) != schema {
			t.Errorf("got %s and error %v", tools[0].InputSchema, err)
		}
	})
}

func TestCallTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"tools/call": always(
			`{"content":[{"type":"text","text":"10"}],"structuredContent":{"n":12345678901234567890.10},"isError":true,` +
				`"_meta":{"m":1.0}}`,
		)}}
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		r, err := c.CallTool(t.Context(), "add", map[string]any{"a": 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Content) != 1 || r.Content[0].Text != "10" || !r.IsError ||
			string(r.StructuredContent) != `{"n":12345678901234567890.10}` || string(r.Meta) != `{"m":1.0}` {
			t.Errorf("got %+v", r)
		}
	})
}

func TestArgumentsAreSentAsTheyAre(t *testing.T) {
	for _, row := range []struct {
		args any
		want string
	}{
		{nil, `{"name":"x"}`},
		{json.RawMessage(`{"n":12345678901234567890.10}`), `{"name":"x","arguments":{"n":12345678901234567890.10}}`},
		{map[string]string{"a": "é\n"}, `{"name":"x","arguments":{"a":"é\n"}}`},
		{struct {
			A int `json:"a"`
		}{3}, `{"name":"x","arguments":{"a":3}}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got string
			f := &fake{answers: map[string]func(jsonrpc.Message) string{"tools/call": func(m jsonrpc.Message) string {
				got = string(m.Params)
				return result(m, `{"content":[]}`)
			}}}
			c := connect(t, f, client.Options{})
			defer closeClient(t, c)
			if _, err := c.CallTool(t.Context(), "x", row.args, nil); err != nil || got != row.want {
				t.Errorf("sent %s (error %v), want %s", got, err, row.want)
			}
		})
	}
}

func TestArgumentsAreEncodedAsEverythingElseIs(t *testing.T) {
	for _, args := range []any{
		map[string]any{},
		map[string]any(nil),
		struct{}{},
		map[string]string{"b": "2", "a": "1"},
		map[string]any{
			"text": "a\"b\\\n\x00<&>\u2028\U0001F600", "broken": "\xff", "\xfe\"": "name", "é": true, "e": false, "int": -7,
			"float": 1e21, "small": 0.1, "wide": int64(1 << 60), "none": nil, "raw": json.RawMessage(`{"z": [1, 1e2] , "z":"\u0041"}`),
			"list": []any{1, "x", nil, map[string]any{"y": 1, "x": 2}}, "typed": []string{"a"}, "": map[string]int{"n": 1},
		},
	} {
		want, err := mcp.Encode(args)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := client.EncodeArguments(args); err != nil || string(got) != string(want) {
			t.Errorf("got  %s (error %v)\nwant %s", got, err, want)
		}
	}
	if got, err := client.EncodeArguments(map[string]any{"f": func() {}}); err == nil {
		t.Errorf("a function is %s", got)
	}
}

func TestArgumentsThatCannotBeEncodedAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		for _, args := range []any{json.RawMessage(`{"a":`), func() {}, json.RawMessage(`[1]`), "text"} {
			_, err := c.CallTool(t.Context(), "x", args, nil)
			if err == nil || !strings.HasPrefix(err.Error(), "arguments of x: ") {
				t.Errorf("%v: got %v", args, err)
			}
		}
		if f.count("tools/call") != 0 {
			t.Error("something was sent")
		}
	})
}

func TestAToolCallReportsItsProgressAndLivesOnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"tools/call": silence}}
		f.hook = progressing(5, time.Second)
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		var got []float64
		_, err := c.CallTool(t.Context(), "slow", nil, &client.CallOptions{
			Timeout:          2 * time.Second,
			ExtendOnProgress: true,
			OnProgress:       func(p mcp.ProgressParams) { got = append(got, p.Progress) },
		})
		if err != nil || len(got) != 5 || got[4] != 4 {
			t.Errorf("progress %v, error %v", got, err)
		}
	})
}

func TestATimedOutCallNamesServerToolAndLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"tools/call": silence}}
		c := connect(t, f, client.Options{Server: "demo", Timeout: 2 * time.Second})
		defer closeClient(t, c)
		_, err := c.CallTool(t.Context(), "slow", nil, nil)
		var carriage *transport.Error
		if err == nil || !strings.HasSuffix(err.Error(), "tools/call slow: request timeout after 2000ms") ||
			!errors.As(err, &carriage) || carriage.Delivery != transport.MaybeDelivered {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if f.count("notifications/cancelled") != 1 {
			t.Error("the server was not told")
		}
	})
}

func TestAResultThatCannotBeDecodedFailsItsCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{
			"tools/call": always(`"just text"`), "tools/list": always(`{"tools":[]}`),
		}}
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		_, err := c.CallTool(t.Context(), "x", nil, nil)
		var broken *rpc.DecodeError
		if !errors.As(err, &broken) || broken.Method != "tools/call" {
			t.Errorf("got %v", err)
		}
		if _, err := c.ListTools(t.Context()); err != nil {
			t.Errorf("the next call failed: %v", err)
		}
	})
}
