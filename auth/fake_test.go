package auth_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mcpwire/auth"
)

// A fake is an MCP server and the authorization server that it names, on two ports of this machine. It notes every
// request in order. Its fields are set before it is used, or by with.
type fake struct {
	mcp, as *httptest.Server

	resource string // what the metadata says, and what the authorization server insists on
	issuer   string

	challenge     string                       // WWW-Authenticate of refusals; "": with the address of the metadata
	scopes        []string                     // what a token needs
	expires       string                       // expires_in as JSON; "": it is left out
	kind          string                       // token_type; "": Bearer
	keeps         bool                         // refreshing brings no new refresh token
	delay         time.Duration                // of the token endpoint
	describe      func(map[string]any)         // changes the authorization server's metadata
	registrations map[string]auth.Registration // that keep puts into the store
	answers       map[string]http.HandlerFunc  // take the place of what the fake does, by "as /token"

	mu     sync.Mutex
	seen   []seen
	n      int
	codes  map[string]url.Values // what was asked for, by code
	access map[string]string     // the scopes of the access tokens that are good
	fresh  map[string]string     // the scopes of the refresh tokens that are good
	used   map[string]bool
}

// seen is one request.
type seen struct {
	to     string // "as /token"
	method string
	query  url.Values
	header http.Header
	form   url.Values
	body   string
}

func newFake(t testing.TB) *fake {
	t.Helper()
	f := &fake{
		expires: "3600", answers: map[string]http.HandlerFunc{},
		codes: map[string]url.Values{}, access: map[string]string{}, fresh: map[string]string{}, used: map[string]bool{},
	}
	f.mcp = httptest.NewServer(f.note("mcp", map[string]http.HandlerFunc{
		"/mcp": f.serve,
		"/.well-known/oauth-protected-resource/mcp": func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusOK, f.metadata())
		},
	}))
	f.as = httptest.NewServer(f.note("as", map[string]http.HandlerFunc{
		"/.well-known/oauth-authorization-server": func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusOK, f.described())
		},
		"/o/authorize": f.authorize, "/o/token": f.token, "/o/register": f.register, "/o/revoke": f.revoke,
	}))
	t.Cleanup(f.as.Close)
	t.Cleanup(f.mcp.Close)
	f.resource, f.issuer = f.mcp.URL+"/mcp", f.as.URL
	return f
}

// note notes each request, and answers 404 with a page where there is nothing.
func (f *fake) note(host string, handlers map[string]http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s := seen{
			to: host + " " + r.URL.Path, method: r.Method, query: r.URL.Query(), header: r.Header.Clone(), body: string(body),
		}
		s.form, _ = url.ParseQuery(s.body)
		f.mu.Lock()
		f.seen = append(f.seen, s)
		handler := f.answers[s.to]
		f.mu.Unlock()
		if handler == nil {
			handler = handlers[r.URL.Path]
		}
		if handler == nil {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<html>not here</html>")
			return
		}
		r.Form = s.form
		r.Body = io.NopCloser(strings.NewReader(s.body))
		handler(w, r)
	})
}

func write(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// metadata is that of the MCP server.
func (f *fake) metadata() map[string]any {
	return map[string]any{"resource": f.resource, "authorization_servers": []string{f.issuer}}
}

// described is the metadata of the authorization server.
func (f *fake) described() map[string]any {
	m := map[string]any{
		"issuer": f.issuer, "authorization_endpoint": f.as.URL + "/o/authorize", "token_endpoint": f.as.URL + "/o/token",
		"registration_endpoint": f.as.URL + "/o/register", "revocation_endpoint": f.as.URL + "/o/revoke",
		"code_challenge_methods_supported":      []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
	}
	if f.describe != nil {
		f.describe(m)
	}
	return m
}

// serve is the MCP endpoint: it answers whoever has a good token with what was sent.
func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	f.mu.Lock()
	granted, good := f.access[token]
	challenge := f.challenge
	f.mu.Unlock()
	missing := slices.DeleteFunc(slices.Clone(f.scopes), func(s string) bool {
		return slices.Contains(strings.Fields(granted), s)
	})
	where := f.mcp.URL + "/.well-known/oauth-protected-resource/mcp"
	switch {
	case !good:
		if challenge == "" {
			challenge = fmt.Sprintf(`Bearer error="invalid_token", resource_metadata=%q`, where)
		}
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
	case len(missing) > 0:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(
			`Bearer error="insufficient_scope", scope=%q, resource_metadata=%q`, strings.Join(f.scopes, " "), where))
		w.WriteHeader(http.StatusForbidden)
	default:
		_, _ = io.Copy(w, r.Body)
	}
}

