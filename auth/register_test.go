package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"

	"mcpwire/auth"
)

func TestAConfiguredClientIsNotRegistered(t *testing.T) {
	f := newFake(t)
	f.describe = func(m map[string]any) { delete(m, "registration_endpoint") }
	u := f.connect(t, auth.Options{ClientID: "by-hand"})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	if got := f.asked("as /o/register"); len(got) > 0 {
		t.Errorf("registered with %+v", got)
	}
	if s := f.asked("as /o/token"); s[0].form.Get("client_id") != "by-hand" {
		t.Errorf("got %v", s[0].form)
	}
}

func TestWhereNobodyRegistersClientsTheErrorNamesTheKey(t *testing.T) {
	f := newFake(t)
	f.describe = func(m map[string]any) { delete(m, "registration_endpoint") }
	p := &person{}
	err := f.connect(t, auth.Options{}).login(p)
	if err == nil || !strings.Contains(err.Error(), `"clientId"`) || p.dialogues() > 0 {
		t.Errorf("got %v", err)
	}
}

func TestARegistrationTellsWhatWeAre(t *testing.T) {
	f := newFake(t)
	p := &person{}
	if err := f.connect(t, auth.Options{ClientName: "a host"}).login(p); err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Redirects []string `json:"redirect_uris"`
		Name      string   `json:"client_name"`
		Kind      string   `json:"application_type"`
		Method    string   `json:"token_endpoint_auth_method"`
		Grants    []string `json:"grant_types"`
	}
	if err := json.Unmarshal([]byte(f.asked("as /o/register")[0].body), &sent); err != nil {
		t.Fatal(err)
	}
	if len(sent.Redirects) != 1 || sent.Redirects[0] != usualRedirect || sent.Name != "a host" || sent.Kind != "native" ||
		sent.Method != "none" || len(sent.Grants) != 2 {
		t.Errorf("sent %+v", sent)
	}
}

func TestAnswersToRegistrations(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		answer map[string]any
		want   string // how the client proves itself; "": the answer is an error
		says   string
	}{
		"200 instead of 201":  {http.StatusOK, map[string]any{"client_id": "c"}, "none", ""},
		"a secret":            {http.StatusCreated, map[string]any{"client_id": "c", "client_secret": "s3cret-s3cret"}, "client_secret_basic", ""},
		"a secret to post":    {http.StatusCreated, map[string]any{"client_id": "c", "client_secret": "s3cret-s3cret", "token_endpoint_auth_method": "client_secret_post"}, "client_secret_post", ""},
		"a secret for nobody": {http.StatusCreated, map[string]any{"client_id": "c", "client_secret": "s3cret-s3cret", "token_endpoint_auth_method": "none"}, "none", ""},
		"no secret for basic": {http.StatusCreated, map[string]any{"client_id": "c", "token_endpoint_auth_method": "client_secret_basic"}, "none", ""},
		"no id":               {http.StatusCreated, map[string]any{"client_secret": "s3cret-s3cret"}, "", "no client_id"},
		"a refusal":           {http.StatusBadRequest, map[string]any{"error": "invalid_redirect_uri", "error_description": "not that one"}, "", "invalid_redirect_uri (not that one)"},
		"forbidden":           {http.StatusForbidden, nil, "", "HTTP 403"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.answer("as /o/register", says(tt.status, tt.answer))
			u := f.connect(t, auth.Options{})
			err := u.login(&person{})
			if tt.want == "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s := f.asked("as /o/token")[0]
			basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("c:s3cret-s3cret"))
			switch header := s.header.Get("Authorization"); {
			case tt.want == "client_secret_basic" && (header != basic || s.form.Has("client_secret")),
				tt.want == "client_secret_post" && (header != "" || s.form.Get("client_secret") != "s3cret-s3cret"),
				tt.want == "none" && (header != "" || s.form.Has("client_secret") || s.form.Get("client_id") != "c"):
				t.Errorf("proved by %q and %v", header, s.form)
			}
		})
	}
}

