package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
)

// mostSteps bounds how often a person is asked because of one request.
const mostSteps = 2

// Wrap puts the login around the connections of a carrier. A request that has an Authorization header already goes
// through as it is. The round tripper's Close closes the Client; a carrier calls it at its end.
func (c *Client) Wrap(base http.RoundTripper) http.RoundTripper { return &tripper{c, base} }

type tripper struct {
	client *Client
	base   http.RoundTripper
}

// Close closes the Client, which is of no other use.
func (t *tripper) Close() error {
	t.client.Close()
	return nil
}

// Secrets returns the tokens, so that a server's words can be shown without them.
func (t *tripper) Secrets() []string { return t.client.secrets() }

// RoundTrip implements http.RoundTripper. A request that is refused with 401 is sent once more, with a newer token; one
// that is refused because another scope is needed, or that no token helps, once a person has agreed, if somebody waits
// for it and there is an Authorizer (2026-07-28, authorization, step-up authorization flow). Otherwise the refusal is
// the answer, with the reason why there is no better one.
func (t *tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return t.configured(r)
	}
	c := t.client
	login, why := c.current(r.Context())
	if why != nil && !errors.Is(why, transport.ErrLoginRequired) {
		closeBody(r)
		return nil, why
	}
	resp, err := t.send(r, login)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized && why == nil && !c.o.Grant.machine() && !wantsNonce(resp, login) {
		var newer *Login
		newer, why = c.newer(r.Context(), login)
		switch {
		case newer != nil:
			login = newer
			if resp, err = t.again(r, resp, login); err != nil {
				return nil, err
			}
		case why != nil && !errors.Is(why, transport.ErrLoginRequired):
			httpwire.Explain(resp, &laterError{why})
			return resp, nil
		}
	}
	return t.stepUp(r, resp, login, why)
}

// stepUp has a person agree where that is what a refusal is for, and where a person may be asked.
// why is what is known of that already.
func (t *tripper) stepUp(r *http.Request, resp *http.Response, login *Login, why error) (*http.Response, error) {
	c := t.client
	for steps := 0; ; steps++ {
		ch, wanted := refusal(resp, login)
		if !wanted {
			return resp, nil
		}
		if wantsNonce(resp, login) { // which send has given it once
			httpwire.Explain(resp, &laterError{errNonces})
			return resp, nil
		}
		if steps == mostSteps || steps > 0 && (ch.code != insufficientScope || within(ch.scopes, login.Scopes)) {
			err := c.unhelped(ch)
			c.inVain(ch)
			httpwire.Explain(resp, err)
			return resp, nil
		}
		newer, err := c.agreed(r.Context(), ch, login)
		if err != nil {
			if lone, ok := errors.AsType[*LoginError](err); ok && lone.Err == nil && why != nil {
				err = why
			}
			httpwire.Explain(resp, err)
			return resp, nil
		}
		login, why = newer, nil
		if resp, err = t.again(r, resp, login); err != nil {
			return nil, err
		}
	}
}

// unhelped tells that what was just granted is refused.
func (c *Client) unhelped(ch challenge) error {
	if c.o.Grant.machine() {
		return c.grantError(StepUse, "", fmt.Errorf("the server refuses what was just granted: %s", ch.said(c.web)))
	}
	return c.loginError(ch.scopes, errors.New("the server refuses what was just granted"))
}

// vainPause is how long nobody is asked again for what was asked in vain.
const vainPause = time.Minute

func (c *Client) inVain(ch challenge) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vain, c.vainAt = ch.want(), time.Now()
}

// refusal reads an answer that a login could change. Servers on the official Go SDK name the scopes that a request
// needs and not the error, so that a 403 without one counts as insufficient_scope if a scope is missing.
func refusal(resp *http.Response, login *Login) (ch challenge, wanted bool) {
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return readChallenge(resp.Header), true
	case http.StatusForbidden:
		ch = readChallenge(resp.Header)
		if ch.code == "" && login != nil && !within(ch.scopes, login.Scopes) {
			ch.code = insufficientScope
		}
		return ch, ch.code == insufficientScope
	}
	return ch, false
}

// agreed has a person agree, if one may be asked, and returns the login that came of it. Others who want the same wait
// for it. The error is a LoginError, or tells why the person's answer came to nothing.
func (c *Client) agreed(ctx context.Context, ch challenge, tried *Login) (*Login, error) {
	if c.o.Grant.machine() {
		return c.earned(ctx, tried, ch)
	}
	var missing []string
	if ch.code == insufficientScope {
		missing = ch.scopes
	}
	call := transport.CallOf(ctx)
	if call == nil || c.o.Authorizer == nil {
		return nil, c.loginError(missing, nil)
	}
	call.Hold()
	defer call.Release()
	c.mu.Lock()
	if l := c.login; l != nil && (tried == nil || l.AccessToken != tried.AccessToken) && l.AccessToken != "" {
		c.mu.Unlock()
		return l, nil // somebody was quicker
	}
	if missing != nil && tried != nil && within(missing, c.asked) {
		c.mu.Unlock()
		return nil, c.loginError(missing, errors.New("the server refuses what was just granted"))
	}
	if c.vain == ch.want() && time.Since(c.vainAt) < vainPause {
		c.mu.Unlock()
		return nil, c.loginError(missing, errors.New("somebody was asked for that in vain a moment ago"))
	}
	f := c.asking
	if f == nil {
		if c.ctx.Err() != nil {
			c.mu.Unlock()
			return nil, transport.ErrClosed
		}
		f = &flight{done: make(chan struct{})}
		c.asking = f
		c.work.Go(func() {
			f.login, f.err = c.authorizeAlone(ch, tried)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.asking = nil
			close(f.done)
		})
	}
	c.mu.Unlock()
	l, err := f.wait(ctx)
	if err != nil && ctx.Err() == nil {
		c.inVain(ch)
		return nil, c.loginError(missing, err)
	}
	return l, err
}

