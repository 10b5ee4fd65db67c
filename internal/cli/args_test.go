package cli_test

import (
	"strings"
	"testing"
	"time"

	"mcpwire/internal/cli"
)

func TestAnArgumentBecomesWhatTheSchemaSays(t *testing.T) {
	for _, row := range []struct{ schema, word, want string }{
		{`{"type":"string"}`, `x=007`, `"007"`},
		{`{"type":"string"}`, `x=`, `""`},
		{`{"type":"string"}`, `x="q"`, `"\"q\""`},
		{`{"type":"integer"}`, `x=123456789012345678901234567890`, `123456789012345678901234567890`},
		{`{"type":"integer"}`, `x=-0`, `-0`},
		{`{"type":"number"}`, `x=1.10`, `1.10`},
		{`{"type":"number"}`, `x=1E400`, `1E400`},
		{`{"type":"boolean"}`, `x=false`, `false`},
		{`{"type":"null"}`, `x=null`, `null`},
		{`{"type":"array"}`, `x= [1, 2] `, `[1, 2]`},
		{`{"type":"object"}`, `x={"a":1.0}`, `{"a":1.0}`},
		{`{"type":["integer","string"]}`, `x=5`, `5`},
		{`{"type":["integer","string"]}`, `x=5a`, `"5a"`},
		{`{"type":["string","integer"]}`, `x=5`, `"5"`},
		{`{"type":["null","boolean","string"]}`, `x=null`, `null`},
		{`{"anyOf":[{"type":"null"},{"type":"integer"}]}`, `x=5`, `5`},
		{`{"oneOf":[{"$ref":"#/$defs/n"},{"type":"string"}]}`, `x=5.5`, `5.5`},
		{`{"allOf":[{"$ref":"#/$defs/n"}]}`, `x=5`, `5`},
		{`{"$ref":"#/$defs/a~1b"}`, `x=true`, `true`},
		{`{"enum":["1","2"]}`, `x=1`, `"1"`},
		{`{"enum":[1,2]}`, `x=1`, `1`},
		{`{"const":true}`, `x=true`, `true`},
		{`{}`, `x=5`, `"5"`},
		{`true`, `x=5`, `"5"`},
		{`{"type":"odd"}`, `x=5`, `"5"`},
		{`{"type":"string"}`, `x:=5`, `5`},
		{`{"type":"string"}`, `y=5`, ``},
	} {
		input := `{"type":"object","properties":{"x":` + row.schema + `},` +
			`"$defs":{"n":{"type":"number"},"a/b":{"type":"boolean"}}}`
		want := `{"x":` + row.want + `}`
		if strings.HasPrefix(row.word, "y") {
			want = `{"y":"5"}`
		}
		if got, err := cli.Argument(input, row.word); got != want || err != nil {
			t.Errorf("%s, %s: got %s, %v, want %s", row.schema, row.word, got, err, want)
		}
	}
}

func TestAnArgumentThatDoesNotFitSaysWhatWould(t *testing.T) {
	for _, row := range []struct{ schema, word, want string }{
		{`{"type":"integer"}`, `x=1.0`, `argument "x": "1.0" is not an integer`},
		{`{"type":"integer"}`, `x=0x10`, `argument "x": "0x10" is not an integer`},
		{`{"type":"integer"}`, `x=+1`, `argument "x": "+1" is not an integer`},
		{`{"type":"integer"}`, `x=`, `argument "x": "" is not an integer`},
		{`{"type":"number"}`, `x=NaN`, `argument "x": "NaN" is not a number`},
		{`{"type":"number"}`, `x="1"`, `argument "x": "\"1\"" is not a number`},
		{`{"type":"boolean"}`, `x=True`, `argument "x": "True" is not true or false`},
		{`{"type":"object"}`, `x=[]`, `argument "x": "[]" is not an object`},
		{`{"type":["integer","null"]}`, `x=y`, `argument "x": "y" is not an integer or null`},
		{
			`{"type":"array"}`, `x=` + strings.Repeat("ä", 50),
			`argument "x": "` + strings.Repeat("ä", 40) + `…" is not an array`,
		},
	} {
		_, err := cli.Argument(`{"properties":{"x":`+row.schema+`}}`, row.word)
		if err == nil || err.Error() != row.want {
			t.Errorf("%s, %s: got %v, want %s", row.schema, row.word, err, row.want)
		}
	}
}

func TestArgumentsAreShownWithTypesAndRequiredMarks(t *testing.T) {
	got := cli.ArgumentLines(`{"properties":{
		"path":{"type":"string","description":"Where it is.\nMore."},
		"how":{"enum":["fast","slow",1,null]},
		"list":{"type":["array","null"],"items":{"anyOf":[{"type":"integer"},{"type":"string"}]}},
		"ref":{"$ref":"#/$defs/d","description":"its own"},
		"none":{}
	},"required":["path","none"],"$defs":{"d":{"type":"object","description":"the other's"}}}`)
	want := `    path  string, required                  Where it is.
    how   fast | slow | 1 | null
    list  array of integer | string | null
    ref   object                            its own
    none  any, required
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestASchemaThatRefersToItselfEnds(t *testing.T) {
	begin := time.Now()
	for _, schema := range []string{
		`{"$ref":"#"}`,
		`{"properties":{"x":{"$ref":"#/properties/x"}}}`,
		`{"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[` +
			strings.Repeat(`{"$ref":"#/$defs/a"},`, 9) + `{"type":"string"}]}}}`,
		`{"properties":{"x":{"$ref":"https://example.com/schema.json"}}}`,
		`{"properties":7,"required":{"a":1}}`, `7`, ``,
	} {
		cli.ArgumentLines(schema)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
