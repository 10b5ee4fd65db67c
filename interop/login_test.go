package interop_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"mcpwire"
	login "mcpwire/auth"
	"mcpwire/config"
	"mcpwire/transport"
)

// guarded starts an MCP server and the provider whose tokens it wants.
func guarded(t *testing.T, o providerOptions, g guard) (*resource, *provider) {
	t.Helper()
	r := startResource(t)
	o.Resource = r.id
	p := startProvider(t, o)
	if g.issuer == "" {
		g.issuer = p.issuer
	}
	switch {
	case g.verify != nil:
	case o.Format == "jwt":
		g.verify = signed(p, r.id)
	default:
		g.verify = introspected(p, r.id)
	}
	r.serve(g)
	return r, p
}

// keeping returns options that keep logins in a folder of the test's own, and ask nobody.
func keeping(t *testing.T) mcpwire.Options {
	t.Helper()
	return mcpwire.Options{StateDir: t.TempDir(), CacheDir: "none", Auth: mcpwire.Auth{FilesOnly: true}}
}

func mustLogIn(t *testing.T, entry config.Server, o mcpwire.Options, who *person) login.Status {
	t.Helper()
	o.Auth.Authorizer = who.asks()
	status, err := mcpwire.Login(t.Context(), entry, o)
	if err != nil {
		t.Fatalf("Login: %v\nthe person saw\n%s", err, strings.Join(who.seen, "\n"))
	}
	return status
}

// say connects, calls the tool echo, and closes.
func say(t *testing.T, entry config.Server, o mcpwire.Options) {
	t.Helper()
	c := connectTo(t, entry, o)
	if got := call(t, c, "echo", said{"hi"}, nil); got != "hi" {
		t.Errorf("echo said %q", got)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestALoginAtACertifiedProviderIsEnough(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]providerOptions{
		"opaque tokens":         {},
		"signed tokens":         {Format: "jwt"},
		"an issuer with a path": {Path: "/tenants/one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, p := guarded(t, options, guard{})
			o := keeping(t)
			_, err := mcpwire.Connect(t.Context(), r.entry(), o)
			if !errors.Is(err, transport.ErrLoginRequired) || !strings.Contains(err.Error(), "mcpwire login guarded") {
				t.Errorf("without a login: %v", err)
			}
			status := mustLogIn(t, r.entry(), o, &person{name: "ada"})
			if !status.LoggedIn || !status.Refreshable || status.Issuer != p.issuer ||
				sorted(status.Scopes) != "mcp:tools" || time.Until(status.Expires) < 50*time.Minute {
				t.Errorf("the status is %+v", status)
			}
			c := connectTo(t, r.entry(), o)
			if tools, err := c.ListTools(t.Context()); err != nil || len(tools) != 2 {
				t.Errorf("%d tools, error %v", len(tools), err)
			}
			call(t, c, "echo", said{"hi"}, nil)
			say(t, r.entry(), o)
			if len(r.accounts) != 1 || !r.accounts["ada"] {
				t.Errorf("the server knew %v", r.accounts)
			}
			p.wantCounts(t, map[string]int{"registration": 1, "authorization": 1, "token authorization_code": 1})
			for _, e := range p.events(t) {
				if e.Event != "registration" && e.Resource != r.id {
					t.Errorf("the resource was %q: %+v", e.Resource, e)
				}
			}
		})
	}
}

func TestALoginOutlivesItsTokensAndTheClient(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"opaque", "jwt"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r, p := guarded(t, providerOptions{Format: format, Life: 2}, guard{})
			o := keeping(t)
			mustLogIn(t, r.entry(), o, &person{name: "ada"})
			c := connectTo(t, r.entry(), o)
			for range 2 {
				time.Sleep(2100 * time.Millisecond)
				call(t, c, "echo", said{"hi"}, nil)
			}
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
			time.Sleep(2100 * time.Millisecond)
			say(t, r.entry(), o)
			n := p.counts(t)
			if n["authorization"] != 1 || n["token refused"] != 0 || n["grant revoked"] != 0 ||
				n["token refresh_token"] < 3 {
				t.Errorf("at the provider happened %v", n)
			}
			for _, e := range p.events(t) {
				if e.Grant == "refresh_token" && e.Resource != r.id {
					t.Errorf("the resource was %q: %+v", e.Resource, e)
				}
			}
			// What is known to have expired is not tried; the first refusal was that for the login.
			if refused := int(r.refused.Load()) - 1; refused >= n["token refresh_token"] {
				t.Errorf("the server refused %d requests", refused)
			}
		})
	}
}

