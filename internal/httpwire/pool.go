package httpwire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// A pool holds the connections of endpoints on one host that want nothing of their own of them. Headers tell servers
// apart who asks, so that one connection serves all: a host with many clients of one gateway holds few sockets.
type pool struct {
	transport *http.Transport
	shared    origin // the zero value: it is one endpoint's own

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool

	users int // guarded by pools
}

// An origin is where requests of a pool go to, at first.
type origin struct{ scheme, host string }

// pools are those that further endpoints may share.
var pools = struct {
	mu sync.Mutex
	of map[origin]*pool
}{of: map[origin]*pool{}}

// connsPerHost is how many idle connections are kept. Two, net/http's default, cost a dial for most calls as soon as
// several are made at once.
const connsPerHost = 64

// connsShared is how many a pool keeps that is shared.
const connsShared = 4 * connsPerHost

// setupLimit is how long dialling may take, and a TLS handshake. The clock of each call covers them like headers and
// body, but net/http goes on with them when the call has ended, for the sake of the next one.
var setupLimit = 30 * time.Second

// maxHeader bounds the headers of one answer, in bytes.
const maxHeader = 1 << 20

// borrow returns the pool of an endpoint, which must release it.
func borrow(u *url.URL, o Options) *pool {
	if o.TLS != nil || o.Proxy != nil || o.Wrap != nil && !o.Discreet || o.Dial != nil {
		p := newPool(o)
		p.users = 1
		return p
	}
	pools.mu.Lock()
	defer pools.mu.Unlock()
	at := origin{u.Scheme, u.Host}
	p := pools.of[at]
	if p == nil {
		p = newPool(o)
		p.shared = at
		p.transport.MaxIdleConns, p.transport.MaxIdleConnsPerHost = connsShared, connsShared
		pools.of[at] = p
	}
	p.users++
	return p
}

func newPool(o Options) *pool {
	p := &pool{conns: map[net.Conn]struct{}{}}
	dialer := &net.Dialer{KeepAlive: 30 * time.Second, Timeout: setupLimit}
	proxy := o.proxy
	p.transport = &http.Transport{
		Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		TLSClientConfig:     o.TLS,
		TLSHandshakeTimeout: setupLimit,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        connsPerHost,
		// net/http's own limit is ten times that.
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    connsPerHost,
		IdleConnTimeout:        90 * time.Second,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := o.dialer(ctx, dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return p.track(c)
		},
	}
	return p
}

// direct marks the context of a request that goes through no proxy.
type direct struct{}

// dialer returns the dialer with the check of addresses, where there is one and no proxy is dialled.
func (o *Options) dialer(ctx context.Context, plain *net.Dialer) *net.Dialer {
	if o.Dial == nil || ctx.Value(direct{}) == nil {
		return plain
	}
	checked := *plain
	checked.Control = func(_, address string, _ syscall.RawConn) error { return o.Dial(address) }
	return &checked
}

// retire keeps a pool from further endpoints, since something has failed: who connects anew is not to get connections
// that may be dead without anybody having heard of it.
func (p *pool) retire() {
	pools.mu.Lock()
	defer pools.mu.Unlock()
	if pools.of[p.shared] == p {
		delete(pools.of, p.shared)
	}
}

// release closes every connection, in use or not, when no other endpoint shares the pool.
func (p *pool) release() {
	pools.mu.Lock()
	p.users--
	last := p.users == 0
	if last && pools.of[p.shared] == p {
		delete(pools.of, p.shared)
	}
	pools.mu.Unlock()
	if !last {
		return
	}
	p.mu.Lock()
	p.closed = true
	open := make([]net.Conn, 0, len(p.conns))
	for c := range p.conns {
		open = append(open, c)
	}
	p.mu.Unlock()
	p.transport.CloseIdleConnections()
	for _, c := range open {
		_ = c.Close() // it may have closed itself meanwhile
	}
}

// A tracked connection is known to its pool, which closes it at the end.
type tracked struct {
	net.Conn
	pool *pool
	peek *peek
}

func (p *pool) track(c net.Conn) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	t := &tracked{c, p, newPeek(c)}
	p.conns[t] = struct{}{}
	return t, nil
}

// errStale makes net/http take another connection, since not a byte was written on this one.
var errStale = errors.New("the server has closed the connection")

// Write writes to a connection that the server has not closed. A server that was restarted has closed those that were
// idle; a request that is written to one of them is lost, and nobody could say whether it was run.
func (t *tracked) Write(p []byte) (int, error) {
	if t.peek.closedByPeer() {
		return 0, errStale
	}
	return t.Conn.Write(p)
}

// Close closes the connection.
func (t *tracked) Close() error {
	t.pool.mu.Lock()
	delete(t.pool.conns, t)
	t.pool.mu.Unlock()
	return t.Conn.Close()
}
