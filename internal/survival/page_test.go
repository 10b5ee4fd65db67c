package survival_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpwire/internal/survival"
)

var update = flag.Bool("update", false, "write docs/survival.md anew")

func TestThePageIsTheCatalogue(t *testing.T) {
	const path = "../../docs/survival.md"
	want := page()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(text), "\r\n", "\n") != want {
		t.Errorf("%s is not what the catalogue says; run this test with -update", path)
	}
}

func TestRowsAreWholeAndTheirNamesUnique(t *testing.T) {
	named := regexp.MustCompile(`^[a-z]+(/[a-z0-9.-]+)+$`)
	var names []string
	for _, r := range survival.Rows() {
		if !named.MatchString(r.Name) {
			t.Errorf("%q is no name of a row", r.Name)
		}
		if slices.Contains(names, r.Name) {
			t.Errorf("%q stands there twice", r.Name)
		}
		names = append(names, r.Name)
		if r.Does == "" || r.Must == "" || (r.Pipe == nil) == (r.Web == nil) {
			t.Errorf("%s is not whole", r.Name)
		}
		for _, text := range []string{r.Does, r.Must} {
			if strings.HasSuffix(text, ".") || strings.ContainsAny(text, "\n\t") {
				t.Errorf("%s: %q is no part of a sentence", r.Name, text)
			}
		}
	}
}

// page is docs/survival.md.
func page() string {
	rows := survival.Rows()
	var b strings.Builder
	fmt.Fprintf(&b, `# What mcpwire survives

This page is written by a test from the catalogue in `+"`internal/survival`"+`, which holds %d hostile servers. `+
		"`mcpwire selftest`"+` meets
all of them on your machine. Whatever a server does, the client comes to an end within its deadline and a second more, does
not panic, and leaves no goroutine behind; on Linux no process, socket or file either, which is not looked at elsewhere.
Memory is measured in the rows that name an amount of heap.
`, len(rows))
	group := ""
	for _, r := range rows {
		if g, _ := cutLast(r.Name); g != group {
			group = g
			fmt.Fprintf(&b, "\n## %s\n\n| row | the server | the client |\n| --- | --- | --- |\n", group)
		}
		_, name := cutLast(r.Name)
		must := r.Must
		if r.Memory > 0 {
			must += fmt.Sprintf(" (at most %d MiB of heap)", r.Memory>>20)
		}
		fmt.Fprintf(&b, "| %s | %s | must %s |\n", cell(name), cell(r.Does), cell(must))
	}
	return b.String()
}

// cutLast cuts a name at its last slash.
func cutLast(name string) (before, after string) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// cell is text as it may stand in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
