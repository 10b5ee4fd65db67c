package proc

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"mcpwire/internal/readable"
)

// system is what a group has on this system only.
type system struct {
	polls int // how often empty has found members
	pidfd int // of the leader, until it has ended; -1 where the kernel makes none
	end   *readable.Watch
}

func (s *system) prepare(attr *syscall.SysProcAttr) {
	s.pidfd = -1
	attr.PidFD = &s.pidfd
}

// started takes the leader over: from here on it is known by its id and pidfd alone.
func (s *system) started(leader *os.Process) {
	_ = leader.Release() // it holds a second pidfd
}

// onEnd has f run when the leader has ended, and leaves it unreaped. Until then that takes no goroutine and no thread,
// as long as the kernel has pidfds (Linux 5.4).
func (g *group) onEnd(f func()) {
	tell := func() {
		g.awaitEnd()
		f()
	}
	if g.pidfd >= 0 {
		g.end = readable.New(g.pidfd, tell)
	}
	if !g.end.Arm() {
		go tell()
	}
}

// awaitEnd waits until the leader has ended, or can't be asked.
func (g *group) awaitEnd() {
	for {
		err := unix.Waitid(unix.P_PID, g.id, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	g.end.Close()
	if g.pidfd >= 0 {
		unix.Close(g.pidfd)
	}
}

func (g *group) reap() State {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(g.id, &status, 0, nil)
		switch {
		case err == nil:
			return stateOf(status)
		case !errors.Is(err, unix.EINTR):
			return State{Code: -1}
		}
	}
}

// scanEvery is how many polls pass between two looks at what the members are.
const scanEvery = 5

// empty reports whether the group has no members. The leader must have been reaped.
func (g *group) empty() bool {
	if g.gone {
		return true
	}
	g.adopt()
	if err := unix.Kill(-g.id, 0); errors.Is(err, unix.ESRCH) {
		g.gone = true
		return true
	}
	if g.polls++; g.polls%scanEvery == 0 && onlyZombies(g.id) {
		g.kill()
		g.gone = true
	}
	return g.gone
}

// adopt reaps members that have become our children: in a container we may be the first process.
func (g *group) adopt() {
	for {
		pid, err := unix.Wait4(-g.id, nil, unix.WNOHANG, nil)
		if pid <= 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// onlyZombies reports whether all members have ended and only wait to be reaped. In a container whose first process
// reaps nothing they wait for ever, and it makes no sense to wait for them.
func onlyZombies(group int) bool {
	all, ok := members(group)
	return ok && !slices.ContainsFunc(all, func(f facts) bool { return !f.ended })
}

// newPipe makes a pipe, of which we write or read. Other than os.Pipe it has only our end polled, which saves four
// system calls each.
func newPipe(write bool) (ours, theirs *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if write {
		ends[0], ends[1] = ends[1], ends[0]
	}
	if err := unix.SetNonblock(ends[0], true); err != nil {
		unix.Close(ends[0])
		unix.Close(ends[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(ends[0]), "|"), os.NewFile(uintptr(ends[1]), "|"), nil
}
