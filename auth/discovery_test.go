package auth_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mcpwire/auth"
	"mcpwire/transport/transporttest"
)

const (
	atPath = "mcp /.well-known/oauth-protected-resource/mcp"
	atRoot = "mcp /.well-known/oauth-protected-resource"
)

// says returns a handler that answers with a document.
func says(status int, doc map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { write(w, status, doc) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// resources returns what the three requests that name a resource said: authorization, token and refresh.
func resources(t *testing.T, f *fake, u *user) (all []string) {
	t.Helper()
	f.expire()
	u.call()
	for _, s := range f.asked("as /o/") {
		switch s.to {
		case "as /o/authorize":
			all = append(all, s.query["resource"]...)
		case "as /o/token":
			all = append(all, s.form["resource"]...)
		}
	}
	return all
}

func TestTheResourceIsWhatItsMetadataSays(t *testing.T) {
	for name, tt := range map[string]struct {
		url      string // behind the origin of the server
		resource string
		prepare  func(f *fake)
	}{
		"the metadata of the path, not that of another API": {"/mcp", "/mcp", func(f *fake) {
			f.answer(atRoot, says(http.StatusOK, map[string]any{"resource": f.mcp.URL, "authorization_servers": []string{f.issuer}}))
		}},
		"a bare origin":                 {"/mcp", "", nil},
		"an origin with a slash":        {"/mcp", "/", nil},
		"a slash in the url":            {"/mcp/", "/mcp", nil},
		"a slash in the metadata":       {"/mcp", "/mcp/", nil},
		"no address in the refusal":     {"/mcp", "/mcp", func(f *fake) { f.challenge = `Bearer realm="x"` }},
		"no challenge that can be read": {"/mcp", "/mcp", func(f *fake) { f.challenge = `Bearer "` }},
		"metadata of the root alone": {"/mcp", "/", func(f *fake) {
			f.challenge = "Bearer"
			f.answer(atRoot, says(http.StatusOK, f.metadata()))
			f.answer(atPath, status(http.StatusNotFound))
		}},
		"metadata that redirects elsewhere counts as absent": {"/mcp", "/", func(f *fake) {
			f.challenge = "Bearer"
			f.answer(atRoot, says(http.StatusOK, f.metadata()))
			f.answer(atPath, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, f.as.URL+"/welcome", http.StatusFound)
			})
		}},
		"metadata that has moved within the server": {"/mcp", "/mcp", func(f *fake) {
			f.answer(atPath, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/moved", http.StatusFound) })
			f.answer("mcp /moved", says(http.StatusOK, f.metadata()))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			f := newFake(t)
			f.resource = f.mcp.URL + tt.resource
			if tt.prepare != nil {
				tt.prepare(f)
			}
			f.answers["mcp /mcp/"] = f.serve
			u := f.connect(t, auth.Options{URL: f.mcp.URL + tt.url})
			if err := u.login(&person{}); err != nil {
				t.Fatal(err)
			}
			if got := resources(t, f, u); !slices.Equal(got, []string{f.resource, f.resource, f.resource}) {
				t.Errorf("resources are %q, not three times %q", got, f.resource)
			}
		})
	}
}

func TestAServerWithoutMetadataIsItsOwnResource(t *testing.T) {
	f := newFake(t)
	f.challenge = "Bearer"
	f.answer(atPath, status(http.StatusNotFound))
	f.resource = f.mcp.URL + "/mcp?tenant=1"
	for _, path := range []string{"authorize", "token", "register"} { // those of 2025-03-26
		f.answer("mcp /"+path, map[string]http.HandlerFunc{
			"authorize": f.authorize, "token": f.token, "register": f.register,
		}[path])
	}
	u := f.connect(t, auth.Options{URL: f.resource + "#part"})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"mcp /mcp", atPath, atRoot, "mcp /.well-known/oauth-authorization-server", "mcp /.well-known/openid-configuration",
		"mcp /register", "mcp /authorize", "mcp /token",
	}
	if got := f.order(); !slices.Equal(got, want) {
		t.Errorf("the requests were %q", got)
	}
	if l := u.kept(); l.Resource != f.resource || l.Issuer != f.mcp.URL {
		t.Errorf("the store holds %+v", l)
	}
}

