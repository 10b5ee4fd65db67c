package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpwire/client"
	"mcpwire/mcp"
	"mcpwire/transport"
)

// schemaOf is the schema of an object with these properties.
func schemaOf(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }

const regionSchema = `{"type":"string","x-mcp-header":"Region"}`

// badHeaders are tools as bad servers describe them.
var badHeaders = []struct{ tool, properties, reason string }{
	{"empty", `"value":{"type":"string","x-mcp-header":""}`, `/properties/value: x-mcp-header "" can't be a part`},
	{"object", `"data":{"type":"object","x-mcp-header":"Data"}`, `of type "object"`},
	{"array", `"items":{"type":"array","items":{"type":"string"},"x-mcp-header":"Items"}`, `of type "array"`},
	{"null", `"nil":{"type":"null","x-mcp-header":"Nil"}`, `of type "null"`},
	{"number", `"score":{"type":"number","x-mcp-header":"Score"}`, `of type "number"`},
	{
		"twice", `"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"Region"}`,
		`/properties/b: x-mcp-header "Region" is already that of /properties/a`,
	},
	{
		"twice in another case",
		`"a":{"type":"string","x-mcp-header":"MyField"},"b":{"type":"string","x-mcp-header":"myfield"}`,
		`"myfield" is already that of /properties/a`,
	},
	{"space", `"value":{"type":"string","x-mcp-header":"My Region"}`, `"My Region" can't be a part`},
	{"colon", `"value":{"type":"string","x-mcp-header":"Region:Primary"}`, `"Region:Primary" can't be a part`},
	{"non-ASCII", `"value":{"type":"string","x-mcp-header":"Région"}`, `can't be a part`},
	{"control character", `"value":{"type":"string","x-mcp-header":"Region\t1"}`, `"Region\t1" can't be a part`},
}

func TestWhatAsksForHeadersInAWayThatItMustNotIsNotValid(t *testing.T) {
	type row struct{ name, schema, reason string }
	var rows []row
	for _, bad := range badHeaders {
		rows = append(rows, row{bad.tool, schemaOf(bad.properties), bad.reason})
	}
	const elsewhere = "properties alone lead to"
	for _, format := range []string{
		`{"type":"string","x-mcp-header":"Region"}%.0s`,
		`{"items":%s}`, `{"items":[true,%s]}`, `{"prefixItems":[%s]}`, `{"contains":%s}`, `{"unevaluatedItems":%s}`,
		`{"oneOf":[%s]}`, `{"anyOf":[{},%s]}`, `{"allOf":[{"properties":{"a":%s}}]}`, `{"not":%s}`,
		`{"if":{"properties":{"a":%s}}}`, `{"then":{"properties":{"a":%s}}}`, `{"else":%s}`,
		`{"$defs":{"a":%s}}`, `{"definitions":{"a":%s}}`, `{"$defs":{"a":{"properties":{"b":%s}}}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":%s}}`, `{"$ref":"#/x/y","x":{"y":%s}}`,
		`{"additionalProperties":%s}`, `{"unevaluatedProperties":%s}`, `{"propertyNames":%s}`,
		`{"patternProperties":{"^a":%s}}`, `{"dependentSchemas":{"a":%s}}`, `{"dependencies":{"a":%s}}`,
		`{"contentSchema":%s}`, `{"properties":[%s]}`, `{"properties":{"a":[%s]}}`, `{"$defs":[%s]}`,
		`{"properties":{"a":{"type":"array","items":{"properties":{"b":%s}}}}}`,
		`{"properties":{"a":{"type":"object","additionalProperties":{"properties":{"b":%s}}}}}`,
		`{"properties":{"oneOf":{"oneOf":[%s]}}}`, `{"$defs":{"default":%s}}`, `{"definitions":{"const":%s}}`,
		`{"$defs":{"properties":%s}}`,
		`[%s]`,
	} {
		schema := fmt.Sprintf(format, regionSchema)
		rows = append(rows, row{schema, schema, elsewhere})
	}
	for _, schema := range []string{
		`"a":{"x-mcp-header":"A"}`, `"a":{"x-mcp-header":"A","$ref":"#/$defs/s"}`, `"a":{"x-mcp-header":"A","enum":["b"]}`,
	} {
		rows = append(rows, row{schema, schemaOf(schema), "without a type"})
	}
	for _, kind := range []string{`["string","null"]`, `["string"]`, `"String"`, `5`, `null`, `""`} {
		rows = append(rows, row{"type " + kind, schemaOf(`"a":{"x-mcp-header":"A","type":` + kind + `}`), "of type " + kind})
	}
	for _, value := range []string{`null`, `true`, `5`, `["A"]`, `{"name":"A"}`} {
		schema := schemaOf(`"a":{"type":"string","x-mcp-header":` + value + `}`)
		rows = append(rows, row{"header " + value, schema, "is no string"})
	}
	for _, c := range "\x00\x1f \"(),/:;<=>?@[\\]{}\x7f\u0080\u017f\u212a" {
		name, _ := mcp.Encode("A" + string(c))
		rows = append(rows, row{
			fmt.Sprintf("a name with %q", c),
			schemaOf(`"a":{"type":"string","x-mcp-header":` + string(name) + `}`), "can't be a part",
		})
	}
	rows = append(rows,
		row{
			"twice, at two depths", schemaOf(`"a":` + regionSchema + `,"b":` + schemaOf(`"c":`+regionSchema)),
			"/properties/b/properties/c: x-mcp-header \"Region\" is already that of /properties/a",
		},
		row{"the whole", regionSchema, "the whole schema: x-mcp-header is for arguments"},
		row{"a line break", schemaOf(`"a":{"type":"string","x-mcp-header":"A\r\nB: c"}`), "can't be a part"},
		row{"no JSON", `{"x-mcp-header":`, ""},
		row{"an object that does not end", `{"properties":{"a":` + regionSchema, ""},
		row{"an array that does not end", `{"oneOf":[{"x-mcp-header":"A"}`, ""},
		row{"too deep", strings.Repeat(`{"properties":{"a":`, 60) + regionSchema + strings.Repeat(`}}`, 60), "nested deeper"},
		row{"much too deep", strings.Repeat(`{"not":`, 9000) + regionSchema + strings.Repeat(`}`, 9000), "nested deeper"},
	)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			headers, _, err := client.MirrorHeaders(row.schema, `{}`)
			if err == nil || !strings.Contains(err.Error(), row.reason) {
				t.Errorf("got %v, %v, want an error with %q", headers, err, row.reason)
			}
		})
	}
}

