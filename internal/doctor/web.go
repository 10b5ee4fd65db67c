package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
	"mcpwire/transport/legacysse"
)

// network tells whether the server can be reached at all.
func (f *facts) network(r *Report) (reached bool) {
	s := r.step(Network)
	visits := f.record.visits()
	for _, v := range visits {
		if v.facts.Status > 0 {
			s.MS = ms(v.took)
			s.Text = "an answer came " + duration(v.took) + " after the first request"
			return true
		}
	}
	if f.err == nil || f.grantFault() != nil {
		return true
	}
	text := f.err.Error()
	found := func(id, fix string) { s.find(Broken, id, text, fix) }
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case strings.Contains(text, "via proxy "):
		found("proxy-failed", `correct "proxy" in the entry or HTTP_PROXY, HTTPS_PROXY and NO_PROXY in the environment, `+
			`or say "proxy": "none"`)
	case errors.As(f.err, &dns) && dns.IsNotFound:
		found("dns-not-found", fmt.Sprintf("correct the host in the url: %s does not exist, at least not here", f.host()))
	case errors.As(f.err, &dns):
		found("dns-failed", "see that this machine's name resolution works")
	case errors.Is(f.err, syscall.ECONNREFUSED):
		found("connection-refused", "start the server, or correct the port: nothing listens at "+f.host())
	case errors.Is(f.err, http.ErrSchemeMismatch), errors.As(f.err, &record):
		found("tls-to-plain-port", "write http:// in the url, or the port that speaks TLS")
	case errors.As(f.err, &certificate), isCertificate(f.err):
		found("tls-certificate", certificateFix(f.err))
	case strings.Contains(text, "tls: "):
		found("tls-failed", "see that both sides speak TLS 1.2 or newer, and whether a client certificate is wanted")
	case errors.Is(f.err, syscall.ECONNRESET), errors.Is(f.err, io.EOF), errors.Is(f.err, io.ErrUnexpectedEOF),
		strings.Contains(text, "malformed HTTP"):
		found("no-http", "see what listens at "+f.host()+": it does not speak HTTP there, or hangs up at once")
	case errors.Is(f.err, syscall.EHOSTUNREACH), errors.Is(f.err, syscall.ENETUNREACH):
		found("unreachable", "see that the network, a VPN or a firewall lets this machine get to "+f.host())
	case errors.Is(f.err, errDeadline), errors.As(f.err, &network) && network.Timeout():
		found("no-answer", "see that the server runs and no firewall is between; if it is only slow, raise "+
			`"connectTimeout" or --timeout`)
	default:
		found("connect-failed", "see what it says")
	}
	return false
}

// host returns the host and port of the server's address.
func (f *facts) host() string {
	if u, err := url.Parse(f.masked.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return "that address"
}

func isCertificate(err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid)
}

func certificateFix(err error) string {
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "write a host in the url that the certificate names, or have the server get one for this host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew the server's certificate, and see that this machine's clock is right"
	}
	return `if the server has a certificate of your own, name its authority under "tls": {"ca": "FILE"} in the entry`
}

// endpoint tells whether what answers is an MCP server, and reports whether it came to a conversation.
func (f *facts) endpoint(r *Report) (spoken bool) {
	s := r.step(Endpoint)
	last := f.record.last()
	switch last.carrier {
	case "sse":
		s.Text = "HTTP+SSE, the two channels of 2024-11-05"
	case "http":
		s.Text = "Streamable HTTP"
	}
	if f.err == nil {
		if last.carrier == "sse" {
			s.find(Note, "carrier-old", "it speaks HTTP+SSE, which 2025-03-26 has replaced by Streamable HTTP",
				"update the server when that can be done")
		}
		return true
	}
	if f.grantFault() != nil {
		s.Text += ", as far as it lets us"
		return false // the login tells
	}
	if errors.Is(f.err, transport.ErrSessionLost) {
		s.find(Broken, "session-lost", f.err.Error(), keepSessions)
		return false
	}
	if status, ok := errors.AsType[*transport.StatusError](f.err); ok {
		f.status(s, status)
		return false
	}
	return f.answer(s)
}

// answer tells what is wrong with an answer that is no failure by its status. It reports true where that lies in what
// was said.
func (f *facts) answer(s *Step) (spoken bool) {
	text := f.err.Error()
	status, kind := f.lastAnswer()
	switch _, malformed := errors.AsType[*transport.MalformedError](f.err); {
	case errors.Is(f.err, httpwire.ErrOtherOrigin):
		s.find(Broken, "redirect-elsewhere", text, "configure the address that it leads to, if you trust that")
	case strings.Contains(text, "redirects, the last to"):
		s.find(Broken, "redirect-loop", text, "correct the redirects of the server, or the url")
	case kind == "text/html":
		s.find(Broken, "html-answer", f.answered(status, kind), "correct the path of the url: "+f.paths())
	case errors.Is(f.err, errDeadline) && kind == "text/event-stream":
		s.find(Broken, "stream-silent", fmt.Sprintf("an event stream was opened, and nothing came on it within %s",
			duration(f.took)), "see that no proxy between holds events back (buffering), and that the server answers")
	case errors.Is(f.err, errDeadline):
		s.find(Broken, "no-answer", text, "see what the server waits for")
	case malformed:
		s.find(Broken, "message-malformed", text, "answer with one JSON-RPC message, in UTF-8")
	case status >= 200 && status < 300 && kind != "application/json" && kind != "text/event-stream":
		s.find(Broken, "content-type", f.answered(status, kind),
			"answer with Content-Type application/json or text/event-stream; "+f.paths())
	case errors.Is(f.err, legacysse.ErrNotSSE):
		s.find(Broken, "not-sse", text, `remove "type": "sse" from the entry, or correct the url`)
	default:
		_, missing := errors.AsType[*transport.NoResponseError](f.err)
		carriage, carried := errors.AsType[*transport.Error](f.err)
		switch {
		case missing:
			s.find(Broken, "stream-ended", text, "send the answer on the stream before it is closed")
		case carried && carriage.Err != nil:
			s.find(Broken, "connect-failed", text, "see what it says")
		default:
			return true
		}
	}
	return false
}

