package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/redact"
	"mcpwire/transport"
)

// Login has a person log in, whatever the store has, and keeps what was granted. One login of a server goes on at a
// time, in all processes; others wait for it. ctx bounds it all. How long a person may take is the Authorizer's to say.
// With a Grant of machines nobody is asked, and how may be nil.
func (c *Client) Login(ctx context.Context, how Authorizer) (Status, error) {
	if err := c.prepare(); err != nil {
		return Status{}, err
	}
	if c.o.Grant.machine() {
		l, err := c.anew(ctx)
		return c.status(l), err
	}
	ch, err := c.ask(ctx)
	if err != nil {
		return Status{}, err
	}
	unlock, err := c.o.Store.Lock(ctx, c.key, LoginLock)
	if err != nil {
		return Status{}, fmt.Errorf("waiting for another login to %s: %w", c.o.Server, err)
	}
	defer unlock()
	var granted []string
	if len(c.o.MoreScopes) > 0 { // more than before is wanted
		if rec, err := c.o.Store.Load(ctx, c.key); err == nil && rec.Login != nil {
			granted = rec.Login.Scopes
		}
	}
	l, err := c.authorize(ctx, how, ch, granted)
	return c.status(l), err
}

// prepare makes ready for asking a person, unless anybody on the way to the server could read the tokens.
func (c *Client) prepare() error {
	if c.endpoint.Scheme != "https" && !isLoopback(c.endpoint.Hostname()) && !c.o.AllowPrivateNetworks {
		return errors.New("a login would be open to everybody on the way to a server whose url begins with http://: use " +
			`https://, or set "allowPrivateNetworks" in the entry's "auth" if the way is safe`)
	}
	return c.makeWeb()
}

