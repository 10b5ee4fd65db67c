package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mcpwire/mcp"
)

// A grant is what a token endpoint gives.
type grant struct {
	access, refresh string
	scopes          []string // nil: not said, which means as was asked for
	expires         time.Time
	account         string
	key             string // that the access token is bound to; empty: to none
}

// A tokenRequest is what a token endpoint is asked.
type tokenRequest struct {
	what     string // we do, for errors
	web      *web
	endpoint string
	issuer   string
	client   Registration
	form     url.Values // all but what proves who we are
	key      *proofKey  // that the tokens are to be bound to; nil: none
	bound    bool       // one that is not is refused
}

// secretParameters are those of a form that must not be shown when a server quotes them.
var secretParameters = []string{
	"code", "code_verifier", "refresh_token", "client_secret", "client_assertion", "assertion", "subject_token",
}

// request asks a token endpoint for tokens.
func (c *Client) request(ctx context.Context, r tokenRequest) (grant, error) {
	sent := time.Now()
	a, err := c.tokens(ctx, r)
	if err != nil {
		return grant{}, err
	}
	return c.granted(r, a, sent)
}

// tokens asks a token endpoint, and returns its answer if that is a success. A server that wants a nonce in the proof
// is asked once more, with that; what it was shown it has not used (RFC 9449, section 8).
func (c *Client) tokens(ctx context.Context, r tokenRequest) (answer, error) {
	to, err := r.web.rules.check("token_endpoint", r.endpoint)
	if err != nil {
		return answer{}, err
	}
	for again := false; ; again = true {
		form := maps.Clone(r.form)
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		err := c.prove(r.client, r.issuer, header, form)
		if err == nil && r.key != nil {
			err = c.addProof(header, r.key, http.MethodPost, to, "")
		}
		if err != nil {
			return answer{}, fmt.Errorf("%s: %w", r.what, err)
		}
		for _, name := range secretParameters {
			c.hide(form.Get(name))
		}
		a, err := r.web.post(ctx, to, header, form.Encode())
		if err != nil {
			return a, fmt.Errorf("%s: %w", r.what, err)
		}
		given := r.key != nil && c.takeNonce(to, a.header)
		if a.ok() {
			return a, nil
		}
		if refusal := r.web.refusedBy(r.what, a); again || !given || codeOf(refusal) != useNonce {
			return a, refusal
		}
	}
}

// prove adds to a request what proves who we are (RFC 6749, section 2.3; RFC 7523, section 2.2).
func (c *Client) prove(me Registration, issuer string, header http.Header, form url.Values) error {
	c.hide(me.ClientSecret)
	switch me.AuthMethod {
	case clientSecretBasic:
		pair := url.QueryEscape(me.ClientID) + ":" + url.QueryEscape(me.ClientSecret)
		packed := base64.StdEncoding.EncodeToString([]byte(pair))
		c.hide(url.QueryEscape(me.ClientSecret), packed)
		header.Set("Authorization", "Basic "+packed)
	case clientSecretPost:
		form.Set("client_id", me.ClientID)
		form.Set("client_secret", me.ClientSecret)
	case privateKeyJWT:
		signed, err := c.assertion(me.ClientID, issuer)
		if err != nil {
			return err
		}
		form.Set("client_id", me.ClientID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", signed)
	case noProof:
		if me.ClientID != "" {
			form.Set("client_id", me.ClientID)
		}
	default:
		return fmt.Errorf("the authorization server wants the client to prove itself by %q, which is not supported",
			c.web.endpoint.Line(me.AuthMethod, 60))
	}
	return nil
}

// assertionLife is how long the proof by a private key is good.
const assertionLife = time.Minute

// assertion is the proof by a private key. Its audience is the authorization server's issuer, not its token endpoint.
func (c *Client) assertion(client, issuer string) (string, error) {
	if c.o.PrivateKey == nil {
		return "", errors.New(`the client proves itself by a private key, and there is none: set "privateKey" in the ` +
			`entry's "auth"`)
	}
	method := jwt.GetSigningMethod(first(c.o.SigningAlgorithm, usualAlgorithm(c.o.PrivateKey)))
	if method == nil {
		return "", fmt.Errorf("the signing algorithm %q is not known", c.o.SigningAlgorithm)
	}
	now := time.Now()
	signed, err := jwt.NewWithClaims(method, jwt.RegisteredClaims{
		Issuer: client, Subject: client, Audience: jwt.ClaimStrings{issuer}, ID: randomText(),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(assertionLife)),
	}).SignedString(c.o.PrivateKey)
	if err != nil {
		return "", fmt.Errorf("signing with the private key: %w", err)
	}
	return signed, nil
}

