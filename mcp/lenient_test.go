package mcp_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"mcpwire/mcp"
)

func TestWhatServersSendAgainstTheSchemaIsUnderstood(t *testing.T) {
	empty := mcp.ServerCapabilities{
		Tools: &mcp.ToolsCapability{}, Resources: &mcp.ResourcesCapability{}, Prompts: &mcp.PromptsCapability{},
		Logging: &mcp.Capability{}, Completions: &mcp.Capability{},
	}
	for _, row := range []struct {
		name, text string
		want       any
	}{
		{"no content", `{}`, mcp.CallToolResult{}},
		{"null content", `{"content":null,"isError":null,"_meta":null}`, mcp.CallToolResult{}},
		{
			"null structured content is a value", `{"content":[],"structuredContent":null}`,
			mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: raw(`null`)},
		},
		{
			"null data of a log message is a value", `{"level":"info","data":null}`,
			mcp.LogMessage{Level: mcp.LogInfo, Data: raw(`null`)},
		},
		{"an unknown log level", `{"level":"trace","data":1}`, mcp.LogMessage{Level: "trace", Data: raw(`1`)}},
		{"null tools", `{"tools":null,"nextCursor":null}`, mcp.ListToolsResult{}},
		{
			"an empty cursor is a cursor", `{"tools":[],"nextCursor":""}`,
			mcp.ListToolsResult{Tools: []mcp.Tool{}, NextCursor: new("")},
		},
		{
			"null members of a tool",
			`{"name":"t","title":null,"description":null,"inputSchema":null,"outputSchema":null,` +
				`"annotations":null,"icons":null,"execution":null,"_meta":null}`,
			mcp.Tool{Name: "t", InputSchema: raw(`{"type":"object"}`)},
		},
		{"no input schema", `{"name":"t"}`, mcp.Tool{Name: "t", InputSchema: raw(`{"type":"object"}`)}},
		{
			"annotations and execution as empty arrays", `{"name":"t","inputSchema":{},"annotations":[],"execution":[]}`,
			mcp.Tool{
				Name: "t", InputSchema: raw(`{}`), Annotations: &mcp.ToolAnnotations{}, Execution: &mcp.ToolExecution{},
			},
		},
		{
			"one icon size as a string", `{"src":"https://x/i.png","sizes":"48x48"}`,
			mcp.Icon{Src: "https://x/i.png", Sizes: mcp.Sizes{"48x48"}},
		},
		{
			"capabilities as empty arrays",
			`{"tools":[],"resources":[],"prompts":[],"logging":[],"completions":[]}`, empty,
		},
		{
			"capabilities as true",
			`{"tools":true,"resources":true,"prompts":true,"logging":true,"completions":true}`, empty,
		},
		{"null capabilities", `{"tools":null,"experimental":null,"extensions":null}`, mcp.ServerCapabilities{}},
		{
			"no capabilities at all", `{"protocolVersion":"2024-11-05","capabilities":[],"serverInfo":{"name":"s"}}`,
			mcp.InitializeResult{ProtocolVersion: "2024-11-05", ServerInfo: mcp.Implementation{Name: "s"}},
		},
		{
			"an integer written as a decimal", `{"uri":"u","name":"n","size":1024.0}`,
			mcp.Resource{URI: "u", Name: "n", Size: new(1024.0)},
		},
		{
			"an integer with an exponent", `{"tools":[],"ttlMs":6e4}`,
			mcp.ListToolsResult{Tools: []mcp.Tool{}, TTLMs: new(60000.0)},
		},
		{
			"a total of null", `{"progressToken":"a","progress":0.5,"total":null}`,
			mcp.ProgressParams{ProgressToken: raw(`"a"`), Progress: 0.5},
		},
		{
			"names in another case are other names", `{"Tools":[{"name":"x"}],"tools":[]}`,
			mcp.ListToolsResult{Tools: []mcp.Tool{}},
		},
		{
			"members that occur twice", `{"name":"a","name":"b","inputSchema":{"a":1},"inputSchema":{"b":1}}`,
			mcp.Tool{Name: "b", InputSchema: raw(`{"b":1}`)},
		},
		{
			"broken UTF-8", "{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}]}",
			mcp.CallToolResult{Content: []mcp.Content{mcp.Text("a\uFFFDb")}},
		},
		{"an unknown result type is kept", `{"resultType":"later"}`, mcp.Result{ResultType: "later"}},
		{
			"input requests as an empty array", `{"resultType":"input_required","inputRequests":[],"requestState":""}`,
			mcp.InputRequired{ResultType: mcp.ResultInputRequired, RequestState: new("")},
		},
		{
			"a sampling message with one block", `{"role":"user","content":{"type":"text","text":"a"}}`,
			mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.Blocks{mcp.Text("a")}},
		},
		{
			"a sampling message with two blocks",
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
			mcp.SamplingMessage{Role: mcp.RoleUser, Content: mcp.Blocks{mcp.Text("a"), mcp.Text("b")}},
		},
		{
			"a sampling result without content", `{"role":"assistant","model":"m","content":null}`,
			mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := reflect.New(reflect.TypeOf(row.want))
			if err := mcp.Decode([]byte(row.text), v.Interface()); err != nil {
				t.Fatal(err)
			}
			if got := v.Elem().Interface(); !reflect.DeepEqual(got, row.want) {
				t.Errorf("got  %#v\nwant %#v", got, row.want)
			}
		})
	}
}

