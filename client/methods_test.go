package client_test

import (
	"context"
	"encoding/json"
	"errors"
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

// A method is a call of one method of the client, with the result encoded again.
type method struct {
	name string
	call func(ctx context.Context, c *client.Client) (any, error)
}

func listed[T any](f func(*client.Client, context.Context) ([]T, error)) func(context.Context, *client.Client) (any, error) {
	return func(ctx context.Context, c *client.Client) (any, error) {
		items, err := f(c, ctx)
		return struct {
			Items []T `json:"items"`
		}{items}, err
	}
}

var (
	listTools     = method{"tools/list", listed((*client.Client).ListTools)}
	listResources = method{"resources/list", listed((*client.Client).ListResources)}
	listTemplates = method{"resources/templates/list", listed((*client.Client).ListResourceTemplates)}
	listPrompts   = method{"prompts/list", listed((*client.Client).ListPrompts)}
	callTool      = method{"tools/call", func(ctx context.Context, c *client.Client) (any, error) {
		return c.CallTool(ctx, "t", nil, nil)
	}}
	readResource = method{"resources/read", func(ctx context.Context, c *client.Client) (any, error) {
		return c.ReadResource(ctx, "file:///ä b")
	}}
	getPrompt = method{"prompts/get", func(ctx context.Context, c *client.Client) (any, error) {
		return c.GetPrompt(ctx, "p", map[string]string{"b": "2", "a": "ä"})
	}}
	getPlainPrompt = method{"prompts/get", func(ctx context.Context, c *client.Client) (any, error) {
		return c.GetPrompt(ctx, "p", nil)
	}}
	complete = method{"completion/complete", func(ctx context.Context, c *client.Client) (any, error) {
		return c.Complete(ctx, mcp.CompletionReference{Type: mcp.RefPrompt, Name: "p"},
			mcp.CompletionArgument{Name: "lang", Value: "py"}, map[string]string{"os": "linux"})
	}}
	completeURI = method{"completion/complete", func(ctx context.Context, c *client.Client) (any, error) {
		return c.Complete(ctx, mcp.CompletionReference{Type: mcp.RefResource, URI: "file:///{path}"},
			mcp.CompletionArgument{Name: "path"}, nil)
	}}
)

// ask calls a method of a client whose server answers it with text. It returns the params that were sent, and what was
// logged.
func ask(t *testing.T, m method, text string) (result any, params, log string, err error) {
	t.Helper()
	var logged strings.Builder
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{m.name: func(request jsonrpc.Message) string {
			params = string(request.Params)
			return string(jsonrpc.AppendResult(nil, request.ID, json.RawMessage(text)))
		}}}
		c := connect(t, f, client.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		defer closeClient(t, c)
		result, err = m.call(t.Context(), c)
	})
	return result, params, logged.String(), err
}

