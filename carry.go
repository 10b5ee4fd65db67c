package mcpwire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"mcpwire/config"
	"mcpwire/internal/redact"
)

// A Carriage carries requests that somebody else has made to a server on the web, as a recording proxy needs it. It is
// an http.RoundTripper with the entry's proxy, TLS settings and login; the headers are for its user to set.
type Carriage struct {
	URL     *url.URL
	Headers map[string]string // the entry's

	tripper http.RoundTripper
	pool    *http.Transport
	secrets []string
	live    func() []string // tokens of the login; nil: there are none
}

// Carry returns the Carriage of a server on the web. Its entry is expanded as Connect does. Close must be called.
func Carry(s config.Server, o Options) (*Carriage, error) {
	kind, err := s.Kind()
	if err != nil {
		return nil, err
	}
	if kind == config.Stdio {
		return nil, fmt.Errorf("server %q is a program", s.Name)
	}
	var secrets []string
	if s.Origin != "" {
		if s, secrets, err = s.Expand(os.LookupEnv); err != nil {
			return nil, err
		}
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("server %q: %w", s.Name, errors.New("the url is not valid"))
	}
	w, err := newWeb(s, secrets, o)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", s.Name, err)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	c := &Carriage{URL: u, Headers: s.Headers, secrets: append(redact.Secrets(s.Headers), secrets...)}
	if password, ok := u.User.Password(); ok {
		c.secrets = append(c.secrets, password)
	}
	c.pool = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: w.tls, TLSHandshakeTimeout: 30 * time.Second,
		ForceAttemptHTTP2: true, DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
	}
	if w.proxy != nil {
		c.pool.Proxy = func(r *http.Request) (*url.URL, error) { return w.proxy(r.URL) }
	}
	c.tripper = c.pool
	if w.wrap != nil {
		c.tripper = w.wrap(c.pool)
		if live, ok := c.tripper.(interface{ Secrets() []string }); ok {
			c.live = live.Secrets
		}
	}
	return c, nil
}

// RoundTrip implements http.RoundTripper.
func (c *Carriage) RoundTrip(r *http.Request) (*http.Response, error) { return c.tripper.RoundTrip(r) }

// Mask returns a text with the secrets of the entry and its login masked.
func (c *Carriage) Mask(text string) string {
	all := c.secrets
	if c.live != nil {
		all = append(c.live(), all...)
	}
	return redact.NewSet(all...).Text(text)
}

// Close closes the connections that are not in use, and ends the login's part.
func (c *Carriage) Close() {
	if closer, ok := c.tripper.(io.Closer); ok {
		_ = closer.Close()
	}
	c.pool.CloseIdleConnections()
}
