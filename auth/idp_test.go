package auth_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mcpwire/auth"
	"mcpwire/transport/transporttest"
)

const jagType = "urn:ietf:params:oauth:token-type:id-jag"

// An idp is an identity provider that gives grants for everybody. Its requests are noted as the fake's, to "idp".
type idp struct {
	*httptest.Server

	f        *fake
	describe map[string]any // members of the metadata in place of the usual
	claims   jwt.MapClaims  // of what it gives, in place of the usual
	answer   map[string]any // members of its answers, in place of the usual
}

func (f *fake) provider(t testing.TB) *idp {
	t.Helper()
	p := &idp{f: f}
	p.Server = httptest.NewServer(f.note("idp", map[string]http.HandlerFunc{
		"/.well-known/openid-configuration": func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusOK, changed(map[string]any{"issuer": p.URL, "token_endpoint": p.URL + "/token"}, p.describe))
		},
		"/token": func(w http.ResponseWriter, r *http.Request) {
			claims := jwt.MapClaims{"aud": r.Form.Get("audience"), "resource": r.Form.Get("resource"), "client_id": "build"}
			maps.Copy(claims, p.claims)
			write(w, http.StatusOK, changed(map[string]any{
				"access_token": signed(t, claims), "issued_token_type": jagType, "token_type": "N_A",
			}, p.answer))
		},
	}))
	t.Cleanup(p.Close)
	return p
}

// managed are options of a machine of an enterprise.
func (p *idp) managed(t testing.TB) auth.Options {
	t.Helper()
	o := byCredentials()
	o.Grant, o.Assertion = auth.Enterprise, given(signed(t, jwt.MapClaims{"sub": "me", "aud": "us"}))
	o.IDP = auth.IDP{Issuer: p.URL, ClientID: "us"}
	return o
}

func TestAnIDTokenBecomesAGrantAndThatOneAToken(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	p := f.provider(t)
	o := p.managed(t)
	o.Scopes = []string{"a", "b"}
	u := f.connect(t, o)
	u.call()
	exchange, request := f.asked("idp /token"), f.asked("as /o/token")
	if len(exchange) != 1 || len(request) != 1 {
		t.Fatalf("the requests were %v", f.order())
	}
	subject, _ := o.Assertion(t.Context())
	for name, want := range map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": subject,
		"subject_token_type":   "urn:ietf:params:oauth:token-type:id_token",
		"requested_token_type": jagType, "audience": f.issuer, "resource": f.resource, "scope": "a b", "client_id": "us",
	} {
		if got := exchange[0].form.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	form := request[0].form
	if form.Get("grant_type") != jwtBearer || form.Get("scope") != "a b" || form.Get("subject_token") != "" ||
		!strings.HasPrefix(request[0].header.Get("Authorization"), "Basic ") {
		t.Errorf("got %+v", request[0])
	}
	var said jwt.MapClaims
	if _, _, err := jwt.NewParser().ParseUnverified(form.Get("assertion"), &said); err != nil || said["aud"] != f.issuer {
		t.Errorf("got %v, %v", said, err)
	}
	// An expired token is replaced in the same way.
	f.keep(t, u, func(l *auth.Login) {
		l.Grant, l.ClientID, l.RefreshToken = auth.Enterprise, "build", ""
		expired(l)
	})
	f.connect(t, auth.Options{
		Store: u.store, Grant: o.Grant, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Assertion: o.Assertion, IDP: o.IDP,
	}).call()
	if got := len(f.asked("idp /token")); got != 2 {
		t.Errorf("%d exchanges", got)
	}
}

func TestTheSecretAtTheIdentityProviderIsForIt(t *testing.T) {
	f := newFake(t)
	p := f.provider(t)
	p.describe = map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}
	o := p.managed(t)
	o.IDP.ClientSecret = given(secretKey)
	f.connect(t, o).call()
	if form := f.asked("idp /token")[0].form; form.Get("client_secret") != secretKey || form.Get("client_id") != "us" {
		t.Errorf("got %v", form)
	}
	for _, s := range f.asked("") {
		if s.to != "idp /token" && strings.Contains(s.body, secretKey) {
			t.Errorf("%s got it", s.to)
		}
	}
}