func TestAMemberOfAWrongTypeIsAnErrorThatSaysWhere(t *testing.T) {
	var list mcp.ListToolsResult
	err := mcp.Decode([]byte(`{"tools":[{"name":"a"},{"name":5}]}`), &list)
	var semantic *jsonv2.SemanticError
	if !errors.As(err, &semantic) || !strings.Contains(err.Error(), "/tools/1/name") {
		t.Errorf("got %v", err)
	}
}

const foreign = `{"z":1,"a":12345678901234567890123.4500,"s":"\u00e9\/é<","n":null,"big":1e400,"e":{},"l":[1,2]}`

func TestPayloadsOfOthersStayByteForByte(t *testing.T) {
	spaced := strings.ReplaceAll(foreign, `,"`, ` , "`)
	for _, row := range []struct {
		text string
		get  func(text string) json.RawMessage
	}{
		{`{"name":"t","inputSchema":@}`, func(s string) json.RawMessage { return decode[mcp.Tool](t, s).InputSchema }},
		{`{"name":"t","outputSchema":@}`, func(s string) json.RawMessage { return decode[mcp.Tool](t, s).OutputSchema }},
		{`{"name":"t","_meta":@}`, func(s string) json.RawMessage { return decode[mcp.Tool](t, s).Meta }},
		{`{"name":"t","arguments":@}`, func(s string) json.RawMessage {
			return decode[mcp.CallToolParams](t, s).Arguments
		}},
		{`{"content":[],"structuredContent":@}`, func(s string) json.RawMessage {
			return decode[mcp.CallToolResult](t, s).StructuredContent
		}},
		{`{"level":"info","data":@}`, func(s string) json.RawMessage { return decode[mcp.LogMessage](t, s).Data }},
		{`{"experimental":@}`, func(s string) json.RawMessage {
			return decode[mcp.ServerCapabilities](t, s).Experimental
		}},
		{`{"action":"accept","content":@}`, func(s string) json.RawMessage {
			return decode[mcp.ElicitResult](t, s).Content
		}},
		{`{"type":"tool_use","input":@}`, func(s string) json.RawMessage { return decode[mcp.Content](t, s).Input }},
	} {
		if got := row.get(strings.Replace(row.text, "@", spaced, 1)); string(got) != spaced {
			t.Errorf("%s:\ngot  %s\nwant %s", row.text, got, spaced)
		}
	}
}

func TestPayloadsOfOthersAreSentDigitForDigitOnOneLine(t *testing.T) {
	params := mcp.CallToolParams{Name: "t", Arguments: raw("\n" + strings.ReplaceAll(foreign, ",", ",\n "))}
	if got, want := encode(t, params), `{"name":"t","arguments":`+foreign+`}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatIsDecodedSharesNoMemoryWithTheText(t *testing.T) {
	text := []byte(`{"content":[{"type":"text","text":"abc","later":{"x":1}},{"type":"later","y":"abc"}],` +
		`"structuredContent":{"abc":1}}`)
	var got, want mcp.CallToolResult
	if err := mcp.Decode(text, &got); err != nil {
		t.Fatal(err)
	}
	want = decode[mcp.CallToolResult](t, string(text))
	for i := range text {
		text[i] = '#'
	}
	if !reflect.DeepEqual(got.Content, want.Content) || string(got.StructuredContent) != string(want.StructuredContent) {
		t.Errorf("got %+v", got)
	}
}

func TestAPayloadThatIsNoJSONIsNotSent(t *testing.T) {
	if text, err := mcp.Encode(mcp.CallToolParams{Name: "t", Arguments: raw(`{"a":`)}); err == nil {
		t.Errorf("encoded %s", text)
	}
}

func TestAbsentResultTypeMeansComplete(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `{"resultType":null}`: true, `{"resultType":"complete"}`: true,
		`{"resultType":"input_required"}`: false, `{"resultType":"task"}`: false,
	} {
		if got := mcp.IsComplete(decode[mcp.Result](t, text).ResultType); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