func TestEachMethodSendsItsParamsAndReadsItsResult(t *testing.T) {
	for _, row := range []struct {
		name   string
		method method
		params string
		result string
		want   string // empty: the result itself
	}{
		{
			"resources", listResources, ``,
			`{"resources":[{"uri":"file:///a","name":"a","size":5,"annotations":{"priority":0.5},"_meta":{"x":1.0}},` +
				`{"uri":"file:///b","name":"b","title":"B"}]}`,
			`{"items":[{"uri":"file:///a","name":"a","size":5,"annotations":{"priority":0.5},"_meta":{"x":1.0}},` +
				`{"uri":"file:///b","name":"b","title":"B"}]}`,
		},
		{
			"templates", listTemplates, ``,
			`{"resourceTemplates":[{"uriTemplate":"file:///{p}","name":"f","mimeType":"text/plain"}]}`,
			`{"items":[{"uriTemplate":"file:///{p}","name":"f","mimeType":"text/plain"}]}`,
		},
		{
			"prompts", listPrompts, ``,
			`{"prompts":[{"name":"p","description":"d","arguments":[{"name":"a","required":true}]}]}`,
			`{"items":[{"name":"p","description":"d","arguments":[{"name":"a","required":true}]}]}`,
		},
		{
			"a resource", readResource, `{"uri":"file:///ä b"}`,
			`{"contents":[{"uri":"file:///a","mimeType":"text/plain","text":""},{"uri":"file:///b","blob":"AA=="}],"_meta":{"x":1}}`, ``,
		},
		{
			"a prompt", getPrompt, `{"name":"p","arguments":{"a":"ä","b":"2"}}`,
			`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}},` +
				`{"role":"assistant","content":{"type":"later","x":[1.0]}}]}`, ``,
		},
		{"a prompt without arguments", getPlainPrompt, `{"name":"p"}`, `{"messages":[]}`, ``},
		{
			"a completion for a prompt", complete,
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"lang","value":"py"},"context":{"arguments":{"os":"linux"}}}`,
			`{"completion":{"values":["python",""],"total":10,"hasMore":true},"_meta":{"x":1}}`, ``,
		},
		{
			"a completion for a template", completeURI,
			`{"ref":{"type":"ref/resource","uri":"file:///{path}"},"argument":{"name":"path","value":""}}`,
			`{"completion":{"values":[]}}`, ``,
		},
		{"an answer without a completion", complete, `*`, `{}`, `{"completion":{"values":[]}}`},
		{"an answer without values", complete, `*`, `{"completion":{"values":null}}`, `{"completion":{"values":[]}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, params, _, err := ask(t, row.method, row.result)
			if err != nil {
				t.Fatal(err)
			}
			if params != row.params && row.params != "*" {
				t.Errorf("sent %s", params)
			}
			want := row.want
			if want == "" {
				want = row.result
			}
			if got := encoded(t, result); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestWhatIsNullMalformedOrThereTwiceIsLeftOutOfEveryList(t *testing.T) {
	const text = `{"type":"text","text":"x"}`
	for _, row := range []struct {
		name         string
		method       method
		result, want string
		left         string // how many are left out, as it is logged; empty: none
	}{
		{
			"tools", listTools, `{"tools":[null,{"name":"a"},5,{"name":[]},{},{"name":"a","title":"2"},"x",{"name":"b"}]}`,
			`{"items":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}`, "5",
		},
		{
			"resources", listResources,
			`{"resources":[{"uri":"u:a","name":"a"},null,{"uri":5,"name":"b"},{"name":"c"},{"uri":"u:a","name":"d"},{"uri":"u:e","name":"a"}]}`,
			`{"items":[{"uri":"u:a","name":"a"},{"uri":"u:e","name":"a"}]}`, "3",
		},
		{
			"templates", listTemplates,
			`{"resourceTemplates":[[],{"uriTemplate":"u:{a}","name":"a"},{"uriTemplate":"u:{a}","name":"b"},{"uriTemplate":"u:{c}","name":"a"}]}`,
			`{"items":[{"uriTemplate":"u:{a}","name":"a"},{"uriTemplate":"u:{c}","name":"a"}]}`, "1",
		},
		{
			"prompts", listPrompts,
			`{"prompts":[{"name":"a","arguments":[{"name":1}]},{"name":"b"},null,{"name":"b","title":"B"}]}`,
			`{"items":[{"name":"b"}]}`, "2",
		},
		{"null", listPrompts, `{"prompts":null,"nextCursor":null}`, `{"items":[]}`, ""},
		{"a list that comes twice", listPrompts, `{"prompts":[{"name":"a"}],"prompts":[{"name":"b"}]}`, `{"items":[{"name":"b"}]}`, ""},
		{"the content of a tool's result", callTool, `{"content":[null,` + text + `,5,{"type":"text","text":5},{}]}`, `{"content":[` + text + `]}`, "4"},
		{
			"content without a type", callTool, `{"content":[{"text":"x"}],"isError":true}`,
			`{"content":[{"type":"","text":"x"}],"isError":true}`, "",
		},
		{
			"the contents of a resource", readResource, `{"contents":[null,{"text":"a"},{"uri":"u:a","text":5},"x"]}`,
			`{"contents":[{"uri":"","text":"a"}]}`, "3",
		},
		{
			"the messages of a prompt", getPrompt, `{"messages":[null,{"role":"user","content":` + text + `},{"role":"user"},1]}`,
			`{"messages":[{"role":"user","content":` + text + `}]}`, "3",
		},
		{
			"the values of a completion", complete, `{"completion":{"values":["a",null,5,{},""]}}`,
			`{"completion":{"values":["a",""]}}`, "3",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, _, log, err := ask(t, row.method, row.result)
			if err != nil {
				t.Fatal(err)
			}
			if got := encoded(t, result); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if warned := strings.Count(log, "left out"); row.left == "" && warned != 0 ||
				row.left != "" && (warned != 1 || !strings.Contains(log, "elements="+row.left+" ")) {
				t.Errorf("logged %s", log)
			}
		})
	}
}

func TestAnAnswerThatIsNoneFailsItsCallAndSaysWhich(t *testing.T) {
	for _, m := range []method{
		listTools, listResources, listTemplates, listPrompts, callTool, readResource, getPrompt, complete,
	} {
		list := map[string]string{
			"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
			"prompts/list": "prompts", "tools/call": "content", "resources/read": "contents", "prompts/get": "messages",
		}[m.name]
		broken := []string{`"text"`, `[1]`, `5`, `{"` + list + `":5}`, `{"` + list + `":{"a":1}}`}
		if list == "" {
			broken = []string{`"text"`, `{"completion":5}`, `{"completion":[]}`, `{"completion":{"values":"x"}}`, `{"completion":{"total":"x"}}`}
		}
		if strings.HasSuffix(m.name, "/list") {
			broken = append(broken, `{"nextCursor":5}`)
		}
		for _, text := range broken {
			_, _, _, err := ask(t, m, text)
			failure, _ := errors.AsType[*rpc.DecodeError](err)
			if failure == nil || failure.Method != m.name || failure.Server != "demo" {
				t.Errorf("%s: %s: got %v", m.name, text, err)
			}
		}
	}
}

func TestEveryListIsReadPageByPage(t *testing.T) {
	for _, row := range []struct {
		method      method
		first, next string
		want        string
	}{
		{
			listResources, `{"resources":[{"uri":"u:a","name":"a"}],"nextCursor":"2"}`,
			`{"resources":[{"uri":"u:b","name":"b"},{"uri":"u:a","name":"x"}]}`,
			`{"items":[{"uri":"u:a","name":"a"},{"uri":"u:b","name":"b"}]}`,
		},
		{
			listTemplates, `{"resourceTemplates":[{"uriTemplate":"u:a","name":"a"}],"nextCursor":"2"}`,
			`{"resourceTemplates":[{"uriTemplate":"u:b","name":"b"}],"nextCursor":""}`,
			`{"items":[{"uriTemplate":"u:a","name":"a"},{"uriTemplate":"u:b","name":"b"}]}`,
		},
		{
			listPrompts, `{"prompts":[{"name":"a"}],"nextCursor":"2"}`, `{"prompts":[{"name":"b"}]}`,
			`{"items":[{"name":"a"},{"name":"b"}]}`,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: map[string]func(jsonrpc.Message) string{row.method.name: func(m jsonrpc.Message) string {
				if string(m.Params) == `{"cursor":"2"}` {
					return result(m, row.next)
				}
				return result(m, row.first)
			}}}
			c := connect(t, f, client.Options{})
			defer closeClient(t, c)
			items, err := row.method.call(t.Context(), c)
			if got := encoded(t, items); err != nil || got != row.want || f.count(row.method.name) != 2 {
				t.Errorf("%s: got %s and error %v", row.method.name, got, err)
			}
		})
	}
}

