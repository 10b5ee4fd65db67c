package config

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Auth says how to log in to an HTTP server with OAuth (2026-07-28, authorization), where its answers don't. In a file
// it is written as an object, or as "none". The zero value leaves everything to the server.
type Auth struct {
	Off bool // "none": nobody logs in to this server, and a 401 of it is an error like any other

	Grant string // how a token is come by: AuthorizationCode (the same as empty), ClientCredentials, JWTBearer, Enterprise

	ClientID         string       // of a client that the authorization server knows; empty: one is registered
	ClientSecret     string       // its secret, if it has one
	ClientSecretFrom SecretSource // where that is read instead
	Issuer           string       // the authorization server; empty: the one that the server names

	Assertion SecretSource // of JWTBearer: a JWT that says who we are; of Enterprise: the person's ID token
	IDP       IDP          // of Enterprise

	// DPoP is whether tokens are bound to a key, so that nobody else can use them (RFC 9449): nil: where the server asks
	// for it; true: others are not taken; false: never.
	DPoP *bool

	Scopes []string // asked for in place of those that the server names; also written as one text, under "scope"

	CallbackPort      int    // the port of this machine that the browser is sent back to; 0: one that is free
	ClientMetadataURL string // where the client's metadata document stands, which is its id then
	TokenAuthMethod   string // how the client proves itself at the token endpoint; empty: as the server likes
	PrivateKey        string // a file with the PEM key of private_key_jwt
	SigningAlgorithm  string // of that key's signatures; empty: by the kind of key

	AllowPrivateNetworks bool // a server on the public network may name addresses on private ones
}

// IsZero reports whether nothing is said.
func (a Auth) IsZero() bool {
	return !a.Off && a.Grant == "" && a.ClientID == "" && !a.hasSecret() && a.Issuer == "" && a.Assertion.IsZero() &&
		a.IDP.IsZero() && a.DPoP == nil && len(a.Scopes) == 0 && a.CallbackPort == 0 &&
		a.ClientMetadataURL == "" && a.TokenAuthMethod == "" && a.PrivateKey == "" && a.SigningAlgorithm == "" &&
		!a.AllowPrivateNetworks
}

// Check returns what is wrong with one of the values, or does not fit together; nil if nothing is. It is for what is
// expanded. The error is a sentence that begins with the key, such as "clientSecret", and shows no secret.
func (a Auth) Check() error {
	if a.Off {
		return nil
	}
	if key, err := a.fault(func(string) bool { return true }); err != nil {
		return fmt.Errorf("%s %w", key, err)
	}
	return nil
}

// The values of tokenAuthMethod and signingAlgorithm.
const (
	authNone       = "none"
	privateKeyJWT  = "private_key_jwt"
	algorithmsText = "RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 and EdDSA"
)

var (
	authMethods = []string{"client_secret_basic", "client_secret_post", privateKeyJWT, authNone}
	algorithms  = strings.Split(strings.Replace(algorithmsText, " and ", ", ", 1), ", ")
)

// fault returns the first thing that is wrong, with its key. A value counts if known says so: while it has variables in
// it nobody can tell.
func (a Auth) fault(known func(value string) bool) (key string, err error) {
	method := a.TokenAuthMethod
	wants := func(value string) bool { return known(method) && method == value }
	identified := a.ClientID != "" || a.ClientMetadataURL != ""
	switch {
	case method != "" && known(method) && !slices.Contains(authMethods, method):
		return "tokenAuthMethod", errors.New("must be " + list(authMethods))
	case a.ClientSecret != "" && !a.ClientSecretFrom.IsZero():
		return "clientSecret", errors.New("is there twice, as it is and by where it is read")
	case a.hasSecret() && a.ClientID == "":
		return "clientSecret", errors.New("needs a clientId")
	case a.hasSecret() && (wants(authNone) || wants(privateKeyJWT)):
		return "tokenAuthMethod", fmt.Errorf("is %s, which has no use for the clientSecret", method)
	case a.ClientID != "" && !a.hasSecret() && (wants(authMethods[0]) || wants(authMethods[1])):
		return "tokenAuthMethod", fmt.Errorf("is %s, which needs a clientSecret", method)
	case wants(privateKeyJWT) && a.PrivateKey == "":
		return "tokenAuthMethod", errors.New("is private_key_jwt, which needs a privateKey")
	case strings.Contains(a.PrivateKey, "-----BEGIN"):
		return "privateKey", errors.New("must be the path of a PEM file, not the key itself")
	case a.PrivateKey != "" && !identified:
		return "privateKey", errors.New("needs a clientId, or a clientMetadataUrl")
	case a.PrivateKey != "" && method != "" && known(method) && method != privateKeyJWT:
		return "privateKey", errors.New("is for the tokenAuthMethod private_key_jwt")
	case a.SigningAlgorithm != "" && a.PrivateKey == "":
		return "signingAlgorithm", errors.New("needs a privateKey")
	case a.SigningAlgorithm != "" && known(a.SigningAlgorithm) && !slices.Contains(algorithms, a.SigningAlgorithm):
		return "signingAlgorithm", errors.New("must be one of " + algorithmsText)
	case a.CallbackPort < 0 || a.CallbackPort > math.MaxUint16:
		return "callbackPort", errPort
	case a.Issuer != "" && known(a.Issuer) && !isIssuer(a.Issuer):
		return "issuer", errIssuer
	case a.ClientMetadataURL != "" && known(a.ClientMetadataURL) && !isClientMetadata(a.ClientMetadataURL):
		return "clientMetadataUrl", errors.New("must be an https URL with a path, without login and fragment")
	}
	for _, scope := range a.Scopes {
		if known(scope) && (scope == "" || strings.ContainsFunc(scope, notInScope)) {
			return "scopes", errors.New("must hold words without blanks, quotes and backslashes")
		}
	}
	return a.grantFault(known)
}

