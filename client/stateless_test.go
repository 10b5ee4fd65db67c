package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport/transporttest"
)

// newer makes a fake of the stateless era.
func newer(answers map[string]func(jsonrpc.Message) string) *fake {
	if answers == nil {
		answers = map[string]func(jsonrpc.Message) string{}
	}
	answers["server/discover"] = always(discovered)
	answers["initialize"] = refusing(-32601, "")
	return &fake{answers: answers}
}

func connectNewer(t *testing.T, f *fake, o client.Options) *client.Client {
	t.Helper()
	o.Protocol = client.ProtocolStateless
	return connect(t, f, o)
}

// params decodes the params of a message of the client.
func params(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	m, err := jsonrpc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]json.RawMessage
	if err := mcp.Decode(m.Params, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryRequestDescribesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newer(map[string]func(jsonrpc.Message) string{"tools/call": always(`{"content":[],"resultType":"complete"}`)})
		c := connectNewer(t, f, client.Options{Info: mcp.Implementation{Name: "me", Version: "1"}})
		defer closeClient(t, c)
		if s := c.Server(); s.Info.Name != "new" || s.Revision != "2026-07-28" || s.Instructions != "Be brief." {
			t.Errorf("got %+v", s)
		}
		_, err := c.CallTool(t.Context(), "x", map[string]int{"a": 1}, &client.CallOptions{Meta: json.RawMessage(`{"own":1.0}`)})
		if err != nil {
			t.Fatal(err)
		}
		seen := f.messages()
		const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` +
			`{"name":"me","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`
		want := []string{
			`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{` + meta + `}}}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{` + meta + `,"own":1.0},"name":"x","arguments":{"a":1}}}`,
		}
		if strings.Join(seen, "\n") != strings.Join(want, "\n") {
			t.Errorf("sent\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
		}
	})
}

// rounds asks for input in turn, and completes when nothing is left to ask.
func rounds(results ...string) func(jsonrpc.Message) string {
	n := 0
	return func(m jsonrpc.Message) string {
		n++
		if n > len(results) {
			return result(m, `{"content":[{"type":"text","text":"done"}],"resultType":"complete"}`)
		}
		return result(m, results[n-1])
	}
}

const asking = `{"resultType":"input_required","requestState":"st\u00e4te/+=","inputRequests":{` +
	`"who":{"method":"elicitation/create","params":{"mode":"form","message":"who?","requestedSchema":{"type":"object"}}},` +
	`"where":{"method":"roots/list"}}}`

