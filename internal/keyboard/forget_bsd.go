//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package keyboard

import (
	"os"

	"golang.org/x/sys/unix"
)

func forget(terminal *os.File) {
	const read = 1 // FREAD
	_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, read)
}
