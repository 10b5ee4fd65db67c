package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mcpwire/auth"
	"mcpwire/transport"
)

// A judge looks at every proof that comes to a fake, and says what is wrong with each.
type judge struct {
	t testing.TB
	f *fake

	mu     sync.Mutex
	seen   map[string]bool   // the ids of proofs
	keys   map[string]string // the thumbprints that tokens are bound to
	nonces map[string]string // that are wanted, by place: "as" and "mcp"
	codes  []string          // the thumbprints that codes were bound to
	thumbs []string          // of all proofs at the token endpoint
}

// judged makes a fake one whose tokens are bound to keys.
func judged(t testing.TB) *judge {
	t.Helper()
	f := newFake(t)
	j := &judge{t: t, f: f, seen: map[string]bool{}, keys: map[string]string{}, nonces: map[string]string{}}
	f.kind = "DPoP"
	f.challenge = fmt.Sprintf(`DPoP algs="ES256", resource_metadata=%q`, f.mcp.URL+"/.well-known/oauth-protected-resource/mcp")
	f.describe = func(m map[string]any) { m["dpop_signing_alg_values_supported"] = []string{"ES256"} }
	f.answer("as /o/token", func(w http.ResponseWriter, r *http.Request) {
		thumb, ok := j.proof(w, r, "as", f.as.URL+"/o/token", "")
		if !ok {
			return
		}
		j.mu.Lock()
		j.thumbs = append(j.thumbs, thumb)
		f.mu.Lock()
		j.keys[fmt.Sprintf("access-token-%d", f.n+1)] = thumb
		j.codes = append(j.codes, f.codes[r.Form.Get("code")].Get("dpop_jkt"))
		f.mu.Unlock()
		j.mu.Unlock()
		f.token(w, r)
	})
	f.answer("mcp /mcp", func(w http.ResponseWriter, r *http.Request) {
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "DPoP "); ok {
			thumb, ok := j.proof(w, r, "mcp", f.mcp.URL+"/mcp", token)
			if !ok {
				return
			}
			j.mu.Lock()
			if want := j.keys[token]; want != "" && want != thumb {
				t.Errorf("%s is bound to another key", token)
			}
			j.mu.Unlock()
			r.Header.Set("Authorization", "Bearer "+token)
		} else if r.Header.Get("Authorization") != "" {
			t.Errorf("the token came as %s", r.Header.Get("Authorization"))
		}
		f.serve(w, r)
	})
	return j
}

// want has a place want a nonce.
func (j *judge) want(place, nonce string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.nonces[place] = nonce
}

type proofSaid struct {
	jwt.RegisteredClaims

	Method string `json:"htm"`
	URL    string `json:"htu"`
	Nonce  string `json:"nonce"`
	Token  string `json:"ath"`
}

