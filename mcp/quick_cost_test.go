package mcp_test

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"mcpwire/mcp"
)

// quickly are results that must be read the quick way.
var quickly = map[string]string{
	"a text":              `{"content":[{"type":"text","text":"a\"b\n\u00e9\ud83d\ude00→\/"}]}`,
	"a failure":           `{"content":[{"text":"the kind comes last","type":"text"}],"isError":true}`,
	"much text":           `{"content":[{"type":"text","text":"` + strings.Repeat(`\"7\" → `, 1000) + `"}]}`,
	"huge text":           `{"content":[{"type":"text","text":"` + strings.Repeat(`\"7\" → `, 20_000) + `"},{"type":"text","text":"b"}]}`,
	"an image":            `{"content":[{"type":"image","data":"AA==","mimeType":"image/png","annotations":{"priority":1}}]}`,
	"sound":               `{"content":[{"type":"audio","data":"AA","mimeType":"audio/wav","_meta":{"a":1}}]}`,
	"a structure":         `{"content":[],"structuredContent":{"a":[1e2]},"_meta":{"a":1},"resultType":"complete"}`,
	"null for content":    `{"content":null,"structuredContent":null}`,
	"an unknown member":   `{"content":[{"type":"text","text":"a"}],"later":[{}]}`,
	"a resource and text": `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"c"}},{"type":"text","text":"a"}]}`,
	"another kind":        `{"content":[{"type":"later","x":1}]}`,
}

// quicklyListed are the same for lists of tools.
var quicklyListed = map[string]string{
	"a tool":         `{"tools":[{"name":"a","title":"b","description":"c\n","inputSchema":{"type":"object"}}]}`,
	"all of a tool":  `{"tools":[{"name":"a","outputSchema":{"a":[]},"_meta":{"b":1},"icons":[{"src":"x"}]}],"nextCursor":"x"}`,
	"all hints":      `{"tools":[{"name":"a","annotations":{"destructiveHint":false,"idempotentHint":true}},` + hinted + `]}`,
	"a long text":    `{"tools":[{"name":"a","description":"` + strings.Repeat(`a line\n`, 1000) + `"}],"ttlMs":5}`,
	"null for tools": `{"tools":null,"nextCursor":null}`,
	"an old tool":    `{"tools":[{"name":"a","x":1},{"name":"b"}]}`,
}

const hinted = `{"name":"b","annotations":{"title":"t","readOnlyHint":true,"openWorldHint":false}}`

func TestWhatServersSendIsReadTheQuickWay(t *testing.T) {
	for name, text := range quickly {
		if _, ok := mcp.QuickCallToolResult([]byte(text)); !ok {
			t.Errorf("%s is read the general way", name)
		}
	}
	for name, text := range quicklyListed {
		var result mcp.ListToolsResult
		if !mcp.QuickListToolsResult([]byte(text), &result) {
			t.Errorf("a list with %s is read the general way", name)
		}
	}
}

// manyTools is a list of n tools of 1 KiB.
func manyTools(n int) []byte {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"name":"tool_%d","title":"Tool %d","description":"%s",`+
			`"inputSchema":{"type":"object","properties":{%s}},"annotations":{"readOnlyHint":true}}`,
			i, i, strings.Repeat(`What it \"does\". `, 12), strings.Repeat(`"path":{"type":"string","description":"where"},`, 15)+`"n":{}`))
	}
	return []byte(`{"tools":[` + strings.Join(list, ",") + `]}`)
}

func TestAListOfToolsAllocatesLittle(t *testing.T) {
	text := manyTools(1000)
	var result mcp.ListToolsResult
	run := func() {
		result = mcp.ListToolsResult{}
		if !mcp.QuickListToolsResult(text, &result) || len(result.Tools) != 1000 {
			t.Fatalf("%d tools are read", len(result.Tools))
		}
	}
	allocations, size := cost(run)
	size /= float64(len(text))
	t.Logf("%v allocations, %.2f bytes a byte", allocations, size)
	if allocations > 135 || size > 1.5 {
		t.Errorf("a list of 1,000 tools takes %v allocations and %.2f bytes for each of its own", allocations, size)
	}
}

// cost returns how often and how much a function allocates.
func cost(run func()) (allocations, size float64) {
	const runs = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	allocations = testing.AllocsPerRun(runs, run)
	runtime.ReadMemStats(&after)
	return allocations, float64(after.TotalAlloc-before.TotalAlloc) / (runs + 1)
}

func TestTextsAllocateLittleMoreThanTheyTake(t *testing.T) {
	const text = `{"type":"text","text":"%s"}`
	long := strings.Repeat(`2026-07-28 a line with \"quotes\" that is much like a line of a log →\n`, 2000)
	for name, row := range map[string]struct {
		result string
		most   float64
	}{
		"one":                {fmt.Sprintf(text, long), 1.1},
		"one of many quotes": {fmt.Sprintf(text, strings.Repeat(`\"a\"`, 20_000)), 1.8},
		"a short one too":    {fmt.Sprintf(text+","+text, "short", long), 1.1},
		"many":               {strings.Repeat(fmt.Sprintf(text, long)+",", 40) + fmt.Sprintf(text, long), 2.2},
	} {
		data := []byte(`{"content":[` + row.result + `]}`)
		_, size := cost(func() {
			if _, ok := mcp.QuickCallToolResult(data); !ok {
				t.Error("it is read the general way")
			}
		})
		if size /= float64(len(data)); size > row.most {
			t.Errorf("%s: %.2f bytes are allocated for each byte of the result, more than %v", name, size, row.most)
		}
	}
}

func TestToolsThatShareMemoryDoNotReachEachOther(t *testing.T) {
	text := manyTools(300)
	var general, quick mcp.ListToolsResult
	if err := mcp.Decode(text, &general); err != nil {
		t.Fatal(err)
	}
	if copied := bytes.Clone(text); mcp.QuickListToolsResult(copied, &quick) {
		scribble(copied)
	}
	for i := range quick.Tools {
		_ = append(quick.Tools[i].InputSchema, "scribbled over what comes next"...)
	}
	if !reflect.DeepEqual(quick.Tools, general.Tools) {
		t.Error("the tools are not as the general decoder reads them")
	}
}
