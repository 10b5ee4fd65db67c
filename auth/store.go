package auth

import (
	"context"
	"time"
)

// A Store keeps what logins have brought, one Record for each server. Its methods may be called from several goroutines
// and processes at once; ctx bounds how long they wait.
type Store interface {
	// Load returns the record under the key, a zero one if there is none.
	Load(ctx context.Context, key string) (Record, error)
	// Save replaces the record whole: whoever loads it finds the old one or the new one.
	Save(ctx context.Context, key string, r Record) error
	// Delete removes the record. That there is none is no error.
	Delete(ctx context.Context, key string) error
	// Lock waits until nobody holds that lock of the key, in any process, and takes it. Who has died holds nothing. The
	// error is ctx's cause, or tells why there are no locks. unlock must be called once.
	Lock(ctx context.Context, key string, lock Lock) (unlock func(), err error)
}

// A Lock is what only one does at a time, in all processes.
type Lock string

// The locks. They are independent of each other: a refresh goes on while somebody logs in.
const (
	RecordLock Lock = "record" // changing the record, which refreshing a token is
	LoginLock  Lock = "login"  // the dialogue with a person
)

// A Record is what is known of one server. All of it may have been changed by another process since it was loaded.
type Record struct {
	Server string `json:"server"` // the entry's name
	URL    string `json:"url"`    // the MCP endpoint, without a login in it
	Login  *Login `json:"login,omitempty"`
	// Registrations are the clients that authorization servers have given us, by issuer: none is ever shown to another.
	Registrations map[string]Registration `json:"registrations,omitempty"`
}

// A Registration is a client that an authorization server has made for us (RFC 7591).
type Registration struct {
	ClientID      string    `json:"client_id"`
	ClientSecret  string    `json:"client_secret,omitempty"`
	SecretExpires time.Time `json:"secret_expires,omitzero"` // zero: never
	AuthMethod    string    `json:"auth_method"`             // how it proves itself at the token endpoint
	RedirectURI   string    `json:"redirect_uri,omitempty"`
}

// A Login is what a person, or a machine, was granted.
type Login struct {
	Issuer        string `json:"issuer"`                  // the authorization server, as its metadata says
	Resource      string `json:"resource"`                // what the tokens are for, byte for byte as its metadata says
	TokenEndpoint string `json:"token_endpoint"`          // where they are refreshed
	Revocation    string `json:"revocation,omitempty"`    // where they are given back; empty: nowhere
	ClientID      string `json:"client_id"`               // to whom they were given
	AuthMethod    string `json:"auth_method"`             // how that client proves itself
	Grant         Grant  `json:"grant,omitempty"`         // how it was come by; empty: AuthorizationCode
	Metadata      string `json:"metadata,omitempty"`      // where a refusal says that the resource's metadata is
	Account       string `json:"account,omitempty"`       // who logged in, as far as a token tells, for people to read
	AccessToken   string `json:"access_token,omitempty"`  // empty: it is known to be worth nothing
	RefreshToken  string `json:"refresh_token,omitempty"` // empty: there is none
	// ProofKey is the private key that the tokens are bound to (RFC 9449), the scalar of P-256 in base64url; empty: they
	// are not bound.
	ProofKey string `json:"proof_key,omitempty"`
	// Scopes are those that were granted, as far as is known; else those that were asked for.
	Scopes   []string  `json:"scopes,omitempty"`
	Obtained time.Time `json:"obtained"`         // when the access token came
	Expires  time.Time `json:"expires,omitzero"` // zero: not known
}