func TestWhatOnlyLooksLikeAskingForHeadersIsValid(t *testing.T) {
	for _, row := range []struct {
		name, schema string
		asks         bool
	}{
		{"nothing asked for", `{"type":"object"}`, false},
		{"not JSON, and nothing asked for", `{`, false},
		{"a description", schemaOf(`"a":{"type":"string","description":"no x-mcp-header here"}`), false},
		{"a property of that name", schemaOf(`"x-mcp-header":{"type":"object"}`), false},
		{"a required property of that name", `{"properties":{"x-mcp-header":true},"required":["x-mcp-header"]}`, false},
		{"one that others depend on", `{"dependentRequired":{"x-mcp-header":["a"]},` +
			`"dependencies":{"x-mcp-header":["a"]}}`, false},
		{"a definition of that name", `{"$defs":{"x-mcp-header":{}},"definitions":{"x-mcp-header":{}}}`, false},
		{"a pattern of that name", `{"patternProperties":{"x-mcp-header":{}}}`, false},
		{"a schema that depends on that name", `{"dependentSchemas":{"x-mcp-header":{}}}`, false},
		{"data", schemaOf(`"a":{"default":{"x-mcp-header":""},"const":{"x-mcp-header":1},"examples":[{"x-mcp-header":[]}],` +
			`"enum":[{"x-mcp-header":"A"},{"x-mcp-header":"A"}]}`), false},
		{"data that are deep", schemaOf(`"x-mcp-header":{"default":` +
			strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`), false},
		{"a property with the name of a keyword", schemaOf(
			`"default":{"type":"string","x-mcp-header":"D"},"properties":{"type":"string","x-mcp-header":"P"},` +
				`"items":{"type":"string","x-mcp-header":"I"},"x-mcp-header":{"type":"string","x-mcp-header":"X"}`), true},
		{"a property called properties", schemaOf(`"properties":` + schemaOf(`"properties":`+regionSchema)), true},
		{"another argument that refers to it", schemaOf(`"a":` + regionSchema + `,"b":{"$ref":"#/properties/a"}`), true},
		{"what a name may hold", schemaOf(`"a":{"type":"string","x-mcp-header":"09azAZ!#$%&'*+-.^_` + "`" + `|~"}`), true},
		{"a type beside a reference", schemaOf(`"a":{"$ref":"#/$defs/a","type":"string","x-mcp-header":"A"}`), true},
		{"escapes", schemaOf(`"a":{"\u0074ype":"strin\u0067","x-mcp-header":"\u0041"}`), true},
		{"what occurs twice counts as the last says", schemaOf(`"a":{"type":"array","x-mcp-header":"","type":"string",` +
			`"x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"A"},"b":{"type":"string"}`), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, asks, err := client.MirrorHeaders(row.schema, `{}`); err != nil || asks != row.asks {
				t.Errorf("got %v, %v", asks, err)
			}
		})
	}
}

func TestTheHeadersOfACall(t *testing.T) {
	schema := schemaOf(`"region":` + regionSchema + `,` +
		`"size":{"type":"integer","x-mcp-header":"Size"},` +
		`"dry":{"type":"boolean","x-mcp-header":"Dry"},` +
		`"query":{"type":"string"},` +
		`"where":` + schemaOf(`"city":{"type":"string","x-mcp-header":"City"},"at":`+
		schemaOf(`"floor":{"type":"integer","x-mcp-header":"Floor"}`)))
	for _, row := range []struct{ args, want string }{
		{``, ``},
		{`null`, ``},
		{`{}`, ``},
		{`{"region":"us-west1","size":42,"dry":false,"query":"q"}`, `Dry=false Region=us-west1 Size=42`},
		{`{"dry":true}`, `Dry=true`},
		{`{"region":""}`, `Region=`},
		{`{"region":" a\"\\\u00e9\n世"}`, "Region= a\"\\é\n世"},
		{`{"region":null,"size":null,"dry":null,"where":null}`, ``},
		{`{"Region":"a","REGION":"b"}`, ``},
		{`{"where":{"city":"Rome"}}`, `City=Rome`},
		{`{"where":{"city":"Rome","at":{"floor":-3}}}`, `Floor=-3 City=Rome`},
		{`{"where":{"floor":1,"at":[{"floor":1}]},"city":"Rome","floor":2}`, ``},
		{`{"where":"{\"city\":\"Rome\"}"}`, ``},
		{`{"region":"a","region":"b"}`, `Region=b`},
		{`{"where":{"city":"Rome"},"where":{}}`, ``},
		{" { \"region\" : \"a\" } ", `Region=a`},
		// What has another type than the schema says is for the server to judge, which expects the header.
		{`{"region":5,"size":"5","dry":"yes"}`, `Dry=yes Region=5 Size=5`},
		{`{"region":{"a":1},"size":[5],"dry":1.5}`, ``},
	} {
		t.Run(row.args, func(t *testing.T) {
			headers, asks, err := client.MirrorHeaders(schema, row.args)
			if got := shownHeaders(headers); err != nil || !asks || got != row.want {
				t.Errorf("got %q, %v, want %q", got, err, row.want)
			}
		})
	}
}

// shownHeaders writes headers as Name=value, without what all their names begin with.
func shownHeaders(headers []transport.Header) string {
	var shown []string
	for _, h := range headers {
		shown = append(shown, strings.TrimPrefix(h.Name, "Mcp-Param-")+"="+h.Value)
	}
	return strings.Join(shown, " ")
}

func TestAnIntegerIsShownInDecimalDigits(t *testing.T) {
	const out = "must lie within"
	for _, row := range []struct{ number, want string }{
		{`0`, `0`},
		{`-0`, `0`},
		{`0.0`, `0`},
		{`-0.0e5`, `0`},
		{`0e99999999999999999999`, `0`},
		{`42`, `42`},
		{`-7`, `-7`},
		{`42.0`, `42`},
		{`4e1`, `40`},
		{`4E+1`, `40`},
		{`4.2e1`, `42`},
		{`420e-1`, `42`},
		{`-4.2e1`, `-42`},
		{`100`, `100`},
		{`1.00e2`, `100`},
		{`0.05e2`, `5`},
		{`0.00001e5`, `1`},
		{`1.5`, ``},
		{`1e-1`, ``},
		{`42.01e1`, ``},
		{`1e-99999999999999999999`, ``},
		{`0.1`, ``},
		{`1.` + strings.Repeat("0", 400), `1`},
		{`1` + strings.Repeat("0", 400) + `e-400`, `1`},
		{`9007199254740991`, `9007199254740991`},
		{`-9007199254740991`, `-9007199254740991`},
		{`9007199254740991.0`, `9007199254740991`},
		{`9007199254740990e0`, `9007199254740990`},
		{`9007199254740992`, out},
		{`-9007199254740992`, out},
		{`9007199254740993`, out},
		{`9999999999999999`, out},
		{`1e15`, `1000000000000000`},
		{`1e16`, out},
		{`1e400`, out},
		{`-1e99999999999999999999`, out},
		{`1` + strings.Repeat("0", 400), out},
	} {
		headers, _, err := client.MirrorHeaders(schemaOf(`"n":{"type":"integer","x-mcp-header":"N"}`), `{"n":`+row.number+`}`)
		want := row.want
		switch {
		case want == out:
			failure, ok := errors.AsType[*client.ArgumentError](err)
			if !ok || failure.Path != "/n" || !strings.Contains(failure.Reason, out) || headers != nil {
				t.Errorf("%.30s: got %v, %v", row.number, headers, err)
			}
			continue
		case want != "":
			want = "N=" + want
		}
		if got := shownHeaders(headers); err != nil || got != want {
			t.Errorf("%.30s: got %q, %v, want %q", row.number, got, err, want)
		}
	}
}

func tool(name, properties string) mcp.Tool {
	return mcp.Tool{Name: name, InputSchema: json.RawMessage(schemaOf(properties))}
}

func names(tools []mcp.Tool) (all []string) {
	for _, t := range tools {
		all = append(all, t.Name)
	}
	return all
}

func TestToolsThatAreNotValidAreLeftOutWithOneWarningEach(t *testing.T) {
	var log bytes.Buffer
	l := client.NewMirrorLister("demo", slog.New(slog.NewTextHandler(&log, nil)))
	tools := []mcp.Tool{tool("valid", `"region":`+regionSchema)}
	for _, bad := range badHeaders {
		tools = append(tools, tool(bad.tool, bad.properties))
	}
	tools = append(tools, tool("plain", `"a":{}`), mcp.Tool{Name: "none"})
	for range 2 {
		if got := names(l.List(tools...)); !slices.Equal(got, []string{"valid", "plain", "none"}) {
			t.Errorf("got %q", got)
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(badHeaders) {
		t.Errorf("got %d lines, want %d", len(lines), len(badHeaders))
	}
	for _, bad := range badHeaders {
		mine := func(line string) bool {
			_, name, _ := strings.Cut(line, " tool=")
			return strings.Contains(line, "level=WARN") && strings.HasPrefix(strings.Trim(name, `"`), bad.tool)
		}
		if !slices.ContainsFunc(lines, mine) || l.Known(bad.tool) {
			t.Errorf("%s: known %v, in %s", bad.tool, l.Known(bad.tool), log.String())
		}
	}
	if len(tools) != len(badHeaders)+3 || tools[1].Name != "empty" {
		t.Error("the tools that were given have changed")
	}
	log.Reset()
	l.List(tool("valid", `"region":{"x-mcp-header":"Region"}`))
	if !strings.Contains(log.String(), "tool=valid") || !strings.Contains(log.String(), "without a type") {
		t.Errorf("got %s", log.String())
	}
}

func TestTheToolsThatWereListedLastCount(t *testing.T) {
	l := client.NewMirrorLister("demo", slog.New(slog.DiscardHandler))
	shows := func(want string) {
		t.Helper()
		headers, err := l.Headers("a", `{"region":"r","zone":"z"}`)
		if got := shownHeaders(headers); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if l.Known("a") {
		t.Error("a is known before it was listed")
	}
	shows("")
	l.List(tool("a", `"region":`+regionSchema), tool("b", ""))
	shows("Region=r")
	if !l.Known("a") || !l.Known("b") {
		t.Error("what was listed is not known")
	}
	if l.List() != nil {
		t.Error("tools came from nowhere")
	}
	shows("Region=r") // a list that failed says nothing
	l.List(tool("a", `"zone":{"type":"string","x-mcp-header":"Zone"}`))
	shows("Zone=z")
	if l.Known("b") {
		t.Error("b is still known")
	}
	_, err := l.Headers("a", `{"zone":1e30}`)
	want := "demo: arguments of a: at /zone: an integer that is shown in a header must lie within ±(2^53-1)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestToolsMayBeListedWhileOthersAreCalled(t *testing.T) {
	l := client.NewMirrorLister("demo", slog.New(slog.DiscardHandler))
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 50 {
				l.List(tool("a", `"region":`+regionSchema), tool("bad", `"b":{"x-mcp-header":""}`))
				headers, err := l.Headers("a", `{"region":"r"}`)
				if got := shownHeaders(headers); err != nil || got != "Region=r" {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
	running.Wait()
}

func FuzzMirrorHeaders(f *testing.F) {
	for _, bad := range badHeaders {
		f.Add(schemaOf(bad.properties), `{"value":"a"}`)
	}
	f.Add(schemaOf(`"a":`+regionSchema+`,"b":`+schemaOf(`"c":{"type":"integer","x-mcp-header":"C"}`)),
		`{"a":"x","b":{"c":4e1}}`)
	f.Add(strings.Repeat(`{"properties":{"x-mcp-header":`, 200), `{}`)
	f.Add(`{"x-mcp-header":1,"oneOf":[[{"$defs":{"a":{"not":true}}}]]}`, `[`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		headers, asks, err := client.MirrorHeaders(schema, args)
		if err != nil {
			return
		}
		if asks && !strings.Contains(schema, "x-mcp-header") {
			t.Error("it asks for headers without the keyword")
		}
		seen := map[string]bool{}
		for _, h := range headers {
			name, ok := strings.CutPrefix(h.Name, "Mcp-Param-")
			folded := strings.ToLower(name)
			if !ok || name == "" || seen[folded] || strings.ContainsAny(name, " :,\r\n\t\"") {
				t.Errorf("a header %q", h.Name)
			}
			seen[folded] = true
		}
	})
}
