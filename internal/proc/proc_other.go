//go:build !linux

package proc

import "os"

// newPipe makes a pipe, of which we write or read.
func newPipe(write bool) (ours, theirs *os.File, err error) {
	ours, theirs, err = os.Pipe()
	if write {
		ours, theirs = theirs, ours
	}
	return ours, theirs, err
}

// onEnd has f run when the leader has ended.
func (g *group) onEnd(f func()) {
	go func() {
		g.awaitEnd()
		f()
	}()
}