var errIssuer = errors.New("must be an https URL without login, query and fragment (http for this machine only)")

var errPort = errors.New("must be a whole number from 1 to 65535")

func list(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// notInScope reports characters that no scope has (RFC 6749, section 3.3).
func notInScope(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }

// isIssuer tells the identifier of an authorization server (RFC 8414, section 2).
func isIssuer(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.ContainsAny(text, "?#") {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// isClientMetadata tells an address that can be a client's id.
func isClientMetadata(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && !strings.Contains(text, "#") &&
		strings.Trim(u.Path, "/") != ""
}

// authFields are the keys of the block, "scope" and "scopes" apart.
var authFields = map[string]func(*Auth, jsontext.Value) error{
	"grant":    func(a *Auth, v jsontext.Value) error { return setText(&a.Grant, v) },
	"clientId": func(a *Auth, v jsontext.Value) error { return setText(&a.ClientID, v) },
	"clientSecret": func(a *Auth, v jsontext.Value) error {
		return setSecret(&a.ClientSecret, &a.ClientSecretFrom, v)
	},
	"assertion":         func(a *Auth, v jsontext.Value) error { return setSource(&a.Assertion, v) },
	"idp":               setIDP,
	"dpop":              setProofs,
	"issuer":            func(a *Auth, v jsontext.Value) error { return setText(&a.Issuer, v) },
	"scopes":            func(a *Auth, v jsontext.Value) error { return setTexts(&a.Scopes, v) },
	"scope":             setScope,
	"callbackPort":      setPort,
	"clientMetadataUrl": func(a *Auth, v jsontext.Value) error { return setText(&a.ClientMetadataURL, v) },
	"tokenAuthMethod":   func(a *Auth, v jsontext.Value) error { return setText(&a.TokenAuthMethod, v) },
	"privateKey":        func(a *Auth, v jsontext.Value) error { return setText(&a.PrivateKey, v) },
	"signingAlgorithm":  func(a *Auth, v jsontext.Value) error { return setText(&a.SigningAlgorithm, v) },
	"allowPrivateNetworks": func(a *Auth, v jsontext.Value) error {
		return setBool(&a.AllowPrivateNetworks, v)
	},
}

// setScope takes scopes with blanks between them. While there are variables in the text it can't be cut.
func setScope(a *Auth, v jsontext.Value) error {
	var text string
	if err := setText(&text, v); err != nil {
		return err
	}
	if a.Scopes = []string{text}; !strings.Contains(text, "$") {
		a.Scopes = strings.Fields(text)
	}
	return nil
}

func setPort(a *Auth, v jsontext.Value) error {
	port, err := strconv.ParseUint(string(v), 10, 16)
	if err != nil || port == 0 {
		return errPort
	}
	a.CallbackPort = int(port)
	return nil
}

func setAuth(s *Server, v jsontext.Value) error {
	var word string
	if setText(&word, v) == nil && word == authNone {
		s.Auth = Auth{Off: true}
		return nil
	}
	if v.Kind() != '{' {
		return errors.New(`must be an object, or "none"`)
	}
	said := map[string]bool{}
	for _, m := range members(v, 0) {
		set := authFields[m.name]
		switch {
		case set == nil:
			continue // the reader warns of it
		case m.repeatsBefore:
			return fmt.Errorf("has %s twice", m.name)
		}
		said[m.name] = true
		if err := set(&s.Auth, m.value); err != nil {
			return fmt.Errorf("has %s, which %w", m.name, err)
		}
	}
	if said["scope"] && said["scopes"] {
		return errors.New("has both scope and scopes; give one of them")
	}
	if key, err := s.Auth.fault(isLiteral); err != nil {
		return fmt.Errorf("has %s, which %w", key, err)
	}
	return nil
}

// isLiteral reports whether a value has no variables in it.
func isLiteral(value string) bool { return !strings.Contains(value, "$") }

// hintAuth tells of what has no effect.
func hintAuth(v jsontext.Value) string {
	has := map[string]bool{}
	for _, m := range members(v, 0) {
		has[m.name] = true
	}
	if has["clientId"] && has["clientMetadataUrl"] {
		return "has both clientId and clientMetadataUrl; the clientId counts"
	}
	return ""
}

// authDoubt tells why the block has no effect in an entry; empty if it has one.
func (s Server) authDoubt(kind Kind) string {
	if s.Auth.IsZero() {
		return ""
	}
	if kind == Stdio {
		return "has no effect for a program"
	}
	if !s.Auth.Off && s.SendsAuthorization() {
		return "has no effect beside the header Authorization, which is sent as it is"
	}
	return ""
}

// SendsAuthorization reports whether the entry has a header Authorization, which is sent in place of any login.
func (s Server) SendsAuthorization() bool {
	for name, value := range s.Headers {
		if value != "" && http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}
