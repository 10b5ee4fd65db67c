package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mcpwire/internal/httpwire"
)

// proofAlgorithm is how proofs are signed: what everybody knows who knows proofs.
const proofAlgorithm = "ES256"

// A proofKey is a key that tokens are bound to: who shows one must prove that it has the key (RFC 9449).
type proofKey struct {
	text string // of the private key, as a Login holds it
	key  *ecdsa.PrivateKey
	x, y string // of the public one
}

func newProofKey() (*proofKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	raw, err := key.Bytes()
	if err != nil {
		return nil, err
	}
	return parseProofKey(encoded(raw))
}

func parseProofKey(text string) (*proofKey, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the key of the login can't be read")
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, errors.New("the key of the login can't be read")
	}
	point, err := key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		return nil, err
	}
	half := len(point) / 2
	return &proofKey{text, key, encoded(point[1 : 1+half]), encoded(point[1+half:])}, nil
}

func encoded(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return encoded(sum[:])
}

// thumbprint names the public key (RFC 7638).
func (k *proofKey) thumbprint() string {
	return hashed(fmt.Sprintf(`{"crv":"P-256","kty":"EC","x":%q,"y":%q}`, k.x, k.y))
}

// A proofClaims is what a proof says (RFC 9449, section 4.2).
type proofClaims struct {
	jwt.RegisteredClaims

	Method string `json:"htm"`
	URL    string `json:"htu"`
	Nonce  string `json:"nonce,omitempty"`
	Token  string `json:"ath,omitempty"`
}

// proof is good for one request. access is the token that it goes with; empty: none.
func (k *proofKey) proof(method string, to *url.URL, nonce, access string) (string, error) {
	path := to.EscapedPath()
	if path == "" {
		path = "/"
	}
	said := proofClaims{
		RegisteredClaims: jwt.RegisteredClaims{ID: randomText(), IssuedAt: jwt.NewNumericDate(time.Now())},
		Method:           method, URL: to.Scheme + "://" + strings.ToLower(to.Host) + path, Nonce: nonce,
	}
	if access != "" {
		said.Token = hashed(access)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodES256, said)
	token.Header["typ"] = "dpop+jwt"
	token.Header["jwk"] = map[string]string{"kty": "EC", "crv": "P-256", "x": k.x, "y": k.y}
	return token.SignedString(k.key)
}

// bind decides whether the token is to be bound to a key, and to which: the configured way, else as the MCP server asks
// for it, by its refusal (RFC 9449, section 7.1) or its metadata (RFC 9728, section 2), if the authorization server
// can.
func (c *Client) bind(p *plan, ch challenge) (err error) {
	if c.o.DPoP != nil && !*c.o.DPoP {
		return nil
	}
	known := slices.Contains(p.server.ProofAlgorithms, proofAlgorithm)
	p.bound = c.o.DPoP != nil || p.resource.bound || ch.dpop && !ch.bearer
	switch {
	case !p.bound && !(ch.dpop && known):
		return nil
	case p.bound && !known && len(p.server.ProofAlgorithms) > 0:
		return fmt.Errorf("tokens are to be bound to a key (DPoP), and the authorization server %s takes no proofs by %s, "+
			"only by %s", c.shown(p.server.Issuer), proofAlgorithm,
			c.web.endpoint.Line(strings.Join(p.server.ProofAlgorithms, ", "), addressShown))
	}
	if l := c.fitting(p.record.Login); c.o.Grant.machine() && l != nil && l.ProofKey != "" {
		if p.key, err = parseProofKey(l.ProofKey); err == nil {
			return nil
		}
	}
	p.key, err = newProofKey()
	return err
}

// keyOf returns the key that a login's tokens are bound to; nil if they are not.
func (c *Client) keyOf(l *Login) (*proofKey, error) {
	if l == nil || l.ProofKey == "" {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proving != nil && c.proving.text == l.ProofKey {
		return c.proving, nil
	}
	key, err := parseProofKey(l.ProofKey)
	if err == nil {
		c.proving = key
	}
	return key, err
}

// addProof adds a proof to the headers of a request, with the nonce that the server last gave.
func (c *Client) addProof(h http.Header, key *proofKey, method string, to *url.URL, access string) error {
	c.mu.Lock()
	nonce := c.nonces[originOf(to)]
	c.mu.Unlock()
	proof, err := key.proof(method, to, nonce, access)
	if err != nil {
		return fmt.Errorf("proving that we have the token's key: %w", err)
	}
	h["Dpop"] = []string{proof} // which servers read in any case
	return nil
}

const (
	useNonce   = "use_dpop_nonce" // the error code of who wants a nonce (RFC 9449, sections 8 and 9)
	mostNonce  = 1024             // bytes
	mostNonces = 8                // servers whose nonces are kept
)

// takeNonce keeps the nonce that a server wants in the next proof, and reports whether there is one.
func (c *Client) takeNonce(from *url.URL, h http.Header) bool {
	nonce := h.Get("DPoP-Nonce")
	if nonce == "" || len(nonce) > mostNonce ||
		strings.ContainsFunc(nonce, func(r rune) bool { return r < '!' || r > '~' || r == '"' || r == '\\' }) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nonces == nil || len(c.nonces) >= mostNonces {
		c.nonces = map[string]string{}
	}
	c.nonces[originOf(from)] = nonce
	return true
}

func originOf(u *url.URL) string {
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + httpwire.Port(u)
}

// errNonces is what is wrong with a server that wants another nonce in each answer.
var errNonces = errors.New("the server takes no proof that we have the token's key: it wants another nonce each time")
