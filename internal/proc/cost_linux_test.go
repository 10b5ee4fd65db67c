package proc_test

import (
	"os"
	"runtime"
	"testing"

	"mcpwire/internal/proc"
)

func TestARunningProcessTakesNoGoroutineAndNoThread(t *testing.T) {
	const processes = 8
	shell(t, "echo; exec cat") // all share what the first begins
	goroutines, before := runtime.NumGoroutine(), len(entries(t, threads))
	for range processes {
		shell(t, "echo; exec cat")
	}
	if got := runtime.NumGoroutine() - goroutines; got > 0 { // one of a test before may have ended meanwhile
		t.Errorf("%d processes take %d goroutines", processes, got)
	}
	if got := len(entries(t, threads)) - before; got >= processes/2 {
		t.Errorf("%d processes take %d threads", processes, got)
	}
}

// threads has an entry for each thread of ours.
const threads = "/proc/self/task"

// A pipe has two ends; ours are three, and a pidfd tells of the end.
func TestARunningProcessTakesFourFiles(t *testing.T) {
	start(t, proc.Spec{Command: "cat"}) // opens what the runtime polls with
	before := len(entries(t, "/proc/self/fd"))
	start(t, proc.Spec{Command: "cat"})
	if got := len(entries(t, "/proc/self/fd")) - before; got != 4 {
		t.Errorf("%d files", got)
	}
}

func entries(t *testing.T, folder string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
