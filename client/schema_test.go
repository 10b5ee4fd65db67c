package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// structured is a server with one tool, t. What it returns is {"structuredContent":…}, or result as a whole if that is
// an object with a member "content".
func structured(input, output, content string) *fake {
	tool := fmt.Sprintf(`{"name":"t","inputSchema":%s`, input)
	if output != "" {
		tool += `,"outputSchema":` + output
	}
	if !strings.Contains(content, `"content"`) {
		content = `{"content":[],"structuredContent":` + content + `}`
	}
	return &fake{answers: map[string]func(jsonrpc.Message) string{
		"tools/list": always(`{"tools":[` + tool + `}]}`),
		"tools/call": always(content),
	}}
}

// warnings collects what is logged.
func warnings() (*slog.Logger, *strings.Builder) {
	var b strings.Builder
	return slog.New(slog.NewTextHandler(&b, nil)), &b
}

func mustList(t *testing.T, c *client.Client) {
	t.Helper()
	if _, err := c.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestStructuredContentIsCheckedAgainstTheOutputSchema(t *testing.T) {
	for _, row := range []struct {
		name, schema, content string
		path, reason          string // of the *ResultError; no reason: none
	}{
		{"fits", `{"type":"object","properties":{"n":{"type":"integer"}}}`, `{"n":1}`, "", ""},
		{"no output schema", ``, `{"n":1}`, "", ""},
		{"a wrong type", `{"type":"object","properties":{"n":{"type":"integer"}}}`, `{"n":"x"}`, "/n", "got string, want integer"},
		{"deep in an array", `{"properties":{"a~/b":{"items":{"minimum":2}}}}`, `{"a~/b":[3,1]}`, "/a~0~1b/1", "minimum: got 1, want 2"},
		{"a missing member", `{"type":"object","required":["n"]}`, `{}`, "", "missing property 'n'"},
		{"the first of several", `{"additionalProperties":{"type":"null"}}`, `{"b":1,"a":1,"c":1}`, "/a", "got number, want null"},
		{"no alternative fits", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, "", "'anyOf' failed"},
		{"an array where the schema says so", `{"type":"array","items":{"type":"string"}}`, `["a"]`, "", ""},
		{"null where the schema says so", `{"type":["null","object"]}`, `null`, "", "there is none"},
		{"none", `{"type":"object"}`, `{"content":[]}`, "", "there is none"},
		{"none, since the tool failed", `{"type":"object"}`, `{"content":[],"isError":true}`, "", ""},
		{"one that does not fit, and the tool failed", `{"type":"object"}`, `{"content":[],"structuredContent":1,"isError":true}`, "", ""},
		{"a big number", `{"properties":{"n":{"const":9007199254740993}}}`, `{"n":9007199254740993}`, "", ""},
		{"a big number by one", `{"properties":{"n":{"enum":[9007199254740992]}}}`, `{"n":9007199254740993}`, "/n", "value must be 9007199254740992"},
		{"a tenth", `{"multipleOf":0.1}`, `0.3`, "", ""},
		{"a schema in itself", `{"properties":{"next":{"$ref":"#"}},"required":["v"]}`, `{"v":1,"next":{"v":2,"next":{}}}`, "/next/next", "missing property 'v'"},
		{"definitions", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `1`, "", "got number, want string"},
		{"anchors", `{"$ref":"#x","$defs":{"a":{"$anchor":"x","type":"string"}}}`, `1`, "", "got number, want string"},
		{
			"dynamic anchors",
			`{"$id":"urn:a","$ref":"urn:b","$defs":{"n":{"$dynamicAnchor":"n","type":"string"},
			"b":{"$id":"urn:b","items":{"$dynamicRef":"#n"},"$defs":{"n":{"$dynamicAnchor":"n"}}}}}`,
			`["a",1]`, "/1", "got number, want string",
		},
		{"no other properties", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":1}`, "/b", "false schema"},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[1]`, "/0", "got number, want string"},
		{"a metaschema that is built in", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":1}`, "/type", "'anyOf' failed"},
		{"a pattern", `{"properties":{"n":{"pattern":"^a+$"}}}`, `{"n":"b"}`, "/n", "'b' does not match pattern '^a+$'"},
		{"false", `false`, `{}`, "", "false schema"},
		{"a long reason", `{"const":"` + strings.Repeat("x", 1000) + `"}`, `1`, "", "value must be '" + strings.Repeat("x", 285) + "…"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, logged := warnings()
				c := connect(t, structured(`{"type":"object"}`, row.schema, row.content), client.Options{Logger: log})
				defer closeClient(t, c)
				mustList(t, c)
				r, err := c.CallTool(t.Context(), "t", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if logged.Len() > 0 {
					t.Error(logged)
				}
				if row.reason == "" {
					if r.SchemaError != nil {
						t.Error(r.SchemaError)
					}
					return
				}
				mark, ok := errors.AsType[*client.ResultError](r.SchemaError)
				want := client.ResultError{Server: "demo", Tool: "t", Path: row.path, Reason: row.reason}
				if !ok || *mark != want {
					t.Errorf("got %v\nwant %v", r.SchemaError, &want)
				}
			})
		})
	}
}

func TestAMarkedResultIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, structured(`{}`, `{"type":"object"}`, `[1, 2]`), client.Options{})
		defer closeClient(t, c)
		mustList(t, c)
		r, err := c.CallTool(t.Context(), "t", nil, nil)
		if err != nil || string(r.StructuredContent) != `[1, 2]` {
			t.Fatalf("got %v, %v", r, err)
		}
		if got := r.SchemaError.Error(); got != "demo: structured content of t: got array, want object" {
			t.Error(got)
		}
		if text, err := mcp.Encode(r); err != nil || string(text) != `{"content":[],"structuredContent":[1,2]}` {
			t.Errorf("encoded: %s, %v", text, err)
		}
	})
}

func TestNullIsStructuredContentInTheStatelessEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := structured(`{}`, `{"type":"object"}`, `null`)
		f.answers["server/discover"] = always(discovered)
		c := connect(t, f, client.Options{Protocol: client.ProtocolStateless})
		defer closeClient(t, c)
		mustList(t, c)
		r, err := c.CallTool(t.Context(), "t", nil, nil)
		if err != nil || fmt.Sprint(r.SchemaError) != "demo: structured content of t: got null, want object" {
			t.Fatalf("got %v, %v", r, err)
		}
	})
}

func TestResultsAreNotCheckedIfNotWantedOrNotListed(t *testing.T) {
	for _, row := range []struct {
		name    string
		options client.Options
		listed  bool
	}{
		{"not wanted", client.Options{SkipResultValidation: true}, true},
		{"not listed", client.Options{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, structured(`{}`, `{"type":"object"}`, `1`), row.options)
				defer closeClient(t, c)
				if row.listed {
					mustList(t, c)
				}
				if r, err := c.CallTool(t.Context(), "t", nil, nil); err != nil || r.SchemaError != nil {
					t.Errorf("got %v, %v", r, err)
				}
			})
		})
	}
}

func TestArgumentsAreCheckedOnRequestAndBeforeTheyAreSent(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false}`
	for _, row := range []struct {
		name   string
		args   any
		listed bool
		check  bool
		want   string // the error
	}{
		{"fit", json.RawMessage(`{"a":1}`), true, true, ""},
		{"a value of Go", map[string]any{"a": "x"}, true, true, "demo: arguments of t: at /a: got string, want number"},
		{"a member too many", json.RawMessage(`{"a":1,"b":2}`), true, true, "demo: arguments of t: additional properties 'b' not allowed"},
		{"none", nil, true, true, "demo: arguments of t: missing property 'a'"},
		{"not requested", json.RawMessage(`{}`), true, false, ""},
		{"not listed", json.RawMessage(`{}`), false, true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := structured(schema, "", `1`)
				c := connect(t, f, client.Options{ValidateArguments: row.check})
				defer closeClient(t, c)
				if row.listed {
					mustList(t, c)
				}
				_, err := c.CallTool(t.Context(), "t", row.args, nil)
				_, typed := errors.AsType[*client.ArgumentError](err)
				if sent := f.count("tools/call") == 1; sent != (row.want == "") || typed == sent {
					t.Errorf("sent: %v, error: %v", sent, err)
				}
				if err != nil && err.Error() != row.want {
					t.Errorf("got  %v\nwant %s", err, row.want)
				}
			})
		})
	}
}

func TestASchemaThatCannotBeUsedTurnsTheCheckOffWithOneWarning(t *testing.T) {
	for _, row := range []struct{ name, schema, warning string }{
		{"a reference to nothing", `{"$ref":"#/$defs/none"}`, "not found"},
		{"a reference to the network", `{"$ref":"http://127.0.0.1:1/schema.json"}`, "not followed"},
		{"a reference to a file", `{"$ref":"file:///etc/hostname"}`, "not followed"},
		{"a relative reference", `{"$ref":"other.json"}`, "not followed"},
		{"a relative reference under an id", `{"$id":"https://127.0.0.1:1/a.json","$ref":"b.json"}`, "not followed"},
		{"a dynamic reference to the network", `{"$dynamicRef":"http://127.0.0.1:1/schema.json"}`, "not followed"},
		{"a metaschema of the network", `{"$schema":"http://127.0.0.1:1/meta.json"}`, "not followed"},
		{"an unknown type", `{"type":"money"}`, "metaschema"},
		{"no schema at all", `"object"`, "metaschema"},
		{"a pattern that is not understood", `{"pattern":"(?=a)"}`, "(?="},
		{"too long", `{"title":"` + strings.Repeat("x", 1<<20) + `"}`, "too many"},
		{"too deep", strings.Repeat(`{"items":`, 101) + `{}` + strings.Repeat(`}`, 101), "deeper than 100"},
		{"too many subschemas", `{"allOf":[{}` + strings.Repeat(`,true`, 5000) + `]}`, "5000 subschemas"},
		{"too many parts", `{"required":[1` + strings.Repeat(`,1`, 200_000) + `]}`, "200000 parts"},
		{"a number of a million digits", `{"minimum":1e1000000}`, "too long or too large"},
		{"a long number", `{"minimum":1` + strings.Repeat("0", 1000) + `}`, "too long or too large"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, logged := warnings()
				f := structured(row.schema, row.schema, `{}`)
				c := connect(t, f, client.Options{Logger: log, ValidateArguments: true})
				defer closeClient(t, c)
				for range 2 {
					mustList(t, c)
					if r, err := c.CallTool(t.Context(), "t", nil, nil); err != nil || r.SchemaError != nil {
						t.Errorf("got %v, %v", r, err)
					}
				}
				for _, kind := range []string{"inputSchema", "outputSchema"} {
					if n := strings.Count(logged.String(), "tool=t schema="+kind); n != 1 {
						t.Errorf("%d warnings about %s", n, kind)
					}
				}
				if !strings.Contains(logged.String(), row.warning) || logged.Len() > 2000 {
					t.Errorf("logged %.3000s", logged)
				}
			})
		})
	}
}

// chain is a schema of n references that lead to one another, without going deeper into the value, and then to end.
func chain(n int, end string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"%d":{"$ref":"#/$defs/%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"%d":%s}}`, n, end)
	return b.String()
}