// proof reads the proof of a request, and refuses the request if it lacks the nonce that is wanted.
func (j *judge) proof(w http.ResponseWriter, r *http.Request, place, url, token string) (thumb string, ok bool) {
	all := r.Header.Values("DPoP")
	if len(all) != 1 {
		j.t.Errorf("%s got %d proofs", place, len(all))
		w.WriteHeader(http.StatusBadRequest)
		return "", false
	}
	var said proofSaid
	parsed, err := jwt.ParseWithClaims(all[0], &said, func(t *jwt.Token) (any, error) {
		jwk, _ := t.Header["jwk"].(map[string]any)
		point := []byte{4}
		for _, name := range []string{"x", "y"} {
			raw, err := base64.RawURLEncoding.DecodeString(fmt.Sprint(jwk[name]))
			if err != nil {
				return nil, err
			}
			point = append(point, raw...)
		}
		sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"P-256","kty":"EC","x":%q,"y":%q}`, jwk["x"], jwk["y"]))
		thumb = base64.RawURLEncoding.EncodeToString(sum[:])
		if len(jwk) != 4 {
			j.t.Errorf("the key is %v", jwk)
		}
		return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	}, jwt.WithValidMethods([]string{"ES256"}))
	sum := sha256.Sum256([]byte(token))
	hash := base64.RawURLEncoding.EncodeToString(sum[:])
	if token == "" {
		hash = ""
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil || parsed.Header["typ"] != "dpop+jwt" || said.Method != r.Method || said.URL != url || said.Token != hash ||
		said.ID == "" || j.seen[said.ID] || said.IssuedAt == nil || time.Since(said.IssuedAt.Time).Abs() > time.Minute {
		j.t.Errorf("%s got the proof %+v, %+v, %v", place, parsed.Header, said, err)
	}
	j.seen[said.ID] = true
	if want := j.nonces[place]; want != "" && said.Nonce != want {
		w.Header().Set("DPoP-Nonce", want)
		if place == "as" {
			write(w, http.StatusBadRequest, map[string]any{"error": "use_dpop_nonce"})
		} else {
			w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce", error_description="another"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
		return "", false
	}
	return thumb, true
}

func TestATokenIsBoundToAKeyWhereTheServerAsksForIt(t *testing.T) {
	for name, change := range map[string]func(*judge, *auth.Options){
		"by its refusal": func(*judge, *auth.Options) {},
		"by its refusal among others": func(j *judge, _ *auth.Options) {
			j.f.challenge = "Bearer, " + j.f.challenge
		},
		"by its metadata": func(j *judge, _ *auth.Options) {
			j.f.challenge = ""
			j.f.answer("mcp /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
				write(w, http.StatusOK, changed(j.f.metadata(), map[string]any{"dpop_bound_access_tokens_required": true}))
			})
		},
		"and the authorization server does not say that it can": func(j *judge, _ *auth.Options) { j.f.describe = nil },
		"or the host does": func(j *judge, o *auth.Options) {
			j.f.challenge, j.f.describe, o.DPoP = "", nil, new(true)
		},
		"with nonces": func(j *judge, _ *auth.Options) {
			j.want("as", "nonce-of-as")
			j.want("mcp", "nonce-of-mcp")
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(t)
			var o auth.Options
			change(j, &o)
			u := j.f.connect(t, o)
			if err := u.login(&person{}); err != nil {
				t.Fatal(err)
			}
			u.call()
			l := u.kept()
			if l.ProofKey == "" {
				t.Error("the key is not kept")
			}
			if status, err := u.client.Status(t.Context()); err != nil || !status.Bound {
				t.Errorf("got %+v, %v", status, err)
			}
			// The same key goes with a new token, in another process too.
			j.f.expire()
			u.call()
			j.f.expire()
			o.Store = u.store
			j.f.connect(t, o).call()
			if u.kept().ProofKey != l.ProofKey {
				t.Error("the key has changed")
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			for _, thumb := range append(j.thumbs, j.codes[0]) {
				if thumb != j.thumbs[0] {
					t.Errorf("the keys were %q, and of the code %q", j.thumbs, j.codes)
				}
			}
		})
	}
}

func TestEachLoginHasAKeyOfItsOwn(t *testing.T) {
	j := judged(t)
	u := j.f.connect(t, auth.Options{})
	keys := map[string]bool{}
	for range 2 {
		if err := u.login(&person{}); err != nil {
			t.Fatal(err)
		}
		keys[u.kept().ProofKey] = true
		u.call()
	}
	if len(keys) != 2 {
		t.Errorf("the keys are %v", keys)
	}
}

func TestAMachinesTokensAreBoundToOneKey(t *testing.T) {
	j := judged(t)
	o := byCredentials()
	u := j.f.connect(t, o)
	u.call()
	first := u.kept()
	j.f.keep(t, u, func(l *auth.Login) {
		*l = *first
		l.AccessToken, l.Expires = "expired-token", time.Now().Add(-time.Hour)
	})
	o.Store = u.store
	j.f.connect(t, o).call()
	if l := u.kept(); l.ProofKey != first.ProofKey || l.AccessToken == first.AccessToken {
		t.Errorf("kept is %+v, and was %+v", l, first)
	}
}

// A nonce that has expired costs one more request each, and no refresh.
func TestANewNonceIsUsedAtOnce(t *testing.T) {
	j := judged(t)
	u := j.f.connect(t, auth.Options{})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	for _, nonce := range []string{"one", "two"} {
		j.want("mcp", nonce)
		j.f.forget()
		u.call()
		u.call()
		if got := j.f.order(); len(got) != 3 || got[0] != "mcp /mcp" || got[2] != "mcp /mcp" {
			t.Errorf("the requests were %v", got)
		}
	}
}

// What no nonce satisfies is no reason to refresh tokens, to ask a person, or to go on for ever.
func TestAServerThatWantsEverNewNoncesIsAskedTwice(t *testing.T) {
	j := judged(t)
	p := &person{}
	u := j.f.connect(t, auth.Options{Authorizer: p})
	if err := u.login(p); err != nil {
		t.Fatal(err)
	}
	j.f.forget()
	n := 0
	j.f.answer("mcp /mcp", func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("DPoP-Nonce", fmt.Sprint("nonce-", n))
		w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	got, err := u.do(waited(t, &transport.Call{}), http.MethodPost, "hello")
	if err != nil || got.why == nil || !strings.Contains(got.why.Error(), "another nonce each time") ||
		errors.Is(got.why, transport.ErrLoginRequired) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := j.f.order(); len(got) != 2 || p.dialogues() != 1 {
		t.Errorf("the requests were %v", got)
	}
}

func TestAnAuthorizationServerThatWantsEverNewNoncesIsAskedTwice(t *testing.T) {
	j := judged(t)
	n := 0
	j.f.answer("as /o/token", func(w http.ResponseWriter, _ *http.Request) {
		n++
		w.Header().Set("DPoP-Nonce", fmt.Sprint("nonce-", n))
		write(w, http.StatusBadRequest, map[string]any{"error": "use_dpop_nonce"})
	})
	if why := j.f.connect(t, byCredentials()).failed(); n != 2 || !strings.Contains(why.Error(), "use_dpop_nonce") {
		t.Errorf("got %v after %d requests", why, n)
	}
}

func TestANonceThatIsNoneIsNotUsed(t *testing.T) {
	for name, nonce := range map[string]string{
		"too long": strings.Repeat("a", 2000), "with a quote": `a"b`, "with a blank": "a b", "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(t)
			j.f.answer("as /o/token", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("DPoP-Nonce", nonce)
				write(w, http.StatusBadRequest, map[string]any{"error": "use_dpop_nonce"})
			})
			_ = j.f.connect(t, byCredentials()).failed()
			if got := len(j.f.asked("as /o/token")); got != 1 {
				t.Errorf("%d requests", got)
			}
		})
	}
}

