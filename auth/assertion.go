package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// jwtBearer is the grant type of a JWT (RFC 7523, section 2.1).
const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// mostAssertion bounds a JWT that says who we are, in bytes.
const mostAssertion = 64 << 10

// claims are what we read of a JWT, without checking its signature: who gets it does that. We look only that it is not
// given to somebody whom it is not meant for.
type claims struct {
	jwt.RegisteredClaims

	Resource jwt.ClaimStrings `json:"resource"`
}

// identity reads the token that says who we are.
func (c *Client) identity(ctx context.Context) (token string, said claims, err error) {
	fail := func(err error) (string, claims, error) { return "", claims{}, &credentialError{"assertion", err} }
	text, err := c.o.Assertion(ctx)
	if err != nil {
		return fail(err)
	}
	token = strings.TrimSpace(text)
	c.hide(token)
	if token == "" {
		return fail(errors.New("it is empty"))
	}
	if len(token) > mostAssertion {
		return fail(fmt.Errorf("it has more than %d bytes", mostAssertion))
	}
	_, _, err = jwt.NewParser().ParseUnverified(token, &said)
	if err != nil {
		return fail(errors.New("it is no JWT")) // the cause would quote it
	}
	if said.ExpiresAt != nil && !time.Now().Before(said.ExpiresAt.Time) {
		return fail(fmt.Errorf("it has expired, at %s: what gives it must give a newer one",
			said.ExpiresAt.UTC().Format(time.RFC3339)))
	}
	return token, said, nil
}

// ownAssertion returns the JWT that says which workload this is, if it is meant for the authorization server (RFC 7523,
// section 3): one that is named by a server on the web might pass it on. Whoever configures the issuer has said to whom
// it may go.
func (c *Client) ownAssertion(ctx context.Context, s *server) (string, error) {
	token, said, err := c.identity(ctx)
	if err != nil || c.o.Issuer != "" {
		return token, err
	}
	meant := func(audience string) bool { return sameIssuer(audience, s.Issuer) || audience == s.Token }
	if slices.ContainsFunc(said.Audience, meant) {
		return token, nil
	}
	return "", &credentialError{"assertion", fmt.Errorf("its audience is %q, not the authorization server %s: it is not "+
		"sent there; if that is right, set \"issuer\" in the entry's \"auth\"",
		line(strings.Join(said.Audience, " ")), c.shown(s.Issuer))}
}
