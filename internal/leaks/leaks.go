// Package leaks tells what somebody has left behind: goroutines, and on Linux child processes and open files.
package leaks

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"go.uber.org/goleak"
)

// A Baseline is what there is at one moment.
type Baseline struct {
	goroutines goleak.Option
	files      []string
	children   []Child
}

// A Child is a process, living or dead, whose parent this process is.
type Child struct {
	PID            int
	Command, State string // as proc_pid_stat(5) has them
}

// String returns all of it.
func (c Child) String() string { return fmt.Sprintf("%d (%s, state %s)", c.PID, c.Command, c.State) }

// Note returns what there is now.
func Note() Baseline {
	startPoller()
	return Baseline{goleak.IgnoreCurrent(), Files(), Children()}
}

// Left returns what there is more than at the baseline, a line each, after it has had some time to go away: the kernel
// closes and reaps on its own time.
func (b Baseline) Left(patience time.Duration) (left []string) {
	end := time.Now().Add(patience)
	for {
		left = nil
		if err := goleak.Find(b.goroutines); err != nil {
			left = append(left, err.Error())
		}
		for _, file := range added(b.files, Files(), func(file string) string { return file }) {
			left = append(left, "open file "+file)
		}
		for _, child := range added(b.children, Children(), func(c Child) int { return c.PID }) {
			left = append(left, "process "+child.String())
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// startPoller makes the runtime open the files that it needs to wait for pipes, which stay open.
func startPoller() {
	if r, w, err := os.Pipe(); err == nil {
		_ = r.Close()
		_ = w.Close()
	}
}

// added returns what is in now and was not in before, by its identity.
func added[T any, ID comparable](before, now []T, id func(T) ID) (more []T) {
	known := map[ID]bool{}
	for _, x := range before {
		known[id(x)] = true
	}
	for _, x := range now {
		if !known[id(x)] {
			more = append(more, x)
		}
	}
	return more
}

// Files lists this process's open files, number and name, but for those that belong to the runtime's poller. Elsewhere
// than on Linux it returns none.
func Files() (files []string) {
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

// Children lists the processes, living or dead, whose parent this process is. Elsewhere than on Linux it returns none.
func Children() (children []Child) {
	if runtime.GOOS != "linux" {
		return nil
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		if p, ok := readStat(name); ok && p.parent == os.Getpid() {
			children = append(children, Child{p.pid, p.command, p.state})
		}
	}
	return children
}

// Running reports whether a process lives, and tells its command. One that is dead and that nobody has reaped does not
// live, since an orphan's reaping is up to the system. Elsewhere than on Linux it reports false.
func Running(pid int) (command string, running bool) {
	if runtime.GOOS != "linux" {
		return "", false
	}
	p, ok := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	return p.command, ok && p.state != "Z" && p.state != "X"
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