// authorizeAlone is authorize for those who wait for the same login, none of whom ends it by going away.
func (c *Client) authorizeAlone(ch challenge, tried *Login) (*Login, error) {
	if err := c.prepare(); err != nil {
		return nil, err
	}
	unlock, err := c.o.Store.Lock(c.ctx, c.key, LoginLock)
	if err != nil {
		return nil, fmt.Errorf("waiting for another login to %s: %w", c.o.Server, err)
	}
	defer unlock()
	rec, err := c.o.Store.Load(c.ctx, c.key)
	l := rec.Login
	if err == nil && l != nil && l.good(time.Now()) && (tried == nil || l.AccessToken != tried.AccessToken) &&
		within(ch.scopes, l.Scopes) {
		return c.adopt(l), nil // another process was quicker
	}
	var granted []string
	if tried != nil {
		granted = tried.Scopes
	}
	return c.authorize(c.ctx, c.o.Authorizer, ch, granted)
}

// mayHave reports whether a request to an address may have the tokens for a server: the origin is the same, or http has
// become https on the usual ports.
func mayHave(server, to *url.URL) bool {
	upgraded := server.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(server.Hostname(), to.Hostname()) &&
		httpwire.Port(server) == "80" && httpwire.Port(to) == "443"
	return sameOrigin(server, to) || upgraded
}

// send sends a request with a token, if there is one and it is for the server that the request is for. A server that
// wants a nonce in the proof gets the request once more, with that (RFC 9449, section 9).
func (t *tripper) send(r *http.Request, login *Login) (*http.Response, error) {
	if login == nil || login.AccessToken == "" || t.client != nil && !mayHave(t.client.endpoint, r.URL) {
		return t.base.RoundTrip(r)
	}
	resp, err := t.with(r, login)
	if err != nil || t.client == nil || login.ProofKey == "" {
		return resp, err
	}
	if !t.client.takeNonce(r.URL, resp.Header) || !wantsNonce(resp, login) {
		return resp, nil
	}
	once, err := repeated(r, resp)
	if err != nil {
		return nil, err
	}
	if resp, err = t.with(once, login); err == nil {
		t.client.takeNonce(r.URL, resp.Header)
	}
	return resp, err
}

// with sends a request with a token, and with a proof where that is bound to a key. The request itself is not changed.
func (t *tripper) with(r *http.Request, login *Login) (*http.Response, error) {
	with := *r
	with.Header = r.Header.Clone()
	with.Header["Authorization"] = []string{"Bearer " + login.AccessToken}
	if login.ProofKey != "" && t.client != nil {
		key, err := t.client.keyOf(login)
		if err == nil {
			err = t.client.addProof(with.Header, key, r.Method, r.URL, login.AccessToken)
		}
		if err != nil {
			closeBody(r)
			return nil, err
		}
		with.Header["Authorization"] = []string{"DPoP " + login.AccessToken}
	}
	return t.base.RoundTrip(&with)
}

// wantsNonce reports whether a request with a proof is refused for want of another nonce in it.
func wantsNonce(resp *http.Response, login *Login) bool {
	return resp.StatusCode == http.StatusUnauthorized && login != nil && login.ProofKey != "" &&
		readChallenge(resp.Header).nonce
}

// again sends a request once more.
func (t *tripper) again(r *http.Request, refused *http.Response, login *Login) (*http.Response, error) {
	once, err := repeated(r, refused)
	if err != nil {
		return nil, err
	}
	return t.send(once, login)
}

// repeated returns a request that can be sent once more. The refusal that it is sent because of is dropped, at the cost
// of its connection: its body may never end.
func repeated(r *http.Request, refused *http.Response) (*http.Request, error) {
	_ = refused.Body.Close()
	once := *r
	if r.Body != nil && r.Body != http.NoBody {
		if r.GetBody == nil {
			return nil, errors.New("the request was refused, and its body can't be sent again")
		}
		body, err := r.GetBody()
		if err != nil {
			return nil, fmt.Errorf("sending the request again: %w", err)
		}
		once.Body = body
	}
	return &once, nil
}

// configured sends a request whose header somebody has set by hand: nobody else's login takes its place.
func (t *tripper) configured(r *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		httpwire.Explain(resp, errHeader)
	}
	return resp, err
}

var errHeader = errors.New("the server does not accept the Authorization header of the entry")

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}