// doubling is a schema that applies each of n definitions twice as often as the one before.
func doubling(n int, keyword, end string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/0","$defs":{`)
	for i := range n {
		sub := fmt.Sprintf(`{"$ref":"#/$defs/%d"}`, i+1)
		fmt.Fprintf(&b, `"%d":{%s},`, i, strings.ReplaceAll(keyword, "SUB", sub))
	}
	fmt.Fprintf(&b, `"%d":%s}}`, n, end)
	return b.String()
}

// asResource gives a schema an id, so that its references stay within it.
func asResource(schema string) string { return `{"$id":"urn:resource",` + schema[1:] }

func TestWhatTakesTooLongToCheckIsNotMarkedAndWarnedOf(t *testing.T) {
	client.LimitWork(t, 300_000)
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	list := func(element string, n int) string { return "[" + element + strings.Repeat(","+element, n-1) + "]" }
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%d"`, i)
		}
		return "[" + b.String()[1:] + "]"
	}
	for _, row := range []struct{ name, schema, value, warning string }{
		{"every alternative twice", doubling(50, `"allOf":[SUB,SUB]`, `{"type":"object"}`), `{}`, "too long"},
		{"every failing alternative twice", doubling(50, `"anyOf":[SUB,SUB]`, `false`), `{}`, "too long"},
		{"in a negation", `{"not":` + asResource(doubling(50, `"anyOf":[SUB,SUB]`, `false`)) + `}`, `{}`, "too long"},
		{"by dependencies", doubling(50, `"dependentSchemas":{"a":SUB,"b":SUB}`, `{"type":"null"}`), `{"a":1,"b":1}`, "too long"},
		{
			"from a dynamic anchor that nothing else leads to",
			`{"$id":"urn:a","$ref":"urn:b","$defs":{"n":{"$dynamicAnchor":"n","$ref":"urn:resource"},"d":` +
				asResource(doubling(50, `"allOf":[SUB,SUB]`, `{"type":"object"}`)) +
				`,"b":{"$id":"urn:b","$dynamicRef":"#n","$defs":{"n":{"$dynamicAnchor":"n"}}}}}`,
			`{}`, "too long",
		},
		{"a deep value and a long chain", chain(2000, `{"items":{"$ref":"#/$defs/0"}}`), deep(2000), "too deeply"},
		{"a wide value and a long chain", chain(2000, `{"items":{"$ref":"#/$defs/0"}}`), list("[]", 2000), "too long"},
		{"many failures far down", `{"items":{"$ref":"#","type":"array"}}`, strings.Repeat("[", 500) + list("1", 20_000) + strings.Repeat("]", 500), "too long"},
		{"a long pattern on a long text", `{"pattern":"` + strings.Repeat("a?", 2000) + `$"}`, `"` + strings.Repeat("a", 1<<18) + `"`, "too long"},
		{"a big enumeration", `{"items":{"enum":` + list("1.5e3", 10_000) + `}}`, list("2.5e3", 1000), "too long"},
		{"a big constant", doubling(6, `"allOf":[SUB,SUB]`, `{"const":[`+list("1", 50_000)+`]}`), "[" + list("1", 50_000) + "]", "too long"},
		{"all members unique, often", doubling(6, `"allOf":[SUB,SUB]`, `{"uniqueItems":true}`), "[1," + list("1", 10_000) + "]", "too long"},
		{"many names missing", `{"items":{"required":` + names(2000) + `}}`, list("{}", 2000), "too long"},
		{"a huge number", `{"minimum":2}`, `1e1000000`, "too long or too large"},
		{"a huge value", `{"type":"string"}`, `"` + strings.Repeat("x", 8<<20) + `"`, "too many"},
	} {
		t.Run(row.name, func(t *testing.T) {
			log, logged := warnings()
			c := connect(t, structured(`{}`, row.schema, row.value), client.Options{Logger: log})
			defer closeClient(t, c)
			mustList(t, c)
			r, err := c.CallTool(t.Context(), "t", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.SchemaError != nil || !strings.Contains(logged.String(), row.warning) {
				t.Errorf("marked: %.300v; logged: %.1000s", r.SchemaError, logged)
			}
		})
	}
}

