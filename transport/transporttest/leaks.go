package transporttest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// settleTime is how long what a test used may take to go away. The kernel closes and reaps on its own time.
const settleTime = 2 * time.Second

// CheckLeaks notes the goroutines, child processes and open files that there are, and registers a check that fails the
// test if there are others when it ends. Call it first, so that the check runs after all other clean-up; not in tests
// that run in parallel with others, and not inside a bubble of testing/synctest. Processes and files are looked at on
// Linux only.
func CheckLeaks(t testing.TB) {
	t.Helper()
	goroutines := goleak.IgnoreCurrent()
	files, children := openFiles(), childProcesses()
	t.Cleanup(func() {
		if err := goleak.Find(goroutines); err != nil {
			t.Errorf("goroutines are left: %v", err)
		}
		for what, look := range map[string]func() []string{
			"open files": func() []string { return added(files, openFiles()) },
			"processes":  func() []string { return added(children, childProcesses()) },
		} {
			if left := settle(look); len(left) > 0 {
				t.Errorf("%s are left: %s", what, strings.Join(left, ", "))
			}
		}
	})
}

// settle looks until nothing is left or the time is over, and returns what is left then.
func settle(look func() []string) (left []string) {
	for end := time.Now().Add(settleTime); ; time.Sleep(5 * time.Millisecond) {
		if left = look(); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// added returns what is in now and was not in before.
func added(before, now []string) (more []string) {
	known := map[string]bool{}
	for _, s := range before {
		known[s] = true
	}
	for _, s := range now {
		if !known[s] {
			more = append(more, s)
		}
	}
	return more
}

// openFiles lists this process's files, but for those that belong to the runtime's poller.
func openFiles() (files []string) {
	if runtime.GOOS != "linux" {
		return nil
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil || strings.HasPrefix(target, "anon_inode:[event") {
			continue
		}
		files = append(files, entry.Name()+" "+target)
	}
	return files
}

// childProcesses lists the processes, living or dead, whose parent this process is.
func childProcesses() (children []string) {
	if runtime.GOOS != "linux" {
		return nil
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		if p, ok := readStat(name); ok && p.parent == os.Getpid() {
			children = append(children, fmt.Sprintf("%d (%s, state %s)", p.pid, p.command, p.state))
		}
	}
	return children
}

type processStat struct {
	pid, parent    int
	command, state string
}

// readStat reads a process's line of state (proc_pid_stat(5)). The command stands in parentheses and may hold any byte.
func readStat(name string) (p processStat, ok bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		return p, false
	}
	pid, rest, ok := strings.Cut(string(text), " (")
	end := strings.LastIndex(rest, ") ")
	if !ok || end < 0 {
		return p, false
	}
	fields := strings.Fields(rest[end+2:])
	if len(fields) < 2 {
		return p, false
	}
	p.command, p.state = rest[:end], fields[0]
	p.pid, err = strconv.Atoi(pid)
	if err != nil {
		return p, false
	}
	p.parent, err = strconv.Atoi(fields[1])
	return p, err == nil
}

// checkGone fails the test if the process still lives after a moment. A dead one that nobody has reaped counts as gone,
// since an orphan's reaping is up to the system. It looks on Linux only.
func checkGone(t testing.TB, pid int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	left := settle(func() []string {
		p, ok := readStat(fmt.Sprintf("/proc/%d/stat", pid))
		if !ok || p.state == "Z" || p.state == "X" {
			return nil
		}
		return []string{p.command}
	})
	if len(left) > 0 {
		t.Errorf("process %d is left: %s", pid, left[0])
	}
}
