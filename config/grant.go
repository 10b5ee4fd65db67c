package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// The values of Auth.Grant, which say how an access token is come by.
const (
	AuthorizationCode = "authorization_code" // a person logs in, in a browser
	ClientCredentials = "client_credentials" // the client is known, and asks for itself (RFC 6749, section 4.4)
	JWTBearer         = "jwt-bearer"         // with a token that says which workload this is (RFC 7523, section 2.1)
	// Enterprise asks with a person's ID token, by way of the identity provider (ext-auth, enterprise-managed
	// authorization).
	Enterprise = "enterprise"
)

var grants = []string{AuthorizationCode, ClientCredentials, JWTBearer, Enterprise}

// IsMachine reports whether tokens are got without a person.
func (a Auth) IsMachine() bool { return !a.Off && a.Grant != "" && a.Grant != AuthorizationCode }

// A SecretSource says where a secret is read when it is needed, each time anew. One field is set; the zero one is none.
type SecretSource struct {
	File     string   // the file whose text it is, white space around it apart
	Env      string   // the variable of our own environment whose value it is
	Keychain string   // its name in the system's keychain, as the account of the service mcpwire-secret
	Command  []string // the program that prints it, with its arguments; no shell is between
}

// IsZero reports whether there is no source.
func (s SecretSource) IsZero() bool { return s.kinds() == nil }

// String tells what the source is, without its arguments if it is a program: "the file /run/token".
func (s SecretSource) String() string {
	switch {
	case s.File != "":
		return "the file " + s.File
	case s.Env != "":
		return "the variable " + s.Env
	case s.Keychain != "":
		return fmt.Sprintf("%q in the keychain", s.Keychain)
	case len(s.Command) > 0:
		return "the command " + s.Command[0]
	}
	return "nothing"
}

// kinds returns the keys that are set.
func (s SecretSource) kinds() (keys []string) {
	for _, one := range []struct {
		key string
		set bool
	}{{"file", s.File != ""}, {"env", s.Env != ""}, {"keychain", s.Keychain != ""}, {"command", len(s.Command) > 0}} {
		if one.set {
			keys = append(keys, one.key)
		}
	}
	return keys
}

var errSource = errors.New(`must have one of file, env, keychain and command, such as {"file": "/run/secrets/token"}`)

func (s SecretSource) fault() error {
	switch kinds := s.kinds(); {
	case len(kinds) > 1:
		return errSource
	case s.Env != "" && !isVariable(s.Env):
		return errors.New("has env, which is no name of a variable")
	case len(s.Command) > 0 && s.Command[0] == "":
		return errors.New("has command, which does not begin with a program")
	}
	return nil
}

// IDP is an enterprise's identity provider, which knows the person already (ext-auth, enterprise-managed
// authorization).
type IDP struct {
	Issuer           string       // its identifier, under which its metadata is found
	ClientID         string       // the client that it knows us as
	ClientSecret     string       // the client's secret, if it has one
	ClientSecretFrom SecretSource // where that is read instead
}

// IsZero reports whether nothing is said.
func (p IDP) IsZero() bool {
	return p.Issuer == "" && p.ClientID == "" && p.ClientSecret == "" && p.ClientSecretFrom.IsZero()
}

// grantFault returns what does not fit the grant, as Auth.fault does.
func (a Auth) grantFault(known func(value string) bool) (key string, err error) {
	if a.Grant != "" && !slices.Contains(grants, a.Grant) {
		return "grant", errors.New("must be " + list(grants))
	}
	for _, one := range []struct {
		key    string
		source SecretSource
	}{{"clientSecret", a.ClientSecretFrom}, {"assertion", a.Assertion}, {"idp", a.IDP.ClientSecretFrom}} {
		if err := one.source.fault(); err != nil {
			return one.key, err
		}
	}
	proven := a.hasSecret() || a.PrivateKey != ""
	switch {
	case a.IsMachine() && a.CallbackPort != 0:
		return "callbackPort", fmt.Errorf("is for a browser, which the grant %s has no use for", a.Grant)
	case a.IsMachine() && a.ClientMetadataURL != "":
		return "clientMetadataUrl", fmt.Errorf("has no use with the grant %s, which needs a clientId", a.Grant)
	case a.Grant == ClientCredentials && a.ClientID == "":
		return "grant", errors.New("is client_credentials, which needs a clientId")
	case a.Grant == ClientCredentials && (!proven || known(a.TokenAuthMethod) && a.TokenAuthMethod == authNone):
		return "grant", errors.New("is client_credentials, which needs a clientSecret or a privateKey")
	case (a.Grant == JWTBearer || a.Grant == Enterprise) && a.Assertion.IsZero():
		return "grant", fmt.Errorf("is %s, which needs an assertion, such as {\"file\": \"/run/secrets/token\"}", a.Grant)
	case a.Grant == Enterprise && a.ClientID == "":
		return "grant", errors.New("is enterprise, which needs a clientId")
	case a.Grant == Enterprise && (a.IDP.Issuer == "" || a.IDP.ClientID == ""):
		return "grant", errors.New("is enterprise, which needs an idp with its issuer and clientId")
	case a.Grant != JWTBearer && a.Grant != Enterprise && !a.Assertion.IsZero():
		return "assertion", errors.New("is for the grants jwt-bearer and enterprise")
	case a.Grant != Enterprise && !a.IDP.IsZero():
		return "idp", errors.New("is for the grant enterprise")
	case a.IDP.Issuer != "" && known(a.IDP.Issuer) && !isIssuer(a.IDP.Issuer):
		return "idp", fmt.Errorf("has issuer, which %w", errIssuer)
	}
	return "", nil
}

