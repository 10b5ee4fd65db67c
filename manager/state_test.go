package manager_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"mcpwire/manager"
)

var update = flag.Bool("update", false, "write the diagram of states into ARCHITECTURE.md")

func TestTheDiagramOfStatesIsTheOneOfTheTable(t *testing.T) {
	const page = "../ARCHITECTURE.md"
	const begin, end = "<!-- states of a server -->\n```mermaid\n", "```\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), begin)
	drawn, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no diagram behind %q", page, begin)
	}
	want := manager.Diagram()
	if drawn == want {
		return
	}
	if !*update {
		t.Fatalf("the diagram in %s is\n%s\nthe table says\n%s\nrun this test with -update", page, drawn, want)
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStatesHaveNames(t *testing.T) {
	var all []string
	for s := manager.Disabled; s <= manager.Failed; s++ {
		all = append(all, s.String())
	}
	if got := strings.Join(all, ", "); got != "disabled, connecting, ready, waiting, needs login, failed" {
		t.Error(got)
	}
	if got := (manager.Failed + 1).String(); got != "state 6" {
		t.Error(got)
	}
}
