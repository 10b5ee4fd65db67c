package interop_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
)

// boundTo is what a verifier tells besides: the thumbprint of the key that the authorization server has bound a token to.
const boundTo = "jkt"

// resourceNonce is what the resource wants in proofs.
const resourceNonce = "a-nonce-of-the-resource"

// proven reports whether a request has a proof of the key that its token is bound to (RFC 9449, section 7). One without a
// token is left to the guard. If not, the request has been answered.
func (r *resource) proven(w http.ResponseWriter, req *http.Request, verify auth.TokenVerifier) bool {
	given := req.Header.Get("Authorization")
	if given == "" {
		return true
	}
	token, isDPoP := strings.CutPrefix(given, "DPoP ")
	if !isDPoP {
		refuseProof(w, `Bearer error="invalid_token"`)
		return false
	}
	info, err := verify(req.Context(), token, req)
	if err != nil {
		refuseProof(w, `Bearer error="invalid_token"`)
		return false
	}
	said, thumbprint, err := readProof(req.Header.Values("DPoP"))
	sum := sha256.Sum256([]byte(token))
	switch {
	case err != nil, thumbprint != info.Extra[boundTo], said["ath"] != base64.RawURLEncoding.EncodeToString(sum[:]),
		said["htm"] != req.Method, said["htu"] != r.id, !r.once(fmt.Sprint(said["jti"])):
		refuseProof(w, `Bearer error="invalid_dpop_proof"`)
		return false
	case said["nonce"] != resourceNonce:
		w.Header().Set("DPoP-Nonce", resourceNonce)
		refuseProof(w, `Bearer error="use_dpop_nonce"`)
		return false
	}
	req.Header.Set("Authorization", "Bearer "+token) // what the SDK knows
	return true
}

func refuseProof(w http.ResponseWriter, challenge string) {
	w.Header().Set("WWW-Authenticate", challenge)
	w.WriteHeader(http.StatusUnauthorized)
}

// once reports whether a proof has not been seen.
func (r *resource) once(id string) bool {
	_, seen := r.proofs.LoadOrStore(id, true)
	return !seen
}

// readProof checks the signature of the only proof.
func readProof(all []string) (said jwt.MapClaims, thumbprint string, err error) {
	if len(all) != 1 {
		return nil, "", fmt.Errorf("there are %d proofs", len(all))
	}
	token, err := jwt.ParseWithClaims(all[0], &said, func(t *jwt.Token) (any, error) {
		key, _ := t.Header["jwk"].(map[string]any)
		x, errX := base64.RawURLEncoding.DecodeString(fmt.Sprint(key["x"]))
		y, errY := base64.RawURLEncoding.DecodeString(fmt.Sprint(key["y"]))
		sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"P-256","kty":"EC","x":%q,"y":%q}`, key["x"], key["y"]))
		thumbprint = base64.RawURLEncoding.EncodeToString(sum[:])
		if err := errors.Join(errX, errY); err != nil {
			return nil, err
		}
		return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
	}, jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuedAt(), jwt.WithLeeway(time.Second))
	if err == nil && token.Header["typ"] != "dpop+jwt" {
		err = errors.New("it is no proof")
	}
	return said, thumbprint, err
}
