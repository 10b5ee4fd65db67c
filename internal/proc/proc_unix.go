//go:build unix

package proc

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// minimal follows what login sets up and what programs need to find their files and to print in the user's language.
var minimal = []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TMPDIR", "LANG", "LC_*", "TZ", "XDG_*"}

func envKey(name string) string { return name }

func isPath(command string) bool { return strings.Contains(command, "/") }

func runnable(path string, _ environment) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.IsDir(), unix.Access(path, unix.X_OK) != nil:
		return "", errNotExecutable
	}
	return path, nil
}

func isBadFormat(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

// spawn starts the file at path as the leader of a new group.
func spawn(path string, spec Spec, env []string, files []*os.File) (*group, int, error) {
	g := new(group)
	attr := &syscall.SysProcAttr{Setpgid: true}
	g.prepare(attr)
	proc, err := os.StartProcess(path, append([]string{spec.Command}, spec.Args...), &os.ProcAttr{
		Dir: spec.Dir, Env: env, Files: files, Sys: attr,
	})
	if err != nil {
		return nil, 0, err
	}
	g.id = proc.Pid
	g.started(proc)
	return g, g.id, nil
}

// A group is a process group. It is used by one goroutine, but for awaitEnd.
type group struct {
	id   int  // the leader's process id
	gone bool // the group was seen empty: its id may be another's by now
	system
}

// term asks all members to end, and reports that it makes sense to wait for them.
func (g *group) term() bool {
	g.signal(unix.SIGTERM)
	return true
}

func (g *group) kill() { g.signal(unix.SIGKILL) }

func (g *group) signal(sig unix.Signal) {
	if !g.gone {
		_ = unix.Kill(-g.id, sig) // a member that may not be signalled is found by empty
	}
}

func (g *group) close() {}

// detached returns the attributes of a process that has a session of its own.
func detached(string) (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{Setsid: true}, nil }

func endOf(state *os.ProcessState) State {
	if status, ok := state.Sys().(syscall.WaitStatus); ok {
		return stateOf(status)
	}
	return State{Code: state.ExitCode()}
}

// stateOf tells how a process ended.
func stateOf(status syscall.WaitStatus) State {
	if status.Signaled() {
		return State{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return State{Code: status.ExitStatus()}
}
