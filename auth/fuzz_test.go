package auth_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpwire/auth"
)

func FuzzReadChallenge(f *testing.F) {
	for _, seed := range []string{
		`Bearer resource_metadata="https://a.example/x", error="insufficient_scope", scope="a b"`, `Bearer`, `Basic realm="x", Bearer`,
		`DPoP algs="ES256"`, `Bearer "`, `Bearer a="\"`, `, , ,`, `Negotiate abc==, Bearer error=x`, "Bearer a=\x00", `=`, `"`,
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		metadata, code, scopes := auth.ReadChallenge(http.Header{"Www-Authenticate": {one, two}})
		size := len(metadata) + len(code)
		for _, scope := range scopes {
			if size += len(scope); scope == "" || strings.ContainsAny(scope, " \t") {
				t.Errorf("the scope %q", scope)
			}
		}
		if size > len(one)+len(two) {
			t.Errorf("%d bytes of %d", size, len(one)+len(two))
		}
	})
}

func TestAHugeChallengeIsReadFast(t *testing.T) {
	for _, text := range []string{
		strings.Repeat(",", 1<<20), "Bearer " + strings.Repeat("a=b,", 1<<18), strings.Repeat(`"`, 1<<20),
		"Bearer " + strings.Repeat(`a="\`, 1<<18), strings.Repeat("Bearer,", 1<<17),
	} {
		start := time.Now()
		auth.ReadChallenge(http.Header{"Www-Authenticate": {text}})
		short := http.Header{}
		for len(text) > 0 && len(short["Www-Authenticate"]) < 1000 {
			n := min(len(text), 1000)
			short.Add("WWW-Authenticate", text[:n])
			text = text[n:]
		}
		auth.ReadChallenge(short)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%.20q takes %v", text, took)
		}
	}
}

func fuzzed(f *testing.F) *auth.Client {
	f.Helper()
	c, err := auth.New(auth.Options{Server: "demo", URL: "http://127.0.0.1:1/mcp"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.Close)
	return c
}

func FuzzGranted(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"a","refresh_token":"r","expires_in":3600,"scope":"a b","id_token":"x.y.z"}`, `access_token=a&scope=b`,
		`{"access_token":"a","expires_in":"-1e99","scope":["a",""]}`, `{"error":"x"}`, `{`, `null`, ``, "{\"access_token\":\"a\\n\"}",
	} {
		f.Add([]byte(seed))
	}
	c := fuzzed(f)
	now := time.Now()
	f.Fuzz(func(t *testing.T, body []byte) {
		access, refresh, scopes, expires, err := auth.Granted(c, body)
		if err != nil {
			if access != "" || refresh != "" || len(err.Error()) > 3000 {
				t.Errorf("got %q, %q, %v", access, refresh, err)
			}
			return
		}
		if access == "" || strings.ContainsFunc(access, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Errorf("the token %q", access)
		}
		for _, scope := range scopes {
			if scope == "" || strings.Contains(scope, " ") {
				t.Errorf("the scope %q", scope)
			}
		}
		if !expires.IsZero() && (expires.Before(now) || expires.After(now.AddDate(101, 0, 0))) {
			t.Errorf("expires at %v", expires)
		}
	})
}

func FuzzServerMetadata(f *testing.F) {
	f.Add([]byte(`{"issuer":"https://a","authorization_endpoint":"https://a/a","token_endpoint":"https://a/t",` +
		`"code_challenge_methods_supported":["S256"]}`))
	f.Add([]byte(`{"issuer":1}`))
	f.Add([]byte(`[]`))
	c := fuzzed(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		if token, ok := auth.Described(c, body); ok && auth.Check("http://127.0.0.1:1/mcp", token, false) != nil {
			t.Errorf("the token endpoint %q", token)
		}
	})
}
