package jsonrpc_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
	"mcpwire/jsonrpc"
)

var seeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1.50}}}`,
	`{"jsonrpc":"2.0","id":"a\u00e9","result":{"content":[{"type":"text","text":"h\"i\n"}]}}`,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":[[],{},"",null,true,false,-0.5e+10]}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}`,
	` { "jsonrpc" : "2.0" , "\u0069d" : 7.0 , "result" : null , "error" : null } `,
	`{"jsonrpc":"2.0","id":1,"result":"` + "\xff\xed\xa0\x80" + `\ud800"}`,
	`[{"jsonrpc":"2.0"},1]`, `{"a":1,"a":2}`, `{"a":01}`, `42`, `{`, `"`, ``, "\ufeff{}",
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	options := json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	f.Fuzz(func(t *testing.T, text []byte) {
		valid := jsontext.Value(text).IsValid(options)
		if got := jsonscan.Valid(text); got != valid {
			t.Fatalf("%q: valid is %v, the reference says %v", text, got, valid)
		}
		m, err := jsonrpc.Parse(text)
		if !valid && err == nil {
			t.Fatalf("%q is no JSON and was taken for a %v", text, m.Kind)
		}
		var want map[string]jsontext.Value
		if json.Unmarshal(text, &want, options) != nil || want == nil {
			if err == nil {
				t.Fatalf("%q is no object and was taken for a %v", text, m.Kind)
			}
			return
		}
		if err != nil {
			return
		}
		compare(t, "params", m.Params, nullAbsent(want["params"]))
		compare(t, "result", m.Result, want["result"])
		compare(t, "error", m.Error, nullAbsent(want["error"]))
		compare(t, "id", idText(m.ID), want["id"])
	})
}

func compare(t *testing.T, name string, got []byte, want jsontext.Value) {
	t.Helper()
	if !bytes.Equal(got, bytes.TrimSpace(want)) {
		t.Fatalf("%s is %q, the reference says %q", name, got, want)
	}
}

func nullAbsent(v jsontext.Value) jsontext.Value {
	if string(v) == "null" {
		return nil
	}
	return v
}

func idText(id jsonrpc.ID) []byte {
	if id.IsAbsent() {
		return nil
	}
	return id.Append(nil)
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{`7`, `-7`, `7.0`, `"7"`, `null`, `1e5`, `"a\u0000"`, `{}`, `07`, `9223372036854775808`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		id, err := jsonrpc.ParseID(text)
		if err != nil {
			return
		}
		if got := id.Append(nil); !bytes.Equal(got, text) {
			t.Fatalf("%q became %q", text, got)
		}
		again, err := jsonrpc.ParseID(id.Append(nil))
		if err != nil || again != id {
			t.Fatalf("%q: parsed again it is %v (error %v)", text, again, err)
		}
	})
}

func FuzzErrors(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		_ = jsonrpc.ParseError(text).Error()
	})
}
