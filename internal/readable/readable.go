// Package readable tells when there is something to read, with one goroutine for all files that are watched. One that
// waits for a file itself costs some 3 KB.
package readable

// A Watch has a function run when a file can be read or its other end is closed. Methods of nil do nothing.
type Watch struct {
	fd  int
	run func()
	at  *poller
	id  int32
	// Guarded by mu of the package.
	added, armed, closed bool
}

// New returns a Watch of a file, which must stay open until the Watch is closed. run is called on a goroutine of its
// own. New returns nil where files can't be watched.
func New(fd int, run func()) *Watch { return watch(fd, run) }

// Arm has run called once, as soon as there is something to read. It reports false if run will not be called: the file
// can't be watched, or the Watch is closed.
func (w *Watch) Arm() bool { return w != nil && w.arm() }

// Close ends a Watch. It reports whether a call of run was due, which will not come any more.
func (w *Watch) Close() (due bool) { return w != nil && w.end() }
