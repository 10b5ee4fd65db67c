package httpwire

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// Quotes quote what a server wrote, with known secrets masked. The zero value knows none.
type Quotes struct {
	secrets *redact.Set
	live    func() []string // further ones; nil: there are none
}

// text masks the secrets in a text.
func (q Quotes) text(text string) string {
	text = q.secrets.Text(text)
	if q.live == nil {
		return text
	}
	if now := q.live(); len(now) > 0 {
		return redact.NewSet(now...).Text(text)
	}
	return text
}

// Knowing returns the Quotes that know the secrets in options. An address that is not valid adds none.
func Knowing(o Options) Quotes {
	u, err := url.Parse(o.URL)
	if err != nil {
		u = &url.URL{}
	}
	return knowing(o, u)
}

func knowing(o Options, u *url.URL) Quotes {
	known := slices.Concat(o.Secrets, redact.Secrets(o.Headers), credentials(o.Headers), inURL(u))
	return Quotes{redact.NewSet(known...), o.Live}
}

// credentials returns what stands behind a scheme, as in "Bearer abc", since servers quote it alone.
func credentials(headers map[string]string) (values []string) {
	for _, value := range redact.Secrets(headers) {
		if _, credential, ok := strings.Cut(value, " "); ok {
			values = append(values, strings.TrimSpace(credential))
		}
	}
	return values
}

// inURL returns what is secret in an address: the password, or a name without one, as a server sees them too, and the
// values of parameters whose names look secret.
func inURL(u *url.URL) (values []string) {
	if name := u.User.Username(); name != "" {
		password, _ := u.User.Password()
		values = append(values, base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
		if password == "" {
			password = name
		}
		values = append(values, password, url.QueryEscape(password), url.PathEscape(password))
	}
	for name, all := range u.Query() {
		for _, value := range all {
			for _, secret := range redact.Secrets(map[string]string{name: value}) {
				values = append(values, secret, url.QueryEscape(secret), url.PathEscape(secret))
			}
		}
	}
	return values
}

// Mask returns a server's text with known secrets masked.
func (q Quotes) Mask(text string) string { return q.text(text) }

// Line returns the beginning of a server's text on one line, with known secrets masked; limit is in bytes.
func (q Quotes) Line(text string, limit int) string {
	return redact.Line(q.text(text), limit)
}

// Show returns an address that a server may have named, with secrets masked and bounded. Known ones are masked before
// it is cut, so that no beginning of one is left.
func (q Quotes) Show(u *url.URL) string {
	text := q.text(u.String())
	return redact.Line(redact.URL(text[:min(len(text), 2*failureBytes)]), failureBytes)
}

// Failure makes an error of an answer that is no success, and reads the beginning of its body for that. Known secrets
// are masked in what the server wrote.
func (q Quotes) Failure(resp *http.Response) *transport.StatusError {
	line := func(name string, limit int) string {
		return q.Line(strings.Join(resp.Header.Values(name), ", "), limit)
	}
	e := &transport.StatusError{
		Status:     resp.StatusCode,
		Text:       http.StatusText(resp.StatusCode),
		Challenge:  line("WWW-Authenticate", 4*excerptBytes),
		AuthServer: line("Mcp-Auth-Server", excerptBytes),
	}
	e.Login = explanation(resp)
	if e.Text == "" {
		e.Text = "status without a name"
	}
	if e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable {
		e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
	}
	text, err := ReadAll(resp, errorBody)
	if err != nil && len(text) == 0 {
		return e
	}
	if m, err := jsonrpc.Parse(text); err == nil && m.Error != nil {
		refusal := jsonrpc.ParseError(m.Error)
		refusal.Message = q.Mask(refusal.Message)
		refusal.Data = redact.JSON(refusal.Data, q.Mask)
		e.Err = refusal
		return e
	}
	e.Excerpt = q.excerpt(text)
	return e
}

// Malformed makes an error of an answer that is no message. Known secrets are masked.
func (q Quotes) Malformed(text []byte) *transport.MalformedError {
	return &transport.MalformedError{Excerpt: q.excerpt(text)}
}

// excerpt masks known secrets before it cuts, so that no beginning of one is left; errorBody bounds the work.
func (q Quotes) excerpt(text []byte) string {
	return redact.Excerpt([]byte(q.Mask(string(text[:min(len(text), errorBody)]))), excerptBytes)
}
