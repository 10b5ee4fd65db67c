package mcp_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"mcpwire/mcp"
)

func FuzzCallToolResult(f *testing.F) {
	addExamples(f, "CallToolResult", "SamplingMessage", "CreateMessageResult", "EmbeddedResource")
	f.Add([]byte(`{"content":[{"type":"later","data":[1],"text":{}},null,{}],"structuredContent":null}`))
	f.Add([]byte(`{"content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"tool_result"}]}]}`))
	f.Fuzz(stable[mcp.CallToolResult])
}

func FuzzListToolsResult(f *testing.F) {
	addExamples(f, "ListToolsResult", "Tool")
	f.Add([]byte(`{"tools":[{"name":"a","annotations":[],"icons":[{"sizes":"1x1"}]},null],"nextCursor":"","ttlMs":1e3}`))
	f.Fuzz(stable[mcp.ListToolsResult])
}

func addExamples(f *testing.F, kinds ...string) {
	f.Helper()
	var examples map[string]json.RawMessage
	readTestdata(f, "examples-2026-07-28.json", &examples)
	for name, text := range examples {
		for _, kind := range kinds {
			if len(name) > len(kind) && name[:len(kind)+1] == kind+"/" {
				f.Add([]byte(text))
			}
		}
	}
}

// stable checks that whatever can be decoded can be encoded, and that a second round changes nothing.
func stable[T any](t *testing.T, text []byte) {
	t.Helper()
	var first, second T
	if mcp.Decode(text, &first) != nil {
		return
	}
	once := encode(t, first)
	if err := mcp.Decode([]byte(once), &second); err != nil {
		t.Fatalf("%s: %v", once, err)
	}
	if twice := encode(t, second); !bytes.Equal([]byte(once), []byte(twice)) {
		t.Fatalf("once  %s\ntwice %s", once, twice)
	}
}
