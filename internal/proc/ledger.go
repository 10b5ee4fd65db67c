package proc

import (
	"context"
	"path/filepath"
	"sync"
)

// A Ledger is a folder in which running processes are recorded, so that a later run can end what a host that was killed
// has left behind. The zero Ledger records nothing.
//
// A record holds ids, start times and the base name of the command, no arguments and no environment. It is written
// right behind the start of a process and removed when the whole group is gone. A record that can't be written stops
// nothing: only this protection is lost then. So it is in a folder that belongs to another user or that others may
// write to.
//
// Ledgers work on Linux and macOS. On Windows nothing needs to be recorded, since the end of a host closes its job
// objects, which ends what is in them. On other systems nothing is recorded.
//
// A Ledger may be used by several goroutines, and its folder by several hosts at once.
type Ledger struct{ folder string }

// LedgerIn returns the ledger in a folder, which need not exist.
func LedgerIn(folder string) Ledger {
	if absolute, err := filepath.Abs(folder); err == nil {
		folder = absolute // it must stay the same when the working directory changes
	}
	return Ledger{folder}
}

// An Orphan is a process that a host which has gone had started, with the rest of its group.
type Orphan struct {
	Pid     int    // its id, and its group's
	Command string // the base name of its command
}

// Reap ends what hosts that have gone left running, and returns what it has ended, in the order of their ids. The
// groups are asked to end (SIGTERM), all at once, and after 1.5 s killed (SIGKILL); that takes 2.4 s at most, and no
// time worth naming if there are none. A done ctx ends the waiting; what has not gone by then is left to the next Reap.
//
// A host counts as gone if no process has its id, start time and boot. What it had recorded is signalled only if the
// process with that id is the one that was started; where that has ended, only if all that is left of its group belongs
// to the same session and is younger. Records of an earlier boot are removed, and so are damaged ones after a day.
// Records of another process namespace, such as a container's, can't be judged: they are left alone for 30 days.
//
// The error tells of a folder that can't be read or is not trusted, or of processes that are left although they were
// killed or that may not be signalled (ErrStuck). Several hosts may reap at once.
func (l Ledger) Reap(ctx context.Context) ([]Orphan, error) {
	if l.folder == "" {
		return nil, nil
	}
	return l.reap(ctx)
}

// turns holds the turn of each folder that this process has begun to reap.
var (
	turnsMu sync.Mutex
	turns   = map[string]*turn{}
)

// A turn is given to one caller of ReapOnce after the other.
type turn struct {
	taken chan struct{} // has room for the caller whose turn it is
	done  bool          // guarded by taken
}

// ReapOnce reaps on its first call for a folder in this process, like Reap; later calls return nothing, but not before
// the first has returned. If ctx ends the first, the next goes on.
func (l Ledger) ReapOnce(ctx context.Context) ([]Orphan, error) {
	if l.folder == "" {
		return nil, nil
	}
	mine := l.turn()
	select {
	case mine.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-mine.taken }()
	if mine.done {
		return nil, nil
	}
	orphans, err := l.Reap(ctx)
	mine.done = ctx.Err() == nil
	return orphans, err
}

func (l Ledger) turn() *turn {
	turnsMu.Lock()
	defer turnsMu.Unlock()
	t := turns[l.folder]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		turns[l.folder] = t
	}
	return t
}
