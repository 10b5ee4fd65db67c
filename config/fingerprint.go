package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strconv"
)

// Fingerprint returns a hash, in hexadecimal digits, of what decides which server is reached and how: everything but
// the name, the origin, the time limits, the filter of tools, Required and Disabled, and in Auth what is about this
// machine. It is taken before anything is
// expanded, so it tells nothing of the variables' values and does not change with them. Fields that are not set do
// not enter it: it stays the same when later versions of this program know more fields.
func (s Server) Fingerprint() string {
	h := sha256.New()
	one := func(name, value string) {
		if value != "" {
			hashField(h, name, value)
		}
	}
	named := func(name string, values map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			hashField(h, name, key, values[key])
		}
	}
	one("type", s.Type)
	one("command", s.Command)
	if len(s.Args) > 0 {
		hashField(h, append([]string{"args"}, s.Args...)...)
	}
	named("env", s.Env)
	if s.EnvInherit.Minimal {
		hashField(h, append([]string{"envInherit", "minimal"}, s.EnvInherit.Pass...)...)
	}
	one("cwd", s.Cwd)
	one("url", s.URL)
	named("headers", s.Headers)
	one("tls.ca", s.TLS.CA)
	one("tls.cert", s.TLS.Cert)
	one("tls.key", s.TLS.Key)
	one("proxy", s.Proxy)
	one("protocol", s.Protocol)
	s.Auth.enter(h)
	return hex.EncodeToString(h.Sum(nil))
}

// enter takes the block into a hash, but for the port of the browser's way back and the trust in addresses.
func (a Auth) enter(h hash.Hash) {
	if a.Off {
		hashField(h, "auth", authNone)
		return
	}
	for _, field := range [][2]string{
		{"auth.grant", a.Grant},
		{"auth.clientId", a.ClientID},
		{"auth.clientSecret", a.ClientSecret},
		{"auth.issuer", a.Issuer},
		{"auth.clientMetadataUrl", a.ClientMetadataURL},
		{"auth.tokenAuthMethod", a.TokenAuthMethod},
		{"auth.privateKey", a.PrivateKey},
		{"auth.signingAlgorithm", a.SigningAlgorithm},
		{"auth.idp.issuer", a.IDP.Issuer},
		{"auth.idp.clientId", a.IDP.ClientID},
		{"auth.idp.clientSecret", a.IDP.ClientSecret},
	} {
		if field[1] != "" {
			hashField(h, field[:]...)
		}
	}
	for _, list := range [][]string{
		append([]string{"auth.scopes"}, a.Scopes...),
		append([]string{"auth.assertion"}, a.Assertion.Words()...),
		append([]string{"auth.clientSecretFrom"}, a.ClientSecretFrom.Words()...),
		append([]string{"auth.idp.clientSecretFrom"}, a.IDP.ClientSecretFrom.Words()...),
	} {
		if len(list) > 1 {
			hashField(h, list...)
		}
	}
	if a.DPoP != nil {
		hashField(h, "auth.dpop", strconv.FormatBool(*a.DPoP))
	}
}

// hashField takes one field into a hash. With the lengths before them no two lists of values look the same.
func hashField(h hash.Hash, values ...string) {
	fmt.Fprintf(h, "%d;", len(values))
	for _, v := range values {
		fmt.Fprintf(h, "%d:%s", len(v), v)
	}
}
