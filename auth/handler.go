package auth

import (
	"net/http"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/auth"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
)

// WrapHandler puts a handler of the official Go SDK around the connections of a carrier, in place of a Client. It is
// asked to authorize only for requests that somebody waits for, once for each.
func WrapHandler(h sdk.OAuthHandler) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper {
		return &handled{handler: h, tripper: tripper{nil, base}}
	}
}

type handled struct {
	handler sdk.OAuthHandler
	tripper tripper

	mu   sync.Mutex
	sent []string // the tokens, the newest
}

// Secrets returns the tokens, so that a server's words can be shown without them.
func (h *handled) Secrets() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sent)
}

func (h *handled) remember(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if token != "" && !slices.Contains(h.sent, token) {
		h.sent = append(h.sent[max(0, len(h.sent)-1):], token)
	}
}

// RoundTrip implements http.RoundTripper.
func (h *handled) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return h.tripper.configured(r)
	}
	login, err := h.login(r)
	if err != nil {
		closeBody(r)
		return nil, err
	}
	resp, err := h.tripper.send(r, login)
	call := transport.CallOf(r.Context())
	if err != nil || call == nil ||
		resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	call.Hold()
	err = h.handler.Authorize(r.Context(), r, resp)
	call.Release()
	if err == nil {
		login, err = h.login(r)
	}
	if err != nil {
		_ = resp.Body.Close() // which the handler should have done
		resp.Body = http.NoBody
		httpwire.Explain(resp, err)
		return resp, nil
	}
	return h.tripper.again(r, resp, login)
}

func (h *handled) login(r *http.Request) (*Login, error) {
	source, err := h.handler.TokenSource(r.Context())
	if err != nil || source == nil {
		return nil, err
	}
	token, err := source.Token()
	if err != nil {
		return nil, err
	}
	h.remember(token.AccessToken)
	return &Login{AccessToken: token.AccessToken}, nil
}
