package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"

	"mcpwire/transport"
)

// A flight is one piece of work that several calls wait for.
type flight struct {
	done  chan struct{}
	login *Login
	err   error
}

// wait returns what came of it, or the end of ctx.
func (f *flight) wait(ctx context.Context) (*Login, error) {
	select {
	case <-f.done:
		return f.login, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

const (
	refreshLimit = time.Minute      // for one refresh, waiting for others included
	refreshGrace = 2 * time.Second  // for one that has begun when the Client is closed
	saveLimit    = 5 * time.Second  // for keeping what came of it
	earliest     = 30 * time.Second // how long before it expires a token is refreshed at most
	earlyWait    = 2 * time.Second  // how long a call waits for that; it goes on in the background
)

// good reports whether the access token can still be used at a time.
func (l *Login) good(at time.Time) bool {
	return l.AccessToken != "" && (l.Expires.IsZero() || at.Before(l.Expires))
}

// due reports whether the access token is to be refreshed before it is used: it has expired, or will have in a fifth of
// its life, 30 s at most. Of one whose life is not known only the server can tell.
func (c *Client) due(l *Login, at time.Time) bool {
	renewable := l.RefreshToken != "" || c.o.Grant.machine()
	return renewable && !l.Expires.IsZero() && !l.good(at.Add(min(earliest, l.Expires.Sub(l.Obtained)/5)))
}

// current returns the login whose token goes with the next request, refreshed where that is due; nil if there is none.
// An error is a LoginError, or tells why a token that has expired could not be refreshed now.
func (c *Client) current(ctx context.Context) (*Login, error) {
	l, err := c.known(ctx)
	now := time.Now()
	switch {
	case err != nil || l == nil:
		return nil, err
	case l.AccessToken == "" && l.RefreshToken == "":
		return nil, nil
	case l.AccessToken != "" && !c.due(l, now):
		return l, nil
	}
	if !l.good(now) {
		return c.renew(ctx, l)
	}
	patience, cancel := context.WithTimeout(ctx, earlyWait)
	defer cancel()
	newer, err := c.renew(patience, l)
	if err != nil && ctx.Err() == nil {
		return l, nil // it was only to be refreshed early
	}
	return newer, err
}

// known returns the login that there is, and reads the store at first.
func (c *Client) known(ctx context.Context) (*Login, error) {
	c.mu.Lock()
	l, loaded := c.login, c.loaded
	c.mu.Unlock()
	if loaded {
		return l, nil
	}
	rec, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		c.login, c.loaded = rec.Login, true
	}
	return c.login, nil
}

// load reads the record. One that can't be read is as good as none until somebody logs in.
func (c *Client) load(ctx context.Context) (Record, error) {
	rec, err := c.o.Store.Load(ctx, c.key)
	switch {
	case errors.Is(err, ErrUnreadable):
		return rec, c.loginError(nil, err)
	case err != nil:
		return rec, fmt.Errorf("the login can't be read: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	rec.Login = c.fitting(rec.Login)
	if c.unkept != nil && rec.Login != nil && rec.Login.RefreshToken == c.replaced {
		rec.Login = c.unkept // the store is behind: what it has was used up
	}
	return rec, nil
}

// keep keeps the login that has taken the place of another. What can't be kept is remembered, as the token that the
// store still has is worth nothing: to send it again may end the login.
func (c *Client) keep(ctx context.Context, rec Record, replaced *Login) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer cancel()
	err := c.o.Store.Save(ctx, c.key, rec)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.unkept, c.replaced = nil, ""
		return
	}
	if c.unkept == nil {
		c.replaced = replaced.RefreshToken
	}
	c.unkept = rec.Login
	c.o.Logger.Warn("a new token can't be kept: other processes, and the next start, may need a login",
		"server", c.o.Server, "error", err)
}

func (c *Client) adopt(l *Login) *Login {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was := c.login; was != nil {
		c.remember(was.AccessToken, was.RefreshToken) // a server that still knows them may quote them
	}
	c.login, c.loaded = l, true
	return l
}

// renew returns a login with a newer token than tried. However many calls want one, there is one refresh at a time,
// which goes on when the call that began it has ended: a refresh token may be good for one use only.
func (c *Client) renew(ctx context.Context, tried *Login) (*Login, error) {
	if c.o.Grant.machine() {
		return c.earned(ctx, tried, tried.challenge())
	}
	return c.once(ctx, func() *Login {
		if c.login.replaces(tried) {
			return c.login
		}
		return nil
	}, func(ctx context.Context) (*Login, error) { return c.refresh(ctx, tried) })
}

// replaces reports whether a login has a good token that is another than that of tried. Both may be nil.
func (l *Login) replaces(tried *Login) bool {
	return l != nil && l.good(time.Now()) && (tried == nil || l.AccessToken != tried.AccessToken)
}

// once returns what work brings, which is done once for all who ask meanwhile, or what ready has, which is called with
// mu held. The work goes on when who began it has gone.
func (c *Client) once(
	ctx context.Context, ready func() *Login, work func(context.Context) (*Login, error),
) (*Login, error) {
	c.mu.Lock()
	if l := ready(); l != nil {
		c.mu.Unlock()
		return l, nil
	}
	f := c.renewing
	if f == nil {
		if c.ctx.Err() != nil {
			c.mu.Unlock()
			return nil, transport.ErrClosed
		}
		f = &flight{done: make(chan struct{})}
		c.renewing = f
		c.work.Go(func() {
			limit := &transport.TimeoutError{What: "token refresh", After: refreshLimit}
			ctx, cancel := context.WithTimeoutCause(c.ctx, refreshLimit, limit)
			f.login, f.err = work(ctx)
			cancel()
			c.mu.Lock()
			defer c.mu.Unlock()
			c.renewing = nil
			close(f.done)
		})
	}
	c.mu.Unlock()
	return f.wait(ctx)
}

// newer returns a login for a request that was refused with that of tried, which may be nil; nil if there is none. What
// another process has brought counts too.
func (c *Client) newer(ctx context.Context, tried *Login) (*Login, error) {
	if tried != nil {
		return c.renew(ctx, tried)
	}
	rec, err := c.load(ctx)
	if err != nil || rec.Login == nil {
		return nil, err
	}
	c.adopt(rec.Login)
	if !rec.Login.good(time.Now()) && rec.Login.RefreshToken == "" {
		return nil, nil
	}
	return c.current(ctx)
}

// refresh gets a newer token than tried: another process's, if the store has one by now, else the token endpoint's.
func (c *Client) refresh(ctx context.Context, tried *Login) (*Login, error) {
	unlock, err := c.o.Store.Lock(ctx, c.key, RecordLock)
	if err != nil {
		return nil, fmt.Errorf("waiting for another process that refreshes the token: %w", err)
	}
	defer unlock()
	// Who stops listening now loses what the token endpoint gives, and the old refresh token may be worth nothing by then.
	ctx, cancel := lasting(ctx, refreshGrace)
	defer cancel()
	rec, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		l := rec.Login
		switch {
		case l == nil:
			c.adopt(nil)
			return nil, c.loginError(nil, errors.New("somebody has logged out"))
		case l.AccessToken != tried.AccessToken && l.good(time.Now()):
			return c.adopt(l), nil
		case l.RefreshToken == "":
			c.adopt(l)
			return nil, c.loginError(nil, errors.New("the token is not accepted any more, and can't be refreshed"))
		}
		newer, err := c.refreshed(ctx, rec)
		if err == nil {
			rec.Login = newer
			c.keep(ctx, rec, l)
			return c.adopt(newer), nil
		}
		if !final(err) {
			return nil, err
		}
		// Somebody who knows nothing of our lock may have been quicker.
		latest, loadErr := c.load(ctx)
		if !again && loadErr == nil && latest.Login != nil && latest.Login.RefreshToken != l.RefreshToken {
			rec = latest
			continue
		}
		if loadErr == nil {
			c.giveUp(ctx, latest, l, codeOf(err))
		}
		return nil, c.loginError(nil, err)
	}
}

