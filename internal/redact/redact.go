// Package redact keeps secrets out of logs and error texts: known values, headers and URLs by their names, and what
// looks like a token in texts of servers. It errs on the side of hiding too much.
package redact

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// Mask is what stands for a secret.
const Mask = "***"

// shortest is the length in bytes below which a value is too common in other text to be hidden.
const shortest = 4

// A Set is a number of known secrets. It is immutable and safe for concurrent use; nil holds none.
type Set struct{ replacer *strings.Replacer }

// NewSet returns the Set of the given values. Those of less than four bytes are left out; of none it is nil.
func NewSet(secrets ...string) *Set {
	known := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < shortest })
	// The replacer takes the first of its values that fits: the longest, so that none shows its end behind another.
	slices.SortStableFunc(known, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	if len(known) == 0 {
		return nil
	}
	pairs := make([]string, 0, 2*len(known))
	for _, s := range known {
		pairs = append(pairs, s, Mask)
	}
	return &Set{strings.NewReplacer(pairs...)}
}

// Text returns s with every known secret replaced by "***".
func (s *Set) Text(text string) string {
	if s == nil || s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// words are parts of names whose values are secret, in lower case.
var words = []string{
	"token", "secret", "key", "password", "passphrase", "passwd", "credential", "authorization", "cookie", "signature",
	"assertion",
}

// names are whole names, and last parts of names, whose values are secret, in lower case.
var names = []string{"auth", "code", "dsn", "jwt", "pass", "pat", "pwd", "sid", "sig"}

// SecretName reports whether a variable, header, flag or parameter of this name looks like one with a secret, as
// API_KEY, DB_PASS and X-Auth-Token do.
func SecretName(name string) bool {
	name = strings.ToLower(name)
	last := name[strings.LastIndexAny(name, "_-.")+1:]
	return slices.Contains(names, last) ||
		slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// Tokens returns text with what has the shape of a token masked, as Excerpt does, and nothing else changed.
func Tokens(text string) string { return hideTokens(text) }

// Secrets returns the values of those variables, headers or members whose names look like those of secrets.
func Secrets(named map[string]string) (values []string) {
	for name, value := range named {
		if SecretName(name) {
			values = append(values, value)
		}
	}
	return values
}

// URL returns an address with its userinfo masked, and with the values of query parameters masked whose names look
// secret, those of a fragment that has parameters too. Of text that is no URL only the scheme is shown.
func URL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		scheme, _, ok := strings.Cut(raw, "://")
		if !ok {
			return Mask
		}
		return oneLine(scheme) + "://" + Mask
	}
	const user = "userinfo" // a mask would be escaped
	if u.User != nil {
		u.User = url.User(user)
	}
	query, fragment := params(u.RawQuery), params(u.EscapedFragment())
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	text := strings.Replace(u.String(), "//"+user+"@", "//"+Mask+"@", 1)
	if query != "" {
		text += "?" + query
	}
	if fragment != "" {
		text += "#" + fragment
	}
	return hideTokens(oneLine(text))
}

// params masks the secret values of a query, and leaves the rest as it stands.
func params(raw string) string {
	parts := strings.FieldsFunc(raw, func(c rune) bool { return c == '&' || c == ';' })
	for i, part := range parts {
		name, _, ok := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(name)
		if ok && (err != nil || SecretName(plain)) {
			parts[i] = name + "=" + Mask
		}
	}
	return strings.Join(parts, "&")
}
