//go:build unix && !linux

package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// system is what a group has on these systems only.
type system struct {
	leader *os.Process
	state  State // of the leader, set before awaitEnd returns
}

func (*system) prepare(*syscall.SysProcAttr) {}

func (s *system) started(leader *os.Process) { s.leader = leader }

// awaitEnd returns when the leader has ended. Here it is reaped at once; the group is then named by its members alone.
func (s *system) awaitEnd() {
	s.state = State{Code: -1}
	state, err := s.leader.Wait()
	if err != nil {
		return
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok {
		s.state = stateOf(status)
	}
}

func (s *system) reap() State { return s.state }

// empty reports whether the group has no members that could be signalled: one that holds only zombies answers EPERM on
// some systems. The leader must have been reaped.
func (g *group) empty() bool {
	g.gone = g.gone || unix.Kill(-g.id, 0) != nil
	return g.gone
}