// lasting returns a context that ends some time after ctx does, for its cause.
func lasting(ctx context.Context, grace time.Duration) (longer context.Context, cancel func()) {
	longer, end := context.WithCancelCause(context.WithoutCancel(ctx))
	untie := context.AfterFunc(ctx, func() {
		clock := time.NewTimer(grace)
		defer clock.Stop()
		select {
		case <-clock.C:
			end(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() {
		untie()
		end(context.Canceled)
	}
}

// final reports whether a refresh would fail again in the same way until somebody logs in.
func final(err error) bool {
	if _, ok := errors.AsType[*AddressError](err); ok {
		return true
	}
	switch codeOf(err) {
	case "", "temporarily_unavailable", "server_error", "slow_down", useNonce:
		return false
	}
	return true
}

// giveUp remembers that the tokens of a login are worth nothing, if that is what the refusal says and they are still
// those in the store, so that nobody tries them again; and forgets a client that was made for us and is not known any
// more.
func (c *Client) giveUp(ctx context.Context, rec Record, tried *Login, code string) {
	if rec.Login == nil || rec.Login.RefreshToken != tried.RefreshToken {
		return
	}
	known, made := rec.Registrations[tried.Issuer]
	made = made && known.ClientID == tried.ClientID && known.RedirectURI != "" && tried.ClientID != c.o.ClientID
	forgotten := made && (code == "invalid_client" || code == "unauthorized_client")
	if code != "invalid_grant" && code != "bad_refresh_token" && !forgotten {
		return // the tokens may be good, and what we are or ask for wrong
	}
	dead := *rec.Login
	dead.RefreshToken, dead.AccessToken = "", ""
	rec.Login = &dead
	if forgotten {
		rec.Registrations = maps.Clone(rec.Registrations)
		delete(rec.Registrations, tried.Issuer)
	}
	if err := c.o.Store.Save(ctx, c.key, rec); err != nil {
		c.o.Logger.Warn("what is known of a login can't be kept", "server", c.o.Server, "error", err)
	}
	c.adopt(&dead)
}

// refreshed asks the token endpoint that the login came from (RFC 6749, section 6), for the same resource.
func (c *Client) refreshed(ctx context.Context, rec Record) (*Login, error) {
	if err := c.makeWeb(); err != nil {
		return nil, err
	}
	l := rec.Login
	c.hideAll(rec)
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.RefreshToken}}
	if l.Resource != "" {
		form.Set("resource", l.Resource)
	}
	me, err := c.clientOf(ctx, rec, l)
	if err != nil {
		return nil, err
	}
	key, err := c.keyOf(l)
	if err != nil {
		return nil, err
	}
	g, err := c.request(ctx, tokenRequest{
		what: "refreshing the token", web: c.web, endpoint: l.TokenEndpoint, issuer: l.Issuer, client: me, form: form,
		key: key, bound: key != nil,
	})
	if err != nil {
		return nil, err
	}
	newer := *l
	newer.take(g)
	return &newer, nil
}

// clientOf returns the client that a login was given to.
func (c *Client) clientOf(ctx context.Context, rec Record, l *Login) (me Registration, err error) {
	me = Registration{ClientID: l.ClientID, AuthMethod: l.AuthMethod}
	if known := rec.Registrations[l.Issuer]; l.ClientID == c.o.ClientID {
		if c.o.Issuer == "" || sameIssuer(l.Issuer, c.o.Issuer) {
			me.ClientSecret, err = c.clientSecret(ctx)
		}
	} else if known.ClientID == l.ClientID {
		me.ClientSecret = known.ClientSecret
	}
	return me, err
}

// take puts in what a token endpoint gave. What it left out stays as it was (RFC 6749, section 6).
func (l *Login) take(g grant) {
	l.AccessToken, l.Obtained, l.Expires = g.access, time.Now().Round(0).UTC(), g.expires
	l.ProofKey = g.key
	if g.refresh != "" {
		l.RefreshToken = g.refresh
	}
	if g.scopes != nil {
		l.Scopes = g.scopes
	}
	if g.account != "" {
		l.Account = g.account
	}
}
