package survival_test

import (
	"flag"
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
	want := survival.Page()
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