func handler() *client.InputHandler {
	return &client.InputHandler{
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a"}}, nil },
		Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"ada"}`)}, nil
		},
	}
}

func TestAskedForInputARequestIsSentAgainWithIt(t *testing.T) {
	for _, method := range []string{"tools/call", "prompts/get", "resources/read"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newer(map[string]func(jsonrpc.Message) string{
					method: rounds(asking, `{"resultType":"input_required","requestState":""}`),
				})
				c := connectNewer(t, f, client.Options{Input: handler()})
				defer closeClient(t, c)
				var err error
				switch method {
				case "tools/call":
					_, err = c.CallTool(t.Context(), "x", map[string]int{"a": 1}, nil)
				case "prompts/get":
					_, err = c.GetPrompt(t.Context(), "x", nil)
				default:
					_, err = c.ReadResource(t.Context(), "x:y")
				}
				if err != nil {
					t.Fatal(err)
				}
				var sent []map[string]json.RawMessage
				ids := map[string]bool{}
				for _, text := range f.messages() {
					if m, _ := jsonrpc.Parse([]byte(text)); m.Method == method {
						sent = append(sent, params(t, text))
						ids[m.ID.String()] = true
					}
				}
				if len(sent) != 3 || len(ids) != 3 {
					t.Fatalf("%d requests with %d ids", len(sent), len(ids))
				}
				if sent[0]["requestState"] != nil || sent[0]["inputResponses"] != nil {
					t.Error("the first request came with an answer")
				}
				if got := string(sent[1]["requestState"]); got != `"stäte/+="` {
					t.Errorf("the state came back as %s", got)
				}
				var answers map[string]json.RawMessage
				if err := mcp.Decode(sent[1]["inputResponses"], &answers); err != nil ||
					string(answers["who"]) != `{"action":"accept","content":{"name":"ada"}}` ||
					string(answers["where"]) != `{"roots":[{"uri":"file:///a"}]}` {
					t.Errorf("answered %s", sent[1]["inputResponses"])
				}
				if string(sent[2]["requestState"]) != `""` || sent[2]["inputResponses"] != nil {
					t.Errorf("the third request came with %v", sent[2])
				}
			})
		})
	}
}

func TestInputThatIsNotToBeHadFailsTheCall(t *testing.T) {
	for _, row := range []struct {
		name    string
		results []string
		input   *client.InputHandler
		want    string
	}{
		{"nobody answers", []string{asking}, nil, "demo: tools/call x: input "},
		{"nothing is asked", []string{`{"resultType":"input_required"}`}, handler(), "names none"},
		{"it never ends", make([]string, 20), handler(), "asked for input 3 times"},
		{"another kind of result", []string{`{"resultType":"maybe"}`}, handler(), `unknown resultType "maybe"`},
		{
			"another method",
			[]string{`{"resultType":"input_required","inputRequests":{"a":{"method":"tools/list"}}}`},
			handler(), `input "a"`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for i, text := range row.results {
					if text == "" {
						row.results[i] = `{"resultType":"input_required","requestState":"again"}`
					}
				}
				f := newer(map[string]func(jsonrpc.Message) string{"tools/call": rounds(row.results...)})
				c := connectNewer(t, f, client.Options{Input: row.input, InputRounds: 3})
				defer closeClient(t, c)
				_, err := c.CallTool(t.Context(), "x", nil, nil)
				if err == nil || !strings.Contains(err.Error(), row.want) {
					t.Errorf("got %v, want %q", err, row.want)
				}
			})
		})
	}
}

func TestQuestionsAreAnsweredAtOnceAndTheFirstFailureEndsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newer(map[string]func(jsonrpc.Message) string{"tools/call": rounds(asking)})
		c := connectNewer(t, f, client.Options{Input: &client.InputHandler{
			Roots: func(ctx context.Context) ([]mcp.Root, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				time.Sleep(time.Minute)
				return nil, errors.New("nobody is at home")
			},
		}})
		defer closeClient(t, c)
		start := time.Now()
		_, err := c.CallTool(t.Context(), "x", nil, nil)
		var input *client.InputError
		if !errors.As(err, &input) || input.Key != "who" || !strings.Contains(err.Error(), "nobody is at home") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

func TestTheLogLevelGoesWithEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newer(map[string]func(jsonrpc.Message) string{"tools/call": always(`{"content":[]}`)})
		c := connectNewer(t, f, client.Options{})
		defer closeClient(t, c)
		if err := c.SetLogLevel(t.Context(), mcp.LogWarning); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
			t.Fatal(err)
		}
		seen := f.messages()
		if len(seen) != 2 || !strings.Contains(seen[1], `"io.modelcontextprotocol/logLevel":"warning"`) {
			t.Errorf("sent %v", seen)
		}
	})
}

func TestAPingIsAQuestionThatEveryServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newer(nil)
		c := connectNewer(t, f, client.Options{})
		defer closeClient(t, c)
		if err := c.Ping(t.Context()); err != nil || f.count("server/discover") != 2 || f.count("ping") != 0 {
			t.Errorf("%v; sent %v", err, f.messages())
		}
	})
}

func TestRequestsOfTheServerAreIgnoredInTheStatelessEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newer(map[string]func(jsonrpc.Message) string{"tools/call": always(`{"content":[]}`)})
		f.hook = func(s *transporttest.Server, text []byte) {
			if strings.Contains(string(text), "tools/call") {
				s.Write([]byte(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`))
			}
		}
		c := connectNewer(t, f, client.Options{Input: handler()})
		defer closeClient(t, c)
		if _, err := c.CallTool(t.Context(), "x", nil, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if seen := f.messages(); len(seen) != 2 {
			t.Errorf("sent %v", seen)
		}
	})
}

func TestAnEmptyCursorIsACursorInTheStatelessEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newer(map[string]func(jsonrpc.Message) string{"tools/list": again(
			always(`{"tools":[{"name":"a"}],"nextCursor":""}`), always(`{"tools":[{"name":"b"}]}`),
		)})
		c := connectNewer(t, f, client.Options{})
		defer closeClient(t, c)
		if tools, err := c.ListTools(t.Context()); err != nil || len(tools) != 2 {
			t.Errorf("got %d tools and error %v", len(tools), err)
		}
	})
}

func TestWhereThereAreNoHeadersACallThatIsRefusedForThemIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newer(map[string]func(jsonrpc.Message) string{"tools/call": refusing(-32020, "")})
		c := connectNewer(t, f, client.Options{})
		defer closeClient(t, c)
		_, err := c.CallTool(t.Context(), "x", nil, nil)
		if refusal, ok := errors.AsType[*jsonrpc.Error](err); !ok || refusal.Code != -32020 {
			t.Errorf("got %v", err)
		}
		if n := f.count("tools/call"); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}