// lastAnswer returns status and media type of the newest answer over HTTP.
func (f *facts) lastAnswer() (status int, kind string) {
	visits := f.record.visits()
	for _, v := range slices.Backward(visits) {
		if facts := v.facts; facts.Status > 0 && facts.Method != http.MethodDelete {
			kind, _, _ = mime.ParseMediaType(facts.Response.Get("Content-Type"))
			return facts.Status, kind
		}
	}
	return 0, ""
}

func (f *facts) answered(status int, kind string) string {
	if kind == "" {
		kind = "no Content-Type"
	}
	return fmt.Sprintf("HTTP %d with %s in place of JSON or an event stream; %v", status, kind, f.err)
}

// paths tells where MCP servers answer, as far as the configured path leaves a doubt.
func (f *facts) paths() string {
	u, err := url.Parse(f.masked.URL)
	if err != nil {
		return "see the server's documentation"
	}
	if path := strings.Trim(u.Path, "/"); path == "" {
		return fmt.Sprintf("most servers answer at %s://%s/mcp, older ones at /sse", u.Scheme, u.Host)
	}
	return fmt.Sprintf("%s may not be where it answers; /mcp and /sse are common", u.Path)
}

// status tells of an answer that is no success.
func (f *facts) status(s *Step, status *transport.StatusError) {
	text := status.Error()
	found := func(id, fix string) { s.find(Broken, id, text, fix) }
	excerpt := strings.ToLower(status.Excerpt)
	switch {
	case status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden:
		f.refused(s, status)
	case strings.Contains(excerpt, "http request to an https server") ||
		strings.Contains(excerpt, "plain http request was sent to https"):
		found("plain-to-tls-port", "write https:// in the url")
	case status.Status == http.StatusNotFound:
		found("http-404", "correct the path of the url: "+f.paths())
	case status.Status == http.StatusMethodNotAllowed:
		found("http-405", "correct the path of the url, for nothing takes a POST there: "+f.paths())
	case status.Status == http.StatusProxyAuthRequired:
		found("proxy-login", `give the proxy's name and password, under "proxy" in the entry`)
	case status.Status == http.StatusTooManyRequests:
		found("http-429", "wait, and ask less often")
	case status.Status == http.StatusNotAcceptable || status.Status == http.StatusUnsupportedMediaType:
		found("http-status", "have the server take application/json, and Accept: application/json, text/event-stream")
	case status.Status >= http.StatusInternalServerError:
		found("http-5xx", "see the server's log: it has failed, or what stands before it can't reach it")
	case status.Status >= 300 && status.Status < 400:
		found("redirect", "configure the address that it leads to")
	default:
		found("http-status", "see what the server says")
	}
}

// refused tells of a server that wants to know who asks.
func (f *facts) refused(s *Step, status *transport.StatusError) {
	text := status.Error()
	switch {
	case f.server.SendsAuthorization():
		s.find(Broken, "credentials-refused", text, "correct the Authorization header of the entry")
	case errors.Is(f.err, transport.ErrLoginRequired) && strings.Contains(status.Challenge, "resource_metadata"):
		s.find(Login, "login-needed", text, `run "`+f.options.Login+`"`)
	case errors.Is(f.err, transport.ErrLoginRequired):
		s.find(Login, "login-without-metadata", text+"; it does not say where to log in (WWW-Authenticate: Bearer "+
			"resource_metadata=…)", `try "`+f.options.Login+`"; if that finds no authorization server, give the server a token `+
			`under "headers" in the entry, such as {"Authorization": "Bearer ${TOKEN}"}`)
	case status.Status == http.StatusForbidden:
		s.find(Broken, "http-403", text, "log in as somebody who may, or see whether the server refuses this Host or Origin")
	default:
		s.find(Broken, "login-unknown", text, "the server does not say where to log in: give it what it wants under "+
			`"headers" in the entry, such as {"Authorization": "Bearer ${TOKEN}"}`)
	}
}

// loginState tells who is logged in.
func (f *facts) loginState(r *Report) {
	s := r.step(LoginState)
	switch {
	case !f.logins && f.server.SendsAuthorization():
		s.Text = "the entry has an Authorization header, which is sent in place of any login"
	case !f.logins:
		s.Text = `there are no logins: "auth" is "none" in the entry`
	case f.loginErr != nil:
		s.find(Warning, "login-unreadable", f.loginErr.Error(), "see what it says; the logins can't be read")
	case f.grantFault() != nil:
		s.grant(f.grantFault())
	case f.login.LoggedIn && f.server.Auth.IsMachine():
		s.Text = "a token by " + f.server.Auth.Grant + " at " + f.quote(f.login.Issuer)
	case f.login.LoggedIn:
		s.Text = "logged in"
		if f.login.Account != "" {
			s.Text += " as " + f.quote(f.login.Account)
		}
		s.Text += " at " + f.quote(f.login.Issuer)
	case f.err == nil:
		s.Text = "nobody is logged in, and the server asks for no login"
	default:
		s.Text = "nobody is logged in"
	}
}
