package interop_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/client/rp"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"mcpwire"
	"mcpwire/config"
)

const (
	workload    = "a-workload"
	workloadKey = "the-key-of-it"
)

// workloads are the store of a zitadel server that knows one workload, by its key.
type workloads struct {
	*storage.Storage

	key    *ecdsa.PublicKey
	tokens atomic.Int32 // that were given
}

// GetKeyByIDAndClientID implements op.Storage.
func (w *workloads) GetKeyByIDAndClientID(_ context.Context, id, client string) (*jose.JSONWebKey, error) {
	if id != workloadKey || client != workload {
		return nil, fmt.Errorf("there is no key %q of %q", id, client)
	}
	return &jose.JSONWebKey{KeyID: id, Use: "sig", Key: w.key}, nil
}

// ValidateJWTProfileScopes implements op.Storage.
func (w *workloads) ValidateJWTProfileScopes(_ context.Context, _ string, scopes []string) ([]string, error) {
	return scopes, nil
}

// JWTProfileTokenType implements op.JWTProfileTokenStorage.
func (w *workloads) JWTProfileTokenType(context.Context, op.TokenRequest) (op.AccessTokenType, error) {
	w.tokens.Add(1)
	return op.AccessTokenTypeJWT, nil
}

func TestAWorkloadShowsAnotherServersLibraryItsJWT(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil)
	issuer := "http://" + web.Listener.Addr().String()
	store := &workloads{Storage: storage.NewStorage(storage.NewUserStore(issuer)), key: &key.PublicKey}
	web.Config.Handler = exampleop.SetupServer(issuer, store, nil, false)
	web.Start()
	t.Cleanup(web.Close)

	r := startResource(t)
	tokens := op.NewAccessTokenVerifier(issuer, rp.NewRemoteKeySet(http.DefaultClient, issuer+"/keys"))
	r.serve(guard{issuer: issuer, verify: func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		said, err := op.VerifyAccessToken[*oidc.AccessTokenClaims](ctx, token, tokens)
		if err != nil {
			return nil, errors.Join(auth.ErrInvalidToken, err)
		}
		return &auth.TokenInfo{
			Scopes: []string{"mcp:tools"}, Expiration: said.Expiration.AsTime(), UserID: said.Subject,
		}, nil
	}})

	file := filepath.Join(t.TempDir(), "workload.jwt")
	write := func(audience string) {
		t.Helper()
		token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.RegisteredClaims{
			Issuer: workload, Subject: workload, Audience: jwt.ClaimStrings{audience},
			IssuedAt: jwt.NewNumericDate(time.Now()), ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Minute)),
		})
		token.Header["kid"] = workloadKey
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entry := r.entry()
	entry.Auth = config.Auth{Grant: config.JWTBearer, Assertion: config.SecretSource{File: file}}
	o := keeping(t)
	write(issuer)
	say(t, entry, o)
	say(t, entry, o)
	if got := store.tokens.Load(); got != 1 || !r.accounts[workload] {
		t.Errorf("%d tokens, for %v", got, r.accounts)
	}
	// What is refused is told in the server's words, once.
	write(issuer + "/other")
	entry.Auth.Issuer = issuer // else it would not be sent
	_, err = mcpwire.Connect(t.Context(), entry, keeping(t))
	if err == nil || !strings.Contains(err.Error(), "no token by jwt-bearer: asking "+issuer) {
		t.Errorf("got %v", err)
	}
}