// hinted is a server without metadata that names its authorization server in a header.
func hinted(f *fake) {
	f.answer(atPath, status(http.StatusNotFound))
	f.answer("mcp /mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Mcp-Auth-Server", f.issuer)
		w.WriteHeader(http.StatusUnauthorized)
	})
}

func TestAServerMayNameItsAuthorizationServerInAHeader(t *testing.T) {
	f := newFake(t)
	hinted(f)
	u := f.connect(t, auth.Options{})
	if err := u.login(&person{}); err != nil || u.kept().Issuer != f.issuer {
		t.Errorf("got %v", err)
	}
}

func TestMetadataThatCanNotBeRightIsRefused(t *testing.T) {
	about := func(with map[string]any) func(f *fake) {
		return func(f *fake) { f.answer(atPath, says(http.StatusOK, changed(f.metadata(), with))) }
	}
	describe := func(with map[string]any) func(f *fake) {
		return func(f *fake) {
			f.answer("as /.well-known/oauth-authorization-server", says(http.StatusOK, changed(f.described(), with)))
		}
	}
	for name, tt := range map[string]struct {
		prepare func(f *fake)
		says    []string
	}{
		"another host":  {about(map[string]any{"resource": "https://other.example/mcp"}), []string{"https://other.example/mcp", "/mcp"}},
		"another path":  {about(map[string]any{"resource": "%s/mcpx"}), []string{"/mcpx"}},
		"a path below":  {about(map[string]any{"resource": "%s/mcp/admin"}), []string{"/mcp/admin"}},
		"no resource":   {about(map[string]any{"resource": nil}), []string{`the resource ""`}},
		"no server":     {about(map[string]any{"authorization_servers": nil}), []string{"names no authorization server"}},
		"an odd server": {about(map[string]any{"authorization_servers": []string{"ftp://x.example"}}), []string{"https://"}},
		"an outage":     {func(f *fake) { f.answer(atPath, status(http.StatusBadGateway)) }, []string{"HTTP 502"}},
		"an outage later": {func(f *fake) {
			f.answer("as /.well-known/oauth-authorization-server", status(http.StatusServiceUnavailable))
		}, []string{"HTTP 503"}},
		"a broken connection": {func(f *fake) {
			f.answer(atPath, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		}, []string{"metadata"}},
		"another issuer":      {describe(map[string]any{"issuer": "https://as.example/other"}), []string{"https://as.example/other"}},
		"no issuer":           {describe(map[string]any{"issuer": nil}), []string{`the issuer ""`}},
		"no PKCE":             {describe(map[string]any{"code_challenge_methods_supported": nil}), []string{"PKCE"}},
		"plain PKCE":          {describe(map[string]any{"code_challenge_methods_supported": []string{"plain"}}), []string{"S256"}},
		"no token endpoint":   {describe(map[string]any{"token_endpoint": nil}), []string{"token_endpoint"}},
		"a script as address": {describe(map[string]any{"authorization_endpoint": "javascript:alert(1)"}), []string{"authorization_endpoint"}},
		"a file as address":   {describe(map[string]any{"authorization_endpoint": "file:///etc/passwd"}), []string{"authorization_endpoint"}},
		"a login in an address": {
			describe(map[string]any{"token_endpoint": "https://me:hunter22@as.example/token"}), []string{"it holds a login", "***"},
		},
		"no metadata at all": {func(f *fake) {
			f.answer("as /.well-known/oauth-authorization-server", status(http.StatusNotFound))
		}, []string{"has no metadata", "/.well-known/openid-configuration"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			tt.prepare(f)
			if doc := f.metadata(); strings.HasPrefix(tt.says[0], "/mcp") {
				doc["resource"] = f.mcp.URL + tt.says[0]
				f.answer(atPath, says(http.StatusOK, doc))
			}
			p := &person{}
			err := f.connect(t, auth.Options{}).login(p)
			if err == nil || strings.Contains(err.Error(), "hunter22") {
				t.Fatalf("got %v", err)
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
			if p.dialogues() > 0 || len(f.asked("as /o/")) > 0 || p.open != 0 {
				t.Errorf("the requests were %q", f.order())
			}
		})
	}
}

func TestTheMetadataOfAnIssuerWithAPathIsTriedInOrder(t *testing.T) {
	const first, second, third = "as /.well-known/oauth-authorization-server/t1",
		"as /.well-known/openid-configuration/t1", "as /t1/.well-known/openid-configuration"
	for name, tt := range map[string]struct {
		at     string
		issuer string // as it is named
		want   []string
	}{
		"the first form":  {first, "/t1", []string{first}},
		"the second form": {second, "/t1", []string{first, second}},
		"the third form":  {third, "/t1", []string{first, second, third}},
		"a slash more":    {third, "/t1/", []string{first, second, third}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.issuer = f.as.URL + tt.issuer
			f.answer(tt.at, says(http.StatusOK, changed(f.described(), map[string]any{"issuer": f.as.URL + "/t1"})))
			u := f.connect(t, auth.Options{})
			if err := u.login(&person{}); err != nil {
				t.Fatal(err)
			}
			order := slices.DeleteFunc(f.order(), func(to string) bool { return !strings.Contains(to, "t1") })
			if !slices.Equal(order, tt.want) {
				t.Errorf("the requests were %q", order)
			}
			if warned := strings.Contains(u.log.String(), "slash"); warned != (tt.issuer == "/t1/") {
				t.Errorf("the log says %s", u.log)
			}
		})
	}
}

// The metadata of the host is not that of an issuer with a path.
func TestTheMetadataOfTheHostIsNotUsedForAnIssuerWithAPath(t *testing.T) {
	f := newFake(t)
	root := f.described()
	f.answer("as /.well-known/oauth-authorization-server", says(http.StatusOK, root))
	f.issuer = f.as.URL + "/t1"
	if err := f.connect(t, auth.Options{}).login(&person{}); err == nil || len(f.asked("as /o/")) > 0 {
		t.Errorf("got %v, %q", err, f.order())
	}
}

// Nothing that is secret is sent where a token endpoint redirects to.
func TestRedirectsOfSecretsAreNotFollowed(t *testing.T) {
	for _, place := range []string{"as /o/token", "as /o/register"} {
		for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			f := newFake(t)
			f.answer(place, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", code) })
			err := f.connect(t, auth.Options{}).login(&person{})
			if err == nil || !strings.Contains(err.Error(), "redirected") || len(f.asked("as /elsewhere")) > 0 {
				t.Errorf("%s, %d: got %v", place, code, err)
			}
		}
	}
}

func TestMetadataHasABound(t *testing.T) {
	f := newFake(t)
	f.answer(atPath, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"resource":"` + strings.Repeat("x", 2<<20) + `"}`))
	})
	err := f.connect(t, auth.Options{}).login(&person{})
	if err == nil || len(err.Error()) > 2000 {
		t.Errorf("got %.3000v", err)
	}
}

func TestTheAddressThatIsShownKeepsTheServersParameters(t *testing.T) {
	f := newFake(t)
	f.describe = func(m map[string]any) { m["authorization_endpoint"] = f.as.URL + "/o/authorize?tenant=1" }
	p := &person{}
	if err := f.connect(t, auth.Options{}).login(p); err != nil {
		t.Fatal(err)
	}
	q := p.shown[0].Query()
	want := url.Values{"tenant": {"1"}, "response_type": {"code"}, "code_challenge_method": {"S256"}}
	for name := range want {
		if !slices.Equal(q[name], want[name]) {
			t.Errorf("%s is %q", name, q[name])
		}
	}
}
