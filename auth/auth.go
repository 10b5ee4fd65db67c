// Package auth logs in to MCP servers on the web with OAuth (2026-07-28, authorization), and keeps logins alive.
//
// A Client is for one server. Client.Wrap puts it around the connections of a carrier, where it adds the access token
// to each request, refreshes it before it expires or when it is refused, once for all processes, and says which login
// is needed where that is not enough. Client.Login has a person log in, or gets the token of a machine, which is
// otherwise done when a request is refused. What was granted is kept in a Store.
package auth

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/internal/redact"
)

// Options describe a server and who we are for it. Only URL is needed.
type Options struct {
	Server  string            // the entry's name, for errors and for the person who logs in
	URL     string            // the MCP endpoint
	Headers map[string]string // those of the entry; sent to the MCP server only
	Secrets []string          // kept out of error texts
	TLS     *tls.Config       // for all requests; nil: the system's roots
	// Proxy chooses the proxy of a request (nil: HTTP_PROXY, HTTPS_PROXY and NO_PROXY; never for loopback addresses).
	Proxy func(*url.URL) (*url.URL, error)
	// OnTrace is told of each request about logging in, like those of a carrier; may be nil. It must be quick.
	OnTrace func(httpwire.Trace)

	// Grant is how tokens are come by (empty: AuthorizationCode). With the others nobody is ever asked.
	Grant Grant
	// ClientID is the client that was made for us at the authorization server by hand; empty: we register by ourselves.
	ClientID string
	// ClientSecret is its secret, if it has one.
	ClientSecret string
	// ClientSecretFrom gives it instead, whenever it is needed.
	ClientSecretFrom Secret
	// Assertion gives what says who we are: to the authorization server a JWT that is meant for it (JWTBearer), or to the
	// identity provider the ID token of a person (Enterprise).
	Assertion Secret
	// IDP is the identity provider of Enterprise.
	IDP IDP
	// Issuer is the authorization server that ClientID is for, and the only one that is used (empty: the one that the
	// server names; a ClientID is then for the first one that it was used with).
	Issuer string
	// Scopes are asked for instead of those that the server names; MoreScopes besides whatever else is asked for.
	Scopes, MoreScopes []string
	// ClientMetadataURL is where a document describes us, for authorization servers that read those; empty: nowhere.
	ClientMetadataURL string
	// TokenAuthMethod is how ClientID proves itself at the token endpoint (empty: by PrivateKey if it is set, else by
	// ClientSecret in the way that the authorization server names, else not at all).
	TokenAuthMethod string
	// PrivateKey and SigningAlgorithm (empty: the usual one for the key) are for TokenAuthMethod private_key_jwt.
	PrivateKey       crypto.PrivateKey
	SigningAlgorithm string
	// DPoP binds tokens to a key, which each login has its own of (RFC 9449; SEP-1932): nil: where the MCP server asks for
	// that; true: tokens that are not are refused; false: never.
	DPoP *bool
	// AllowPrivateNetworks allows a server in the public network to name addresses that are in a private one.
	AllowPrivateNetworks bool
	// ClientName is shown by authorization servers that register us (empty: "mcpwire").
	ClientName string

	// Store keeps logins (nil: in memory, for this Client alone).
	Store Store
	// Authorizer has a person grant access in the middle of a call that is refused for want of it; nil: the call fails
	// with a LoginError. What runs in the background never asks it.
	Authorizer Authorizer
	// Command is what errors say to run for a login, to which " --scope" and a scope is added where one is missing (empty:
	// "mcpwire login" and the server's name).
	Command string
	// Logger is told what was put up with (nil: nobody).
	Logger *slog.Logger
}

// A Client keeps the login of one server. Its methods may be called from several goroutines at once. It must be closed.
type Client struct {
	o        *Options // not changed
	endpoint *url.URL
	key      string
	making   sync.Once // of web
	unmade   error     // why there is none
	web      *web
	made     atomic.Bool // web is there
	idp      *web        // of the identity provider; nil until it is needed. It is used by one flight at a time

	ctx  context.Context // of what runs in the background
	end  context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	loaded   bool   // login is what the store had, or newer
	login    *Login // not changed once it is here; nil: there is none
	renewing *flight
	asking   *flight
	asked    []string // the scopes that a person last agreed to
	unkept   *Login   // what the store could not keep; nil: it has what we have
	replaced string   // the refresh token that it has instead
	vain     string   // the challenge for which a person was asked in vain
	vainAt   time.Time
	failed   *GrantError // why this machine was refused a token; nil: it was not
	failedAt time.Time
	nonces   map[string]string // that servers want in proofs, by origin
	proving  *proofKey         // the last that was read
	past     []string          // secrets besides those of the login; the newest
}

