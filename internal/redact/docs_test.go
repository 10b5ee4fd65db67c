package redact_test

import (
	"os"
	"strings"
	"testing"

	"mcpwire/internal/redact"
)

func TestWhatIsMaskedIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/trace.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "## What is masked")
	for _, words := range redact.Words() {
		for _, word := range words {
			if !strings.Contains(list, "`"+word+"`") {
				t.Errorf("docs/trace.md does not say that `%s` makes a name secret", word)
			}
		}
	}
}