// ask sends the MCP server a request that needs no session, for the sake of its refusal, which says where to log in.
func (c *Client) ask(ctx context.Context) (challenge, error) {
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
	for name, value := range c.o.Headers {
		if value != "" && !strings.EqualFold(name, "Authorization") && !strings.EqualFold(name, "Host") {
			header.Set(name, value)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, exchangeLimit)
	defer cancel()
	plain := *c.endpoint
	plain.User = nil
	question := httpwire.Request{
		Method: http.MethodPost, URL: &plain, Headers: c.web.endpoint.Headers(header),
		Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
	}
	resp, _, err := c.web.endpoint.Do(ctx, question)
	if err == nil && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed) {
		_ = resp.Body.Close()
		header.Del("Content-Type")
		header.Set("Accept", "text/event-stream") // as a server of 2024-11-05 is asked
		question.Method, question.Body, question.Headers = http.MethodGet, nil, c.web.endpoint.Headers(header)
		resp, _, err = c.web.endpoint.Do(ctx, question)
	}
	if err != nil {
		return challenge{}, fmt.Errorf("asking the server where to log in: %w", err)
	}
	_ = resp.Body.Close() // what it says there does not matter, and it may never end
	if resp.StatusCode >= 500 {
		return challenge{}, fmt.Errorf("asking the server where to log in: HTTP %d: %s",
			resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	ch := readChallenge(resp.Header)
	ch.unasked = resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden
	return ch, nil
}

// A plan is what is known before a person is asked.
type plan struct {
	resource resource
	server   *server
	scopes   []string
	record   Record
	key      *proofKey // that the tokens are to be bound to; nil: none
	bound    bool      // tokens that are not are refused
}

// authorize goes the way from a refusal to tokens, under the LoginLock. granted are the scopes that are not to be lost.
func (c *Client) authorize(ctx context.Context, how Authorizer, ch challenge, granted []string) (*Login, error) {
	p, err := c.plan(ctx, ch, granted)
	if err != nil {
		return nil, err
	}
	window, err := how.Open(ctx, p.record.Registrations[p.server.Issuer].RedirectURI)
	if err != nil {
		return nil, err
	}
	defer window.Close()
	l, err := c.dialogue(ctx, window, p, false)
	if codeOf(err) != "invalid_client" || !c.enrols(p.server) {
		return l, err
	}
	// The server has forgotten the client that it once made for us. A window is for one dialogue.
	at := window.RedirectURI()
	window.Close()
	again, err := how.Open(ctx, at)
	if err != nil {
		return nil, err
	}
	defer again.Close()
	return c.dialogue(ctx, again, p, true)
}

func (c *Client) plan(ctx context.Context, ch challenge, granted []string) (p plan, err error) {
	// A record that can't be read is replaced in the end.
	if p.record, err = c.o.Store.Load(ctx, c.key); err != nil {
		c.o.Logger.Warn("what was known of the login can't be read and is replaced", "server", c.o.Server, "error", err)
	}
	c.hideAll(p.record)
	return p, c.discover(ctx, ch, granted, &p)
}

// discover finds the resource, its authorization server, and the scopes to ask for.
func (c *Client) discover(ctx context.Context, ch challenge, granted []string, p *plan) (err error) {
	if p.resource, err = c.resource(ctx, ch); err != nil {
		return err
	}
	if p.server, err = c.server(ctx, p.resource); err != nil {
		return err
	}
	if l := p.record.Login; l != nil && !sameIssuer(l.Issuer, p.server.Issuer) {
		granted = nil // by another server
	}
	p.scopes = c.wanted(p.server, p.resource, ch, granted)
	return c.bind(p, ch)
}

// dialogue asks the person, and exchanges what comes back for tokens (OAuth 2.1, section 4.1; RFC 7636).
func (c *Client) dialogue(ctx context.Context, window Window, p plan, anew bool) (*Login, error) {
	me, err := c.registration(ctx, p.server, window.RedirectURI(), p.record, anew)
	if err != nil {
		return nil, err
	}
	if err := c.keepRegistration(ctx, p, me); err != nil {
		return nil, err
	}
	state, verifier := randomText(), oauth2.GenerateVerifier()
	options := []oauth2.AuthCodeOption{
		oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", p.resource.id),
	}
	if slices.Contains(p.scopes, offlineAccess) {
		// Else providers leave that scope out, and give no refresh token (OpenID Connect Core 1.0, section 11).
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
	}
	if p.key != nil {
		options = append(options, oauth2.SetAuthURLParam("dpop_jkt", p.key.thumbprint())) // binds the code (section 10)
	}
	address := (&oauth2.Config{
		ClientID: me.ClientID, RedirectURL: window.RedirectURI(), Scopes: p.scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.server.Authorization},
	}).AuthCodeURL(state, options...)
	var back url.Values
	err = window.Authorize(ctx, address, func(params url.Values) error {
		if subtle.ConstantTimeCompare([]byte(params.Get("state")), []byte(state)) != 1 {
			return errors.New("this is not the answer to the login that is going on: its state is another")
		}
		back = params
		return nil
	})
	if err != nil {
		if ctx.Err() == nil && p.record.Registrations[p.server.Issuer].ClientID == me.ClientID {
			c.doubt(ctx, p.server.Issuer, me.ClientID)
		}
		return nil, err
	}
	code, err := c.codeIn(back, p.server)
	if err != nil {
		return nil, err
	}
	g, err := c.request(ctx, tokenRequest{
		what: "exchanging the code for a token", web: c.web, endpoint: p.server.Token, issuer: p.server.Issuer, client: me,
		form: url.Values{
			"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {window.RedirectURI()},
			"code_verifier": {verifier}, "resource": {p.resource.id},
		},
		key: p.key, bound: p.bound,
	})
	if err != nil {
		return nil, err
	}
	l := &Login{
		Issuer: p.server.Issuer, Resource: p.resource.id, TokenEndpoint: p.server.Token, Revocation: p.server.Revocation,
		ClientID: me.ClientID, AuthMethod: me.AuthMethod, Scopes: p.scopes,
	}
	l.take(g)
	c.mu.Lock()
	c.asked = p.scopes
	c.mu.Unlock()
	return l, c.keepLogin(ctx, l, me)
}

// codeIn returns the code of a redirect, which must be from the authorization server that the person was sent to. The
// issuer is compared as it is, even where it comes with a refusal (RFC 9207, section 2.4).
func (c *Client) codeIn(back url.Values, s *server) (string, error) {
	issuer, said := back.Get("iss"), back.Has("iss")
	switch {
	case said && issuer != s.Issuer:
		return "", fmt.Errorf("the redirect is from the authorization server %q, not from %s: nothing is sent there",
			c.web.endpoint.Line(issuer, addressShown), c.shown(s.Issuer))
	case !said && s.NamesIssuer:
		return "", fmt.Errorf("the redirect does not say from which authorization server it is (iss), which %s says "+
			"that it does: nothing is sent there", c.shown(s.Issuer))
	}
	if refusal := back.Get("error"); refusal != "" {
		return "", c.web.refused(0, refusal, back.Get("error_description"))
	}
	if code := back.Get("code"); code != "" {
		return code, nil
	}
	return "", errors.New("the redirect holds neither a code nor an error")
}

// lockRecord takes the lock of the record, for which a refresh is waited for that goes on, and nobody who hangs.
func (c *Client) lockRecord(ctx context.Context) (unlock func(), err error) {
	limit := &transport.TimeoutError{What: "the wait for another process that changes the login", After: lockLimit}
	ctx, cancel := context.WithTimeoutCause(ctx, lockLimit, limit)
	defer cancel()
	return c.o.Store.Lock(ctx, c.key, RecordLock)
}

// lockLimit is longer than a refresh may take.
const lockLimit = refreshLimit + 15*time.Second

// change changes the record in the store, whatever others have done to it meanwhile.
func (c *Client) change(ctx context.Context, apply func(*Record)) error {
	unlock, err := c.lockRecord(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := c.o.Store.Load(ctx, c.key)
	if err != nil && !errors.Is(err, ErrUnreadable) { // what can't be read is replaced
		return err
	}
	rec.Server, rec.URL = c.o.Server, redact.URL(canonical(c.endpoint))
	apply(&rec)
	return c.o.Store.Save(ctx, c.key, rec)
}

// keepRegistration keeps a client that was made for us before it is used, so that it is not made again when the login
// is given up; but for one that takes the place of a client whose tokens are still good.
func (c *Client) keepRegistration(ctx context.Context, p plan, me Registration) error {
	if !c.enrols(p.server) {
		return nil
	}
	err := c.change(ctx, func(rec *Record) {
		l := rec.Login
		if l == nil || l.Issuer != p.server.Issuer || l.ClientID == me.ClientID || l.RefreshToken == "" {
			rec.register(p.server.Issuer, me)
		}
	})
	if err != nil {
		return fmt.Errorf("the login can't be kept: %w", err)
	}
	return nil
}

func (r *Record) register(issuer string, me Registration) {
	if r.Registrations == nil {
		r.Registrations = map[string]Registration{}
	}
	r.Registrations[issuer] = me
}

// doubt has the next login make a client anew, since one from earlier has brought no redirect: a server that has
// forgotten it shows the person an error, and has nowhere to send the browser. What proves the client is kept, as the
// login that there is may need it.
func (c *Client) doubt(ctx context.Context, issuer, client string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doubtLimit)
	defer cancel()
	err := c.change(ctx, func(rec *Record) {
		if known, ok := rec.Registrations[issuer]; ok && known.ClientID == client {
			known.RedirectURI = ""
			rec.Registrations[issuer] = known
		}
	})
	if err != nil {
		c.o.Logger.Warn("what is known of a client can't be kept", "server", c.o.Server, "error", err)
	}
}

// doubtLimit bounds what is written after a person has given up.
const doubtLimit = 5 * time.Second

// keepLogin keeps a login, and the client that it was given to. The secret of a configured one stays where it is.
func (c *Client) keepLogin(ctx context.Context, l *Login, me Registration) error {
	if me.ClientID == c.o.ClientID {
		me.ClientSecret = ""
	}
	err := c.change(ctx, func(rec *Record) {
		rec.Login = l
		rec.register(l.Issuer, me)
	})
	if err != nil {
		return fmt.Errorf("the login can't be kept: %w", err)
	}
	c.adopt(l)
	return nil
}

// Logout forgets the login, and gives the tokens back where the authorization server takes them (RFC 7009). The status
// is of what there was. The error tells that the store could not be changed, or that the tokens could not be given
// back; they are forgotten then all the same.
func (c *Client) Logout(ctx context.Context) (Status, error) {
	unlock, err := c.lockRecord(ctx)
	if err != nil {
		return Status{}, err
	}
	rec, loadErr := c.o.Store.Load(ctx, c.key)
	was := c.status(rec.Login)
	err = c.o.Store.Delete(ctx, c.key)
	unlock()
	if err != nil {
		return was, err
	}
	c.adopt(nil)
	if loadErr == nil && rec.Login != nil && rec.Login.Revocation != "" {
		err = c.revoke(ctx, rec)
	}
	return was, err
}

// revoke gives tokens back. Where there is a refresh token, the access tokens that came of it end with it.
func (c *Client) revoke(ctx context.Context, rec Record) error {
	l := rec.Login
	c.hideAll(rec)
	token, hint := l.RefreshToken, "refresh_token"
	if token == "" {
		token, hint = l.AccessToken, "access_token"
	}
	if token == "" {
		return nil
	}
	const what = "giving the tokens back"
	if err := c.makeWeb(); err != nil {
		return err
	}
	to, err := c.web.rules.check("revocation_endpoint", l.Revocation)
	if err != nil {
		return err
	}
	form := url.Values{"token": {token}, "token_type_hint": {hint}}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	me, err := c.clientOf(ctx, rec, l)
	if err != nil {
		return err
	}
	if err := c.prove(me, l.Issuer, header, form); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	a, err := c.web.post(ctx, to, header, form.Encode())
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case !a.ok():
		return c.web.refusedBy(what, a)
	}
	return nil
}
