//go:build unix && !linux

package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// system is what a group has on these systems only.
type system struct {
	state State // of the leader, set before awaitEnd returns
}

// awaitEnd returns when the leader has ended. Here it is reaped at once; the group is then named by its members alone.
func (g *group) awaitEnd(proc *os.Process) { g.state = g.wait(proc) }

func (g *group) reap(*os.Process) State { return g.state }

// empty reports whether the group has no members that could be signalled: one that holds only zombies answers EPERM on
// some systems. The leader must have been reaped.
func (g *group) empty() bool {
	g.gone = g.gone || unix.Kill(-g.id, 0) != nil
	return g.gone
}