func TestATokenThatIsNotBoundIsRefusedWhereItMustBe(t *testing.T) {
	j := judged(t)
	j.f.kind = "Bearer"
	err := j.f.connect(t, auth.Options{}).login(&person{})
	if err == nil || !strings.Contains(err.Error(), "not bound to our key") {
		t.Errorf("got %v", err)
	}
	// Who takes both kinds gets what there is.
	j = judged(t)
	j.f.kind = "Bearer"
	j.f.challenge += ", Bearer"
	u := j.f.connect(t, auth.Options{})
	if err := u.login(&person{}); err != nil || u.kept().ProofKey != "" {
		t.Errorf("got %v, kept %+v", err, u.kept())
	}
}

func TestATokenIsNotBoundWhereNobodyAsksForItOrTheHostForbidsIt(t *testing.T) {
	for name, change := range map[string]func(*fake, *auth.Options){
		"nobody asks": func(f *fake, _ *auth.Options) {
			f.describe = func(m map[string]any) { m["dpop_signing_alg_values_supported"] = []string{"ES256"} }
		},
		"the host forbids it": func(f *fake, o *auth.Options) {
			f.challenge = fmt.Sprintf(`DPoP resource_metadata=%q`, f.mcp.URL+"/.well-known/oauth-protected-resource/mcp")
			o.DPoP = new(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			var o auth.Options
			change(f, &o)
			u := f.connect(t, o)
			if err := u.login(&person{}); err != nil {
				t.Fatal(err)
			}
			u.call()
			for _, s := range f.asked("") {
				if s.header.Get("DPoP") != "" {
					t.Errorf("%s got a proof", s.to)
				}
			}
		})
	}
}

func TestAnAuthorizationServerThatTakesNoProofsOfOursIsNamed(t *testing.T) {
	j := judged(t)
	j.f.describe = func(m map[string]any) { m["dpop_signing_alg_values_supported"] = []string{"RS256"} }
	p := &person{}
	err := j.f.connect(t, auth.Options{}).login(p)
	if err == nil || !strings.Contains(err.Error(), "takes no proofs by ES256, only by RS256") || p.dialogues() > 0 {
		t.Errorf("got %v", err)
	}
}

// A login from before is not shown where tokens must be bound.
func TestALoginThatIsNotBoundIsNotUsedWhereTheHostWantsThat(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{DPoP: new(true)})
	f.keep(t, u, nil)
	u.refused(t.Context())
	for _, s := range f.asked("mcp /mcp") {
		if s.header.Get("Authorization") != "" {
			t.Errorf("sent was %v", s.header)
		}
	}
}