func TestATokenThatIsRevokedEarlyIsRefreshedOnce(t *testing.T) {
	t.Parallel()
	r := startResource(t)
	p := startProvider(t, providerOptions{Resource: r.id, Delay: 100})
	var last, dead atomic.Value // tokens; the server does not take the dead one any more, though the provider does
	known := introspected(p, r.id)
	r.serve(guard{issuer: p.issuer, verify: func(ctx context.Context, token string, req *http.Request) (
		*auth.TokenInfo, error,
	) {
		if last.Store(token); token == dead.Load() {
			return nil, auth.ErrInvalidToken
		}
		return known(ctx, token, req)
	}})
	o := keeping(t)
	mustLogIn(t, r.entry(), o, &person{name: "ada"})
	c := connectTo(t, r.entry(), o)
	dead.Store(last.Load())
	failures := make(chan error, 5)
	for range cap(failures) {
		go func() {
			_, err := c.CallTool(t.Context(), "echo", said{"hi"}, nil)
			failures <- err
		}()
	}
	for range cap(failures) {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	p.wantCounts(t, map[string]int{
		"registration": 1, "authorization": 1, "token authorization_code": 1, "token refresh_token": 1,
	})
}

func TestLogoutGivesTheTokensBack(t *testing.T) {
	t.Parallel()
	r, p := guarded(t, providerOptions{}, guard{})
	o := keeping(t)
	mustLogIn(t, r.entry(), o, &person{name: "ada"})
	c := connectTo(t, r.entry(), o) // by another process, as it were, which still has the token
	call(t, c, "echo", said{"hi"}, nil)
	was, err := mcpwire.Logout(t.Context(), r.entry(), o)
	if err != nil || !was.LoggedIn {
		t.Errorf("Logout: %+v, %v", was, err)
	}
	if n := p.counts(t); n["grant revoked"] != 1 {
		t.Errorf("at the provider happened %v", n)
	}
	_, err = c.CallTool(t.Context(), "echo", said{"hi"}, nil)
	if !errors.Is(err, transport.ErrLoginRequired) || !strings.Contains(err.Error(), "logged out") {
		t.Errorf("a call with the old token: %v", err)
	}
	if _, err := mcpwire.Connect(t.Context(), r.entry(), o); !errors.Is(err, transport.ErrLoginRequired) {
		t.Errorf("the next start: %v", err)
	}
	if n := p.counts(t); n["token refused"] != 0 {
		t.Errorf("at the provider happened %v", n)
	}
	mustLogIn(t, r.entry(), o, &person{name: "ada"})
	call(t, c, "echo", said{"hi"}, nil) // the line that was there before has learnt of it
	say(t, r.entry(), o)
}

func TestAGrantThatIsWithdrawnNeedsALogin(t *testing.T) {
	t.Parallel()
	r, p := guarded(t, providerOptions{Life: 2}, guard{})
	o := keeping(t)
	mustLogIn(t, r.entry(), o, &person{name: "ada"})
	c := connectTo(t, r.entry(), o)
	p.restart(t)
	for range 2 {
		_, err := c.CallTool(t.Context(), "echo", said{"hi"}, nil)
		if !errors.Is(err, transport.ErrLoginRequired) {
			t.Errorf("got %v", err)
		}
	}
	// The client is as unknown as the token, and what is known to be worth nothing is tried once.
	p.wantCounts(t, map[string]int{"token refused": 1})
	mustLogIn(t, r.entry(), o, &person{name: "ada"})
	call(t, c, "echo", said{"hi"}, nil)
	p.wantCounts(t, map[string]int{
		"token refused": 1, "registration": 1, "authorization": 1, "token authorization_code": 1,
	})
}

func TestALoginAtAProviderThatHasForgottenTheClient(t *testing.T) {
	t.Parallel()
	r, p := guarded(t, providerOptions{}, guard{})
	o := keeping(t)
	mustLogIn(t, r.entry(), o, &person{name: "ada"})
	p.restart(t)
	// The provider shows a page with the error in it, since it knows of no address to send the browser to.
	who := &person{name: "ada"}
	o.Auth.Authorizer = who.asks()
	if _, err := mcpwire.Login(t.Context(), r.entry(), o); err == nil || !strings.Contains(who.seen[0], "invalid_client") {
		t.Errorf("got %v", err)
	}
	mustLogIn(t, r.entry(), o, &person{name: "ada"})
	o.Auth.Authorizer = nil
	say(t, r.entry(), o)
}

func TestARefusedLogin(t *testing.T) {
	t.Parallel()
	r, p := guarded(t, providerOptions{}, guard{})
	o := keeping(t)
	o.Auth.Authorizer = (&person{name: "ada", refuses: true}).asks()
	_, err := mcpwire.Login(t.Context(), r.entry(), o)
	if err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Errorf("got %v", err)
	}
	if n := p.counts(t); n["token authorization_code"]+n["token refused"] != 0 {
		t.Errorf("at the provider happened %v", n)
	}
	mustLogIn(t, r.entry(), o, &person{name: "ada"})
	if n := p.counts(t); n["token authorization_code"] != 1 {
		t.Errorf("at the provider happened %v", n)
	}
}

