//go:build unix

package httpwire

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// closedByPeer reports whether the other side has closed a connection and everything that it sent has been read. It
// takes nothing from the connection and does not wait.
func closedByPeer(c net.Conn) bool {
	raw, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	conn, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	closed := false
	// Control, not Read: net/http always has a Read under way.
	err = conn.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		closed = n == 0 && err == nil || err == unix.ECONNRESET
	})
	return err == nil && closed
}
