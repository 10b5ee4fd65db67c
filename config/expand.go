package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcpwire/internal/redact"
)

// An ExpandError tells why a value of an entry could not be expanded, or is wrong now that it is. It shows names and
// places, never values.
type ExpandError struct {
	Server   string // the entry
	Field    string // the field, as in Server.Places
	Variable string // the variable that is not set; empty if the reference itself can't be read
	Place    Place  // where the field's value stands; zero if it comes from no file
	Reason   string // what is wrong, and what to do
}

// Error returns "<place>: server "<name>": <field>: <reason>", without the place if there is none.
func (e *ExpandError) Error() string {
	text := fmt.Sprintf("server %q: %s: %s", e.Server, e.Field, e.Reason)
	if e.Place == (Place{}) {
		return text
	}
	return e.Place.String() + ": " + text
}

// Expand returns a copy of the entry with variables put in, which are found with lookup (os.LookupEnv for those of the
// environment). This is the syntax, alike in every string but names, the type and EnvInherit:
//
//	${VAR}  ${env:VAR}       the value of VAR, which must be set; it may be empty
//	${VAR:-default}          the same, or the default if VAR is empty or not set; it may hold references too
//	${file:PATH}             what a text file of at most 64 KiB holds, without white space around it
//	$$  \${                  a dollar sign; "${" as it stands
//
// Any other dollar sign stays. A path's backslash before a reference is an escape too: write a slash there. What was
// put in is not expanded again. A header that is empty then is left out, and relative paths, those of files too, are
// made absolute as Server says.
//
// secrets are what must be kept out of logs and error texts: the values put in that could be secret, which are all
// those of files and in headers, and elsewhere those of variables (and in Env those under names) that look like a
// secret's, a default that is used instead of one too; and, but for headers, whatever Masked hides, as it is expanded.
// The error is an *ExpandError.
func (s Server) Expand(lookup func(string) (string, bool)) (expanded Server, secrets []string, err error) {
	e := expansion{server: &s}
	e.lookup = func(name string) (string, error) {
		if path, ok := strings.CutPrefix(name, filePrefix); ok {
			return readValue(e.placed(path))
		}
		value, set := lookup(name)
		if !set {
			return "", errUnset
		}
		return value, nil
	}
	s.judged(e.collect)
	s.Command = e.text("command", s.Command)
	s.Args = slices.Clone(s.Args)
	for i, arg := range s.Args {
		s.Args[i] = e.text(fmt.Sprintf("args[%d]", i), arg)
	}
	s.Env = e.texts("env", s.Env)
	s.Cwd = e.path("cwd", s.Cwd)
	s.URL = e.text("url", s.URL)
	s.Headers = e.texts("headers", s.Headers)
	maps.DeleteFunc(s.Headers, func(_, value string) bool { return strings.TrimSpace(value) == "" })
	s.TLS.CA = e.path("tls.ca", s.TLS.CA)
	s.TLS.Cert = e.path("tls.cert", s.TLS.Cert)
	s.TLS.Key = e.path("tls.key", s.TLS.Key)
	s.Proxy = e.text("proxy", s.Proxy)
	s.Protocol = e.text("protocol", s.Protocol)
	s.Auth = e.auth(s.Auth)
	if e.err != nil {
		return Server{}, nil, e.err
	}
	e.secrets = slices.DeleteFunc(e.secrets, func(s string) bool { return s == "" })
	slices.Sort(e.secrets)
	return s, slices.Compact(e.secrets), nil
}

// An expansion is the expanding of one entry. After an error it does nothing more.
type expansion struct {
	server  *Server
	lookup  lookup
	secrets []string
	err     error
}

func (e *expansion) text(field, value string) string {
	if e.err != nil {
		return ""
	}
	used := func(variable, value string) {
		if secretIn(field, variable) {
			e.secrets = append(e.secrets, value)
		}
	}
	text, err := expand(value, e.lookup, used, 0)
	if err != nil {
		unset, _ := errors.AsType[unsetError](err)
		e.err = &ExpandError{
			Server: e.server.Name, Field: field, Variable: string(unset), Place: e.server.Places[field], Reason: err.Error(),
		}
	}
	return text
}

// collect takes the secret parts of a value. Headers are left to what sends them, which knows those with secrets.
func (e *expansion) collect(field string, parts []part) string {
	if field == "headers" {
		return ""
	}
	for _, p := range parts {
		_, text := credential(p.text)
		switch {
		case p.sort == login:
			e.login(text)
		case p.sort == secret, redact.Tokens(text) == redact.Mask:
			e.secrets = append(e.secrets, e.secret(text))
		}
	}
	return ""
}

// secret expands a secret text, and takes what is put in: servers may show it alone.
func (e *expansion) secret(text string) string {
	used := func(_, value string) { e.secrets = append(e.secrets, value) }
	expanded, err := expand(text, e.lookup, used, 0)
	if err != nil {
		return "" // expanding the whole value tells
	}
	return expanded
}

