package auth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Ways in which a client proves itself at the token endpoint (RFC 7591, section 2; RFC 7523, section 2.2).
const (
	clientSecretBasic = "client_secret_basic"
	clientSecretPost  = "client_secret_post"
	privateKeyJWT     = "private_key_jwt"
	noProof           = "none"
)

// registration returns the client that we are for an authorization server: the configured one, else our metadata
// document where the server reads those, else one that it has made for us or makes now (2026-07-28, authorization,
// client registration). One that was made is used again for the same redirect URI, unless anew is set.
func (c *Client) registration(
	ctx context.Context, s *server, redirect string, rec Record, anew bool,
) (Registration, error) {
	switch {
	case c.o.ClientID != "":
		return c.configured(ctx, s, rec)
	case c.o.Grant.machine():
		return Registration{AuthMethod: noProof}, nil // what it shows says who it is (RFC 7521, section 4.1)
	case c.documented(s):
		return Registration{ClientID: c.o.ClientMetadataURL, AuthMethod: c.documentMethod(s)}, nil
	case s.Registration == "":
		return Registration{}, errNoClient
	}
	known, ok := rec.Registrations[s.Issuer]
	expired := !known.SecretExpires.IsZero() && time.Now().After(known.SecretExpires)
	if ok && !anew && !expired && known.RedirectURI == redirect {
		return known, nil
	}
	return c.enrol(ctx, s, redirect)
}

// documented reports whether a document describes us to an authorization server.
func (c *Client) documented(s *server) bool {
	return c.o.ClientMetadataURL != "" && s.MetadataDocuments
}

// enrols reports whether an authorization server makes our client.
func (c *Client) enrols(s *server) bool {
	return c.o.ClientID == "" && !c.documented(s) && s.Registration != ""
}

// configured is the client that the entry names. Its id and its secret are for one authorization server only: the
// configured one, else the first that it was used with.
func (c *Client) configured(ctx context.Context, s *server, rec Record) (Registration, error) {
	if c.o.Issuer != "" && !sameIssuer(c.o.Issuer, s.Issuer) {
		return Registration{}, c.otherIssuer("the server", s.Issuer)
	}
	if c.o.Issuer == "" {
		for issuer, other := range rec.Registrations {
			if other.ClientID == c.o.ClientID && !sameIssuer(issuer, s.Issuer) {
				return Registration{}, fmt.Errorf("the server now names the authorization server %s, and the configured client "+
					"belongs to %s: if that is right, set \"issuer\" in the entry's \"auth\"", c.shown(s.Issuer), c.shown(issuer))
			}
		}
	}
	secret, err := c.clientSecret(ctx)
	return Registration{ClientID: c.o.ClientID, ClientSecret: secret, AuthMethod: c.configuredMethod(s)}, err
}

// clientSecret returns the secret of the configured client; empty if it has none.
func (c *Client) clientSecret(ctx context.Context) (string, error) {
	if c.o.ClientSecretFrom == nil {
		return c.o.ClientSecret, nil
	}
	secret, err := c.o.ClientSecretFrom(ctx)
	if err != nil {
		return "", &credentialError{"clientSecret", err}
	}
	c.hide(secret)
	return secret, nil
}

// configuredMethod returns how the configured client proves itself.
func (c *Client) configuredMethod(s *server) string {
	switch {
	case c.o.TokenAuthMethod != "":
		return c.o.TokenAuthMethod
	case c.o.PrivateKey != nil:
		return privateKeyJWT
	case c.o.ClientSecret == "" && c.o.ClientSecretFrom == nil:
		return noProof
	}
	return secretMethod(s)
}

// secretMethod returns how a client that has a secret proves itself.
func secretMethod(s *server) string {
	switch {
	case len(s.AuthMethods) == 0 || slices.Contains(s.AuthMethods, clientSecretBasic):
		return clientSecretBasic
	case slices.Contains(s.AuthMethods, clientSecretPost):
		return clientSecretPost
	}
	return clientSecretBasic
}

// documentMethod returns how a client proves itself that is known by its document.
func (c *Client) documentMethod(s *server) string {
	if c.o.PrivateKey != nil && slices.Contains(s.AuthMethods, privateKeyJWT) {
		return privateKeyJWT
	}
	return noProof
}

// enrol has the authorization server make a client for us (RFC 7591).
func (c *Client) enrol(ctx context.Context, s *server, redirect string) (Registration, error) {
	const what = "registering as a client"
	to, err := c.web.rules.check("registration_endpoint", s.Registration)
	if err != nil {
		return Registration{}, err
	}
	wish := ""
	for _, method := range []string{noProof, clientSecretBasic, clientSecretPost} {
		if slices.Contains(s.AuthMethods, method) {
			wish = method
			break
		}
	}
	body, err := json.Marshal(oauthex.ClientRegistrationMetadata{
		RedirectURIs:            []string{redirect},
		TokenEndpointAuthMethod: wish,
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		ClientName:              c.o.ClientName,
		ApplicationType:         "native", // its redirects come back to this machine
	})
	if err != nil {
		return Registration{}, err
	}
	a, err := c.web.post(ctx, to, http.Header{"Content-Type": {"application/json"}}, string(body))
	if err != nil {
		return Registration{}, fmt.Errorf("%s: %w", what, err)
	}
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		return Registration{}, c.web.refusedBy(what, a)
	}
	made, ok := document[struct {
		ID      string  `json:"client_id"`
		Secret  string  `json:"client_secret"`
		Expires float64 `json:"client_secret_expires_at"`
		Method  string  `json:"token_endpoint_auth_method"`
	}](a)
	if !ok || made.ID == "" {
		return Registration{}, fmt.Errorf("%s: the answer of %s has no client_id", what, c.web.endpoint.Show(a.from))
	}
	r := Registration{
		ClientID: made.ID, ClientSecret: made.Secret, AuthMethod: first(made.Method, wish), RedirectURI: redirect,
	}
	c.hide(made.Secret)
	if made.Expires > 0 {
		r.SecretExpires = time.Unix(int64(made.Expires), 0).UTC()
	}
	switch { // what it says must fit together
	case r.ClientSecret == "":
		r.AuthMethod = noProof
	case r.AuthMethod == "" || r.AuthMethod == noProof && made.Method == "":
		r.AuthMethod = clientSecretBasic
	}
	return r, nil
}
