package auth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"mcpwire/auth"
	"mcpwire/transport"
)

// A person follows the addresses that are shown, as a browser does, and comes back with what the redirect says.
type person struct {
	redirect string // "": a usual one
	// back changes what the browser comes back with, and may make several redirects of one; nil: nothing is changed.
	back func(url.Values) []url.Values

	mu      sync.Mutex
	shown   []*url.URL
	refused []error // why redirects were not taken
	wishes  []string
	open    int
}

const usualRedirect = "http://127.0.0.1:33418/callback"

// Open implements auth.Authorizer.
func (p *person) Open(_ context.Context, wish string) (auth.Window, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wishes = append(p.wishes, wish)
	p.open++
	if p.redirect == "" {
		return window{p, usualRedirect}, nil
	}
	return window{p, p.redirect}, nil
}

type window struct {
	person   *person
	redirect string
}

func (w window) RedirectURI() string { return w.redirect }

func (w window) Close() {
	w.person.mu.Lock()
	defer w.person.mu.Unlock()
	w.person.open--
}

// Authorize implements auth.Window.
func (w window) Authorize(ctx context.Context, address string, accept func(url.Values) error) error {
	p := w.person
	at, err := url.Parse(address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.shown = append(p.shown, at)
	p.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	pool := &http.Transport{}
	defer pool.CloseIdleConnections()
	resp, err := pool.RoundTrip(r)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	to, err := resp.Location()
	if err != nil {
		return fmt.Errorf("the browser shows HTTP %d", resp.StatusCode)
	}
	all := []url.Values{to.Query()}
	if p.back != nil {
		all = p.back(to.Query())
	}
	for _, one := range all {
		if err = accept(one); err == nil {
			return nil
		}
		p.mu.Lock()
		p.refused = append(p.refused, err)
		p.mu.Unlock()
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// dialogues is how often the person was asked.
func (p *person) dialogues() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.shown)
}

// A user has the client of a fake, with a carrier's connections under it.
type user struct {
	t      testing.TB
	client *auth.Client
	store  auth.Store
	key    string
	log    *bytes.Buffer
	http   http.RoundTripper
	url    string
}

// connect returns a client of the fake. What o leaves out is filled in.
func (f *fake) connect(t testing.TB, o auth.Options) *user {
	t.Helper()
	if o.URL == "" {
		o.URL = f.mcp.URL + "/mcp"
	}
	if o.Server == "" {
		o.Server = "demo"
	}
	if o.Store == nil {
		o.Store = auth.NewMemoryStore()
	}
	log := &bytes.Buffer{}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(&locked{w: log}, nil))
	}
	c, err := auth.New(o)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(o.URL)
	if err != nil {
		t.Fatal(err)
	}
	pool := &http.Transport{}
	t.Cleanup(pool.CloseIdleConnections)
	t.Cleanup(c.Close)
	return &user{t: t, client: c, store: o.Store, key: auth.Key(o.Server, at), log: log, http: c.Wrap(pool), url: o.URL}
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// keep puts a login into the store, as an earlier one has left it.
func (f *fake) keep(t testing.TB, u *user, change func(*auth.Login)) {
	t.Helper()
	f.keepIn(t, u.store, u.key, change)
}

func (f *fake) keepIn(t testing.TB, store auth.Store, key string, change func(*auth.Login)) {
	t.Helper()
	f.mu.Lock()
	f.access["access-token-0"], f.fresh["refresh-token-0"] = "", ""
	f.mu.Unlock()
	l := &auth.Login{
		Issuer: f.issuer, Resource: f.resource, TokenEndpoint: f.as.URL + "/o/token", ClientID: "client-0",
		AuthMethod: "none", AccessToken: "access-token-0", RefreshToken: "refresh-token-0",
	}
	if change != nil {
		change(l)
	}
	if err := store.Save(t.Context(), key, auth.Record{Login: l, Registrations: f.registrations}); err != nil {
		t.Fatal(err)
	}
}

// kept returns the login in the store.
func (u *user) kept() *auth.Login {
	u.t.Helper()
	rec, err := u.store.Load(context.Background(), u.key)
	if err != nil {
		u.t.Fatal(err)
	}
	if rec.Login == nil {
		return &auth.Login{}
	}
	return rec.Login
}

// login logs in.
func (u *user) login(p *person) error {
	_, err := u.client.Login(u.t.Context(), p)
	return err
}

// An outcome is what became of a request.
type outcome struct {
	status int
	body   string
	why    error // what the carrier would say about logging in
}

// do sends a request, and reads the answer.
func (u *user) do(ctx context.Context, method, body string) (outcome, error) {
	var r *http.Request
	var err error
	if body == "" {
		r, err = http.NewRequestWithContext(ctx, method, u.url, nil)
	} else {
		r, err = http.NewRequestWithContext(ctx, method, u.url, strings.NewReader(body))
	}
	if err != nil {
		return outcome{}, err
	}
	return u.send(r)
}

func (u *user) send(r *http.Request) (outcome, error) {
	resp, err := u.http.RoundTrip(r)
	if err != nil {
		return outcome{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		status := quotes.Failure(resp)
		return outcome{status: resp.StatusCode, why: status.Login}, nil
	}
	text, err := io.ReadAll(resp.Body)
	return outcome{status: resp.StatusCode, body: string(text)}, err
}

// call makes a call that must succeed.
func (u *user) call() {
	u.t.Helper()
	got, err := u.do(u.t.Context(), http.MethodPost, "hello")
	if err != nil || got.status != http.StatusOK || got.body != "hello" {
		u.t.Fatalf("got %+v, %v", got, err)
	}
}

// refused makes a call that must be refused for want of a login, and returns why.
func (u *user) refused(ctx context.Context) auth.LoginError {
	u.t.Helper()
	got, err := u.do(ctx, http.MethodPost, "hello")
	lone, ok := errors.AsType[*auth.LoginError](got.why)
	if err != nil || !ok || !errors.Is(got.why, transport.ErrLoginRequired) {
		u.t.Fatalf("got %+v, %v", got, err)
	}
	return *lone
}

// waited returns the context of a call that somebody waits for.
func waited(t testing.TB, call *transport.Call) context.Context {
	t.Helper()
	call.Start("request", 0)
	t.Cleanup(func() { call.Stop() })
	return transport.WithCall(t.Context(), call)
}

// A brokenStore fails where it has errors.
type brokenStore struct {
	auth.Store

	load, save error
}

func (s *brokenStore) Load(ctx context.Context, key string) (auth.Record, error) {
	if s.load != nil {
		return auth.Record{}, s.load
	}
	return s.Store.Load(ctx, key)
}

func (s *brokenStore) Save(ctx context.Context, key string, r auth.Record) error {
	if s.save != nil {
		return s.save
	}
	return s.Store.Save(ctx, key, r)
}