func TestARegistrationIsUsedAgainForTheSameRedirect(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	for i, tt := range []struct {
		redirect string
		want     int // registrations so far
	}{{"", 1}, {"", 1}, {"http://127.0.0.1:4711/callback", 2}} {
		p := &person{redirect: tt.redirect}
		if err := u.login(p); err != nil {
			t.Fatal(err)
		}
		if got := len(f.asked("as /o/register")); got != tt.want {
			t.Errorf("login %d: %d registrations", i, got)
		}
		if i > 0 && p.wishes[0] != usualRedirect {
			t.Errorf("login %d wished for %q", i, p.wishes[0])
		}
	}
}

func TestAClientThatIsForgottenIsRegisteredAgainOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		client  string
		unknown int // how often
		logins  int
		ok      bool
	}{
		"ours, once":   {"", 1, 2, true},
		"ours, always": {"", 9, 2, false},
		"configured":   {"by-hand", 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			times := 0
			f.answer("as /o/token", func(w http.ResponseWriter, r *http.Request) {
				if times++; times <= tt.unknown {
					write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
					return
				}
				f.token(w, r)
			})
			p := &person{}
			err := f.connect(t, auth.Options{ClientID: tt.client}).login(p)
			if (err == nil) != tt.ok || p.dialogues() != tt.logins {
				t.Errorf("after %d dialogues: %v", p.dialogues(), err)
			}
		})
	}
}

func TestAClientThatIsForgottenWhenATokenIsRefreshedIsRegisteredAnew(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	f.expire()
	f.answer("as /o/token", says(http.StatusUnauthorized, map[string]any{"error": "invalid_client"}))
	u.refused(t.Context())
	f.answer("as /o/token", nil)
	if err := u.login(&person{}); err != nil || len(f.asked("as /o/register")) != 2 {
		t.Errorf("got %v after %q", err, f.order())
	}
}

// The entry's secret may be wrong for a while; the tokens are not.
func TestAConfiguredClientThatIsRefusedCostsNoTokens(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{ClientID: "client-0"})
	f.keep(t, u, expired)
	f.answer("as /o/token", says(http.StatusUnauthorized, map[string]any{"error": "invalid_client"}))
	if why := u.refused(t.Context()); !strings.Contains(why.Error(), "invalid_client") {
		t.Errorf("got %v", why)
	}
	f.answer("as /o/token", nil)
	u.call()
}

// moves has the server name another authorization server, and returns that.
func moves(t *testing.T, f *fake) *fake {
	t.Helper()
	next := newFake(t)
	next.resource = f.resource
	f.answer(atPath, says(http.StatusOK, changed(f.metadata(), map[string]any{
		"authorization_servers": []string{next.issuer},
	})))
	f.expire()
	return next
}

func TestANewAuthorizationServerIsShownNothingOfTheOld(t *testing.T) {
	f := newFake(t)
	f.answer("as /o/register", says(http.StatusCreated, map[string]any{"client_id": "old-client", "client_secret": "old-secret"}))
	u := f.connect(t, auth.Options{})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	next := moves(t, f)
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	if len(next.asked("as /o/register")) != 1 {
		t.Errorf("the requests were %q", next.order())
	}
	for _, s := range next.asked("as ") {
		for _, part := range []string{s.body, s.query.Encode(), s.header.Get("Authorization")} {
			if strings.Contains(part, "old-client") || strings.Contains(part, "token-") || strings.Contains(part, "old-secret") {
				t.Errorf("%s was shown %s", s.to, part)
			}
		}
	}
	if l := u.kept(); l.Issuer != next.issuer {
		t.Errorf("the store holds %+v", l)
	}
}

