package mcp_test

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"mcpwire/mcp"
)

func readTestdata(t testing.TB, file string, v any) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := jsonv2.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	text, err := mcp.Encode(v)
	if err != nil {
		t.Fatalf("encode %#v: %v", v, err)
	}
	return string(text)
}

func decode[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := mcp.Decode([]byte(text), &v); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return v
}

// sameJSON compares the values; an optional boolean that is false by default may be left out.
func sameJSON(t testing.TB, got, want string) {
	t.Helper()
	var g, w any
	if err := jsonv2.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := jsonv2.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if !reflect.DeepEqual(dropFalse(g), dropFalse(w)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func dropFalse(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"isError", "hasMore"} {
			if v[name] == false {
				delete(v, name)
			}
		}
		for _, inner := range v {
			dropFalse(inner)
		}
	case []any:
		for _, inner := range v {
			dropFalse(inner)
		}
	}
	return v
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }
