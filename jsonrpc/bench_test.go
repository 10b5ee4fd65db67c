package jsonrpc_test

import (
	"strings"
	"testing"

	"mcpwire/jsonrpc"
)

func BenchmarkParse(b *testing.B) {
	text := strings.Repeat(`a line of a log with \"quotes\", an é, a number 12345 and so on, up to eighty\n`, 13_107)
	for _, row := range []struct{ name, payload string }{
		{"200B", text[:160]},
		{"10KiB", text[:10<<10]},
		{"1MiB", text},
	} {
		payload := strings.TrimRight(row.payload, `\`)
		msg := []byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"` + payload + `"}]}}`)
		b.Run(row.name, func(b *testing.B) {
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonrpc.Parse(msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