func TestAConfiguredClientIsForOneAuthorizationServer(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, f *fake, o *auth.Options) *fake{
		"the first that it was used with": func(t *testing.T, f *fake, o *auth.Options) *fake {
			t.Helper()
			if err := f.connect(t, *o).login(&person{}); err != nil {
				t.Fatal(err)
			}
			return moves(t, f)
		},
		"the configured one": func(t *testing.T, f *fake, o *auth.Options) *fake {
			t.Helper()
			o.Issuer = f.issuer
			return moves(t, f)
		},
		"the configured one, where another is in a header": func(t *testing.T, f *fake, o *auth.Options) *fake {
			t.Helper()
			o.Issuer = f.issuer
			next := moves(t, f)
			f.issuer = next.issuer
			hinted(f)
			return next
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			o := auth.Options{ClientID: "by-hand", ClientSecret: "the-secret", Store: auth.NewMemoryStore()}
			next := prepare(t, f, &o)
			p := &person{}
			err := f.connect(t, o).login(p)
			if err == nil || !strings.Contains(err.Error(), next.issuer) || !strings.Contains(err.Error(), "issuer") {
				t.Errorf("got %v", err)
			}
			if len(next.asked("as /o/")) > 0 || p.dialogues() > 0 {
				t.Errorf("the requests were %q", next.order())
			}
		})
	}
}

// The login in the store is of an authorization server that the entry does not name any more.
func TestASecretOfOneAuthorizationServerIsNotUsedToRefreshAtAnother(t *testing.T) {
	f := newFake(t)
	o := auth.Options{ClientID: "client-0", ClientSecret: "the-new-secret", Issuer: "https://new.example"}
	u := f.connect(t, o)
	f.keep(t, u, func(l *auth.Login) {
		expired(l)
		l.AuthMethod = "client_secret_post"
	})
	_, _ = u.do(t.Context(), http.MethodPost, "hello")
	for _, s := range f.asked("as ") {
		if strings.Contains(s.body, "the-new-secret") || s.header.Get("Authorization") != "" {
			t.Errorf("sent %+v", s)
		}
	}
}

func TestOneOfSeveralAuthorizationServersIsTheConfiguredOne(t *testing.T) {
	f := newFake(t)
	f.answer(atPath, says(http.StatusOK, changed(f.metadata(), map[string]any{
		"authorization_servers": []string{"https://first.example", f.issuer + "/"},
	})))
	u := f.connect(t, auth.Options{Issuer: f.issuer})
	if err := u.login(&person{}); err != nil {
		t.Error(err)
	}
}

func TestADocumentDescribesUsWhereThoseAreRead(t *testing.T) {
	const document = "https://host.example/client.json"
	for name, reads := range map[string]bool{"it is read": true, "it is not": false} {
		f := newFake(t)
		f.describe = func(m map[string]any) { m["client_id_metadata_document_supported"] = reads }
		p := &person{}
		if err := f.connect(t, auth.Options{ClientMetadataURL: document}).login(p); err != nil {
			t.Fatal(err)
		}
		used := p.shown[0].Query().Get("client_id") == document
		if registered := len(f.asked("as /o/register")) > 0; used != reads || registered == reads {
			t.Errorf("%s: used %t, registered %t", name, used, registered)
		}
	}
}

func TestAClientProvesItselfByItsKey(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t)
	if err := f.connect(t, auth.Options{ClientID: "by-hand", PrivateKey: private}).login(&person{}); err != nil {
		t.Fatal(err)
	}
	var claims jwt.RegisteredClaims
	form := f.asked("as /o/token")[0].form
	_, err = jwt.ParseWithClaims(form.Get("client_assertion"), &claims, func(*jwt.Token) (any, error) {
		return private.Public(), nil
	}, jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(f.issuer), jwt.WithExpirationRequired())
	if err != nil || claims.Issuer != "by-hand" || claims.Subject != "by-hand" || claims.ID == "" {
		t.Errorf("got %+v, %v", claims, err)
	}
}
