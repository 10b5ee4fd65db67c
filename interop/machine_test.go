package interop_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/config"
)

// machineKey makes a key: a PEM file, and what a provider is told of it.
func machineKey(t *testing.T) (file string, public map[string]any) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "machine.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, map[string]any{
		"kty": "EC", "crv": "P-256", "use": "sig",
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}
}

func TestAMachineAtACertifiedProvider(t *testing.T) {
	t.Parallel()
	file, public := machineKey(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a %secret: of+a machine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		auth     config.Auth
		provider providerOptions
		guard    guard
	}{
		"by a secret, basic": {
			auth: config.Auth{ClientID: "machine-basic", ClientSecretFrom: config.SecretSource{File: secret}},
		},
		"by a secret, posted": {
			auth: config.Auth{
				ClientID: "machine-post", ClientSecret: "a %secret: of+a machine", TokenAuthMethod: "client_secret_post",
			},
			provider: providerOptions{Format: "jwt"},
		},
		"by a key": {auth: config.Auth{ClientID: "machine-key", PrivateKey: file}, provider: providerOptions{Key: public}},
		"by a key, with tokens that are bound to another": {
			auth: config.Auth{ClientID: "machine-key", PrivateKey: file}, provider: providerOptions{Key: public, Nonces: true},
			guard: guard{proofs: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.provider.Life = 2
			r, p := guarded(t, tt.provider, tt.guard)
			entry := r.entry()
			entry.Auth = tt.auth
			entry.Auth.Grant = config.ClientCredentials
			o := keeping(t)
			c := connectTo(t, entry, o)
			call(t, c, "echo", said{"hi"}, nil)
			call(t, c, "admin", said{"hi"}, nil) // one scope more
			time.Sleep(2100 * time.Millisecond)
			call(t, c, "echo", said{"hi"}, nil)
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
			status, err := mcpwire.LoginStatus(t.Context(), entry, o)
			if err != nil || !status.LoggedIn || status.Issuer != p.issuer || status.Bound != tt.guard.proofs {
				t.Errorf("the status is %+v, %v", status, err)
			}
			n := p.counts(t)
			if n["token client_credentials"] < 3 || n["registration"]+n["authorization"] > 0 {
				t.Errorf("at the provider happened %v", n)
			}
			for _, e := range p.events(t) {
				if refused := e.Event == "token refused"; refused && !(tt.provider.Nonces && strings.Contains(e.Error, "nonce")) {
					t.Errorf("the provider has refused %+v", e)
				}
			}
		})
	}
}

func TestAMachineWithAWrongSecretIsToldWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	r, p := guarded(t, providerOptions{}, guard{})
	entry := r.entry()
	entry.Auth = config.Auth{Grant: config.ClientCredentials, ClientID: "machine-basic", ClientSecret: "wrong-secret"}
	_, err := mcpwire.Connect(t.Context(), entry, keeping(t))
	if err == nil || !strings.Contains(err.Error(), "no token by client_credentials") ||
		!strings.Contains(err.Error(), "invalid_client") || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("got %v", err)
	}
	p.wantCounts(t, map[string]int{"token refused": 1})
}

// Codes, tokens and refresh tokens of a client without a secret are bound to one key, and both sides want nonces.
func TestALoginWhoseTokensAreBoundToAKey(t *testing.T) {
	t.Parallel()
	r, p := guarded(t, providerOptions{Life: 2, Nonces: true}, guard{proofs: true})
	o := keeping(t)
	status := mustLogIn(t, r.entry(), o, &person{name: "ada"})
	if !status.Bound || !status.Refreshable {
		t.Errorf("the status is %+v", status)
	}
	c := connectTo(t, r.entry(), o)
	call(t, c, "echo", said{"hi"}, nil)
	time.Sleep(2100 * time.Millisecond)
	call(t, c, "echo", said{"hi"}, nil)
	say(t, r.entry(), o)
	n := p.counts(t)
	if n["authorization"] != 1 || n["token refresh_token"] < 1 || n["grant revoked"] > 0 {
		t.Errorf("at the provider happened %v: %+v", n, p.events(t))
	}
}
