//go:build unix

package stdio

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"mcpwire/internal/readable"
)

// A readiness waits until there is something to read, without memory to read into.
type readiness struct {
	raw   syscall.RawConn
	asked bool                  // the pipe was found empty
	check func(fd uintptr) bool // is made once, not for each wait
}

// newReadiness returns nil if that can't be found out. The file is one that the runtime polls.
func newReadiness(file *os.File) *readiness {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	r := &readiness{raw: raw}
	r.check = r.readable
	return r
}

// await returns when there is something to read, when the other end is closed, or when the file's deadline has passed
// or it is closed.
func (r *readiness) await() {
	r.asked = false
	_ = r.raw.Read(r.check) // the Read that follows has the same error
}

// watch has f called when there is something to read; nil where that can't be.
func (r *readiness) watch(f func()) (w *readable.Watch) {
	_ = r.raw.Control(func(fd uintptr) { w = readable.New(int(fd), f) }) // the file is open
	return w
}

// readable reports whether there is something to read; when it is called again, there is.
func (r *readiness) readable(fd uintptr) bool {
	if r.asked {
		return true
	}
	r.asked = true
	pipe := [...]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // file descriptors are small
	n, err := unix.Poll(pipe[:], 0)
	return n != 0 || err != nil
}
