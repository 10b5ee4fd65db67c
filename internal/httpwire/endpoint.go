// Package httpwire is what the carriers over HTTP share: one endpoint with its connections, redirects within one
// origin, proxies, answers with caps, and failures as errors of package transport.
package httpwire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"mcpwire/internal/redact"
)

// Options describe an endpoint.
type Options struct {
	URL     string
	Headers map[string]string // sent with each request; those that the protocol needs win
	TLS     *tls.Config       // nil: the system's roots; it is not changed
	// Proxy chooses the proxy of a request (nil: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, read at each request; never for
	// loopback addresses).
	Proxy func(*url.URL) (*url.URL, error)
	// Wrap is put around the connections' round tripper, as authorization does; may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Secrets are kept out of error texts and traces, like the values of those Headers whose names look secret.
	Secrets []string
	// OnTrace is told of each exchange when its headers have come, or it has failed; may be nil. It must be quick.
	OnTrace func(Trace)
}

// A Trace is one HTTP exchange, without secrets.
type Trace struct {
	Method string
	URL    string
	Status int // 0 if it failed
	Took   time.Duration
	Err    error
}

// An Endpoint sends requests to one URL, and quotes what its server wrote. Its methods may be called from several
// goroutines at once.
type Endpoint struct {
	Quotes
	options Options
	tripper http.RoundTripper // pool, perhaps with something around it
	pool    *http.Transport

	droppers sync.Pool // those that are not in use

	mu     sync.Mutex
	url    *url.URL // where redirects have led
	conns  map[net.Conn]struct{}
	closed bool
}

// connsPerHost is how many idle connections are kept. Two, net/http's default, cost a dial for most calls as soon as
// several are made at once.
const connsPerHost = 64

// setupLimit is how long dialling may take, and a TLS handshake. The clock of each call covers them like headers and
// body, but net/http goes on with them when the call has ended, for the sake of the next one.
var setupLimit = 30 * time.Second

// maxHeader bounds the headers of one answer, in bytes.
const maxHeader = 1 << 20

// New checks the URL and returns the endpoint. Nothing is dialled.
func New(o Options) (*Endpoint, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the url is not valid: %w", redactURL(err))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the url must begin with http:// or https://, not %q", redact.URL(o.URL))
	case u.Host == "":
		return nil, fmt.Errorf("the url has no host: %q", redact.URL(o.URL))
	}
	u.Fragment, u.RawFragment = "", ""
	e := &Endpoint{Quotes: knowing(o, u), options: o, url: u, conns: map[net.Conn]struct{}{}}
	dialer := &net.Dialer{KeepAlive: 30 * time.Second, Timeout: setupLimit}
	e.pool = &http.Transport{
		Proxy:               e.proxy,
		TLSClientConfig:     o.TLS,
		TLSHandshakeTimeout: setupLimit,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        connsPerHost,
		// net/http's own limit is ten times that.
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    connsPerHost,
		IdleConnTimeout:        90 * time.Second,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return e.track(c)
		},
	}
	e.tripper = e.pool
	if o.Wrap != nil {
		e.tripper = o.Wrap(e.pool)
	}
	return e, nil
}

// redactURL keeps the URL out of an error, since it may hold a password.
func redactURL(err error) error {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // as url.Parse returns it
		return e.Err
	}
	return err
}

// target is URL without a copy, which must not be changed.
func (e *Endpoint) target() *url.URL {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.url
}

// URL returns the endpoint's address, where redirects have led.
func (e *Endpoint) URL() *url.URL {
	e.mu.Lock()
	defer e.mu.Unlock()
	u := *e.url // the caller may change it
	return &u
}

// proxy goes by the environment as it is now: net/http's own function remembers what it read first.
func (e *Endpoint) proxy(r *http.Request) (*url.URL, error) {
	if e.options.Proxy != nil {
		return e.options.Proxy(r.URL)
	}
	return environment.proxy(r.URL)
}

// A tracked connection is known to its endpoint, which closes it at the end.
type tracked struct {
	net.Conn
	endpoint *Endpoint
	peek     *peek
}

func (e *Endpoint) track(c net.Conn) (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	t := &tracked{c, e, newPeek(c)}
	e.conns[t] = struct{}{}
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
	t.endpoint.mu.Lock()
	delete(t.endpoint.conns, t)
	t.endpoint.mu.Unlock()
	return t.Conn.Close()
}

// Close closes every connection, in use or not.
func (e *Endpoint) Close() {
	e.mu.Lock()
	e.closed = true
	open := make([]net.Conn, 0, len(e.conns))
	for c := range e.conns {
		open = append(open, c)
	}
	e.mu.Unlock()
	e.pool.CloseIdleConnections()
	for _, c := range open {
		_ = c.Close() // it may have closed itself meanwhile
	}
}
