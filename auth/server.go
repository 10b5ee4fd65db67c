package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"mcpwire/internal/httpwire"
)

// A server is an authorization server, as its metadata describes it (RFC 8414; OpenID Connect Discovery 1.0).
type server struct {
	Issuer            string   `json:"issuer"`
	Authorization     string   `json:"authorization_endpoint"`
	Token             string   `json:"token_endpoint"`
	Registration      string   `json:"registration_endpoint"`
	Revocation        string   `json:"revocation_endpoint"`
	Scopes            []string `json:"scopes_supported"`
	Challenges        []string `json:"code_challenge_methods_supported"`
	AuthMethods       []string `json:"token_endpoint_auth_methods_supported"`
	AuthAlgorithms    []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	ProofAlgorithms   []string `json:"dpop_signing_alg_values_supported"`
	MetadataDocuments bool     `json:"client_id_metadata_document_supported"`
	NamesIssuer       bool     `json:"authorization_response_iss_parameter_supported"`
}

// server finds the metadata of the resource's authorization server. A host can have several, so that the path counts
// and a document for another issuer is refused (RFC 8414, section 3.3). Where there is none and the server is its own
// authorization server, the addresses of 2025-03-26 stand in.
func (c *Client) server(ctx context.Context, r resource) (*server, error) {
	issuer, err := c.web.rules.check("the authorization server", r.issuer)
	if err != nil {
		return nil, err
	}
	doc, at, err := c.web.describing(ctx, issuer)
	switch none, isNone := errors.AsType[*noMetadata](err); {
	case err == nil:
		return c.accepted(at, r.issuer, doc)
	case !isNone:
		return nil, fmt.Errorf("the authorization server's metadata: %w", err)
	case r.open:
		return nil, errors.New("the server answers without a login, and names no authorization server")
	case !r.old:
		return nil, fmt.Errorf("the authorization server %s %w", c.shown(r.issuer), none)
	}
	return &server{
		Issuer: r.issuer, Authorization: r.issuer + "/authorize", Token: r.issuer + "/token",
		Registration: r.issuer + "/register",
	}, nil
}

// noMetadata tells where there was none.
type noMetadata struct{ tried []string }

// Error returns "has no metadata; tried were <addresses>".
func (e *noMetadata) Error() string {
	return "has no metadata; tried were " + strings.Join(e.tried, ", ")
}

// describing fetches the metadata of an issuer, and tells from where. The error is a noMetadata if there is none.
func (w *web) describing(ctx context.Context, issuer *url.URL) (*server, *url.URL, error) {
	var none noMetadata
	for _, at := range serverPlaces(issuer) {
		a, err := w.get(ctx, at)
		if err != nil && !errors.Is(err, httpwire.ErrOtherOrigin) {
			return nil, nil, err
		}
		if err == nil {
			doc, isJSON := document[server](a)
			switch {
			case a.ok() && isJSON && (doc.Issuer != "" || doc.Token != ""): // else it is something else
				return &doc, at, nil
			case a.status >= 500:
				return nil, nil, w.refusal(a)
			}
		}
		none.tried = append(none.tried, w.endpoint.Show(at))
	}
	return nil, nil, &none
}

// serverPlaces returns where an issuer's metadata may be, in the order of the specification (2026-07-28, authorization,
// authorization server metadata discovery).
func serverPlaces(issuer *url.URL) (places []*url.URL) {
	path := strings.TrimSuffix(issuer.EscapedPath(), "/")
	paths := []string{"/.well-known/oauth-authorization-server" + path, "/.well-known/openid-configuration" + path}
	if path != "" {
		paths = append(paths, path+"/.well-known/openid-configuration")
	}
	for _, p := range paths {
		at, err := issuer.Parse(p)
		if err == nil {
			at.RawQuery = ""
			places = append(places, at)
		}
	}
	return places
}

// accepted checks metadata that was found.
func (c *Client) accepted(at *url.URL, issuer string, s *server) (*server, error) {
	from := c.web.endpoint.Show(at)
	if !sameIssuer(s.Issuer, issuer) {
		return nil, fmt.Errorf("the metadata at %s is of the issuer %q, not of %s: it is not used",
			from, c.web.endpoint.Line(s.Issuer, addressShown), c.shown(issuer))
	}
	if s.Issuer != issuer {
		c.o.Logger.Warn("the authorization server's issuer differs by a slash at its end",
			"server", c.o.Server, "issuer", c.shown(s.Issuer), "asked", c.shown(issuer))
	}
	if !c.o.Grant.machine() && !slices.Contains(s.Challenges, "S256") {
		return nil, fmt.Errorf("the authorization server %s does not say that it supports PKCE with S256 "+
			"(code_challenge_methods_supported), without which a login is not safe", c.shown(issuer))
	}
	for _, one := range []struct {
		name, address string
		needed        bool
	}{
		{"authorization_endpoint", s.Authorization, !c.o.Grant.machine()},
		{"token_endpoint", s.Token, true},
		{"registration_endpoint", s.Registration, false},
		{"revocation_endpoint", s.Revocation, false},
	} {
		if one.address == "" && !one.needed {
			continue
		}
		if one.address == "" {
			return nil, fmt.Errorf("the metadata at %s has no %s", from, one.name)
		}
		if _, err := c.web.rules.check(one.name+" of "+from, one.address); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// sameIssuer compares issuers but for a slash at their end, which some write and some don't. The iss of a redirect is
// compared exactly.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// offlineAccess is the scope by which refresh tokens are asked for where there are such scopes (SEP-2207).
const offlineAccess = "offline_access"

// wanted returns the scopes to ask for: the configured ones, else those of the challenge, else all that the resource
// names, else none in particular; with them the ones that were granted before, and MoreScopes (2026-07-28,
// authorization, scope selection).
func (c *Client) wanted(s *server, r resource, ch challenge, granted []string) []string {
	scopes := slices.Clone(c.o.Scopes)
	if len(scopes) == 0 || ch.code == insufficientScope {
		scopes = union(scopes, ch.scopes)
	}
	if len(scopes) == 0 {
		scopes = r.scopes
	}
	scopes = union(granted, union(scopes, c.o.MoreScopes))
	if len(scopes) > 0 && slices.Contains(s.Scopes, offlineAccess) && !c.o.Grant.machine() {
		scopes = union(scopes, []string{offlineAccess})
	}
	return scopes
}

// insufficientScope is the error code of a refusal that another scope would cure (RFC 6750, section 3.1).
const insufficientScope = "insufficient_scope"

var errNoClient = errors.New(`the authorization server does not register clients by itself: make one there, and set ` +
	`"clientId" (and "clientSecret", if it has one) in the entry's "auth"`)
