//go:build !unix

package httpwire

import "net"

type peek struct{}

func newPeek(net.Conn) *peek { return nil }

// closedByPeer can't tell here. A connection that was closed while it was idle is found when net/http reads from it.
func (*peek) closedByPeer() bool { return false }