// authorize agrees at once, and sends the browser back.
func (f *fake) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	f.mu.Lock()
	f.n++
	code := fmt.Sprintf("the-code-%d", f.n)
	f.codes[code] = asked
	f.mu.Unlock()
	back := url.Values{"code": {code}, "state": {asked.Get("state")}}
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// token is strict: codes and refresh tokens are good for one use, and a second one ends all that came of the first.
func (f *fake) token(w http.ResponseWriter, r *http.Request) {
	time.Sleep(f.delay)
	f.mu.Lock()
	defer f.mu.Unlock()
	refuse := func(code string) { write(w, http.StatusBadRequest, map[string]any{"error": code}) }
	if r.Form.Get("resource") != f.resource {
		refuse("invalid_target")
		return
	}
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		asked, ok := f.codes[r.Form.Get("code")]
		delete(f.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !ok || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
			asked.Get("redirect_uri") != r.Form.Get("redirect_uri") || asked.Get("resource") != f.resource {
			refuse("invalid_grant")
			return
		}
		write(w, http.StatusOK, f.grant(asked.Get("scope"), true))
	case "refresh_token":
		old := r.Form.Get("refresh_token")
		scope, ok := f.fresh[old]
		if !ok {
			if f.used[old] {
				clear(f.access)
				clear(f.fresh)
			}
			refuse("invalid_grant")
			return
		}
		if !f.keeps {
			delete(f.fresh, old)
			f.used[old] = true
		}
		write(w, http.StatusOK, f.grant(scope, !f.keeps))
	case "client_credentials", jwtBearer:
		write(w, http.StatusOK, f.grant(r.Form.Get("scope"), false))
	default:
		refuse("unsupported_grant_type")
	}
}

// grant makes tokens. It needs mu.
func (f *fake) grant(scope string, refresh bool) map[string]any {
	f.n++
	answer := map[string]any{"access_token": fmt.Sprintf("access-token-%d", f.n), "token_type": cmp.Or(f.kind, "Bearer")}
	f.access[fmt.Sprintf("access-token-%d", f.n)] = scope
	if refresh {
		answer["refresh_token"] = fmt.Sprintf("refresh-token-%d", f.n)
		f.fresh[fmt.Sprintf("refresh-token-%d", f.n)] = scope
	}
	var expires any
	if f.expires != "" && json.Unmarshal([]byte(f.expires), &expires) == nil {
		answer["expires_in"] = expires
	}
	if scope != "" {
		answer["scope"] = scope
	}
	return answer
}

func (f *fake) register(w http.ResponseWriter, r *http.Request) {
	made := map[string]any{}
	_ = json.UnmarshalRead(r.Body, &made)
	f.mu.Lock()
	f.n++
	made["client_id"] = fmt.Sprintf("client-%d", f.n)
	f.mu.Unlock()
	write(w, http.StatusCreated, made)
}

func (f *fake) revoke(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.fresh, r.Form.Get("token"))
	clear(f.access)
}

// expire makes all access tokens worthless.
func (f *fake) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.access)
}

// answer has the fake answer requests to one place in another way; nil: as it did.
func (f *fake) answer(to string, handler http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[to] = handler
}

// asked returns the requests to one place, "as /o/token", or of all that begin like it.
func (f *fake) asked(to string) (all []seen) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if strings.HasPrefix(s.to, to) {
			all = append(all, s)
		}
	}
	return all
}

// order returns where the requests went.
func (f *fake) order() (all []string) {
	for _, s := range f.asked("") {
		all = append(all, s.to)
	}
	return all
}

// forget forgets the requests that were noted.
func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = nil
}

// changed returns a document with some members replaced, and those left out that are nil.
func changed(doc map[string]any, with map[string]any) map[string]any {
	doc = maps.Clone(doc)
	for name, value := range with {
		if doc[name] = value; value == nil {
			delete(doc, name)
		}
	}
	return doc
}
