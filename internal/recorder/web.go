package recorder

import (
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/redact"
)

const (
	sessionHeader = "Mcp-Session-Id"
	headerBytes   = 2 << 10 // of a header's value that is recorded
)

// A Target is a server on the web.
type Target struct {
	URL     *url.URL
	Headers map[string]string // set on each request; empty ones are left out
	Through http.RoundTripper // reaches it, and adds what it needs
}

// A web is what a Recorder knows of a server on the web. But for target its fields belong to the recorder's goroutine.
type web struct {
	recorder *Recorder
	target   Target

	exchanges int
	line      int            // the newest
	begun     bool           // it has had a handshake
	sessions  map[string]int // lines by session
	endpoints map[string]int // lines of HTTP+SSE by the address that messages are sent to
}

// Handler returns a proxy to a server on the web, which records what passes. Each request goes to the same path at the
// server, with its headers as they are but for those of one connection (RFC 9110, section 7.6.1) and Host; answers and
// event streams come back as they come. An address of the server itself in a redirect, and in the endpoint event of
// HTTP+SSE, is made relative, so that the client goes on through the proxy.
func (r *Recorder) Handler(t Target) http.Handler {
	w := &web{recorder: r, target: t, sessions: map[string]int{}, endpoints: map[string]int{}}
	return &httputil.ReverseProxy{
		Rewrite:        w.rewrite,
		Transport:      w,
		FlushInterval:  -1,
		ModifyResponse: w.modify,
		ErrorHandler: func(out http.ResponseWriter, _ *http.Request, err error) {
			http.Error(out, "mcpwire record: "+redact.Line(err.Error(), headerBytes), http.StatusBadGateway)
		},
	}
}

// rewrite directs a request to the server.
func (w *web) rewrite(r *httputil.ProxyRequest) {
	to := w.target.URL
	out := r.Out
	out.URL.Scheme, out.URL.Host, out.Host = to.Scheme, to.Host, to.Host
	out.URL.RawQuery = r.In.URL.RawQuery
	if out.URL.Path == to.Path && to.RawQuery != "" {
		out.URL.RawQuery = strings.TrimPrefix(to.RawQuery+"&"+out.URL.RawQuery, "&")
		out.URL.RawQuery = strings.TrimSuffix(out.URL.RawQuery, "&")
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := r.In.Header[name]; ok {
			out.Header[name] = values
		}
	}
	if to.User != nil && out.Header.Get("Authorization") == "" {
		password, _ := to.User.Password()
		out.SetBasicAuth(to.User.Username(), password)
	}
	for name, value := range w.target.Headers {
		if value != "" {
			out.Header.Set(name, value)
		}
	}
}

// modify keeps the client on its way through the proxy.
func (w *web) modify(r *http.Response) error {
	if to := r.Header.Get("Location"); to != "" {
		r.Header.Set("Location", w.relative(to))
	}
	if r.Request.Method == http.MethodGet && streams(r) && !encoded(r) && r.ContentLength < 0 {
		r.Body = &firstEvent{ReadCloser: r.Body, change: w.relative}
	}
	return nil
}

// relative returns an address of the server without its origin, and others as they are.
func (w *web) relative(address string) string {
	u, err := url.Parse(address)
	to := w.target.URL
	if err != nil || !strings.EqualFold(u.Scheme, to.Scheme) || !strings.EqualFold(u.Hostname(), to.Hostname()) ||
		httpwire.Port(u) != httpwire.Port(to) {
		return address
	}
	text := u.RequestURI()
	if u.Fragment != "" {
		text += "#" + u.EscapedFragment()
	}
	return text
}

// streams reports whether an answer is a stream of events. Nothing is read for that.
func streams(r *http.Response) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

// encoded reports whether an answer is compressed.
func encoded(r *http.Response) bool {
	encoding := r.Header.Get("Content-Encoding")
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}
