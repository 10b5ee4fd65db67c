package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"mcpwire/internal/redact"
)

// A Grant is a way to come by a token.
type Grant string

// The grants. All but the first are a machine's: nobody is asked, and a new token is got in the same way when the old
// one expires.
const (
	AuthorizationCode Grant = "authorization_code" // a person agrees, in a browser (OAuth 2.1, section 4.1)
	ClientCredentials Grant = "client_credentials" // the client asks for itself (ext-auth, OAuth client credentials)
	JWTBearer         Grant = "jwt-bearer"         // a JWT says which workload asks (RFC 7523, section 2.1; SEP-1933)
	// Enterprise asks for a person whom the identity provider knows, with an ID token that becomes a grant of the
	// provider's and that one a token (ext-auth, enterprise-managed authorization).
	Enterprise Grant = "enterprise"
)

// A Secret gives a secret when it is needed. It may block, as long as ctx lasts.
type Secret func(ctx context.Context) (string, error)

func (g Grant) machine() bool { return g != AuthorizationCode }

// check tells what a grant lacks.
func (g Grant) check(o *Options) error {
	switch {
	case g == AuthorizationCode:
	case g != ClientCredentials && g != JWTBearer && g != Enterprise:
		return fmt.Errorf("the grant %q is not known", string(g))
	case g != JWTBearer && o.ClientID == "":
		return fmt.Errorf("the grant %s needs a client id", g)
	case g != ClientCredentials && o.Assertion == nil:
		return fmt.Errorf("the grant %s needs an assertion", g)
	case g == Enterprise && (o.IDP.Issuer == "" || o.IDP.ClientID == ""):
		return fmt.Errorf("the grant %s needs an identity provider, and a client id there", g)
	}
	return nil
}

// A Step is a part of the way to a machine's token.
type Step string

// The steps, in their order.
const (
	StepDiscovery   Step = "discovery"      // finding the authorization server, and the identity provider
	StepCredentials Step = "credentials"    // reading what says who we are
	StepExchange    Step = "token exchange" // at the identity provider
	StepToken       Step = "token request"  // at the authorization server
	StepUse         Step = "use"            // at the MCP server
)

// A GrantError tells why a machine has no token, or none that helps. No person's login would cure it; it may pass when
// what is configured, or what the other side thinks of it, changes.
type GrantError struct {
	Server string // the entry's name
	Grant  Grant
	Step   Step
	Issuer string // who was asked; empty before that is known
	Err    error
}

// Error returns "no token by <grant>: <cause>".
func (e *GrantError) Error() string { return "no token by " + string(e.Grant) + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *GrantError) Unwrap() error { return e.Err }

// Temporary reports true: nobody need log in.
func (e *GrantError) Temporary() bool { return true }

func (c *Client) grantError(step Step, issuer string, err error) *GrantError {
	if issuer != "" {
		issuer = c.shown(issuer)
	}
	return &GrantError{Server: c.o.Server, Grant: c.o.Grant, Step: step, Issuer: issuer, Err: err}
}

// A credentialError tells that a secret can't be had.
type credentialError struct {
	key string // in the entry's "auth"
	err error
}

// Error returns "<key>: <cause>".
func (e *credentialError) Error() string { return e.key + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *credentialError) Unwrap() error { return e.err }

// fitting returns a login if it was come by as we come by one; otherwise it is as good as none.
func (c *Client) fitting(l *Login) *Login {
	switch {
	case l == nil:
		return nil
	case l.Grant != c.o.Grant && (l.Grant != "" || c.o.Grant.machine()):
		return nil
	case c.o.Grant.machine() && l.ClientID != c.o.ClientID:
		return nil
	case c.o.DPoP != nil && *c.o.DPoP && l.ProofKey == "":
		return nil
	}
	return l
}

// challenge is a refusal that stands for the one that led to the login.
func (l *Login) challenge() challenge {
	return challenge{metadata: l.Metadata, scopes: l.Scopes, dpop: l.ProofKey != ""}
}

// earned returns a login with another token than tried, which may be nil, for what a refusal says. It is got once for
// all who ask meanwhile. What was refused, or was of no use, is not asked for again for a minute. The error is a
// GrantError.
func (c *Client) earned(ctx context.Context, tried *Login, ch challenge) (*Login, error) {
	var missing []string
	if ch.code == insufficientScope {
		missing = ch.scopes
	}
	c.mu.Lock()
	failed, useless := c.failed, c.vain == ch.want() && time.Since(c.vainAt) < vainPause
	recent := time.Since(c.failedAt) < vainPause
	c.mu.Unlock()
	switch {
	case failed != nil && recent:
		return nil, failed
	case useless:
		return nil, c.unhelped(ch)
	}
	return c.once(ctx, func() *Login {
		if c.login.replaces(tried) && within(missing, c.login.Scopes) {
			return c.login
		}
		return nil
	}, func(ctx context.Context) (*Login, error) { return c.earn(ctx, tried, ch, missing) })
}

