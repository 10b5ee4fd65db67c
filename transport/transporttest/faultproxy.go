package transporttest

import (
	"context"
	"io"
	"net"
	"sync"
)

// A Proxy stands between the clients and the server of a TCP address, and lets faults happen to what they send.
type Proxy struct {
	listener           net.Listener
	upstream           string
	toServer, toClient Faults
	stopped            context.Context
	stop               context.CancelFunc
	running            sync.WaitGroup
	connections        uint64 // accepted so far
}

// NewProxy starts a proxy on a free port of the loopback address. Each connection's faults have a seed of their own,
// which follows from that of the Faults and from how many connections came before.
func NewProxy(upstream string, toServer, toClient Faults) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, upstream: upstream, toServer: toServer, toClient: toClient}
	p.stopped, p.stop = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends all connections, and returns when nothing is left of them.
func (p *Proxy) Close() {
	p.stop()
	_ = p.listener.Close()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.connections++
		n := p.connections
		p.running.Go(func() { p.carry(client, n) })
	}
}

// carry passes on what both sides of the connection send, until both have ended or one of the streams is cut.
func (p *Proxy) carry(client net.Conn, n uint64) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(p.stopped, "tcp", p.upstream)
	if err != nil {
		return
	}
	defer server.Close()
	hangUp := func() {
		_ = client.Close()
		_ = server.Close()
	}
	defer context.AfterFunc(p.stopped, hangUp)()
	var both sync.WaitGroup
	pass := func(to, from net.Conn, f Faults, number uint64) {
		f.Seed += number * 0x9e3779b97f4a7c15 // far from the other connections' seeds
		if _, err := io.Copy(to, f.Reader(from)); err != nil {
			hangUp()
		} else if tcp, ok := to.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}
	both.Go(func() { pass(server, client, p.toServer, 2*n) })
	both.Go(func() { pass(client, server, p.toClient, 2*n+1) })
	both.Wait()
}