// granted reads a token endpoint's success (RFC 6749, section 5.1). Some servers answer with a form.
func (c *Client) granted(r tokenRequest, a answer, sent time.Time) (grant, error) {
	what := r.what
	doc, ok := document[struct {
		Access  string          `json:"access_token"`
		Refresh string          `json:"refresh_token"`
		Kind    string          `json:"token_type"`
		Expires json.RawMessage `json:"expires_in"`
		Scope   json.RawMessage `json:"scope"`
		ID      string          `json:"id_token"`
		Error   string          `json:"error"`
	}](a)
	if !ok {
		form, err := url.ParseQuery(string(a.body))
		if err != nil || form.Get("access_token") == "" && form.Get("error") == "" {
			return grant{}, fmt.Errorf("%s: the answer of %s has no access_token", what, c.web.endpoint.Show(a.from))
		}
		doc.Access, doc.Refresh, doc.Kind = form.Get("access_token"), form.Get("refresh_token"), form.Get("token_type")
		doc.Expires, doc.Error = json.RawMessage(form.Get("expires_in")), form.Get("error")
		doc.Scope = json.RawMessage(strconv.Quote(form.Get("scope")))
	}
	key := ""
	switch {
	case doc.Error != "": // some servers refuse with HTTP 200
		return grant{}, c.web.refusedBy(what, a)
	case doc.Access == "" || strings.ContainsFunc(doc.Access, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return grant{}, fmt.Errorf("%s: the answer of %s has no usable access_token", what, c.web.endpoint.Show(a.from))
	case r.key != nil && strings.EqualFold(doc.Kind, "dpop"):
		key = r.key.text
	case r.bound:
		return grant{}, fmt.Errorf("%s: the token is not bound to our key (DPoP), and is not used: it is of the type %q",
			what, c.web.endpoint.Line(doc.Kind, 60))
	case doc.Kind != "" && !strings.EqualFold(doc.Kind, "bearer"):
		return grant{}, fmt.Errorf("%s: the token is of the type %q, which is not supported",
			what, c.web.endpoint.Line(doc.Kind, 60))
	}
	c.hide(doc.Access, doc.Refresh)
	g := grant{
		access: doc.Access, refresh: doc.Refresh, account: account(doc.ID, doc.Access), scopes: scopesIn(doc.Scope),
		key: key,
	}
	life, said, err := lifetime(doc.Expires)
	if err != nil {
		c.o.Logger.Warn("a token's expires_in can't be read and counts as not given",
			"server", c.o.Server, "expires_in", c.web.endpoint.Line(string(doc.Expires), 60))
	}
	if said {
		g.expires = sent.Add(life).Round(0).UTC() // a clock that goes on while the machine sleeps
	}
	return g, nil
}

// scopesIn reads scope: a text or, as some servers write it, a list. What can't be read counts as not said.
func scopesIn(raw json.RawMessage) (scopes []string) {
	var text string
	var list []string
	if mcp.Decode(raw, &text) == nil {
		list = []string{text}
	} else if mcp.Decode(raw, &list) != nil {
		return nil
	}
	for _, one := range list {
		scopes = append(scopes, strings.FieldsFunc(one, func(r rune) bool { return r == ' ' || r == ',' })...)
	}
	return scopes
}

// lifetime reads expires_in, in seconds: a number, or one in a string as some servers write it. What is not positive
// means that the token has expired; absent, null or unreadable, that it is not known.
func lifetime(raw json.RawMessage) (life time.Duration, said bool, err error) {
	text := strings.TrimSpace(strings.Trim(strings.TrimSpace(string(raw)), `"`))
	if text == "" || text == "null" {
		return 0, false, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) {
		return 0, false, errors.New("not a number of seconds")
	}
	const most = 100 * 365 * 24 * time.Hour
	return time.Duration(min(max(seconds, 0), most.Seconds()) * float64(time.Second)), true, nil
}

// account returns who a token is about, for people to read: nothing depends on it, so that no signature is checked.
func account(tokens ...string) string {
	for _, token := range tokens {
		var claims struct {
			jwt.RegisteredClaims

			Email    string `json:"email"`
			Username string `json:"preferred_username"`
			Name     string `json:"name"`
		}
		if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
			continue
		}
		if who := first(claims.Email, claims.Username, claims.Name, claims.Subject); who != "" {
			return line(who)
		}
	}
	return ""
}
