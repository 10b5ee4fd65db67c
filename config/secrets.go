package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"mcpwire/internal/redact"
)

// A sort tells what a part of a value is.
type sort uint8

const (
	open   sort = iota // it may be shown, but for what has the shape of a token
	secret             // it may not
	login              // the userinfo of an address: it may not, and the password has a meaning of its own
)

// A part is one of those that make up a value. No reference to a variable is cut in two.
type part struct {
	text string
	sort sort
}

// judged returns a copy of the entry in which show stands for each value, of whose parts it is told. It decides, for
// all that hides secrets, what is one.
func (s Server) judged(show func(field string, parts []part) string) Server {
	s.Command = show("command", value(s.Command))
	s.Args = judgedArgs("args", s.Args, show)
	named := func(field string, values map[string]string, isSecret func(name string) bool) map[string]string {
		if values == nil {
			return nil
		}
		shown := map[string]string{}
		for name, text := range values {
			parts := value(text)
			if isSecret(name) {
				parts = []part{{text, secret}}
			}
			shown[name] = show(field, parts)
		}
		return shown
	}
	s.Env = named("env", s.Env, redact.SecretName)
	s.Headers = named("headers", s.Headers, func(name string) bool {
		return !slices.Contains(harmless, strings.ToLower(name))
	})
	s.URL, s.Proxy = show("url", address(s.URL)), show("proxy", address(s.Proxy))
	s.Auth = s.Auth.judged(show)
	return s
}

// judgedArgs returns a copy of a program's arguments in which show stands for each.
func judgedArgs(field string, args []string, show func(field string, parts []part) string) []string {
	args = slices.Clone(args)
	expected := false // what comes next is a secret
	for i, arg := range args {
		flag := strings.HasPrefix(arg, "-")
		if expected && !flag {
			args[i] = show(field, []part{{arg, secret}})
		} else {
			args[i] = show(field, argument(arg))
		}
		expected = flag && !strings.Contains(arg, "=") && redact.SecretName(strings.TrimLeft(arg, "-"))
	}
	return args
}

// judged does for the block what Server.judged does for the entry.
func (a Auth) judged(show func(field string, parts []part) string) Auth {
	a.ClientSecret = show("auth.clientSecret", []part{{a.ClientSecret, secret}})
	a.ClientSecretFrom = a.ClientSecretFrom.judged("auth.clientSecret", show)
	a.Assertion = a.Assertion.judged("auth.assertion", show)
	a.IDP.ClientSecret = show("auth.idp", []part{{a.IDP.ClientSecret, secret}})
	a.IDP.ClientSecretFrom = a.IDP.ClientSecretFrom.judged("auth.idp", show)
	for _, text := range []*string{&a.ClientID, &a.TokenAuthMethod, &a.SigningAlgorithm, &a.IDP.ClientID} {
		*text = show("auth", value(*text))
	}
	for _, url := range []*string{&a.Issuer, &a.ClientMetadataURL, &a.IDP.Issuer} {
		*url = show("auth", address(*url))
	}
	key := value(a.PrivateKey)
	if strings.Contains(a.PrivateKey, "-----BEGIN") {
		key = []part{{a.PrivateKey, secret}}
	}
	a.PrivateKey = show("auth.privateKey", key)
	a.Scopes = slices.Clone(a.Scopes)
	for i, scope := range a.Scopes {
		a.Scopes[i] = show("auth", value(scope))
	}
	return a
}

// harmless are headers whose values are no secrets, in lower case.
var harmless = []string{
	"accept", "accept-encoding", "accept-language", "cache-control", "content-type", "mcp-protocol-version", "origin",
	"user-agent",
}

// A cutter cuts a value into parts. blank is the text with every byte of a reference replaced by NUL, which means
// nothing: what a default holds is not taken for punctuation of the value.
type cutter struct {
	text, blank string
	parts       []part
	at          int // what lies before it is in parts
}

// newCutter is false for a value whose references can't be read.
func newCutter(text string) (*cutter, bool) {
	if !strings.Contains(text, "$") {
		return &cutter{text: text, blank: text}, true
	}
	pieces, err := split(text)
	if err != nil {
		return nil, false
	}
	var blank strings.Builder
	for _, p := range pieces {
		if p.variable == "" {
			blank.WriteString(p.raw)
		} else {
			blank.WriteString(strings.Repeat("\x00", len(p.raw)))
		}
	}
	return &cutter{text: text, blank: blank.String()}, true
}

