//go:build !((dragonfly && cgo) || (freebsd && cgo) || linux || netbsd || openbsd || darwin || windows)

package auth

const largestItem = 0

func hasKeychain() bool { return false }

func unlocked() error { return errNone }
