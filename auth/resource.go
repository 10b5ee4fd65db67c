package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"mcpwire/internal/httpwire"
)

// A resource is an MCP server as its metadata describes it (RFC 9728).
type resource struct {
	id     string   // what tokens are asked for, byte for byte
	issuer string   // the authorization server
	scopes []string // scopes_supported
	bound  bool     // it takes only tokens that are bound to a key
	old    bool     // there is no metadata: the server is its own authorization server (2025-03-26, authorization)
	open   bool     // the same, and the server did not refuse us
}

// resourceMetadata are the members of protected resource metadata that we use.
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	Bound    bool     `json:"dpop_bound_access_tokens_required"`
}

// resource finds the metadata of the MCP server: where its refusal says, else under the well-known address for its
// path, else under the one for the whole host (2026-07-28, authorization, protected resource metadata discovery).
func (c *Client) resource(ctx context.Context, ch challenge) (resource, error) {
	places, err := c.metadataPlaces(ch)
	if err != nil {
		return resource{}, err
	}
	for _, at := range places {
		a, err := c.web.get(ctx, at)
		if errors.Is(err, httpwire.ErrOtherOrigin) {
			continue // as servers do that know nothing of such an address
		}
		if err != nil {
			return resource{}, fmt.Errorf("the server's metadata: %w", err)
		}
		doc, isJSON := document[resourceMetadata](a)
		switch {
		case a.ok() && isJSON && (doc.Resource != "" || doc.Servers != nil): // else it is something else
			return c.described(at, doc)
		case a.status >= 500:
			return resource{}, fmt.Errorf("the server's metadata: %w", c.web.refusal(a))
		}
	}
	return c.undescribed(ch)
}

func (c *Client) metadataPlaces(ch challenge) (places []*url.URL, err error) {
	if ch.metadata != "" {
		at, err := c.web.rules.check("resource_metadata of the server's refusal", ch.metadata)
		if err != nil {
			return nil, err
		}
		places = append(places, at)
	}
	for _, path := range []string{strings.TrimSuffix(c.endpoint.EscapedPath(), "/"), ""} {
		at, err := c.endpoint.Parse("/.well-known/oauth-protected-resource" + path)
		if err != nil {
			return nil, err
		}
		at.RawQuery, at.Fragment, at.User = "", "", nil
		if len(places) == 0 || *places[len(places)-1] != *at {
			places = append(places, at)
		}
	}
	return places, nil
}

// described checks metadata that was found.
func (c *Client) described(at *url.URL, doc resourceMetadata) (resource, error) {
	from := c.web.endpoint.Show(at)
	if err := c.matches(from, doc.Resource); err != nil {
		return resource{}, err
	}
	r := resource{id: doc.Resource, scopes: doc.Scopes, bound: doc.Bound}
	for _, server := range doc.Servers {
		if r.issuer == "" || c.o.Issuer != "" && sameIssuer(server, c.o.Issuer) {
			r.issuer = server
		}
	}
	switch {
	case r.issuer == "":
		return resource{}, fmt.Errorf("the metadata at %s names no authorization server", from)
	case c.o.Issuer != "" && !sameIssuer(r.issuer, c.o.Issuer):
		return resource{}, c.otherIssuer("the metadata at "+from, r.issuer)
	}
	_, err := c.web.rules.check("authorization_servers of "+from, r.issuer)
	return r, err
}

func (c *Client) otherIssuer(who, issuer string) error {
	return fmt.Errorf("%s names the authorization server %s, and the entry's auth.issuer is %s: credentials of one are "+
		"not shown to another", who, c.shown(issuer), c.shown(c.o.Issuer))
}

// matches reports whether metadata is about this server: the same origin, and the same path but for a slash at its end,
// or one above it. RFC 9728, section 3.3, wants the same text; servers that are mounted on a path often don't know it.
func (c *Client) matches(from, id string) error {
	u, err := url.Parse(id)
	if err == nil && sameOrigin(u, c.endpoint) && u.User == nil && u.Fragment == "" {
		theirs, ours := strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(c.endpoint.Path, "/")
		if ours == theirs || strings.HasPrefix(ours, theirs+"/") {
			return nil
		}
	}
	return fmt.Errorf("the metadata at %s is about the resource %q, not about %s: it is not used",
		from, c.web.endpoint.Line(id, addressShown), c.shown(canonical(c.endpoint)))
}

// undescribed is a server without metadata: it may name its authorization server in a header, else it is its own.
func (c *Client) undescribed(ch challenge) (resource, error) {
	r := resource{id: canonical(c.endpoint)}
	if ch.server != "" {
		if c.o.Issuer != "" && !sameIssuer(ch.server, c.o.Issuer) {
			return resource{}, c.otherIssuer("the server's refusal", ch.server)
		}
		r.issuer = ch.server
		_, err := c.web.rules.check("Mcp-Auth-Server of the server's refusal", ch.server)
		return r, err
	}
	root := url.URL{Scheme: c.endpoint.Scheme, Host: c.endpoint.Host}
	r.issuer, r.old, r.open = root.String(), !ch.unasked, ch.unasked
	if c.o.Issuer != "" {
		r.issuer, r.old, r.open = c.o.Issuer, false, false
	}
	_, err := c.web.rules.check("the server's own address", r.issuer)
	return r, err
}

// shown returns an address for people, without secrets.
func (c *Client) shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return c.web.endpoint.Line(address, addressShown)
	}
	return c.web.endpoint.Show(u)
}