func TestAnotherIssuerThanTheOneThatTheServerNames(t *testing.T) {
	t.Parallel()
	r := startResource(t)
	p := startProvider(t, providerOptions{Resource: r.id})
	// The same provider under another name, which its metadata does not bear.
	named := strings.Replace(p.issuer, "127.0.0.1", "localhost", 1)
	r.serve(guard{issuer: named, verify: introspected(p, r.id)})
	o := keeping(t)
	o.Auth.Authorizer = nobody(t)
	_, err := mcpwire.Login(t.Context(), r.entry(), o)
	if err == nil || !strings.Contains(err.Error(), p.issuer) || !strings.Contains(err.Error(), named) {
		t.Errorf("got %v", err)
	}
	p.wantCounts(t, map[string]int{})
}

func TestACallThatNeedsAnotherScope(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]bool{"with the error code": true, "as the official SDK refuses": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, p := guarded(t, providerOptions{}, guard{named: named})
			o := keeping(t)
			mustLogIn(t, r.entry(), o, &person{name: "ada"})
			c := connectTo(t, r.entry(), o)
			_, err := c.CallTool(t.Context(), "admin", said{"hi"}, nil)
			if e, ok := errors.AsType[*login.LoginError](err); !ok || sorted(e.Scopes) != "mcp:admin mcp:tools" {
				t.Errorf("with nobody to ask: %v", err)
			}
			o.Auth.Authorizer = (&person{name: "ada"}).asks()
			c = connectTo(t, r.entry(), o)
			if got := call(t, c, "admin", said{"hi"}, nil); got != "hi" {
				t.Errorf("admin said %q", got)
			}
			call(t, c, "echo", said{"hi"}, nil)
			p.wantCounts(t, map[string]int{"registration": 1, "authorization": 2, "token authorization_code": 2})
			o.Auth.Authorizer = nil
			status, err := mcpwire.LoginStatus(t.Context(), r.entry(), o)
			if err != nil || sorted(status.Scopes) != "mcp:admin mcp:tools" {
				t.Errorf("the status is %+v, %v", status, err)
			}
		})
	}
}

func TestClientsThatAreKnownToTheProvider(t *testing.T) {
	t.Parallel()
	const document = "https://client.example/mcpwire.json"
	for name, row := range map[string]struct {
		auth     config.Auth
		provider providerOptions
	}{
		"without a secret":     {config.Auth{ClientID: "public"}, providerOptions{NoRegistration: true}},
		"with a secret, basic": {config.Auth{ClientID: "basic", ClientSecret: "a %secret: of+a client"}, providerOptions{}},
		"with a secret, posted": {
			config.Auth{ClientID: "post", ClientSecret: "a %secret: of+a client", TokenAuthMethod: "client_secret_post"},
			providerOptions{},
		},
		"by a document": {config.Auth{ClientMetadataURL: document}, providerOptions{Document: map[string]any{
			"client_id": document, "client_name": "mcpwire", "application_type": "native",
			"redirect_uris": []string{"http://127.0.0.1/callback"}, "token_endpoint_auth_method": "none",
			"grant_types": []string{"authorization_code", "refresh_token"},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.provider.Life = 2
			r, p := guarded(t, row.provider, guard{})
			entry := r.entry()
			entry.Auth = row.auth
			o := keeping(t)
			mustLogIn(t, entry, o, &person{name: "ada"})
			say(t, entry, o)
			time.Sleep(2100 * time.Millisecond)
			say(t, entry, o)
			if _, err := mcpwire.Logout(t.Context(), entry, o); err != nil {
				t.Errorf("Logout: %v", err)
			}
			n := p.counts(t)
			if n["registration"]+n["token refused"] != 0 || n["grant revoked"] != 1 || n["token refresh_token"] == 0 {
				t.Errorf("at the provider happened %v", n)
			}
		})
	}
	t.Run("none, and no registration", func(t *testing.T) {
		r, _ := guarded(t, providerOptions{NoRegistration: true}, guard{})
		o := keeping(t)
		o.Auth.Authorizer = nobody(t)
		if _, err := mcpwire.Login(t.Context(), r.entry(), o); err == nil || !strings.Contains(err.Error(), `"clientId"`) {
			t.Errorf("got %v", err)
		}
	})
}