// anew gets a token whatever there is.
func (c *Client) anew(ctx context.Context) (*Login, error) {
	ch, err := c.ask(ctx)
	if err != nil {
		return nil, c.grantError(StepDiscovery, "", err)
	}
	tried, err := c.known(ctx)
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return nil, err
	}
	c.mu.Lock()
	c.failed, c.vain = nil, ""
	c.mu.Unlock()
	return c.earned(ctx, tried, ch)
}

// earn gets a token, unless another process has just done so. missing are the scopes that it is got for.
func (c *Client) earn(ctx context.Context, tried *Login, ch challenge, missing []string) (*Login, error) {
	if err := c.prepare(); err != nil {
		return nil, c.grantError(StepDiscovery, "", err)
	}
	unlock, err := c.o.Store.Lock(ctx, c.key, RecordLock)
	if err != nil {
		return nil, fmt.Errorf("waiting for another process that gets a token: %w", err)
	}
	defer unlock()
	rec, err := c.load(ctx)
	if err != nil && !errors.Is(err, ErrUnreadable) { // what can't be read is replaced
		return nil, err
	}
	if rec.Login.replaces(tried) && within(missing, rec.Login.Scopes) {
		return c.adopt(rec.Login), nil
	}
	c.hideAll(rec)
	l, me, failed := c.ownGrant(ctx, plan{record: rec}, tried, ch)
	if failed != nil {
		c.note(ctx, failed)
		return nil, failed
	}
	rec.Login, rec.Server, rec.URL = l, c.o.Server, redact.URL(canonical(c.endpoint))
	if me.ClientID != "" {
		me.ClientSecret = "" // it stays where it is
		rec.register(l.Issuer, me)
	}
	if err := c.o.Store.Save(ctx, c.key, rec); err != nil {
		c.o.Logger.Warn("a token can't be kept: other processes, and the next start, get their own",
			"server", c.o.Server, "error", err)
	}
	return c.adopt(l), nil
}

// note remembers a refusal that another try would only repeat.
func (c *Client) note(ctx context.Context, failed *GrantError) {
	if ctx.Err() != nil || failed.Step != StepCredentials && !final(failed) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed, c.failedAt = failed, time.Now()
}

// ownGrant goes the way from a refusal to a token of this machine.
func (c *Client) ownGrant(
	ctx context.Context, p plan, tried *Login, ch challenge,
) (*Login, Registration, *GrantError) {
	fail := func(step Step, issuer string, err error) (*Login, Registration, *GrantError) {
		if _, unread := errors.AsType[*credentialError](err); unread {
			step, issuer = StepCredentials, ""
		}
		return nil, Registration{}, c.grantError(step, issuer, err)
	}
	var granted []string
	if ch.code == insufficientScope && tried != nil {
		granted = tried.Scopes // they are not to be lost
	}
	if err := c.discover(ctx, ch, granted, &p); err != nil {
		return fail(StepDiscovery, "", err)
	}
	me, err := c.registration(ctx, p.server, "", p.record, false)
	if err != nil {
		return fail(StepDiscovery, p.server.Issuer, err)
	}
	form := url.Values{"grant_type": {jwtBearer}, "resource": {p.resource.id}}
	if len(p.scopes) > 0 {
		form.Set("scope", strings.Join(p.scopes, " "))
	}
	var assertion string
	switch c.o.Grant {
	case AuthorizationCode: // no machine's
	case ClientCredentials:
		form.Set("grant_type", "client_credentials")
	case JWTBearer:
		assertion, err = c.ownAssertion(ctx, p.server)
		if err != nil {
			return fail(StepCredentials, "", err)
		}
	case Enterprise:
		var step Step
		if assertion, step, err = c.jag(ctx, p); err != nil {
			return fail(step, c.o.IDP.Issuer, err)
		}
	}
	if assertion != "" {
		form.Set("assertion", assertion)
	}
	g, err := c.request(ctx, tokenRequest{
		what: "asking " + c.shown(p.server.Issuer) + " for a token", web: c.web,
		endpoint: p.server.Token, issuer: p.server.Issuer, client: me, form: form, key: p.key, bound: p.bound,
	})
	if err != nil {
		return fail(StepToken, p.server.Issuer, err)
	}
	g.refresh = "" // the grant itself gets the next one
	l := &Login{
		Issuer: p.server.Issuer, Resource: p.resource.id, TokenEndpoint: p.server.Token, Revocation: p.server.Revocation,
		ClientID: me.ClientID, AuthMethod: me.AuthMethod, Scopes: p.scopes, Grant: c.o.Grant, Metadata: ch.metadata,
	}
	l.take(g)
	return l, me, nil
}
