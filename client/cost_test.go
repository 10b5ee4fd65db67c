package client_test

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"

	"mcpwire/client"
)

// raced reports whether the test finds data races, which costs allocations of its own.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, setting := range info.Settings {
		if setting.Key == "-race" {
			return setting.Value == "true"
		}
	}
	return false
}

func TestACallOverPipesAllocatesLittle(t *testing.T) {
	if raced() {
		t.Skip("with the race detector more is allocated")
	}
	raw, members := json.RawMessage(`{"text":"hello"}`), map[string]any{"text": "hello"}
	for _, row := range []struct {
		name, role, protocol string
		args                 any
		most, bytes          float64
	}{
		{"JSON", "plain", "2025-11-25", raw, 4, 650},
		{"a map", "plain", "2025-11-25", members, 4, 650},
		{"a map, by itself", "stateless", "2026-07-28", members, 5, 900},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := connectProcess(t, row.role, client.Options{Protocol: row.protocol})
			const calls = 500
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := testing.AllocsPerRun(calls, func() { callText(t, c, "any", row.args) })
			runtime.ReadMemStats(&after)
			size := float64(after.TotalAlloc-before.TotalAlloc) / (calls + 1)
			t.Logf("%v allocations, %.0f bytes", got, size)
			if got > row.most || size > row.bytes {
				t.Errorf("a call allocates %v times, %.0f bytes; %v and %v are allowed", got, size, row.most, row.bytes)
			}
		})
	}
}
