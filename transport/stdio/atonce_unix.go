//go:build unix

package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// atOnce returns a function that writes to a pipe what it takes without waiting, and returns how much that is; an error
// is left to who writes next. It must not be called twice at once. It is nil where a write could wait.
func atOnce(pipe *os.File) func(p []byte) int {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return nil
	}
	waits := true
	err = raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		waits = err != nil || flags&unix.O_NONBLOCK == 0
	})
	if err != nil || waits {
		return nil
	}
	var text []byte
	var n int
	write := func(fd uintptr) bool { // is made once, not for each call
		n, _ = unix.Write(int(fd), text)
		return true
	}
	return func(p []byte) int {
		text, n = p, 0
		_ = raw.Write(write) // fails if the pipe is closed
		return max(n, 0)
	}
}
