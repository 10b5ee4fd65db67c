//go:build unix

package httpwire

import (
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A peek looks at a connection without taking anything from it. It is made once a connection, so that a look allocates
// nothing.
type peek struct {
	mu     sync.Mutex
	raw    syscall.RawConn // nil: there is nothing to look at
	look   func(fd uintptr)
	fds    [1]unix.PollFd
	one    [1]byte
	closed bool
}

func newPeek(c net.Conn) *peek {
	p := &peek{}
	if conn, ok := c.(syscall.Conn); ok {
		if raw, err := conn.SyscallConn(); err == nil {
			p.raw = raw
		}
	}
	p.look = func(fd uintptr) {
		// Mostly there is nothing to be read, which poll tells at less cost.
		p.fds[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN} //nolint:gosec // a descriptor is small
		if n, err := unix.Poll(p.fds[:], 0); n == 0 && err == nil {
			return
		}
		n, _, err := unix.Recvfrom(int(fd), p.one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		p.closed = n == 0 && err == nil || err == unix.ECONNRESET
	}
	return p
}

// closedByPeer reports whether the other side has closed the connection and everything that it sent has been read. It
// does not wait.
func (p *peek) closedByPeer() bool {
	if p.raw == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
	// Control, not Read: net/http always has a Read under way.
	err := p.raw.Control(p.look)
	return err == nil && p.closed
}
