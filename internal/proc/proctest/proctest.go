// Package proctest checks that tests which start processes leave nothing behind.
package proctest

import (
	"testing"
	"time"

	"mcpwire/internal/leaks"
)

// patience is how long what was ended may take to disappear.
const patience = 5 * time.Second

// NoLeaks fails the test if, when it ends, there are goroutines, child processes or open files that were not there when
// NoLeaks was called. It is called first, by tests that do not run in parallel with others.
func NoLeaks(t testing.TB) {
	t.Helper()
	before := leaks.Note()
	t.Cleanup(func() {
		for _, left := range before.Left(patience) {
			t.Errorf("left behind: %s", left)
		}
	})
}

// Within reports whether ok comes true within d. It asks again and again, with short pauses.
func Within(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