func TestAServerWithoutAMethodHasAnEmptyListAndRefusesTheRest(t *testing.T) {
	for _, row := range []struct {
		method  method
		refused bool
	}{
		{listResources, false},
		{listTemplates, false},
		{listPrompts, false},
		{readResource, true},
		{getPrompt, true},
		{complete, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, &fake{}, client.Options{})
			defer closeClient(t, c)
			_, err := row.method.call(t.Context(), c)
			refusal, refused := errors.AsType[*jsonrpc.Error](err)
			if refused != row.refused || refused && refusal.Code != jsonrpc.CodeMethodNotFound || !refused && err != nil {
				t.Errorf("%s: got %v", row.method.name, err)
			}
		})
	}
}

func TestEveryMethodIsBoundedByTheTimeout(t *testing.T) {
	for _, row := range []struct {
		method method
		about  string
	}{
		{listResources, "resources/list"},
		{listTemplates, "resources/templates/list"},
		{listPrompts, "prompts/list"},
		{readResource, "resources/read file:///ä b"},
		{getPrompt, "prompts/get p"},
		{complete, "completion/complete"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: map[string]func(jsonrpc.Message) string{row.method.name: silence}}
			c := connect(t, f, client.Options{Timeout: 2 * time.Second})
			defer closeClient(t, c)
			start := time.Now()
			_, err := row.method.call(t.Context(), c)
			if want := row.about + ": request timeout after 2000ms"; err == nil || !strings.HasSuffix(err.Error(), want) ||
				time.Since(start) != 2*time.Second {
				t.Errorf("got %v after %v", err, time.Since(start))
			}
		})
	}
}

func TestTheLogLevelIsSetInASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"logging/setLevel": always(`{}`)}}
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		if err := c.SetLogLevel(t.Context(), mcp.LogNotice); err != nil {
			t.Error(err)
		}
		if said := strings.Join(f.messages(), "\n"); !strings.Contains(said, `"params":{"level":"notice"}`) {
			t.Errorf("sent %s", said)
		}
		for _, level := range []mcp.LogLevel{"", "trace", "Debug"} {
			if err := c.SetLogLevel(t.Context(), level); err == nil {
				t.Errorf("%q is taken", level)
			}
		}
		if n := f.count("logging/setLevel"); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestChangesOfTheRootsAreToldInASession(t *testing.T) {
	roots := &client.InputHandler{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }}
	for _, row := range []struct {
		name    string
		options client.Options
		told    int
		fails   bool
	}{
		{"a session", client.Options{Input: roots}, 1, false},
		{"no roots", client.Options{}, 0, true},
		{"no session", client.Options{Input: roots, Protocol: client.ProtocolStateless}, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: map[string]func(jsonrpc.Message) string{"server/discover": always(discovered)}}
			c := connect(t, f, row.options)
			defer closeClient(t, c)
			err := c.RootsChanged(t.Context())
			synctest.Wait()
			if n := f.count("notifications/roots/list_changed"); (err != nil) != row.fails || n != row.told {
				t.Errorf("%s: told %d times, error %v", row.name, n, err)
			}
		})
	}
}

func TestAfterTheEndRootsChangedFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		roots := &client.InputHandler{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }}
		c := connect(t, &fake{}, client.Options{Input: roots})
		closeClient(t, c)
		if err := c.RootsChanged(t.Context()); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzLists(f *testing.F) {
	for _, text := range []string{
		`{"tools":[null,{"name":"a"},5],"nextCursor":"x","nextCursor":5}`, `{"content":[{"type":"tool_result","content":[null]}]}`,
		`{"messages":[{"role":"user","content":{"type":"text"}}]}`, `{"completion":{"values":[1,null,"a"],"total":1e400}}`,
		`null`, `[]`, `{"tools":{}}`, `{"\u0074ools":[[]]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := json.RawMessage(text)
		if tools, err := client.DecodeTools(raw); err == nil {
			for _, tool := range tools {
				if tool.Name == "" {
					t.Fatalf("%s: a tool without a name", text)
				}
			}
		}
		if blocks, err := client.DecodeContent(raw); err == nil {
			for _, block := range blocks {
				encoded(t, block)
			}
		}
		if messages, err := client.DecodeMessages(raw); err == nil {
			for _, message := range messages {
				encoded(t, message)
			}
		}
		if completion, err := client.DecodeCompletion(raw); (completion == nil) != (err != nil) {
			t.Fatalf("%s: %v and error %v", text, completion, err)
		}
	})
}
