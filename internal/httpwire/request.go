package httpwire

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcpwire/internal/redact"
	"mcpwire/transport"
)

// maxRedirects is how many redirects are followed in a row.
const maxRedirects = 5

// A Request is one HTTP request to an endpoint.
type Request struct {
	Method  string
	Body    []byte // nil: none
	Headers Headers
	URL     *url.URL // nil: the endpoint's own
	Stay    bool     // redirects are answers like any other
}

// Do sends a request and returns the answer, whatever its status, with a gzip encoding undone. Redirects are followed
// within one origin, with method, body and headers kept, and the endpoint remembers where its own URL led to. The
// delivery tells, for a failure, whether the server may have got the body.
func (e *Endpoint) Do(ctx context.Context, r Request) (*http.Response, transport.Delivery, error) {
	target := r.URL
	if target == nil {
		target = e.target()
	}
	s := newSending(r.Body)
	defer s.recycle()
	for hops := 0; ; hops++ {
		resp, err := e.once(ctx, r, target, s)
		if err != nil {
			return nil, s.delivery(), err
		}
		var next *url.URL
		if !r.Stay {
			next, err = e.redirect(resp, target)
		}
		if next == nil && err == nil {
			if r.URL == nil && hops > 0 {
				e.moved(target)
			}
			return undoGzip(resp), transport.Answered, nil
		}
		_ = resp.Body.Close()
		if err == nil && hops == maxRedirects {
			err = fmt.Errorf("more than %d redirects, the last to %s", maxRedirects, e.Show(next))
		}
		if err != nil {
			return nil, transport.NotDelivered, err
		}
		target = next
	}
}

func (e *Endpoint) moved(to *url.URL) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.url = to
}

func (e *Endpoint) once(ctx context.Context, r Request, to *url.URL, s *sending) (*http.Response, error) {
	headers := e.of(r)
	host := headers.host
	if host == "" {
		host = to.Host
	}
	req := &http.Request{Method: r.Method, URL: to, Host: host, Header: headers.all}
	if e.options.Dial != nil {
		if proxy, err := e.options.proxy(to); err == nil && proxy == nil {
			ctx = context.WithValue(ctx, direct{}, true)
		}
	}
	req = s.request(ctx, req)
	start := time.Now()
	resp, err := e.roundTrip(req)
	switch {
	case err != nil:
		e.pool.retire()
		err = e.clean(err, req)
	case resp.StatusCode == http.StatusSwitchingProtocols:
		// Nobody asked for that. The body is the bare connection, whose reads no context ends.
		_ = resp.Body.Close()
		resp.Body = http.NoBody
	}
	if e.options.OnTrace != nil {
		e.trace(req, resp, time.Since(start), err)
	}
	return resp, err
}

// roundTrip does what an http.Client does that follows no redirects and has no cookies, and fails as it does, without
// the copies that it makes of headers for redirects.
func (e *Endpoint) roundTrip(req *http.Request) (*http.Response, error) {
	if u := req.URL.User; u != nil && req.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		req.Header = req.Header.Clone()
		req.SetBasicAuth(u.Username(), password)
	}
	resp, err := e.tripper.RoundTrip(req)
	switch wrong, ok := err.(tls.RecordHeaderError); { //nolint:errorlint // as net/http returns it
	case ok && string(wrong.RecordHeader[:]) == "HTTP/":
		return nil, http.ErrSchemeMismatch
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, fmt.Errorf("http: RoundTripper implementation (%T) returned a nil *Response with a nil error", e.tripper)
	case resp.Body == nil && resp.ContentLength > 0:
		return nil, fmt.Errorf("http: RoundTripper implementation (%T) returned a *Response with content length %d but a "+
			"nil Body", e.tripper, resp.ContentLength)
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	if location := resp.Header.Get("Location"); location != "" && redirects(resp.StatusCode) {
		if _, err := req.URL.Parse(location); err != nil {
			_ = resp.Body.Close()
			//nolint:errorlint // its text counts; the url.Error in it is not the request's
			return nil, fmt.Errorf("failed to parse Location header %q: %v", location, err)
		}
	}
	return resp, nil
}

// redirects reports whether a status leads elsewhere, for an http.Client.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// clean takes the URL out of a failure, which may hold a secret, and names the proxy, which may be the culprit. What
// is no HTTP is quoted by net/http, whatever it says and however long it is.
func (e *Endpoint) clean(err error, req *http.Request) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if text := e.Line(err.Error(), failureBytes); text != err.Error() {
		err = &reworded{text, err}
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the server closed the connection without an answer: %w", err)
	}
	if proxy, perr := e.options.proxy(req.URL); perr == nil && proxy != nil {
		return fmt.Errorf("via proxy %s: %w", redact.URL(proxy.String()), err)
	}
	return err
}

// failureBytes is how much is shown of a failure's text.
const failureBytes = 500

// A reworded error has another text than the one that it wraps.
type reworded struct {
	text string
	err  error
}

// Error returns the other text.
func (e *reworded) Error() string { return e.text }

// Unwrap returns the error with the text that is not to be shown.
func (e *reworded) Unwrap() error { return e.err }

// ErrOtherOrigin tells that an answer leads to another origin.
var ErrOtherOrigin = errors.New("redirected to another origin")

// redirect returns where an answer leads, or nil if it leads nowhere. 303 turns a request into another, which no
// message survives; it is an answer like any other.
func (e *Endpoint) redirect(resp *http.Response, from *url.URL) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	to, err := from.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("redirected to an address that is not valid: %s", e.Line(redactURL(err).Error(), excerptBytes))
	}
	if !SameOrigin(from, to) {
		return nil, fmt.Errorf("%w, which is not followed: from %s to %s; if that is right, configure the new address",
			ErrOtherOrigin, e.Show(from), e.Show(to))
	}
	return to, nil
}

// SameOrigin reports whether a request to from may be sent to to: scheme, host and port are the same, or http has
// become https on the same host.
func SameOrigin(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	if from.Scheme == "http" && to.Scheme == "https" {
		return true
	}
	return from.Scheme == to.Scheme && Port(from) == Port(to)
}

// Port returns the port of an address of http or https, as it is written or the usual one.
func Port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// undoGzip makes an answer's body plain that net/http has left packed because the request's header was set by hand.
func undoGzip(resp *http.Response) *http.Response {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return resp
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Body = &gunzip{packed: resp.Body}
	return resp
}

// gunzip begins to unpack at the first Read, so that making it can't fail.
type gunzip struct {
	packed io.ReadCloser
	plain  *gzip.Reader
}

// Read implements io.Reader.
func (g *gunzip) Read(p []byte) (int, error) {
	if g.plain == nil {
		plain, err := gzip.NewReader(g.packed)
		if err != nil {
			return 0, err
		}
		g.plain = plain
	}
	return g.plain.Read(p)
}

// Close implements io.Closer.
func (g *gunzip) Close() error { return g.packed.Close() }
