package auth

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Check tells whether a server at the endpoint may name an address.
func Check(endpoint, named string, allowPrivate bool) error {
	at, err := parseEndpoint(endpoint)
	if err != nil {
		return err
	}
	_, err = newRules(context.Background(), at, allowPrivate).check("an address", named)
	return err
}

// Dial tells whether a server at the endpoint may have us connect to an address.
func Dial(endpoint, address string, allowPrivate bool) error {
	at, err := parseEndpoint(endpoint)
	if err != nil {
		return err
	}
	return newRules(context.Background(), at, allowPrivate).dial(address)
}

// Allows tells whether an address is allowed where the server's own is in a private network: by its look or by the
// entry if near is set, else by what a look-up says.
func Allows(ip netip.Addr, near bool) bool { return (&rules{private: true, near: near}).allows(ip) }

// IsPublic tells whether an address is in the public network.
func IsPublic(ip netip.Addr) bool { return isPublic(ip) }

// ReadChallenge reads the headers of a refusal.
func ReadChallenge(h http.Header) (metadata, code string, scopes []string) {
	c := readChallenge(h)
	return c.metadata, c.code, c.scopes
}

// Granted reads a token endpoint's success.
func Granted(c *Client, body []byte) (access, refresh string, scopes []string, expires time.Time, err error) {
	if err := c.makeWeb(); err != nil {
		return "", "", nil, time.Time{}, err
	}
	g, err := c.granted(tokenRequest{what: "reading"}, answer{from: &url.URL{}, status: http.StatusOK, body: body}, time.Now())
	return g.access, g.refresh, g.scopes, g.expires, err
}

// Described reads the metadata of an authorization server, and tells its token endpoint.
func Described(c *Client, body []byte) (token string, ok bool) {
	doc, ok := document[server](answer{from: &url.URL{}, status: http.StatusOK, body: body})
	if !ok || c.makeWeb() != nil {
		return "", false
	}
	s, err := c.accepted(&url.URL{}, doc.Issuer, &doc)
	if err != nil {
		return "", false
	}
	return s.Token, true
}
