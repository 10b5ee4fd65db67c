package mcp_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"mcpwire/mcp"
)

// quickSeeds are texts in which the quick way and the general one might part.
var quickSeeds = []string{
	`{"content":[{"type":"text","text":"a\"b\n\u00e9\ud83d\ude00→\/"}],"isError":true,"_meta":{"a":1}}`,
	`{"content":[{"text":"the kind comes last","type":"text"}],"structuredContent":null}`,
	`{"content":[{"type":"text","text":"lone \ud83d surrogate"}]}`,
	`{"content":[{"type":"text","text":"\ud83d\u0041"},{"type":"text","text":"\udc00"}]}`,
	"{\"content\":[{\"type\":\"text\",\"text\":\"no UTF-8: \xff\xc3\"}]}",
	`{"content":[{"type":"text","text":"twice"}],"content":[]}`,
	`{"content":[{"type":"text","text":"a","text":"b"}],"isError":null}`,
	`{"content":[{"t\u0079pe":"text","te\u0078t":"names"}]}`,
	`{"content":[{"type":"image","data":"AA==","mimeType":"image/png","annotations":{"priority":1}}]}`,
	`{"content":[{"type":"audio","data":"AA","mimeType":null},null,{}]}`,
	`{"content":[{"type":"resource","resource":{"uri":"a:b","text":"c"}},{"type":"later","x":1}]}`,
	`{"content":[{"type":"text","text":"x","annotations":[],"_meta":null}],"structuredContent":{"a": 1e2}}`,
	`{"content":null,"resultType":"complete"} `,
	` { "content" : [ ] , "structuredContent" : [ 1 , 2 ] }`,
	`{"content":[{"type":"text","text":"a"},]}`,
	`{"content":[{"type":"text" "text":"a"}]}`,
	`{"tools":[{"name":"a","title":"b","description":"c\n","inputSchema":{"type":"object"},"outputSchema":{"a":[]}}]}`,
	`{"tools":[{"name":"a","inputSchema":null,"annotations":{"title":"t","readOnlyHint":true,"openWorldHint":false}}]}`,
	`{"tools":[{"name":"a","annotations":[]},{"name":"b","annotations":{"readOnlyHint":null}},{"name":"c","x":1}]}`,
	`{"tools":[{"name":"a","icons":[{"src":"x"}],"execution":{"taskSupport":"optional"},"_meta":{}}],"nextCursor":""}`,
	`{"tools":[null],"nextCursor":null}`,
	`{"tools":[{"name":"a","name":"b"}],"nextCursor":"x"}`,
	`{"tools":[],"tools":null,"ttlMs":5}`,
	`{"tools":[{"name":1}],"nextCursor":2}`,
	`{"c\u006fntent":[{"type":"text","text":"a"}],"content":[]}`,
	`{"t\u006fols":[{"name":"a"}],"tools":[],"next\u0043ursor":"x"}`,
	`{"tools":[{"name":"a","annotations":{"destructiveHint":true,"idempotentHint":false}},{"annotations":{"title":"a\n"}}]}`,
	`{"content":[{},{"type":""},{"type":"","text":"a"},{"type":"text"}]}`,
	`{"tools":[{"name":"a","description":"` + strings.Repeat(`seven\n`, 200) + `"},{"name":"` + strings.Repeat("a", 3000) + `"}]}`,
	`{"content":[{"type":"text","text":"` + strings.Repeat(`seven\n`, 600) + `"},{"type":"text","text":"\u0041"}]}`,
	`[]`, `null`, `{`, `{}`, `"x`, `{"a":{}`,
}

// addQuickSeeds adds the texts, and of each its first half, since what is cut short is no JSON.
func addQuickSeeds(f *testing.F) {
	f.Helper()
	for _, text := range quickSeeds {
		f.Add([]byte(text))
		f.Add([]byte(text[:len(text)/2]))
	}
	for _, texts := range []map[string]string{quickly, quicklyListed} {
		for _, text := range texts {
			f.Add([]byte(text))
		}
	}
}

func FuzzTheQuickWayReadsCallsAsTheGeneralOne(f *testing.F) {
	addQuickSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var general mcp.CallToolResult
		text := bytes.Clone(data)
		quick, ok := mcp.QuickCallToolResult(text)
		if !ok {
			return
		}
		scribble(text)
		err := mcp.Decode(data, &general)
		if err != nil || !reflect.DeepEqual(*quick, general) { //nolint:govet // SchemaError is nil in both
			t.Errorf("quick   %+v\ngeneral %+v, %v", quick, general, err)
		}
	})
}

func FuzzTheQuickWayReadsListsAsTheGeneralOne(f *testing.F) {
	addQuickSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var quick mcp.ListToolsResult
		text := bytes.Clone(data)
		if !mcp.QuickListToolsResult(text, &quick) {
			return
		}
		scribble(text)
		var general struct {
			Tools      []mcp.Tool `json:"tools"`
			NextCursor *string    `json:"nextCursor"`
		}
		err := mcp.Decode(data, &general)
		if err != nil || !reflect.DeepEqual(quick.Tools, general.Tools) ||
			!reflect.DeepEqual(quick.NextCursor, general.NextCursor) {
			t.Errorf("quick   %+v\ngeneral %+v, %v", quick, general, err)
		}
		for i := range quick.Tools { // what shares memory must not be reached from what it shares it with
			tool := &quick.Tools[i]
			for _, raw := range []json.RawMessage{tool.InputSchema, tool.OutputSchema, tool.Meta} {
				_ = append(raw, "scribbled over what comes next"...)
			}
		}
		if !reflect.DeepEqual(quick.Tools, general.Tools) {
			t.Errorf("a schema can reach the next one: %+v", quick.Tools)
		}
	})
}

// scribble stands for the next use of a buffer.
func scribble(text []byte) {
	for i := range text {
		text[i] = '#'
	}
}
