package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mcpwire/auth"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// given is a secret that is always the same.
func given(text string) auth.Secret {
	return func(context.Context) (string, error) { return text, nil }
}

// signed is a JWT of somebody's, with a key that nobody knows.
func signed(t testing.TB, claims jwt.MapClaims) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodES256, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// byCredentials are options of a machine that has a secret.
func byCredentials() auth.Options {
	return auth.Options{Grant: auth.ClientCredentials, ClientID: "build", ClientSecret: secretClient}
}

// failed makes a call that must fail for want of a token, and returns why.
func (u *user) failed() *auth.GrantError {
	u.t.Helper()
	got, err := u.do(u.t.Context(), http.MethodPost, "hello")
	if err == nil {
		err = got.why
	}
	why, ok := errors.AsType[*auth.GrantError](err)
	if !ok || errors.Is(err, transport.ErrLoginRequired) {
		u.t.Fatalf("got %+v, %v", got, err)
	}
	return why
}

func TestAMachineGetsATokenWhenItIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		methods []string
		change  func(*auth.Options)
		header  string
		form    map[string]string
	}{
		"client_secret_basic": {
			methods: []string{"client_secret_basic"}, header: "Basic YnVpbGQ6c2VhbGluZy13YXg=",
			form: map[string]string{"client_secret": "", "client_id": ""},
		},
		"client_secret_post": {
			methods: []string{"client_secret_post"}, form: map[string]string{"client_secret": secretClient, "client_id": "build"},
		},
		"a secret that is read": {
			methods: []string{"client_secret_post"},
			change:  func(o *auth.Options) { o.ClientSecret, o.ClientSecretFrom = "", given("read") },
			form:    map[string]string{"client_secret": "read"},
		},
		"scopes": {
			change: func(o *auth.Options) { o.Scopes = []string{"a", "b"} }, form: map[string]string{"scope": "a b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			f := newFake(t)
			f.describe = func(m map[string]any) { // all that a server for machines need say
				delete(m, "authorization_endpoint")
				delete(m, "code_challenge_methods_supported")
				delete(m, "registration_endpoint")
				if tt.methods != nil {
					m["token_endpoint_auth_methods_supported"] = tt.methods
				}
			}
			o := byCredentials()
			if tt.change != nil {
				tt.change(&o)
			}
			u := f.connect(t, o)
			u.call()
			u.call()
			asked := f.asked("as /o/token")
			if len(asked) != 1 {
				t.Fatalf("the requests were %v", f.order())
			}
			s := asked[0]
			if s.form.Get("grant_type") != "client_credentials" || s.form.Get("resource") != f.resource ||
				tt.header != "" && s.header.Get("Authorization") != tt.header {
				t.Errorf("got %v, %v", s.form, s.header)
			}
			for name, want := range tt.form {
				if got := s.form.Get(name); got != want {
					t.Errorf("%s is %q, not %q", name, got, want)
				}
			}
			l := u.kept()
			if l.Grant != auth.ClientCredentials || l.Issuer != f.issuer || l.RefreshToken != "" || l.Expires.IsZero() {
				t.Errorf("kept is %+v", l)
			}
			status, err := u.client.Status(t.Context())
			if err != nil || status.Grant != auth.ClientCredentials || !status.LoggedIn || !status.Refreshable {
				t.Errorf("got %+v, %v", status, err)
			}
		})
	}
}

func TestAMachineProvesItselfByItsKey(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t)
	u := f.connect(t, auth.Options{Grant: auth.ClientCredentials, ClientID: "build", PrivateKey: key})
	u.call()
	form := f.asked("as /o/token")[0].form
	var said jwt.RegisteredClaims
	_, err = jwt.ParseWithClaims(form.Get("client_assertion"), &said, func(*jwt.Token) (any, error) {
		return &key.PublicKey, nil
	}, jwt.WithAudience(f.issuer), jwt.WithSubject("build"), jwt.WithIssuer("build"), jwt.WithExpirationRequired())
	if err != nil || form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		t.Errorf("got %v, %v", form, err)
	}
}

