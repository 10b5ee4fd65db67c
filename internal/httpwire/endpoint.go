// Package httpwire is what the carriers over HTTP share: one endpoint with its connections, redirects within one
// origin, proxies, answers with caps, and failures as errors of package transport.
package httpwire

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

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
	// Discreet says that Wrap's round tripper changes nothing in a request, not even its headers.
	Discreet bool
	// Dial is asked before a connection to an address, in the form "ip:port", that is not a proxy's; may be nil.
	Dial func(address string) error
	// Secrets are kept out of error texts and traces, like the values of those Headers whose names look secret.
	Secrets []string
	// Live returns further secrets, which change with time; may be nil. A round tripper of Wrap can have a method Secrets
	// for that, and a method Close, which the end of the endpoint calls.
	Live func() []string
	// OnTrace is told of each exchange when its headers have come, or it has failed; may be nil. It must be quick.
	OnTrace func(Trace)
}

// An Endpoint sends requests to one URL, and quotes what its server wrote. Its methods may be called from several
// goroutines at once.
type Endpoint struct {
	Quotes
	options Options
	tripper http.RoundTripper // that of pool, perhaps with something around it
	pool    *pool
	closing sync.Once

	droppers sync.Pool // those that are not in use
	shown    shown

	mu  sync.Mutex
	url *url.URL // where redirects have led
}

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
	e := &Endpoint{Quotes: knowing(o, u), options: o, url: u, pool: borrow(u, o)}
	e.tripper = e.pool.transport
	if o.Wrap != nil {
		e.tripper = o.Wrap(e.tripper)
		if w, ok := e.tripper.(interface{ Secrets() []string }); ok && o.Live == nil {
			e.live = w.Secrets
		}
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

// Close closes every connection, in use or not, unless other endpoints share them; before that what Wrap has put around
// them, if it can be closed.
func (e *Endpoint) Close() {
	e.closing.Do(func() {
		if w, ok := e.tripper.(io.Closer); ok {
			_ = w.Close()
		}
		e.pool.release()
	})
}
