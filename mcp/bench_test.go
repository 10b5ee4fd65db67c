package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpwire/mcp"
)

func BenchmarkDecodeCallToolResult(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"200B", 200}, {"10KiB", 10 << 10}, {"1MiB", 1 << 20}} {
		const frame = `{"content":[{"type":"text","text":"%s"}],"isError":false}`
		text := []byte(fmt.Sprintf(frame, strings.Repeat("line of text\\n", size.bytes/14)))
		b.Run(size.name, func(b *testing.B) { benchmarkDecode[mcp.CallToolResult](b, text) })
	}
}

func BenchmarkDecodeListToolsResult(b *testing.B) {
	tools := make([]string, 1000)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool_%d","title":"Tool %d","description":"Does what tool number %d is there for.",`+
			`"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"where"},`+
			`"limit":{"type":"integer","minimum":1}},"required":["path"]},"annotations":{"readOnlyHint":true}}`, i, i, i)
	}
	text := []byte(`{"tools":[` + strings.Join(tools, ",") + `]}`)
	b.Run("1000tools", func(b *testing.B) { benchmarkDecode[mcp.ListToolsResult](b, text) })
}

func benchmarkDecode[T any](b *testing.B, text []byte) {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var v T
		if err := mcp.Decode(text, &v); err != nil {
			b.Fatal(err)
		}
	}
}
