package survival_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpwire/internal/survival"
)

// honestly serves nothing that is out of order.
func honestly(w *survival.Web) http.Handler { return w.Serve(nil) }

func TestWhatAGroupLeavesBehindIsToldEvenIfNoRowDoesSoAlone(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	runs := 0
	rows := []survival.Row{
		{Name: "leaves", Web: honestly, Try: func(*survival.Trial) {
			if runs++; runs == 1 {
				go func() { <-release }()
			}
		}},
		{Name: "worsens", Web: honestly, Try: func(t *survival.Trial) {
			if t.Web.Count("try"); runs == 2 { // when it is run alone
				t.Fail("it works no more")
			}
		}},
	}
	results := survival.Runner{Parallel: 1}.Run(t.Context(), rows)
	leaves, worsens := strings.Join(results[0].Wrong, "\n"), strings.Join(results[1].Wrong, "\n")
	if !strings.Contains(leaves, "one of these 2 rows left behind: ") || !strings.Contains(leaves, "leaves, worsens") {
		t.Errorf("the first is told of: %q", leaves)
	}
	if worsens != "it works no more" {
		t.Errorf("the second is told of: %q", worsens)
	}
}

func TestWhoLeavesSomethingBehindIsNamed(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	rows := []survival.Row{
		{Name: "works", Web: honestly},
		{Name: "leaves", Web: honestly, Within: time.Second, Try: func(*survival.Trial) { go func() { <-release }() }},
	}
	results := survival.Runner{}.Run(t.Context(), rows)
	if len(results[0].Wrong) > 0 || !strings.HasPrefix(strings.Join(results[1].Wrong, ""), "it left behind: ") {
		t.Errorf("got %q and %q", results[0].Wrong, results[1].Wrong)
	}
}
