package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// IDP is the identity provider of an enterprise, which knows the person already.
type IDP struct {
	Issuer       string // its identifier, under which its metadata is found
	ClientID     string // the client that it knows us as
	ClientSecret Secret // the client's secret; nil: it has none
}

// What is said in a token exchange (RFC 8693; identity assertion authorization grant, section 4.3).
const (
	tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	idTokenType   = "urn:ietf:params:oauth:token-type:id_token" //nolint:gosec // a name, no secret
	jagType       = "urn:ietf:params:oauth:token-type:id-jag"
)

// provider finds the identity provider. Somebody has configured it, so that the rules for addresses are those of a
// server at its place: an enterprise's may be in a private network when the MCP server is not.
func (c *Client) provider(ctx context.Context) (*server, error) {
	issuer, err := parseEndpoint(c.o.IDP.Issuer)
	if err != nil {
		return nil, err
	}
	if c.idp == nil {
		if c.idp, err = newWeb(c.ctx, c.o, issuer, c.secrets); err != nil {
			return nil, err
		}
	}
	if _, err := c.idp.rules.check("the identity provider", c.o.IDP.Issuer); err != nil {
		return nil, err
	}
	s, at, err := c.idp.describing(ctx, issuer)
	if none, isNone := errors.AsType[*noMetadata](err); isNone {
		return nil, fmt.Errorf("the identity provider %w", none)
	}
	if err != nil {
		return nil, fmt.Errorf("the identity provider's metadata: %w", err)
	}
	from := c.idp.endpoint.Show(at)
	switch {
	case !sameIssuer(s.Issuer, c.o.IDP.Issuer):
		return nil, fmt.Errorf("the metadata at %s is of the issuer %q, not of %s: it is not used",
			from, c.idp.endpoint.Line(s.Issuer, addressShown), c.shown(c.o.IDP.Issuer))
	case s.Token == "":
		return nil, fmt.Errorf("the metadata at %s has no token_endpoint", from)
	}
	_, err = c.idp.rules.check("token_endpoint of "+from, s.Token)
	return s, err
}

// jag has the identity provider make of the person's ID token a grant that the authorization server takes (ext-auth,
// enterprise-managed authorization, section 4). step is the one that failed.
func (c *Client) jag(ctx context.Context, p plan) (token string, step Step, err error) {
	idp, err := c.provider(ctx)
	if err != nil {
		return "", StepDiscovery, err
	}
	id, _, err := c.identity(ctx)
	if err != nil {
		return "", StepCredentials, err
	}
	me := Registration{ClientID: c.o.IDP.ClientID, AuthMethod: noProof}
	if c.o.IDP.ClientSecret != nil {
		if me.ClientSecret, err = c.o.IDP.ClientSecret(ctx); err != nil {
			return "", StepCredentials, &credentialError{"idp.clientSecret", err}
		}
		me.AuthMethod = secretMethod(idp)
	}
	form := url.Values{
		"grant_type": {tokenExchange}, "requested_token_type": {jagType}, "subject_token_type": {idTokenType},
		"subject_token": {id}, "audience": {p.server.Issuer}, "resource": {p.resource.id},
	}
	if len(p.scopes) > 0 {
		form.Set("scope", strings.Join(p.scopes, " "))
	}
	what := "exchanging the ID token at " + c.shown(idp.Issuer)
	a, err := c.tokens(ctx, tokenRequest{
		what: what, web: c.idp, endpoint: idp.Token, issuer: idp.Issuer, client: me, form: form,
	})
	if err != nil {
		return "", StepExchange, err
	}
	token, err = c.exchanged(a, p)
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return token, StepExchange, err
}

// exchanged reads what an identity provider gives. A token of its own, which it may give for one that it knows nothing
// of, must not reach another server; nor must a grant for somebody else.
func (c *Client) exchanged(a answer, p plan) (string, error) {
	from := c.idp.endpoint.Show(a.from)
	doc, ok := document[struct {
		Access string `json:"access_token"`
		Issued string `json:"issued_token_type"`
		Error  string `json:"error"`
	}](a)
	c.hide(doc.Access)
	switch {
	case ok && doc.Error != "": // some servers refuse with HTTP 200
		return "", c.idp.refusedBy("it", a)
	case !ok || doc.Access == "":
		return "", fmt.Errorf("the answer of %s has no access_token", from)
	case doc.Issued != jagType:
		return "", fmt.Errorf("the answer of %s has the issued_token_type %q, not %q: it is not used",
			from, c.idp.endpoint.Line(doc.Issued, 100), jagType)
	}
	var said claims
	if _, _, err := jwt.NewParser().ParseUnverified(doc.Access, &said); err != nil {
		return "", fmt.Errorf("what %s gives is no JWT", from)
	}
	right := func(audience string) bool { return sameIssuer(audience, p.server.Issuer) }
	if !slices.ContainsFunc(said.Audience, right) {
		return "", fmt.Errorf("what %s gives is for the audience %q, not for %s: it is not sent there",
			from, c.idp.endpoint.Line(strings.Join(said.Audience, " "), addressShown), c.shown(p.server.Issuer))
	}
	if len(said.Resource) > 0 && !slices.Contains(said.Resource, p.resource.id) {
		return "", fmt.Errorf("what %s gives is for the resource %q, not for %s: it is not used",
			from, c.idp.endpoint.Line(strings.Join(said.Resource, " "), addressShown), c.shown(p.resource.id))
	}
	return doc.Access, nil
}
