package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen has a pipe hold widePipe bytes. It may fail: the system bounds what all pipes of a user hold.
func widen(pipe *os.File) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, widePipe) })
}
