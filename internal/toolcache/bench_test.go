package toolcache_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpwire/internal/toolcache"
	"mcpwire/mcp"
)

// hundred returns an entry of 100 tools with a schema of 1 KiB each.
func hundred() toolcache.Entry {
	var e toolcache.Entry
	schema := `{"type":"object","description":"` + strings.Repeat("x", 1024-34) + `"}`
	for i := range 100 {
		e.Tools = append(e.Tools, mcp.Tool{
			Name: fmt.Sprint("tool_", i), Description: strings.Repeat("What it does. ", 20),
			InputSchema: json.RawMessage(schema),
		})
	}
	return e
}

func BenchmarkLoadOfAHundredTools(b *testing.B) {
	c := toolcache.In(b.TempDir())
	if err := c.Store(key, hundred()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Load(key); !ok {
			b.Fatal("there is no entry")
		}
	}
}

func BenchmarkStoreOfAHundredKnownTools(b *testing.B) {
	c, e := toolcache.In(b.TempDir()), hundred()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Store(key, e); err != nil {
			b.Fatal(err)
		}
	}
}
