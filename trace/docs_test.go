package trace_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"mcpwire/trace"
)

func TestEveryMemberAndEventIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/trace.md")
	if err != nil {
		t.Fatal(err)
	}
	words := []string{
		string(trace.Opening), string(trace.Started), string(trace.Opened), string(trace.Sent), string(trace.Received),
		string(trace.Noise),
		string(trace.Oversize), string(trace.Stderr), string(trace.HTTP), string(trace.Failed), string(trace.Stream),
		string(trace.Fault), string(trace.Exited), string(trace.Closing), string(trace.Closed),
	}
	for _, of := range []any{trace.Event{}, trace.HTTPFacts{}, trace.ExitFacts{}, trace.CutFacts{}} {
		for field := range reflect.TypeOf(of).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			words = append(words, name)
		}
	}
	for _, word := range words {
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("docs/trace.md lacks `%s`", word)
		}
	}
}
