package auth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// A challenge is what a refusal says about logging in (RFC 6750, section 3; RFC 9728, section 5.1).
type challenge struct {
	metadata string   // resource_metadata: where the resource's metadata is; empty: not said
	scopes   []string // scope: what is needed; nil: not said
	code     string   // error, such as insufficient_scope
	text     string   // error_description
	server   string   // Mcp-Auth-Server: the authorization server, where there is no metadata
	bearer   bool     // it takes bearer tokens
	dpop     bool     // it takes tokens that are bound to a key (RFC 9449, section 7.1)
	nonce    bool     // it wants another nonce in the proof
	unasked  bool     // the server did not refuse
}

// mostChallenge bounds what is read of WWW-Authenticate, in bytes: the time to read it grows with its square.
const mostChallenge = 8 << 10

// readChallenge reads the headers of a refusal. What can't be read counts as not said, since a header that another
// server in between has spoiled must not keep anybody from logging in.
func readChallenge(h http.Header) challenge {
	c := challenge{server: strings.TrimSpace(h.Get("Mcp-Auth-Server"))}
	size := 0
	for _, line := range h.Values("WWW-Authenticate") {
		if size += len(line); size > mostChallenge {
			break
		}
		all, err := oauthex.ParseWWWAuthenticate([]string{line})
		if err != nil {
			continue
		}
		for _, one := range all {
			switch one.Scheme {
			case "bearer":
				c.bearer = true
			case "dpop":
				c.dpop = true
				c.nonce = c.nonce || one.Params["error"] == useNonce
			default:
				continue
			}
			c.metadata = first(c.metadata, one.Params["resource_metadata"])
			c.code = first(c.code, one.Params["error"])
			c.text = first(c.text, one.Params["error_description"])
			if c.scopes == nil {
				c.scopes = strings.Fields(one.Params["scope"])
			}
		}
	}
	if len(c.scopes) == 0 {
		c.scopes = nil
	}
	return c
}

// want is the same for challenges that ask for the same.
func (c challenge) want() string {
	return strings.Join(append([]string{"for:" + c.code}, c.scopes...), " ")
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// union returns all scopes of both lists, each once, in order.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, scope := range b {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// within reports whether all scopes of part are among those of whole.
func within(part, whole []string) bool {
	for _, scope := range part {
		if !slices.Contains(whole, scope) {
			return false
		}
	}
	return true
}

// said returns what a refusal says, for people.
func (c challenge) said(w *web) string {
	text := first(c.code, "it does not say why")
	if c.text != "" {
		text += " (" + c.text + ")"
	}
	return w.endpoint.Line(text, addressShown)
}
