package mcpwire

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/auth"

	"mcpwire/auth"
	"mcpwire/config"
)

// Auth says how logins to servers on the web are used. The zero value uses those that Login has made, and keeps them
// alive; nobody is asked anything.
type Auth struct {
	// Off leaves logins alone: a refusal is an error like any other.
	Off bool
	// Store keeps logins (nil: the folder logins in Options.StateDir, with the secrets in the system's keychain where
	// there is one; in memory where there is no such folder).
	Store auth.Store
	// FilesOnly keeps the secrets of that folder in its files, as MCPWIRE_KEYCHAIN=off in the environment does.
	FilesOnly bool
	// Authorizer has a person log in when a call is refused for want of a login, or of a scope; nil: the call fails with
	// an error that says what to run. What runs in the background never asks it.
	Authorizer auth.Authorizer
	// Handler, of the official Go SDK, takes the place of all that.
	Handler sdk.OAuthHandler
	// Scopes are asked for besides those of the entry, or of the server, and besides those that were granted before.
	Scopes []string
	// Command returns what errors say to run for a login (nil: "mcpwire login" and the server's name).
	Command func(server string) string
	// ClientName is what authorization servers show to people (empty: "mcpwire").
	ClientName string
}

// Login has a person log in to the server that s describes, and keeps what was granted. o.Auth.Authorizer shows the
// person the way. Where the entry has a grant of machines it gets a token by that, and nobody is asked. The status
// holds no secrets.
func Login(ctx context.Context, s config.Server, o Options) (auth.Status, error) {
	c, err := loginClient(s, o, false)
	if err != nil {
		return auth.Status{}, err
	}
	defer c.Close()
	if o.Auth.Authorizer == nil && !s.Auth.IsMachine() {
		return auth.Status{}, errors.New("there is no way to ask a person: set Options.Auth.Authorizer")
	}
	status, err := c.Login(ctx, o.Auth.Authorizer)
	if err != nil {
		return status, fmt.Errorf("server %q: %w", s.Name, err)
	}
	return status, nil
}

// Logout forgets the login to the server that s describes, and gives its tokens back where the authorization server
// takes them. The status tells what there was. After an error of the authorization server the login is forgotten too.
func Logout(ctx context.Context, s config.Server, o Options) (auth.Status, error) {
	c, err := loginClient(s, o, false)
	if err != nil {
		return auth.Status{}, err
	}
	defer c.Close()
	return c.Logout(ctx)
}

// LoginStatus tells what is known of the login to the server that s describes. Nobody is asked, and no file or program
// that the entry names for a secret is looked at.
func LoginStatus(ctx context.Context, s config.Server, o Options) (auth.Status, error) {
	c, err := loginClient(s, o, true)
	if err != nil {
		return auth.Status{}, err
	}
	defer c.Close()
	return c.Status(ctx)
}

// loginClient makes the client for the login of an entry alone. One that only looks needs no secrets.
func loginClient(s config.Server, o Options, looks bool) (*auth.Client, error) {
	kind, err := s.Kind()
	if err != nil {
		return nil, err
	}
	if kind == config.Stdio {
		return nil, fmt.Errorf("server %q is a program: there is nothing to log in to", s.Name)
	}
	if s.Auth.Off {
		return nil, fmt.Errorf(`server %q: "auth" is "none" in its entry: there are no logins to it`, s.Name)
	}
	var secrets []string
	if s.Origin != "" {
		if s, secrets, err = s.Expand(os.LookupEnv); err != nil {
			return nil, err
		}
	}
	if s.SendsAuthorization() {
		return nil, fmt.Errorf(`server %q: its entry has an Authorization header, which is sent in place of any login; `+
			`remove the header to log in`, s.Name)
	}
	plain := o // the connections of this web need no login
	plain.Auth = Auth{Off: true}
	w, err := newWeb(s, secrets, plain)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", s.Name, err)
	}
	options, err := w.authOptions(o)
	if err == nil && !looks {
		err = w.readKey(&options)
	}
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", s.Name, err)
	}
	return auth.New(options)
}

// logins has the login of a server put around its connections.
func (w *web) logins(o Options) error {
	switch {
	case o.Auth.Handler != nil:
		w.wrap, w.asks = auth.WrapHandler(o.Auth.Handler), true
		return nil
	case o.Auth.Off || w.server.Auth.Off:
		return nil
	}
	options, err := w.authOptions(o)
	if err == nil {
		err = w.readKey(&options)
	}
	if err != nil {
		return err
	}
	first, err := auth.New(options)
	if err != nil {
		return nil //nolint:nilerr // the carrier says more about such an address
	}
	w.asks = options.Authorizer != nil
	var taken atomic.Bool
	w.wrap = func(base http.RoundTripper) http.RoundTripper {
		if taken.Swap(true) {
			return first.Another().Wrap(base) // each connection has its own, which ends with it
		}
		return first.Wrap(base)
	}
	return nil
}

// authOptions brings together what the entry and the host say.
func (w *web) authOptions(o Options) (auth.Options, error) {
	s := w.server
	if err := s.Auth.Check(); err != nil { // of an entry that comes from no file
		return auth.Options{}, fmt.Errorf("auth: %w", err)
	}
	a := auth.Options{
		Server: s.Name, URL: s.URL, Headers: s.Headers, Secrets: w.secrets, TLS: w.tls, Proxy: w.proxy, OnTrace: w.trace,
		ClientID: s.Auth.ClientID, ClientSecret: s.Auth.ClientSecret, Issuer: s.Auth.Issuer,
		Grant: auth.Grant(s.Auth.Grant), ClientSecretFrom: reading(s.Auth.ClientSecretFrom, w.secrets),
		Assertion: reading(s.Auth.Assertion, w.secrets), IDP: identityProvider(s.Auth.IDP, w.secrets),
		DPoP: s.Auth.DPoP, Scopes: s.Auth.Scopes, MoreScopes: o.Auth.Scopes,
		ClientMetadataURL: s.Auth.ClientMetadataURL, TokenAuthMethod: s.Auth.TokenAuthMethod,
		SigningAlgorithm: s.Auth.SigningAlgorithm, AllowPrivateNetworks: s.Auth.AllowPrivateNetworks,
		ClientName: o.Auth.ClientName, Store: o.Auth.Store, Authorizer: o.Auth.Authorizer, Logger: o.Logger,
	}
	if o.Auth.Command != nil {
		a.Command = o.Auth.Command(s.Name)
	}
	if a.Store == nil {
		a.Store = loginStore(o)
	}
	return a, nil
}

// readKey puts in the key that the entry names.
func (w *web) readKey(a *auth.Options) (err error) {
	if path := w.server.Auth.PrivateKey; path != "" {
		if a.PrivateKey, err = privateKey(path); err != nil {
			return fmt.Errorf("auth.privateKey: %w", err)
		}
	}
	return nil
}

// loginStore returns the store of logins that Options stand for.
func loginStore(o Options) auth.Store {
	folder := stateDir(o.StateDir)
	if folder == "" {
		return auth.NewMemoryStore()
	}
	var keep auth.StoreOptions
	if !o.Auth.FilesOnly && os.Getenv("MCPWIRE_KEYCHAIN") != "off" {
		keep.Keychain = auth.SystemKeychain()
	}
	return auth.OpenStore(filepath.Join(folder, "logins"), keep)
}

func privateKey(path string) (crypto.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := auth.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}