// login takes the password of a userinfo.
func (e *expansion) login(text string) {
	info, err := expand(text, e.lookup, func(string, string) {}, 0)
	if err != nil {
		return // as above
	}
	e.secrets = append(e.secrets, passwords(info)...)
}

// passwords returns the password of a userinfo, or the name if it is alone, as it is written and as a server sees it.
func passwords(info string) (forms []string) {
	name, password, _ := strings.Cut(info, ":")
	if password == "" {
		password = name
	}
	forms = append(forms, password)
	if unescaped, err := url.PathUnescape(password); err == nil {
		forms = append(forms, unescaped)
	}
	return forms
}

// secretIn reports whether the value of a variable could be secret that is used in a field.
func secretIn(field, variable string) bool {
	parent, name, _ := strings.Cut(field, ".")
	return strings.HasPrefix(variable, filePrefix) || parent == "headers" ||
		parent == "env" && redact.SecretName(name) || redact.SecretName(variable)
}

func (e *expansion) texts(field string, values map[string]string) map[string]string {
	values = maps.Clone(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		values[name] = e.text(field+"."+name, values[name])
	}
	return values
}

// auth expands the block, and checks what only now can be checked.
func (e *expansion) auth(a Auth) Auth {
	a.ClientID = e.text("auth.clientId", a.ClientID)
	a.ClientSecret = e.text("auth.clientSecret", a.ClientSecret)
	a.ClientSecretFrom = a.ClientSecretFrom.expand("auth.clientSecret", e)
	a.Assertion = a.Assertion.expand("auth.assertion", e)
	a.IDP.Issuer = e.text("auth.idp", a.IDP.Issuer)
	a.IDP.ClientID = e.text("auth.idp", a.IDP.ClientID)
	a.IDP.ClientSecret = e.text("auth.idp", a.IDP.ClientSecret)
	a.IDP.ClientSecretFrom = a.IDP.ClientSecretFrom.expand("auth.idp", e)
	a.Issuer = e.text("auth.issuer", a.Issuer)
	a.ClientMetadataURL = e.text("auth.clientMetadataUrl", a.ClientMetadataURL)
	a.TokenAuthMethod = e.text("auth.tokenAuthMethod", a.TokenAuthMethod)
	a.SigningAlgorithm = e.text("auth.signingAlgorithm", a.SigningAlgorithm)
	a.PrivateKey = e.path("auth.privateKey", a.PrivateKey)
	var scopes []string
	for _, scope := range a.Scopes {
		if isLiteral(scope) {
			scopes = append(scopes, scope)
		} else {
			scopes = append(scopes, strings.Fields(e.text("auth.scopes", scope))...)
		}
	}
	a.Scopes = scopes
	if e.err != nil || a.Off {
		return a
	}
	if key, err := a.fault(func(string) bool { return true }); err != nil {
		field := "auth." + key
		e.err = &ExpandError{Server: e.server.Name, Field: field, Place: e.server.Places[field], Reason: err.Error()}
	}
	return a
}

func (e *expansion) path(field, value string) string {
	path := e.text(field, value)
	if path == "" {
		return ""
	}
	return e.placed(path)
}

// placed returns a path as Server says where it is taken from.
func (e *expansion) placed(path string) string {
	if e.server.Origin == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folderOf(e.server.Origin), path)
}

// largestValue is how many bytes a file may have that a reference puts in.
const largestValue = 64 << 10

// readValue returns what a file holds that a reference names, without white space around it.
func readValue(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	var text []byte
	if err == nil {
		text, err = readText(path, largestValue)
	}
	if err != nil {
		return "", fmt.Errorf("the file %s can't be read: %s", path, reason(err))
	}
	return strings.TrimSpace(string(text)), nil
}

// folderOf returns the absolute path of the folder that a file is in.
func folderOf(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	return filepath.Dir(file)
}

// anchor makes relative paths of an entry absolute, but for those with references, which Expand does: only then can
// it be told whether they are relative.
func (s *Server) anchor() {
	for _, path := range []*string{
		&s.Cwd, &s.TLS.CA, &s.TLS.Cert, &s.TLS.Key,
		&s.Auth.PrivateKey, &s.Auth.Assertion.File, &s.Auth.ClientSecretFrom.File, &s.Auth.IDP.ClientSecretFrom.File,
	} {
		if *path != "" && !filepath.IsAbs(*path) && !strings.Contains(*path, "$") {
			*path = filepath.Join(escaped(folderOf(s.Origin)), *path)
		}
	}
}

// escaped returns text as it must be written for Expand to leave it alone.
func escaped(text string) string { return strings.ReplaceAll(text, "$", "$$") }
