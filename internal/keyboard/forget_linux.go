package keyboard

import (
	"os"

	"golang.org/x/sys/unix"
)

func forget(terminal *os.File) {
	_ = unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
