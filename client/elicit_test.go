package client_test

import (
	"context"
	"encoding/json"
	"testing"

	"mcpwire/client"
	"mcpwire/mcp"
)

// formOf asks for a form with these properties.
func formOf(properties string) json.RawMessage {
	return json.RawMessage(
		`{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":` + properties + `}}`)
}

func TestAnAcceptedFormGetsTheDefaultsThatItLeavesOut(t *testing.T) {
	for _, row := range []struct{ name, properties, content, want string }{
		{"a string", `{"a":{"type":"string","default":"é\u00e9\/"}}`, `{}`, `{"a":"é\u00e9\/"}`},
		{"an empty string", `{"a":{"type":"string","default":""}}`, `{}`, `{"a":""}`},
		{"an integer", `{"a":{"type":"integer","default":12345678901234567890}}`, `{}`, `{"a":12345678901234567890}`},
		{"an integer as a decimal", `{"a":{"type":"integer","default":2.0}}`, `{}`, `{"a":2.0}`},
		{"an integer as a power", `{"a":{"type":"integer","default":15e1}}`, `{}`, `{"a":15e1}`},
		{"zero", `{"a":{"type":"integer","default":0}}`, `{}`, `{"a":0}`},
		{"a number", `{"a":{"type":"number","default":95.50}}`, `{}`, `{"a":95.50}`},
		{"a number without a fraction", `{"a":{"type":"number","default":95}}`, `{}`, `{"a":95}`},
		{"true", `{"a":{"type":"boolean","default":true}}`, `{}`, `{"a":true}`},
		{"false", `{"a":{"type":"boolean","default":false}}`, `{}`, `{"a":false}`},
		{"an enum", `{"a":{"type":"string","enum":["x","y"],"default":"y"}}`, `{}`, `{"a":"y"}`},
		{"an enum with names", `{"a":{"type":"string","enum":["x"],"enumNames":["X"],"default":"x"}}`, `{}`, `{"a":"x"}`},
		{"an enum with titles", `{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}],"default":"x"}}`, `{}`, `{"a":"x"}`},
		{
			"several of an enum", `{"a":{"type":"array","items":{"type":"string","enum":["x","y"]},"default":["x", "y"]}}`,
			`{}`, `{"a":["x","y"]}`,
		},
		{"none of an enum", `{"a":{"type":"array","items":{"anyOf":[]},"default":[]}}`, `{}`, `{"a":[]}`},
		{"no type", `{"a":{"enum":["x"],"default":"x"}}`, `{}`, `{"a":"x"}`},
		{"several types", `{"a":{"type":["string","null"],"default":"x"}}`, `{}`, `{"a":"x"}`},
		{"no content", `{"a":{"type":"string","default":"x"}}`, ``, `{"a":"x"}`},
		{"null content", `{"a":{"type":"string","default":"x"}}`, `{"a":null}`, `{"a":null}`},

		{"what is there stays", `{"a":{"type":"integer","default":1},"b":{"type":"integer","default":2}}`, `{"b":3.00}`, `{"b":3.00,"a":1}`},
		{"what is false stays", `{"a":{"type":"boolean","default":true}}`, `{"a":false}`, `{"a":false}`},
		{"what is empty stays", `{"a":{"type":"string","default":"x"}}`, `{"a":""}`, `{"a":""}`},
		{"what is escaped stays", `{"a":{"type":"string","default":"x"}}`, `{"\u0061":"y"}`, `{"\u0061":"y"}`},
		{"what nobody asked for stays", `{"a":{"type":"string","default":"x"}}`, `{"z":1}`, `{"z":1,"a":"x"}`},
		{"the schema's order", `{"b":{"type":"integer","default":1},"a":{"type":"integer","default":2}}`, `{}`, `{"b":1,"a":2}`},
		{"a name with a quote", `{"\"\n":{"type":"integer","default":1}}`, `{}`, `{"\"\n":1}`},
		{"the last of two", `{"a":{"type":"integer","default":1},"a":{"type":"integer","default":2,"default":3}}`, `{}`, `{"a":3}`},

		{"no default", `{"a":{"type":"string"}}`, `{}`, `{}`},
		{"null", `{"a":{"type":"string","default":null}}`, `{}`, `{}`},
		{"another type", `{"a":{"type":"integer","default":"1"}}`, `{}`, `{}`},
		{"no integer", `{"a":{"type":"integer","default":1.5}}`, `{}`, `{}`},
		{"a string for an array", `{"a":{"type":"array","default":"x"}}`, `{}`, `{}`},
		{"an array of something else", `{"a":{"type":"array","default":["x",1]}}`, `{}`, `{}`},
		{"an object", `{"a":{"type":"object","default":{}}}`, `{}`, `{}`},
		{"an object without a type", `{"a":{"default":{}}}`, `{}`, `{}`},
		{"fields that are none", `{"a":5,"b":null,"c":[],"d":true,"e":{"type":"integer","default":1}}`, `{}`, `{"e":1}`},
		{"properties that are none", `[]`, `{"x":1}`, `{"x":1}`},
		{"null properties", `null`, `{}`, `{}`},
	} {
		got, err := client.Answer(t.Context(), accepting(row.content), mcp.MethodElicit, formOf(row.properties))
		if want := `{"action":"accept","content":` + row.want + `}`; err != nil || string(got) != want {
			t.Errorf("%s:\n got %s (%v)\nwant %s", row.name, got, err, want)
		}
	}
}

