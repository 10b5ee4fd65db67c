package proc

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// system is what a group has on this system only.
type system struct {
	polls int      // how often empty has found members
	pidfd int      // of the leader, until started; -1 where the kernel makes none
	file  *os.File // the same, until awaitEnd has returned; nil where there is none
}

func (s *system) prepare(attr *syscall.SysProcAttr) {
	s.pidfd = -1
	attr.PidFD = &s.pidfd
}

// started takes the leader over: from here on it is known by its id and pidfd alone.
func (s *system) started(leader *os.Process) {
	_ = leader.Release() // it holds a second pidfd
	if s.pidfd < 0 {
		return
	}
	if err := unix.SetNonblock(s.pidfd, true); err != nil {
		unix.Close(s.pidfd)
		return
	}
	s.file = os.NewFile(uintptr(s.pidfd), "pidfd")
}

// awaitEnd returns when the leader has ended, and leaves it unreaped. Waiting takes no thread, as long as the kernel
// has pidfds (Linux 5.4).
func (g *group) awaitEnd() {
	if g.file != nil {
		defer g.file.Close()
		raw, err := g.file.SyscallConn()
		if err == nil && raw.Read(func(uintptr) bool { return g.ended(unix.WNOHANG) }) == nil {
			return
		}
	}
	g.ended(0)
}

// ended reports whether the leader has ended, or can't be asked; without WNOHANG it waits for that.
func (g *group) ended(flags int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, g.id, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
		if !errors.Is(err, unix.EINTR) {
			return err != nil || info.Signo != 0
		}
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
