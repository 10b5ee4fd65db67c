//go:build unix

// Package conformance_test runs the official conformance suite of MCP against mcpwire's client. `make conformance` at
// the root installs the suite and runs it; `go test -run 'Suite/2026-07-28/tools_call'` runs one scenario again.
package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
)

// atOnce is how many scenarios run at a time: each is a Node process and ours.
const atOnce = 2

func TestSuite(t *testing.T) {
	requireSuite(t)
	driver := buildDriver(t)
	var results table
	t.Cleanup(func() { results.print(t) })
	slots := make(chan struct{}, atOnce)
	for _, s := range readScenarios(t) {
		t.Run(s.revision+"/"+s.name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			r := runSuite(t, driver, s)
			problems := s.problems(r)
			results.add(s, problems)
			if problems != nil && s.required() {
				t.Errorf("%s\nthe client wrote: %.2000s", strings.Join(problems, "\n"), r.stderr)
			}
		})
	}
}

// listed matches a client scenario in the suite's list of what a revision requires.
var listed = regexp.MustCompile(`(?m)^\s+- (\S+)(?: \[(\w+)\])?$`)

func TestTheTableNamesEveryClientScenarioOfBothRevisions(t *testing.T) {
	requireSuite(t)
	ours := map[string][]string{}
	for _, s := range readScenarios(t) {
		if !strings.HasPrefix(s.name, "sep-2640-") { // of the skills extension, which is in no revision's list
			ours[s.revision] = append(ours[s.revision], s.name)
		}
	}
	delete(ours, "2025-03-26") // the suite has scenarios of it, and says nothing of which are required
	for revision, names := range ours {
		out, err := node(t.Context(), "list", "--client", "--requirements", revision)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, out, _ = strings.Cut(out, "Client scenarios")
		var theirs []string
		for _, m := range listed.FindAllStringSubmatch(out, -1) {
			if m[2] == "" || m[2] == "client" {
				theirs = append(theirs, m[1])
			}
		}
		slices.Sort(names)
		slices.Sort(theirs)
		if !slices.Equal(names, theirs) {
			t.Errorf("%s: the table names\n%q\nand the suite\n%q", revision, names, theirs)
		}
	}
}

// requireSuite fails the test unless the suite is installed.
func requireSuite(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(suite); err != nil {
		t.Fatalf("the suite is not installed; run `make conformance` at the root: %v", err)
	}
}

// buildDriver builds the client under test. The suite hands its path to a shell without quotes.
func buildDriver(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "driver")
	if strings.ContainsAny(path, " '\"$") {
		t.Fatalf("the suite can't start a client in %s; set TMPDIR to a folder of a plain name", path)
	}
	if out, err := exec.Command("go", "build", "-o", path, "./driver").CombinedOutput(); err != nil {
		t.Fatalf("building the client: %v\n%s", err, out)
	}
	return path
}

// A table collects the results for people to read.
type table struct {
	mu   sync.Mutex
	rows []result
}

type result struct {
	scenario
	problems []string
}

func (r *table) add(s scenario, problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, result{s, problems})
}

func (r *table) print(t *testing.T) {
	t.Helper()
	slices.SortStableFunc(r.rows, func(a, b result) int {
		return strings.Compare(a.order(), b.order())
	})
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCENARIO\tREVISION\tVERDICT\tWHY")
	var must, mustPass, may, mayPass int
	for _, row := range r.rows {
		verdict := "pass"
		switch {
		case row.required():
			must++
		default:
			may++
		}
		switch {
		case row.problems == nil && row.required():
			mustPass++
		case row.problems == nil:
			mayPass++
		case row.required():
			verdict = "FAIL"
		default:
			verdict = "open"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row.name, row.revision, verdict, row.why())
	}
	fmt.Fprintf(w, "\n%d of %d required scenarios pass, and %d of %d that are only reported.\n",
		mustPass, must, mayPass, may)
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
}

// order puts what is required first.
func (r result) order() string {
	if r.required() {
		return "1" + r.name + " " + r.revision
	}
	return "2" + r.name + " " + r.revision
}

// why returns the problems in one short line.
func (r result) why() string {
	const most = 100
	text := strings.Join(strings.Fields(strings.Join(r.problems, "; ")), " ")
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