func TestAnAnswerToAnElicitationIsChecked(t *testing.T) {
	const form, visit = `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"integer","default":1}}}}`,
		`{"mode":"url","message":"m","url":"https://example.com/x"}`
	for _, row := range []struct {
		name, params    string
		action, content string
		want            string // empty: an error
	}{
		{"declined", form, "decline", ``, `{"action":"decline"}`},
		{"declined with content", form, "decline", `{"a":1}`, `{"action":"decline"}`},
		{"cancelled with what is no object", form, "cancel", `[`, `{"action":"cancel"}`},
		{"accepted", form, "accept", ` { } `, `{"action":"accept","content":{"a":1}}`},
		{"accepted without a schema", `{"message":"m"}`, "accept", ``, `{"action":"accept","content":{}}`},
		{"a visit", visit, "accept", ``, `{"action":"accept"}`},
		{"a visit with content", visit, "accept", `{"a":1}`, `{"action":"accept"}`},
		{"a visit declined", visit, "decline", ``, `{"action":"decline"}`},
		{"no action", form, "", `{}`, ``},
		{"an unknown action", form, "Accept", `{}`, ``},
		{"an array", form, "accept", `[1]`, ``},
		{"null", form, "accept", `null`, ``},
		{"half an object", form, "accept", `{"a":`, ``},
		{"two objects", form, "accept", `{}{}`, ``},
	} {
		given := mcp.ElicitResult{Action: row.action, Content: json.RawMessage(row.content)}
		h := &client.InputHandler{ElicitURL: true, Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			clear(p.RequestedSchema) // what it is handed is its own
			return &given, nil
		}}
		got, err := client.Answer(t.Context(), h, mcp.MethodElicit, json.RawMessage(row.params))
		if string(got) != row.want || (err != nil) != (row.want == "") {
			t.Errorf("%s: got %s and error %v", row.name, got, err)
		}
		if given.Action != row.action || string(given.Content) != row.content {
			t.Errorf("%s: the host's own answer was changed", row.name)
		}
	}
}

func TestTheHostSeesTheQuestionAsItWasAsked(t *testing.T) {
	const schema = `{"type":"object", "properties":{"n":{"type":"number","default":1.0}}}`
	var seen *mcp.ElicitParams
	h := &client.InputHandler{Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		seen = p
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}}
	_, err := client.Answer(t.Context(), h, mcp.MethodElicit, json.RawMessage(`{"message":"why?","requestedSchema":`+schema+`}`))
	if err != nil || seen.Message != "why?" || string(seen.RequestedSchema) != schema || seen.Mode != "" {
		t.Errorf("got %+v and error %v", seen, err)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("elicitation/create", string(formOf(`{"a":{"type":"integer","default":1}}`)), `{"b":1}`)
	f.Add("elicitation/create", `{"mode":"url","message":"m","url":"https://x/"}`, ``)
	f.Add("elicitation/create", string(formOf(`{"a":{"type":["array"],"default":["x"]},"\ud800":{"default":1e999}}`)), `{}`)
	f.Add("sampling/createMessage", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},null]}]}`, ``)
	f.Add("roots/list", `null`, ``)
	f.Fuzz(func(t *testing.T, method, params, content string) {
		h := accepting(content)
		h.ElicitURL, h.SampleTools = true, true
		h.Roots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///"}}, nil }
		h.Sample = func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if len(p.Messages) == 0 {
				return nil, nil
			}
			return &mcp.CreateMessageResult{Content: p.Messages[0].Content}, nil
		}
		raw, err := client.Answer(t.Context(), h, method, json.RawMessage(params))
		if err != nil {
			return
		}
		var result struct {
			Content json.RawMessage `json:"content"`
		}
		if err := mcp.Decode(raw, &result); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		var given map[string]json.RawMessage
		if method != mcp.MethodElicit || result.Content == nil || mcp.Decode([]byte(content), &given) != nil {
			return
		}
		var sent map[string]json.RawMessage
		if err := mcp.Decode(result.Content, &sent); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		for name, value := range given {
			if value != nil && sent[name] == nil {
				t.Fatalf("%q was left out: %s", name, raw)
			}
		}
	})
}