func TestABigValueOfAnOrdinarySchemaIsChecked(t *testing.T) {
	const schema = `{"type":"object","properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},"$defs":{"row":{
		"type":"object","required":["id","name"],"additionalProperties":false,"properties":{"id":{"type":"integer"},
		"name":{"type":"string","minLength":1},"state":{"enum":["open","closed","unknown"]},
		"tags":{"type":"array","items":{"type":"string"}},"size":{"anyOf":[{"type":"number"},{"type":"null"}]}}}}}`
	row := func(state string) string {
		return `{"id":12345,"name":"a name","state":"` + state + `","tags":["a","b","c"],"size":null}`
	}
	c := connect(t, structured(`{}`, schema, `{"rows":[`+strings.Repeat(row("open")+",", 5_000)+row("gone")+`]}`),
		client.Options{})
	defer closeClient(t, c)
	mustList(t, c)
	r, err := c.CallTool(t.Context(), "t", nil, nil)
	mark, _ := errors.AsType[*client.ResultError](r.SchemaError)
	if err != nil || mark == nil || mark.Path != "/rows/5000/state" {
		t.Errorf("got %v, %v", mark, err)
	}
}

func TestASchemaThatChangesIsCompiledAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := structured(`{}`, `{"type":"object"}`, `1`)
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		for _, row := range []struct {
			tools  string
			marked bool
		}{
			{`{"name":"t","outputSchema":{"type":"object"}}`, true},
			{`{"name":"t","outputSchema":{"type":"number"}}`, false},
			{`{"name":"t","outputSchema":{"type":"string"}}`, true},
			{`{"name":"t"}`, false},
			{`{"name":"t","outputSchema":{"type":"object"}}`, true},
			{`{"name":"u"}`, false},
		} {
			f.answers["tools/list"] = always(`{"tools":[` + row.tools + `]}`)
			mustList(t, c)
			if r, err := c.CallTool(t.Context(), "t", nil, nil); err != nil || r.SchemaError != nil != row.marked {
				t.Errorf("%s: got %v, %v", row.tools, r, err)
			}
		}
	})
}

func TestASchemaThatCanNotBeUsedIsTold(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`:               "",
		`true`:                            "",
		`{"type":"no type"}`:              "/type",
		`{"$ref":"https://example.com/"}`: "not followed",
		`{`:                               "EOF",
	} {
		err := client.CheckSchema(json.RawMessage(schema))
		if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", schema, err, want)
		}
	}
}