func (a Auth) hasSecret() bool { return a.ClientSecret != "" || !a.ClientSecretFrom.IsZero() }

// setSource takes an object that says where a secret is.
func setSource(to *SecretSource, v jsontext.Value) error {
	if v.Kind() != '{' {
		return errSource
	}
	var s SecretSource
	for _, m := range members(v, 0) {
		if m.repeatsBefore {
			return fmt.Errorf("has %s twice", m.name)
		}
		var err error
		switch m.name {
		case "file":
			err = setText(&s.File, m.value)
		case "env":
			err = setText(&s.Env, m.value)
		case "keychain":
			err = setText(&s.Keychain, m.value)
		case "command":
			err = setTexts(&s.Command, m.value)
		default:
			return fmt.Errorf("has the unknown key %q; accepted are file, env, keychain and command", m.name)
		}
		if err != nil {
			return fmt.Errorf("has %s, which %w", m.name, err)
		}
	}
	if s.IsZero() {
		return errSource
	}
	*to = s
	return s.fault()
}

// setSecret takes a secret, or where it is.
func setSecret(text *string, from *SecretSource, v jsontext.Value) error {
	switch v.Kind() {
	case '{':
		return setSource(from, v)
	case '"':
		return setText(text, v)
	}
	return fmt.Errorf("must be a string, or an object that says where it is read, not %s", kindName(v.Kind()))
}

// setIDP takes the block about the identity provider.
func setIDP(a *Auth, v jsontext.Value) error {
	if v.Kind() != '{' {
		return fmt.Errorf("must be an object with issuer and clientId, not %s", kindName(v.Kind()))
	}
	for _, m := range members(v, 0) {
		if m.repeatsBefore {
			return fmt.Errorf("has %s twice", m.name)
		}
		var err error
		switch m.name {
		case "issuer":
			err = setText(&a.IDP.Issuer, m.value)
		case "clientId":
			err = setText(&a.IDP.ClientID, m.value)
		case "clientSecret":
			err = setSecret(&a.IDP.ClientSecret, &a.IDP.ClientSecretFrom, m.value)
		default:
			return fmt.Errorf("has the unknown key %q; accepted are issuer, clientId and clientSecret", m.name)
		}
		if err != nil {
			return fmt.Errorf("has %s, which %w", m.name, err)
		}
	}
	return nil
}

func setProofs(a *Auth, v jsontext.Value) error {
	var on bool
	if err := setBool(&on, v); err != nil {
		return err
	}
	a.DPoP = &on
	return nil
}

// render writes the source; empty if there is none.
func (s SecretSource) render(at style) string {
	if len(s.Command) > 0 {
		return block([]string{quote("command") + ": " + jsonList(s.Command)}, at)
	}
	return jsonObject(notEmpty(map[string]string{"file": s.File, "env": s.Env, "keychain": s.Keychain}), at)
}

// render writes the block; empty if nothing is said.
func (p IDP) render(at style) string {
	if p.IsZero() {
		return ""
	}
	var parts []string
	for _, one := range [][2]string{
		{"issuer", jsonText(p.Issuer)},
		{"clientId", jsonText(p.ClientID)},
		{"clientSecret", jsonSecret(p.ClientSecret, p.ClientSecretFrom, at.deeper())},
	} {
		if one[1] != "" {
			parts = append(parts, quote(one[0])+": "+one[1])
		}
	}
	return block(parts, at)
}

// jsonSecret writes a secret, or where it is.
func jsonSecret(text string, from SecretSource, at style) string {
	if text != "" {
		return jsonText(text)
	}
	return from.render(at)
}

// Words returns the source's key and what it says: ["command", "get-token", "--fresh"]; nil if there is none.
func (s SecretSource) Words() []string {
	for _, key := range s.kinds() {
		return append([]string{key}, map[string][]string{
			"file": {s.File}, "env": {s.Env}, "keychain": {s.Keychain}, "command": s.Command,
		}[key]...)
	}
	return nil
}

// judged does for the source what Server.judged does for the entry.
func (s SecretSource) judged(field string, show func(field string, parts []part) string) SecretSource {
	for _, text := range []*string{&s.File, &s.Env, &s.Keychain} {
		*text = show(field, value(*text))
	}
	s.Command = judgedArgs(field, s.Command, show)
	return s
}

// expand expands the source. The name of a variable is taken as it is.
func (s SecretSource) expand(field string, e *expansion) SecretSource {
	s.File = e.path(field, s.File)
	s.Keychain = e.text(field, s.Keychain)
	s.Command = slices.Clone(s.Command)
	for i, word := range s.Command {
		s.Command[i] = e.text(field, word)
	}
	return s
}
