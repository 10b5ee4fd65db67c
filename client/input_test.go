package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport/transporttest"
)

// accepting is a handler whose user accepts every form with the same content.
func accepting(content string) *client.InputHandler {
	return &client.InputHandler{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(content)}, nil
	}}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := mcp.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOnlyWhatTheHandlerOffersIsAdvertised(t *testing.T) {
	roots := func(context.Context) ([]mcp.Root, error) { return nil, nil }
	sample := func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { return nil, nil }
	elicit := accepting("").Elicit
	for _, row := range []struct {
		name    string
		handler *client.InputHandler
		base    mcp.ClientCapabilities
		want    string
	}{
		{"no handler", nil, mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}}, `{"sampling":{}}`},
		{"nothing", &client.InputHandler{SampleTools: true, ElicitURL: true}, mcp.ClientCapabilities{}, `{}`},
		{"roots", &client.InputHandler{Roots: roots}, mcp.ClientCapabilities{}, `{"roots":{"listChanged":true}}`},
		{"sampling", &client.InputHandler{Sample: sample}, mcp.ClientCapabilities{}, `{"sampling":{}}`},
		{
			"sampling with tools", &client.InputHandler{Sample: sample, SampleTools: true},
			mcp.ClientCapabilities{},
			`{"sampling":{"tools":{}}}`,
		},
		{"forms", &client.InputHandler{Elicit: elicit}, mcp.ClientCapabilities{}, `{"elicitation":{}}`},
		{
			"forms and URLs", &client.InputHandler{Elicit: elicit, ElicitURL: true},
			mcp.ClientCapabilities{},
			`{"elicitation":{"form":{},"url":{}}}`,
		},
		{
			"what the base has stays", &client.InputHandler{Sample: sample, SampleTools: true},
			mcp.ClientCapabilities{
				Sampling:     &mcp.SamplingCapability{Context: &mcp.Capability{}},
				Experimental: json.RawMessage(`{"x":1}`),
			},
			`{"sampling":{"context":{},"tools":{}},"experimental":{"x":1}}`,
		},
	} {
		before := encoded(t, row.base)
		if got := encoded(t, client.Capabilities(row.handler, row.base)); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
		if after := encoded(t, row.base); after != before {
			t.Errorf("%s: the host's own capabilities became %s", row.name, after)
		}
	}
}

func TestWhatIsNotOfferedOrAskedWronglyIsRefused(t *testing.T) {
	var called atomic.Bool
	full := client.InputHandler{
		Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
		Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			called.Store(true)
			return &mcp.CreateMessageResult{}, nil
		},
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			called.Store(true)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		},
	}
	withURL := full
	withURL.ElicitURL = true
	const unknown, invalid = jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams
	for _, row := range []struct {
		name           string
		handler        *client.InputHandler
		method, params string
		code           int64
	}{
		{"no handler", nil, mcp.MethodListRoots, ``, unknown},
		{"no roots", &client.InputHandler{}, mcp.MethodListRoots, `{}`, unknown},
		{"no sampling", &client.InputHandler{}, mcp.MethodCreateMessage, `{}`, unknown},
		{"no elicitation", &client.InputHandler{}, mcp.MethodElicit, `{}`, unknown},
		{"another method", &full, "tasks/list", `{}`, unknown},
		{"no method", &full, "", ``, unknown},
		{"sampling without params", &full, mcp.MethodCreateMessage, ``, invalid},
		{"a malformed message", &full, mcp.MethodCreateMessage, `{"messages":[5]}`, invalid},
		{"tools", &full, mcp.MethodCreateMessage, `{"messages":[],"maxTokens":1,"tools":[]}`, invalid},
		{"a choice of tools", &full, mcp.MethodCreateMessage, `{"messages":[],"maxTokens":1,"toolChoice":{}}`, invalid},
		{"elicitation without params", &full, mcp.MethodElicit, ``, invalid},
		{"an unknown mode", &full, mcp.MethodElicit, `{"mode":"video","message":"m"}`, invalid},
		{"a schema that is none", &full, mcp.MethodElicit, `{"message":"m","requestedSchema":"x"}`, invalid},
		{"URLs that are not offered", &full, mcp.MethodElicit, `{"mode":"url","message":"m","url":"https://x"}`, invalid},
		{"no URL", &withURL, mcp.MethodElicit, `{"mode":"url","message":"m"}`, invalid},
		{"a path", &withURL, mcp.MethodElicit, `{"mode":"url","message":"m","url":"/etc/x"}`, invalid},
		{"no URL at all", &withURL, mcp.MethodElicit, `{"mode":"url","message":"m","url":"https://[x"}`, invalid},
	} {
		raw, err := client.Answer(t.Context(), row.handler, row.method, json.RawMessage(row.params))
		refusal, _ := errors.AsType[*rpc.Refusal](err)
		if refusal == nil || refusal.Code != row.code || raw != nil {
			t.Errorf("%s: got %s and error %v", row.name, raw, err)
		}
		if called.Load() {
			t.Fatalf("%s: the host was asked", row.name)
		}
	}
}

