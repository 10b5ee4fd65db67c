//go:build !unix

package httpwire

import "net"

// closedByPeer can't tell here. A connection that was closed while it was idle is found when net/http reads from it.
func closedByPeer(net.Conn) bool { return false }
