package transporttest

import (
	"testing"
	"time"

	"mcpwire/internal/leaks"
)

// settleTime is how long what a test used may take to go away.
const settleTime = 2 * time.Second

// CheckLeaks notes the goroutines, child processes and open files that there are, and registers a check that fails the
// test if there are others when it ends. Call it first, so that the check runs after all other clean-up; not in tests
// that run in parallel with others, and not inside a bubble of testing/synctest. Processes and files are looked at on
// Linux only.
func CheckLeaks(t testing.TB) {
	t.Helper()
	before := leaks.Note()
	t.Cleanup(func() {
		for _, left := range before.Left(settleTime) {
			t.Errorf("left behind: %s", left)
		}
	})
}

// checkGone fails the test if the process still lives after a moment.
func checkGone(t testing.TB, pid int) {
	t.Helper()
	for end := time.Now().Add(settleTime); ; time.Sleep(5 * time.Millisecond) {
		command, running := leaks.Running(pid)
		if !running {
			return
		}
		if time.Now().After(end) {
			t.Errorf("process %d is left: %s", pid, command)
			return
		}
	}
}