func TestWhatAnIdentityProviderGivesIsLookedAt(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*idp)
		step   auth.Step
		why    string
	}{
		"a token of its own": {
			func(p *idp) {
				p.answer = map[string]any{"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
			},
			auth.StepExchange, "it is not used",
		},
		"a token of no kind":   {func(p *idp) { p.answer = map[string]any{"issued_token_type": nil} }, auth.StepExchange, "it is not used"},
		"nothing":              {func(p *idp) { p.answer = map[string]any{"access_token": nil} }, auth.StepExchange, "has no access_token"},
		"no JWT":               {func(p *idp) { p.answer = map[string]any{"access_token": secretAccess} }, auth.StepExchange, "is no JWT"},
		"one for somebody":     {func(p *idp) { p.claims = jwt.MapClaims{"aud": "https://evil.example"} }, auth.StepExchange, `"https://evil.example"`},
		"one for another use":  {func(p *idp) { p.claims = jwt.MapClaims{"resource": "https://bank.example"} }, auth.StepExchange, `"https://bank.example"`},
		"one for nobody":       {func(p *idp) { p.claims = jwt.MapClaims{"aud": nil} }, auth.StepExchange, "not for"},
		"a refusal":            {func(p *idp) { p.answer = map[string]any{"error": "access_denied"} }, auth.StepExchange, "access_denied"},
		"no token endpoint":    {func(p *idp) { p.describe = map[string]any{"token_endpoint": nil} }, auth.StepDiscovery, "no token_endpoint"},
		"one in the clear":     {func(p *idp) { p.describe = map[string]any{"token_endpoint": "http://evil.example"} }, auth.StepDiscovery, "https://"},
		"somebody else's data": {func(p *idp) { p.describe = map[string]any{"issuer": "https://evil.example"} }, auth.StepDiscovery, "it is not used"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			p := f.provider(t)
			tt.change(p)
			why := f.connect(t, p.managed(t)).failed()
			if why.Step != tt.step || !strings.Contains(why.Error(), tt.why) || why.Issuer != p.URL {
				t.Errorf("got %v at %s, the step %s", why, why.Issuer, why.Step)
			}
			shows(t, f, "the error", all(why))
			if got := f.asked("as /o/token"); len(got) > 0 {
				t.Errorf("sent was %v", got[0].form)
			}
		})
	}
}

func TestARefusalOfAnIdentityProviderNamesItAndShowsNoToken(t *testing.T) {
	f := newFake(t)
	p := f.provider(t)
	o := p.managed(t)
	token, _ := o.Assertion(t.Context())
	f.answer("idp /token", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusBadRequest, map[string]any{
			"error": "invalid_grant", "error_description": "bad audience in " + r.Form.Get("subject_token"),
		})
	})
	u := f.connect(t, o)
	why := u.failed()
	text := all(why)
	if !strings.Contains(text, "exchanging the ID token at "+p.URL) || !strings.Contains(text, "invalid_grant (bad audience in ***)") ||
		strings.Contains(text, token) {
		t.Errorf("got %v", text)
	}
	if _ = u.failed(); len(f.asked("idp /token")) != 1 {
		t.Error("it was asked again")
	}
}

// A person must sign in again, which no retry does.
func TestAnIDTokenThatHasExpiredIsNotSent(t *testing.T) {
	f := newFake(t)
	p := f.provider(t)
	o := p.managed(t)
	o.Assertion = given(signed(t, jwt.MapClaims{"aud": "us", "exp": time.Now().Add(-time.Minute).Unix()}))
	if why := f.connect(t, o).failed(); why.Step != auth.StepCredentials || !strings.Contains(why.Error(), "it has expired") ||
		len(f.asked("idp /token")) > 0 {
		t.Errorf("got %v", why)
	}
}
