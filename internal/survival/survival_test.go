package survival_test

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"mcpwire/internal/survival"
	"mcpwire/transport/transporttest"
)

// server is the word behind which the test binary is the server of a row.
const server = "be-the-server-of"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == server {
		if err := survival.Serve(os.Args[2], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	os.Exit(m.Run())
}

// rowsVariable is where the patterns of the rows stand that are to be run, separated by blanks. Unset: all.
const rowsVariable = "SURVIVAL_ROWS"

func TestTheClientSurvivesEveryRow(t *testing.T) {
	transporttest.CheckLeaks(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rows := survival.Rows()
	if patterns := os.Getenv(rowsVariable); patterns != "" {
		rows = slices.DeleteFunc(rows, func(r survival.Row) bool {
			return !slices.ContainsFunc(strings.Fields(patterns), func(p string) bool {
				fits, err := path.Match(p, r.Name)
				return fits || err != nil
			})
		})
	}
	if len(rows) == 0 {
		t.Fatal("there are no such rows")
	}
	for _, result := range (survival.Runner{Self: []string{exe, server}}).Run(t.Context(), rows) {
		if testing.Verbose() {
			t.Logf("%-40s %6d ms %4d MiB", result.Row.Name, result.Took.Milliseconds(), result.Heap>>20)
		}
		if len(result.Wrong) > 0 {
			t.Errorf("%s: the client must %s\n  %s", result.Row.Name, result.Row.Must, strings.Join(result.Wrong, "\n  "))
		}
	}
}