func TestRootsAndMessagesAreAnsweredAsTheHostGivesThem(t *testing.T) {
	asked := ""
	h := &client.InputHandler{
		SampleTools: true,
		Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			asked = encoded(t, p)
			return &mcp.CreateMessageResult{Model: "m", Content: mcp.Blocks{mcp.Text("hi")}, StopReason: mcp.StopEndTurn}, nil
		},
	}
	answer := func(method, params, want string) {
		t.Helper()
		got, err := client.Answer(t.Context(), h, method, json.RawMessage(params))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s and error %v", method, got, err)
		}
	}
	const question = `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":5,` +
		`"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"}}`
	answer(mcp.MethodCreateMessage, question,
		`{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m","stopReason":"endTurn"}`)
	if asked != question {
		t.Errorf("the host was asked %s", asked)
	}
	h.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
	answer(mcp.MethodListRoots, ``, `{"roots":[]}`)
	h.Roots = func(context.Context) ([]mcp.Root, error) {
		return []mcp.Root{{URI: "file:///a", Name: "A"}, {URI: "file:///b"}}, nil
	}
	answer(mcp.MethodListRoots, `{"_meta":{}}`, `{"roots":[{"uri":"file:///a","name":"A"},{"uri":"file:///b"}]}`)
}

func TestAFailureOfTheHostIsPassedOn(t *testing.T) {
	no := &rpc.Refusal{Code: -1, Message: "the user said no"}
	h := &client.InputHandler{
		Roots:  func(context.Context) ([]mcp.Root, error) { return nil, no },
		Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { return nil, no },
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, no },
	}
	for _, method := range []string{mcp.MethodListRoots, mcp.MethodCreateMessage, mcp.MethodElicit} {
		raw, err := client.Answer(t.Context(), h, method, json.RawMessage(`{}`))
		if raw != nil || err != error(no) { //nolint:errorlint // it itself is promised
			t.Errorf("%s: %s and error %v", method, raw, err)
		}
	}
}

func TestAHostThatGivesNoAnswerIsNotTakenForOne(t *testing.T) {
	h := &client.InputHandler{
		Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { return nil, nil },
		Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil },
	}
	for _, method := range []string{mcp.MethodCreateMessage, mcp.MethodElicit} {
		raw, err := client.Answer(t.Context(), h, method, json.RawMessage(`{}`))
		if raw != nil || err == nil || !strings.Contains(err.Error(), "the host gave no") {
			t.Errorf("%s: %s and error %v", method, raw, err)
		}
	}
}

func TestAServerInASessionIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{hook: func(s *transporttest.Server, text []byte) {
			if m, _ := jsonrpc.Parse(text); m.Method == "notifications/initialized" {
				s.Write([]byte(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"m",` +
					`"requestedSchema":{"type":"object","properties":{"n":{"type":"number","default":1.50}}}}}`))
				s.Write([]byte(`{"jsonrpc":"2.0","id":"q2","method":"roots/list"}`))
			}
		}}
		c := connect(t, f, client.Options{Input: accepting(`{}`)})
		defer closeClient(t, c)
		synctest.Wait()
		said := strings.Join(f.messages(), "\n")
		for _, want := range []string{
			`"capabilities":{"elicitation":{}}`,
			`"id":"q1","result":{"action":"accept","content":{"n":1.50}}`,
			`"id":"q2","error":{"code":-32601`,
		} {
			if !strings.Contains(said, want) {
				t.Errorf("no %s in:\n%s", want, said)
			}
		}
	})
}
