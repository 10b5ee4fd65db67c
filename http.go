package mcpwire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/trace"
	"mcpwire/transport"
	"mcpwire/transport/legacysse"
	"mcpwire/transport/streamable"
)

// connectHTTP reaches a server by its url. Type http is Streamable HTTP and nothing else. Without a type a server that
// refuses the first message the way that older servers do is tried as an HTTP+SSE server (2025-11-25, transports,
// backwards compatibility). Type sse is the reverse: first HTTP+SSE, then, if the server proves to be none, Streamable
// HTTP. When both fail the first error comes first. All tries share one deadline.
func connectHTTP(
	ctx context.Context, s config.Server, kind config.Kind, secrets []string, o Options,
) (*client.Client, error) {
	web, err := newWeb(s, secrets, o)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", s.Name, err)
	}
	limit := o.ConnectTimeout
	if limit == 0 {
		limit = client.DefaultConnectTimeout
	}
	o.ConnectTimeout = -1
	if limit < 0 {
		return web.connect(ctx, kind, o)
	}
	expired := &transport.TimeoutError{What: "connect", After: limit}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, expired)
	defer cancel()
	c, err := web.connect(ctx, kind, o)
	if err == error(expired) { //nolint:errorlint // only where nothing else is said
		err = &transport.Error{Op: "connect", Server: s.Name, Err: expired}
	}
	return c, err
}

// connect tries both carriers, as far as kind lets it.
func (w *web) connect(ctx context.Context, kind config.Kind, o Options) (*client.Client, error) {
	first, second, other := tapped(w.tap, w.streamable()), tapped(w.tap, w.legacy()), isOld
	if kind == config.SSE {
		first, second, other = second, first, isNotSSE
	}
	c, err := client.Connect(ctx, first, o.Options)
	if err == nil || w.server.Type != "" && kind == config.HTTP || !other(err) {
		return c, err
	}
	c, err2 := client.Connect(ctx, second, o.Options)
	if err2 != nil {
		return nil, fmt.Errorf("%w; and as the other kind of HTTP server: %w", err, err2)
	}
	return c, nil
}

// isOld reports whether a server refused the first message as one does that knows HTTP+SSE only.
func isOld(err error) bool {
	status, ok := errors.AsType[*transport.StatusError](err)
	if !ok {
		return false
	}
	switch status.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		_, recognised := errors.AsType[*jsonrpc.Error](err)
		return !recognised
	}
	return false
}

// isNotSSE reports whether a server proved not to be an HTTP+SSE server.
func isNotSSE(err error) bool {
	if errors.Is(err, legacysse.ErrNotSSE) {
		return true
	}
	status, ok := errors.AsType[*transport.StatusError](err)
	return ok && status.Status >= 400 && status.Status < 500 &&
		status.Status != http.StatusUnauthorized && status.Status != http.StatusForbidden
}

// web is what both HTTP carriers need to know of a server.
type web struct {
	server  config.Server
	secrets []string
	tls     *tls.Config
	proxy   func(*url.URL) (*url.URL, error)
	tap     *trace.Tap // nil: there is none
	trace   func(HTTPTrace)
	wrap    func(http.RoundTripper) http.RoundTripper // the login; nil: there is to be none
	asks    bool                                      // a person may be asked in the middle of a call
}

// An HTTPTrace is one HTTP exchange with a server, without secrets.
type HTTPTrace = streamable.Trace

func newWeb(s config.Server, secrets []string, o Options) (*web, error) {
	w := &web{server: s, secrets: secrets, tap: o.tap(s.Name)}
	w.trace = tapHTTP(w.tap, o.OnHTTP)
	var err error
	if w.tls, err = tlsConfig(s.TLS); err != nil {
		return nil, err
	}
	switch s.Proxy {
	case "":
	case "none":
		w.proxy = func(*url.URL) (*url.URL, error) { return nil, nil }
	default:
		at, err := url.Parse(s.Proxy)
		if err != nil || at.Host == "" {
			return nil, errors.New("proxy must be a URL such as http://host:port, or none")
		}
		w.proxy = func(*url.URL) (*url.URL, error) { return at, nil }
	}
	return w, w.logins(o)
}

func (w *web) streamable() transport.Transport {
	return streamable.New(streamable.Options{
		Name: w.server.Name, URL: w.server.URL, Headers: w.server.Headers, Secrets: w.secrets, TLS: w.tls, Proxy: w.proxy,
		OnTrace: w.trace, Wrap: w.wrap, ShowCalls: w.asks, Discreet: true,
	})
}

func (w *web) legacy() transport.Transport {
	return legacysse.New(legacysse.Options{
		Name: w.server.Name, URL: w.server.URL, Headers: w.server.Headers, Secrets: w.secrets, TLS: w.tls, Proxy: w.proxy,
		OnTrace: w.trace, Wrap: w.wrap, ShowCalls: w.asks, Discreet: true,
	})
}

// tlsConfig reads the files that an entry names; nil where it names none.
func tlsConfig(t config.TLS) (*tls.Config, error) {
	if t == (config.TLS{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: %w", err)
		}
		if c.RootCAs, err = x509.SystemCertPool(); err != nil {
			c.RootCAs = x509.NewCertPool()
		}
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca: there is no PEM certificate in %s", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
