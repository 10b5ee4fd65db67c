//go:build unix

package conformance_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A scenario is one that a revision's requirements name, or that the suite adds to them.
type scenario struct {
	revision string
	name     string
	wanted   map[string]int // how often each check must end with SUCCESS, at least
}

// open are the scenarios that are reported only.
var open []string

// required reports whether the scenario must pass.
func (s scenario) required() bool { return !slices.Contains(open, s.name) }

// problems tells why a report is no success; nil: it is one. It is stricter than the suite, which calls a scenario
// passed in which nothing was checked.
func (s scenario) problems(r report) []string {
	var problems []string
	passed := map[string]int{}
	for _, c := range r.checks {
		switch c.Status {
		case "SUCCESS":
			passed[c.ID]++
		case "FAILURE", "WARNING":
			problems = append(problems, strings.TrimSuffix(c.Status+" "+c.ID+": "+c.Message, ": "))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.wanted)) {
		switch got, want := passed[id], s.wanted[id]; {
		case got == 0:
			problems = append(problems, "missing "+id)
		case got < want:
			problems = append(problems, fmt.Sprintf("missing %s, which passed %d times of %d", id, got, want))
		}
	}
	if len(passed) == 0 {
		problems = append(problems, "nothing was checked")
	}
	if r.err != nil {
		problems = append(problems, "the suite says: "+r.err.Error())
	}
	return problems
}

// readScenarios reads the table of what is expected.
func readScenarios(t *testing.T) []scenario {
	t.Helper()
	text, err := os.ReadFile("testdata/expected.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var all []scenario
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			t.Fatalf("testdata/expected.tsv: %q has %d fields", line, len(fields))
		}
		s := scenario{fields[0], fields[1], map[string]int{}}
		for word := range strings.FieldsSeq(fields[2]) {
			id, times, repeated := strings.Cut(word, ":")
			n := 1
			if repeated {
				if n, err = strconv.Atoi(times); err != nil {
					t.Fatalf("testdata/expected.tsv: %q: %v", line, err)
				}
			}
			s.wanted[id] = n
		}
		all = append(all, s)
	}
	return all
}

func TestAReportIsASuccessOnlyIfAllThatIsExpectedWasChecked(t *testing.T) {
	s := scenario{"2026-07-28", "x", map[string]int{"a": 1, "b": 2}}
	pass := func(ids ...string) (all []check) {
		for _, id := range ids {
			all = append(all, check{ID: id, Status: "SUCCESS"})
		}
		return all
	}
	for _, row := range []struct {
		name string
		r    report
		want []string
	}{
		{"all", report{checks: pass("a", "b", "b")}, nil},
		{"more", report{checks: pass("a", "b", "b", "b", "c")}, nil},
		{"what tells nothing", report{checks: append(pass("a", "b", "b"), check{"c", "INFO", ""})}, nil},
		{"one is missing", report{checks: pass("b", "b")}, []string{"missing a"}},
		{"one is rare", report{checks: pass("a", "b")}, []string{"missing b, which passed 1 times of 2"}},
		{
			"skipped is missing",
			report{checks: append(pass("b", "b"), check{"a", "SKIPPED", "why"})},
			[]string{"missing a"},
		},
		{
			"failures and warnings",
			report{checks: append(pass("a", "b", "b"), check{"b", "FAILURE", "bad"}, check{"c", "WARNING", ""})},
			[]string{"FAILURE b: bad", "WARNING c"},
		},
		{"nothing", report{}, []string{"missing a", "missing b", "nothing was checked"}},
		{
			"the client's exit status",
			report{checks: pass("a", "b", "b"), err: errors.New("exit status 1")},
			[]string{"the suite says: exit status 1"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := s.problems(row.r); !reflect.DeepEqual(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