// New returns the client of a server. It does nothing yet, and fails only for an address that is not valid.
func New(o Options) (*Client, error) {
	endpoint, err := parseEndpoint(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Grant == "" {
		o.Grant = AuthorizationCode
	}
	if err := o.Grant.check(&o); err != nil {
		return nil, err
	}
	if o.Store == nil {
		o.Store = NewMemoryStore()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ClientName == "" {
		o.ClientName = "mcpwire"
	}
	if o.Command == "" {
		o.Command = "mcpwire login " + quoted(o.Server)
	}
	return fresh(&o, endpoint, Key(o.Server, endpoint)), nil
}

// Another returns a client of the same server, for another connection.
func (c *Client) Another() *Client { return fresh(c.o, c.endpoint, c.key) }

func fresh(o *Options, endpoint *url.URL, key string) *Client {
	c := &Client{o: o, endpoint: endpoint, key: key}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c
}

// makeWeb makes web, unless it is there.
func (c *Client) makeWeb() error {
	c.making.Do(func() {
		if c.web, c.unmade = newWeb(c.ctx, c.o, c.endpoint, c.secrets); c.unmade == nil {
			c.made.Store(true)
		}
	})
	return c.unmade
}

// Close ends what runs in the background, and waits for it.
func (c *Client) Close() {
	c.mu.Lock()
	c.end() // under the lock, so that nothing begins afterwards
	c.mu.Unlock()
	c.work.Wait()
	if c.made.Load() {
		c.web.endpoint.Close()
	}
	if c.idp != nil {
		c.idp.endpoint.Close()
	}
}

// Key returns the key of a server's record in a Store: a hash of its name and its address, so that two entries for one
// address can be logged in as two people.
func Key(name string, endpoint *url.URL) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q", name, canonical(endpoint))))
	return hex.EncodeToString(sum[:])
}

// pastKept is how many secrets are remembered that are not those of the login: those that were sent to token endpoints,
// and those of logins before.
const pastKept = 32

// secrets are what must not be shown when a server quotes it.
func (c *Client) secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append(slices.Clone(c.past), c.o.ClientSecret)
	if c.login != nil {
		all = append(all, c.login.AccessToken, c.login.RefreshToken)
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// hide has values kept out of what is shown from now on.
func (c *Client) hide(values ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(values...)
}

// hideAll hides the secrets in a record.
func (c *Client) hideAll(rec Record) {
	for _, one := range rec.Registrations {
		c.hide(one.ClientSecret)
	}
	if l := rec.Login; l != nil {
		c.hide(l.AccessToken, l.RefreshToken)
	}
}

// remember is hide for those who have mu.
func (c *Client) remember(values ...string) {
	for _, value := range values {
		if value != "" && !slices.Contains(c.past, value) {
			c.past = append(c.past[max(0, len(c.past)-pastKept+1):], value)
		}
	}
}

// A Status is what is known of a login. It holds no secrets.
type Status struct {
	Server      string    // the entry's name
	URL         string    // the MCP endpoint, without secrets
	Grant       Grant     // how tokens are come by
	LoggedIn    bool      // there is a token, or what gets one
	Refreshable bool      // a new token can be had without a person
	Issuer      string    // the authorization server; empty without a login, like all below
	Bound       bool      // the token is bound to a key (DPoP)
	Account     string    // who logged in, as far as a token tells
	Scopes      []string  // what was granted, or at least asked for
	Obtained    time.Time // when the present token came
	Expires     time.Time // when it will expire; zero: not known
}

// Status returns what the store knows of the login.
func (c *Client) Status(ctx context.Context) (Status, error) {
	rec, err := c.o.Store.Load(ctx, c.key)
	return c.status(c.fitting(rec.Login)), err
}

func (c *Client) status(l *Login) Status {
	s := Status{
		Server: c.o.Server, URL: redact.URL(canonical(c.endpoint)), Grant: c.o.Grant, Refreshable: c.o.Grant.machine(),
	}
	if l != nil {
		s.LoggedIn = l.AccessToken != "" || l.RefreshToken != ""
		s.Bound = l.ProofKey != ""
		s.Refreshable = s.Refreshable || l.RefreshToken != ""
		s.Issuer, s.Account, s.Scopes = line(l.Issuer), line(l.Account), nil
		for _, scope := range l.Scopes {
			s.Scopes = append(s.Scopes, line(scope))
		}
		s.Obtained, s.Expires = l.Obtained, l.Expires
	}
	return s
}

// line returns a text of somebody else on one line, bounded.
func line(text string) string { return redact.Line(text, addressShown) }

// randomText returns a text that nobody can guess.
func randomText() string { return rand.Text() }