func TestAMachineShowsTheJWTThatIsMeantForTheServer(t *testing.T) {
	f := newFake(t)
	for name, tt := range map[string]struct {
		claims jwt.MapClaims
		raw    string
		issuer string
		client string
		why    string // "": it is sent
	}{
		"by its issuer":          {claims: jwt.MapClaims{"aud": f.issuer}},
		"by its issuer's slash":  {claims: jwt.MapClaims{"aud": f.issuer + "/"}},
		"one of several":         {claims: jwt.MapClaims{"aud": []string{"x", f.issuer}}, client: "build"},
		"by its token endpoint":  {claims: jwt.MapClaims{"aud": f.as.URL + "/o/token"}},
		"as somebody has said":   {claims: jwt.MapClaims{"aud": "api://exchange"}, issuer: f.issuer},
		"still good":             {claims: jwt.MapClaims{"aud": f.issuer, "exp": time.Now().Add(time.Hour).Unix()}},
		"for another":            {claims: jwt.MapClaims{"aud": "https://other.example"}, why: "its audience is"},
		"for a name that begins": {claims: jwt.MapClaims{"aud": f.issuer + ".evil.example"}, why: "its audience is"},
		"for nobody":             {claims: jwt.MapClaims{}, why: "its audience is"},
		"an old one": {
			claims: jwt.MapClaims{"aud": f.issuer, "exp": time.Now().Add(-time.Hour).Unix()}, why: "it has expired",
		},
		"no JWT":    {raw: "hunter2.hunter3.hunter4", why: "it is no JWT"},
		"nothing":   {raw: " \n", why: "it is empty"},
		"a big one": {raw: strings.Repeat("a", 100<<10), why: "it has more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			f.forget()
			raw := tt.raw
			if tt.claims != nil {
				raw = signed(t, tt.claims)
			}
			u := f.connect(t, auth.Options{
				Grant: auth.JWTBearer, Assertion: given(" " + raw + "\n"), Issuer: tt.issuer, ClientID: tt.client,
			})
			if tt.why != "" {
				why := u.failed()
				if why.Step != auth.StepCredentials || !strings.Contains(why.Error(), "assertion: "+tt.why) ||
					len(f.asked("as /o/token")) > 0 || strings.Contains(why.Error(), "hunter") {
					t.Errorf("got %v", why)
				}
				return
			}
			u.call()
			form := f.asked("as /o/token")[0].form
			if form.Get("grant_type") != jwtBearer || form.Get("assertion") != raw || form.Get("client_id") != tt.client ||
				form.Has("client_id") != (tt.client != "") || form.Get("resource") != f.resource {
				t.Errorf("got %v", form)
			}
		})
	}
}

func TestFiveCallsOfAMachineGetOneToken(t *testing.T) {
	for name, change := range map[string]func(*auth.Login){
		"there is none":               nil,
		"it has expired":              expired,
		"the server takes it no more": func(l *auth.Login) { l.AccessToken = "revoked-token" },
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			f := newFake(t)
			f.delay = 300 * time.Millisecond
			u := f.connect(t, byCredentials())
			if change != nil {
				f.keep(t, u, func(l *auth.Login) {
					l.Grant, l.ClientID, l.RefreshToken = auth.ClientCredentials, "build", ""
					change(l)
				})
			}
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					got, err := u.do(t.Context(), http.MethodPost, "hello")
					if err != nil || got.body != "hello" {
						t.Errorf("got %+v, %v", got, err)
					}
				})
			}
			all.Wait()
			if got := len(f.asked("as /o/token")); got != 1 {
				t.Errorf("%d tokens", got)
			}
		})
	}
}

// An expired token is not shown to the server first.
func TestAMachineGetsANewTokenBeforeTheOldOneExpires(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, byCredentials())
	f.keep(t, u, func(l *auth.Login) {
		l.Grant, l.ClientID, l.RefreshToken = auth.ClientCredentials, "build", ""
		l.Obtained, l.Expires = time.Now().Add(-time.Hour), time.Now().Add(10*time.Second)
		l.Scopes, l.Metadata = []string{"a"}, f.mcp.URL+"/elsewhere"
	})
	f.answer("mcp /elsewhere", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, f.metadata()) })
	u.call()
	if got := f.asked("mcp /mcp"); len(got) != 1 || got[0].header.Get("Authorization") != "Bearer access-token-1" {
		t.Errorf("the requests were %v", f.order())
	}
	if got := f.asked("as /o/token"); len(got) != 1 || got[0].form.Get("scope") != "a" {
		t.Errorf("got %+v", got)
	}
}

func TestMachinesOfSeveralProcessesShareATokenAndNotAPersonsLogin(t *testing.T) {
	f := newFake(t)
	store := auth.NewMemoryStore()
	o := byCredentials()
	o.Store = store
	f.connect(t, o).call()
	f.connect(t, o).call()
	if got := len(f.asked("as /o/token")); got != 1 {
		t.Errorf("%d tokens", got)
	}
	person := f.connect(t, auth.Options{Store: store})
	if why := person.refused(t.Context()); why.Command != "mcpwire login demo" {
		t.Errorf("got %v", why)
	}
	o.ClientID = "another"
	other := f.connect(t, o)
	other.call()
	if got := len(f.asked("as /o/token")); got != 2 || other.kept().ClientID != "another" {
		t.Errorf("%d tokens, kept is %+v", got, other.kept())
	}
}

func TestAMachineAsksForTheScopeThatIsMissing(t *testing.T) {
	f := newFake(t)
	o := byCredentials()
	o.Scopes = []string{"a"}
	u := f.connect(t, o)
	u.call()
	f.mu.Lock()
	f.scopes = []string{"b"}
	f.mu.Unlock()
	u.call()
	if got := f.asked("as /o/token"); len(got) != 2 || got[1].form.Get("scope") != "a b" {
		t.Errorf("got %+v", got)
	}
	// One that is never granted is asked for once.
	f.answer("as /o/token", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		write(w, http.StatusOK, f.grant("a", false))
	})
	f.mu.Lock()
	f.scopes = []string{"c"}
	f.mu.Unlock()
	f.forget()
	for range 2 {
		if why := u.failed(); why.Step != auth.StepUse || len(f.asked("as /o/token")) > 2 {
			t.Errorf("got %v after %v", why, f.order())
		}
	}
}

// A refusal is not made up for by trying again, and not by another grant.
func TestARefusalOfAMachineIsToldAndNotRepeated(t *testing.T) {
	for _, code := range []string{"invalid_client", "invalid_grant", "invalid_scope", "unauthorized_client"} {
		t.Run(code, func(t *testing.T) {
			f := newFake(t)
			f.answer("as /o/token", func(w http.ResponseWriter, r *http.Request) {
				write(w, http.StatusBadRequest, map[string]any{
					"error": code, "error_description": "no \x1b[31m" + r.Form.Get("client_secret") + " here",
				})
			})
			f.describe = func(m map[string]any) { m["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"} }
			u := f.connect(t, byCredentials())
			why := u.failed()
			text := why.Error()
			if why.Step != auth.StepToken || why.Issuer != f.issuer || !strings.HasPrefix(text, "no token by client_credentials: ") ||
				!strings.Contains(text, f.issuer) || !strings.Contains(text, code+" (no ") ||
				strings.ContainsAny(text, "\x1b") {
				t.Errorf("got %v", why)
			}
			shows(t, f, "the error", all(why))
			if u.failed() != why || len(f.asked("as /o/token")) != 1 {
				t.Errorf("the requests were %v", f.order())
			}
			if !why.Temporary() {
				t.Error("somebody is to log in")
			}
		})
	}
}

