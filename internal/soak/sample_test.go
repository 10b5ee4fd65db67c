package soak_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"mcpwire/internal/leaks"
)

// A sample is what a process holds at one moment. What the system does not tell is 0.
type sample struct {
	at                      time.Duration
	lines                   int64 // opened so far
	worked, failed, damaged int64 // calls so far
	heap                    int64 // bytes that are in use after a collection
	resident                int64 // bytes
	goroutines, files       int
	children                int // processes, dead ones too
}

const header = "    time   lines    calls   failed damaged     heap resident goroutines files children"

// String returns a line of the table under header.
func (s sample) String() string {
	return fmt.Sprintf("%8v %7d %8d %8d %7d %4d MiB %4d MiB %10d %5d %8d", s.at.Round(time.Second), s.lines,
		s.worked+s.failed+s.damaged, s.failed, s.damaged, s.heap>>20, s.resident>>20, s.goroutines, s.files, s.children)
}

func take(at time.Duration) sample {
	runtime.GC()
	runtime.GC() // what had a finalizer or a pool to go to is gone only now
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return sample{
		at: at, heap: int64(memory.HeapAlloc), resident: resident(), goroutines: runtime.NumGoroutine(),
		files: len(leaks.Files()), children: len(leaks.Children()),
	}
}

// resident reads how much memory the process has (proc_pid_status(5)).
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseInt(kib, 10, 64)
	return n << 10
}

// above tells what a sample has more of than an earlier one, beyond what the state of single lines explains.
func (s sample) above(base sample) (problems []string) {
	for _, row := range []struct {
		what            string
		now, then, more int64
	}{
		{"bytes of heap", s.heap, base.heap, base.heap/4 + 8<<20},
		{"bytes resident", s.resident, base.resident, base.resident/4 + 32<<20},
		{"goroutines", int64(s.goroutines), int64(base.goroutines), int64(base.goroutines)/10 + 50},
		{"open files", int64(s.files), int64(base.files), int64(base.files)/10 + 50},
		{"processes", int64(s.children), int64(base.children), 3},
	} {
		if row.now > row.then+row.more {
			problems = append(problems, fmt.Sprintf("%d %s, and %d when it was warm: at most %d more are in order",
				row.now, row.what, row.then, row.more))
		}
	}
	return problems
}
