package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/redact"
	"mcpwire/mcp"
	"mcpwire/transport"
)

const (
	exchangeLimit = 30 * time.Second // for one request about logging in
	documentLimit = 1 << 20          // bytes of one answer
)

// web is how everything about logging in is asked: with the TLS and the proxy of the MCP server, and none of its
// headers.
type web struct {
	rules    *rules
	endpoint *httpwire.Endpoint
}

func newWeb(ctx context.Context, o *Options, endpoint *url.URL, secrets func() []string) (*web, error) {
	r := newRules(ctx, endpoint, o.AllowPrivateNetworks)
	plain := *endpoint
	plain.User = nil // nobody else's business
	e, err := httpwire.New(httpwire.Options{
		URL: plain.String(), TLS: o.TLS, Proxy: o.Proxy, OnTrace: o.OnTrace, Dial: r.dial, Live: secrets,
		Secrets: slices.Concat(o.Secrets, redact.Secrets(o.Headers)),
	})
	if err != nil {
		return nil, err
	}
	r.mask = e.Mask
	return &web{r, e}, nil
}

// An answer is what came back, whatever its status.
type answer struct {
	from   *url.URL
	status int
	header http.Header
	body   []byte
}

func (a answer) ok() bool { return a.status >= 200 && a.status <= 299 }

// refusal makes an error of an answer that is none of the expected ones.
func (w *web) refusal(a answer) error {
	text := fmt.Sprintf("%s: HTTP %d: %s", w.endpoint.Show(a.from), a.status, http.StatusText(a.status))
	if excerpt := redact.Excerpt([]byte(w.endpoint.Mask(string(a.body[:min(len(a.body), 4<<10)]))), 200); excerpt != "" {
		text += ": " + excerpt
	}
	return errors.New(text)
}

// do sends one request and reads its answer.
func (w *web) do(ctx context.Context, r httpwire.Request) (answer, error) {
	limit := &transport.TimeoutError{What: "request", After: exchangeLimit}
	ctx, cancel := context.WithTimeoutCause(ctx, exchangeLimit, limit)
	defer cancel()
	fail := func(err error) error {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%s: %w", w.endpoint.Show(r.URL), err)
	}
	resp, _, err := w.endpoint.Do(ctx, r)
	if err != nil {
		return answer{}, fail(err)
	}
	defer resp.Body.Close()
	body, err := httpwire.ReadAll(resp, documentLimit)
	if err != nil {
		return answer{}, fail(err)
	}
	return answer{r.URL, resp.StatusCode, resp.Header, body}, nil
}

// get fetches a document of metadata. Redirects are followed within its origin.
func (w *web) get(ctx context.Context, at *url.URL) (answer, error) {
	return w.do(ctx, httpwire.Request{
		Method: http.MethodGet, URL: at, Headers: w.endpoint.Headers(http.Header{"Accept": {"application/json"}}),
	})
}

// post sends a body, and follows no redirect: what it holds is for that address alone.
func (w *web) post(ctx context.Context, to *url.URL, header http.Header, body string) (answer, error) {
	header.Set("Accept", "application/json")
	a, err := w.do(ctx, httpwire.Request{
		Method: http.MethodPost, URL: to, Body: []byte(body), Headers: w.endpoint.Headers(header), Stay: true,
	})
	if err == nil && a.status >= 300 && a.status <= 399 {
		return a, fmt.Errorf("%s: redirected with HTTP %d, which is not followed here", w.endpoint.Show(to), a.status)
	}
	return a, err
}

// document decodes an answer that must be a JSON object.
func document[T any](a answer) (doc T, ok bool) {
	ok = bytes.HasPrefix(bytes.TrimSpace(a.body), []byte("{")) && mcp.Decode(a.body, &doc) == nil
	return doc, ok
}

// A TokenError is the refusal of an authorization server (RFC 6749, section 5.2; RFC 7591, section 3.2.2).
type TokenError = oauth2.RetrieveError

// refusedBy makes an error of an authorization server's refusal, in words that are safe to show.
func (w *web) refusedBy(what string, a answer) error {
	doc, ok := document[struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}](a)
	if !ok || doc.Error == "" {
		return fmt.Errorf("%s: %w", what, w.refusal(a))
	}
	return fmt.Errorf("%s: %s: %w", what, w.endpoint.Show(a.from), w.refused(a.status, doc.Error, doc.Description))
}

// refused makes an error of the code and the description of a refusal. Neither is ours.
func (w *web) refused(status int, code, description string) error {
	return &refused{&TokenError{
		Response:  &http.Response{StatusCode: status, Status: http.StatusText(status)},
		ErrorCode: w.endpoint.Line(code, 60), ErrorDescription: w.endpoint.Line(description, 300),
	}}
}

// refused says what a TokenError says, in one line.
type refused struct{ whole *TokenError }

// Error returns the code, and the description if there is one.
func (e *refused) Error() string {
	if e.whole.ErrorDescription == "" {
		return e.whole.ErrorCode
	}
	return e.whole.ErrorCode + " (" + e.whole.ErrorDescription + ")"
}

// Unwrap returns the TokenError.
func (e *refused) Unwrap() error { return e.whole }

// codeOf returns the error code of an authorization server's refusal, or nothing.
func codeOf(err error) string {
	if e, ok := errors.AsType[*TokenError](err); ok {
		return e.ErrorCode
	}
	return ""
}