// take makes what lies before an offset a part.
func (c *cutter) take(end int, as sort) {
	text := c.text[c.at:end]
	c.at = end
	last := len(c.parts) - 1
	switch {
	case text == "":
	case as == open && last >= 0 && c.parts[last].sort == open:
		c.parts[last].text += text // a token may reach over the seam
	default:
		c.parts = append(c.parts, part{text, as})
	}
}

// value judges a text in which there may be addresses.
func value(text string) []part {
	c, ok := newCutter(text)
	if !ok {
		return []part{{text, secret}}
	}
	c.words()
	return c.parts
}

// words takes the rest, with its addresses.
func (c *cutter) words() {
	for c.at < len(c.text) {
		end := len(c.text)
		if i := strings.IndexFunc(c.blank[c.at:], unicode.IsSpace); i >= 0 {
			end = c.at + i
		}
		if strings.Contains(c.blank[c.at:end], "://") {
			c.address(end)
		}
		c.take(end, open)
		rest := strings.TrimLeftFunc(c.blank[end:], unicode.IsSpace)
		c.take(len(c.blank)-len(rest), open)
	}
}

// argument judges an argument of a program: "--flag=value", "NAME=value" and "Name: value" by their names, also one in
// the other as in "--header=Name: value".
func argument(text string) []part {
	c, ok := newCutter(text)
	if !ok {
		return []part{{text, secret}}
	}
	for {
		i := strings.IndexAny(c.blank[c.at:], "=:")
		if i < 0 {
			break
		}
		name := c.blank[c.at : c.at+i]
		isHeader := c.blank[c.at+i] == ':'
		if strings.ContainsAny(name, "\x00 $/?&") || isHeader && strings.HasPrefix(name, "-") {
			break
		}
		end := c.at + i + 1
		if redact.SecretName(strings.TrimLeft(name, "-")) {
			end += len(c.blank[end:]) - len(strings.TrimLeft(c.blank[end:], " "))
			c.take(end, open)
			c.take(len(c.text), secret)
			break
		}
		if isHeader {
			break
		}
		c.take(end, open)
	}
	c.words()
	return c.parts
}

// address judges a value that is nothing but an address.
func address(text string) []part {
	c, ok := newCutter(text)
	if !ok {
		return []part{{text, secret}}
	}
	c.address(len(text))
	c.take(len(text), open)
	return c.parts
}

// userinfo is the text between the scheme and the host of an address.
var userinfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`://([^/?#]*)@`) })

// address takes the userinfo of an address that ends there, and the values of its parameters.
func (c *cutter) address(end int) {
	begin, blank := c.at, c.blank[c.at:end]
	found := userinfo().FindAllStringSubmatchIndex(blank, -1)
	if found == nil && strings.Contains(blank, "@") && !isURL(blank) {
		// An "@" that is no host's is one of a login that holds what ends an authority.
		end, begins := strings.LastIndexByte(blank, '@'), 0
		if i := strings.Index(blank, "://"); i >= 0 && i < end {
			begins = i + len("://")
		}
		found = [][]int{{0, 0, begins, end}}
	}
	for _, at := range found {
		c.take(begin+at[2], open)
		c.take(begin+at[3], login)
	}
	for _, mark := range []string{"?", "#"} {
		if i := strings.Index(c.blank[c.at:end], mark); i >= 0 {
			c.take(c.at+i+1, open)
			c.parameters(end)
		}
	}
}

// isURL reports whether a text without references is an address that can be cut where the standard says.
func isURL(blank string) bool {
	u, err := url.Parse(blank)
	return err == nil && u.Host != "" && !strings.Contains(blank, "\x00")
}

// parameters takes the parameters of a query or a fragment that begins here.
func (c *cutter) parameters(end int) {
	for c.at < end {
		next := end
		if i := strings.IndexAny(c.blank[c.at:end], "&;#"); i >= 0 {
			next = c.at + i
		}
		name, _, ok := strings.Cut(c.blank[c.at:next], "=")
		raw := c.text[c.at : c.at+len(name)] // the name of a variable in it tells something too
		unescaped, err := url.QueryUnescape(raw)
		if ok && (err != nil || redact.SecretName(unescaped)) {
			c.take(c.at+len(name)+1, open)
			c.take(next, secret)
		}
		if next == end || c.blank[next] == '#' {
			c.take(next, open)
			return
		}
		c.take(next+1, open)
	}
}

// credential cuts off the name of a scheme, as in "Bearer ${TOKEN}".
func credential(text string) (scheme, rest string) {
	for {
		first, behind, ok := strings.Cut(text[len(scheme):], " ")
		if !ok || !slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(first)) {
			return scheme, text[len(scheme):]
		}
		scheme = text[:len(text)-len(behind)]
	}
}
