//go:build unix && !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package keyboard

import "os"

func forget(*os.File) {}
