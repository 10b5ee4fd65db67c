package proc

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// system is what a group has on this system only.
type system struct {
	polls int // how often empty has found members
}

// awaitEnd returns when the leader has ended, and leaves it unreaped.
func (g *group) awaitEnd(*os.Process) {
	for {
		err := unix.Waitid(unix.P_PID, g.id, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (g *group) reap(proc *os.Process) State { return g.wait(proc) }

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
