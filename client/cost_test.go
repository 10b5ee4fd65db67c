package client_test

import (
	"encoding/json"
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
	c := connectProcess(t, "plain", client.Options{Protocol: "2025-11-25"})
	for _, row := range []struct {
		name string
		args any
		most float64
	}{
		{"JSON", json.RawMessage(`{"text":"hello"}`), 11},
		{"a map", map[string]any{"text": "hello"}, 12},
	} {
		got := testing.AllocsPerRun(500, func() { callText(t, c, "any", row.args) })
		t.Logf("%s: %v", row.name, got)
		if got > row.most {
			t.Errorf("a call with %s allocates %v times, more than %v", row.name, got, row.most)
		}
	}
}
