// Package proctest checks that tests which start processes leave nothing behind.
package proctest

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long what was ended may take to disappear.
const patience = 5 * time.Second

// NoLeaks fails the test if, when it ends, there are goroutines that were not there when NoLeaks was called, child
// processes, or (on Linux) more open files. It is called first, by tests that do not run in parallel with others.
func NoLeaks(t testing.TB) {
	t.Helper()
	startPoller()
	before, known := openFiles(), goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(known); err != nil {
			t.Error(err)
		}
		if !Within(patience, func() bool { return !hasChildren() }) {
			t.Error("child processes are left")
		}
		if after := openFiles(); after > before {
			t.Errorf("%d files are open, %d were before", after, before)
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

// startPoller makes the runtime open the files that it needs to wait for pipes, which stay open.
func startPoller() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
}

// openFiles counts the open files of this process, where the system tells.
func openFiles() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(files)
}