func TestAnOutageOfTheAuthorizationServerOfAMachinePasses(t *testing.T) {
	f := newFake(t)
	f.answer("as /o/token", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	u := f.connect(t, byCredentials())
	if why := u.failed(); !strings.Contains(why.Error(), "503") {
		t.Errorf("got %v", why)
	}
	f.answer("as /o/token", nil)
	u.call()
}

func TestHostileAnswersToAMachine(t *testing.T) {
	for name, tt := range map[string]struct {
		at     string
		answer http.HandlerFunc
		why    string
	}{
		"a token of another kind": {"as /o/token", func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusOK, map[string]any{"access_token": "x", "token_type": "N_A"})
		}, `of the type "N_A"`},
		"a token with a line break": {"as /o/token", func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusOK, map[string]any{"access_token": "a\r\nX-Evil: 1", "token_type": "Bearer"})
		}, "no usable access_token"},
		"a huge answer": {"as /o/token", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"access_token": "` + strings.Repeat("a", 2<<20) + `"}`))
		}, "message too large"},
		"a redirect": {"as /o/token", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/o/elsewhere", http.StatusTemporaryRedirect)
		}, "redirected with HTTP 307"},
		"another issuer's metadata": {"as /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusOK, map[string]any{"issuer": "https://evil.example", "token_endpoint": "https://evil.example/t"})
		}, `of the issuer "https://evil.example"`},
		"a token endpoint over http": {"as /.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
			write(w, http.StatusOK, map[string]any{"issuer": "http://" + r.Host, "token_endpoint": "http://evil.example/t"})
		}, "it must begin with https://"},
		"another resource's metadata": {"mcp /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
			write(w, http.StatusOK, map[string]any{
				"resource": "https://bank.example/mcp", "authorization_servers": []string{"http://" + r.Host},
			})
		}, `about the resource "https://bank.example/mcp"`},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			f := newFake(t)
			f.answer(tt.at, tt.answer)
			why := f.connect(t, byCredentials()).failed()
			if !strings.Contains(why.Error(), tt.why) {
				t.Errorf("got %v", why)
			}
			if tt.at != "as /o/token" && len(f.asked("as /o/token")) > 0 {
				t.Error("the secret was sent")
			}
		})
	}
}

// The client was made at one authorization server; a server that names another does not get its secret.
func TestAMachinesSecretIsForTheServerThatItWasFirstUsedWith(t *testing.T) {
	f, g := newFake(t), newFake(t)
	u := f.connect(t, byCredentials())
	u.call()
	f.expire()
	f.issuer = g.issuer
	why := u.failed()
	if !strings.Contains(why.Error(), `set "issuer"`) || len(g.asked("as /o/token")) > 0 {
		t.Errorf("got %v, and %v", why, g.order())
	}
}

func TestASecretThatCanNotBeReadIsNamed(t *testing.T) {
	f := newFake(t)
	o := byCredentials()
	o.ClientSecret = ""
	times := 0
	o.ClientSecretFrom = func(context.Context) (string, error) {
		times++
		return "", errors.New("the file /run/secret: it is not there")
	}
	u := f.connect(t, o)
	why := u.failed()
	if why.Step != auth.StepCredentials || !strings.Contains(why.Error(), "clientSecret: the file /run/secret") {
		t.Errorf("got %v", why)
	}
	_ = u.failed()
	if times != 1 {
		t.Errorf("it was read %d times", times)
	}
}

func TestALoginOfAMachineAsksNobodyAndGetsANewToken(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, byCredentials())
	for i := range 2 {
		status, err := u.client.Login(t.Context(), nil)
		if err != nil || !status.LoggedIn || status.Issuer != f.issuer {
			t.Fatalf("got %+v, %v", status, err)
		}
		if got := len(f.asked("as /o/token")); got != i+1 {
			t.Errorf("%d tokens", got)
		}
	}
	was, err := u.client.Logout(t.Context())
	if err != nil || !was.LoggedIn || len(f.asked("as /o/revoke")) != 1 {
		t.Errorf("got %+v, %v", was, err)
	}
	f.answer("as /o/token", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_client"})
	})
	if _, err := u.client.Login(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("got %v", err)
	}
}

func TestAMachineSendsNoSecretOverAnOpenWay(t *testing.T) {
	c, err := auth.New(auth.Options{
		Server: "demo", URL: "http://mcp.example.com/mcp", Grant: auth.ClientCredentials, ClientID: "a", ClientSecret: "b",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Login(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Errorf("got %v", err)
	}
}

func TestOptionsOfAGrantAreComplete(t *testing.T) {
	for want, o := range map[string]auth.Options{
		`"password" is not known`:               {Grant: "password"},
		"client_credentials needs a client id":  {Grant: auth.ClientCredentials},
		"enterprise needs a client id":          {Grant: auth.Enterprise},
		"jwt-bearer needs an assertion":         {Grant: auth.JWTBearer},
		"enterprise needs an assertion":         {Grant: auth.Enterprise, ClientID: "a"},
		"enterprise needs an identity provider": {Grant: auth.Enterprise, ClientID: "a", Assertion: given("b")},
	} {
		o.URL = "https://mcp.example.com"
		if _, err := auth.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A machine that stops has nothing left behind.
func TestAMachineThatIsClosedStopsAsking(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	asked := make(chan struct{})
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	f.answer("as /o/token", func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-release
	})
	u := f.connect(t, byCredentials())
	done := make(chan error)
	go func() {
		got, err := u.do(context.Background(), http.MethodPost, "hello")
		done <- errors.Join(err, got.why)
	}()
	<-asked
	u.client.Close()
	if err := <-done; err == nil {
		t.Error("the call succeeded")
	}
}
