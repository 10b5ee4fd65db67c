package auth_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"mcpwire/auth"
	"mcpwire/internal/httpwire"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// The secrets look like ordinary words, so that only those who know them can mask them.
const (
	secretAccess  = "walrus-carpenter"
	secretRefresh = "cabbages-kings"
	secretClient  = "sealing-wax"
	secretKey     = "pigs-with-wings"
)

// shows fails the test if a text holds a secret, or the code or the verifier of a login.
func shows(t *testing.T, f *fake, where, text string) {
	t.Helper()
	all := []string{secretAccess, secretRefresh, secretClient, secretKey}
	for _, s := range f.asked("as /o/token") {
		all = append(all, s.form.Get("code"), s.form.Get("code_verifier"))
		if basic, ok := strings.CutPrefix(s.header.Get("Authorization"), "Basic "); ok {
			all = append(all, basic)
		}
	}
	for _, secret := range all {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("%s shows %q: %s", where, secret, text)
		}
	}
}

// echo is a refusal in which a server says all that it was told, in many places, and what it knows from before.
func echo(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = r.ParseForm()
		form, _ := url.ParseQuery(string(body))
		told := []string{secretAccess, secretRefresh, secretClient, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key")}
		for _, name := range []string{"refresh_token", "code", "code_verifier", "client_secret"} {
			told = append(told, form.Get(name))
		}
		said := strings.Join(told, " ")
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+said+`", error_description="`+said+`"`)
		w.Header().Set("Location", "https://evil.example/?said="+url.QueryEscape(said)+"&"+string(body))
		write(w, code, map[string]any{"error": said, "error_description": said, "message": said})
	}
}

// all returns what everybody along an error's chain says.
func all(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	switch e := err.(type) { //nolint:errorlint // the chain is walked
	case interface{ Unwrap() error }:
		text += "\n" + all(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			text += "\n" + all(one)
		}
	}
	return text
}

// traced collects traces.
type traced struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *traced) note(x httpwire.Trace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.WriteString(x.URL + " " + all(x.Err) + "\n")
}

func TestSecretsThatServersEchoAreNotShown(t *testing.T) {
	for _, place := range []string{
		"as /o/token", "as /o/register", "as /o/revoke", "mcp /mcp", atPath, "as /.well-known/oauth-authorization-server",
	} {
		for _, code := range []int{
			http.StatusOK, http.StatusFound, http.StatusTemporaryRedirect, http.StatusBadRequest, http.StatusUnauthorized,
			http.StatusForbidden, http.StatusInternalServerError,
		} {
			methods := []string{"client_secret_basic"}
			if place == "as /o/token" || place == "as /o/revoke" {
				methods = []string{"none", "client_secret_basic", "client_secret_post"}
			}
			for _, method := range methods {
				f := newFake(t)
				traces := &traced{}
				o := auth.Options{OnTrace: traces.note, Headers: map[string]string{"X-Api-Key": secretKey}}
				if place != "as /o/register" {
					o.ClientID, o.ClientSecret, o.TokenAuthMethod = "client-0", secretClient, method
				}
				u := f.connect(t, o)
				f.registrations = map[string]auth.Registration{f.issuer: {
					ClientID: "client-0", ClientSecret: secretClient, AuthMethod: method,
				}}
				f.keep(t, u, func(l *auth.Login) {
					l.AccessToken, l.RefreshToken, l.AuthMethod = secretAccess, secretRefresh, method
					l.Revocation = f.as.URL + "/o/revoke"
				})
				f.answer(place, echo(code))
				got, err := u.do(t.Context(), http.MethodPost, "hello")
				shows(t, f, place+" in a call", all(err)+all(got.why))
				p := &person{back: func(q url.Values) []url.Values { return []url.Values{q} }}
				shows(t, f, place+" in a login", all(u.login(p)))
				_, err = u.client.Logout(t.Context())
				shows(t, f, place+" in a logout", all(err))
				shows(t, f, place+" in the log", u.log.String())
				shows(t, f, place+" in traces", traces.text.String())
			}
		}
	}
}

// What is named by a server can hold what it knows.
func TestSecretsInWhatServersNameAreNotShown(t *testing.T) {
	for name, prepare := range map[string]func(f *fake, p *person){
		"the resource": func(f *fake, _ *person) {
			f.answer(atPath, says(http.StatusOK, changed(f.metadata(), map[string]any{"resource": "https://x.example/" + secretAccess})))
		},
		"the authorization server": func(f *fake, _ *person) {
			f.answer(atPath, says(http.StatusOK, changed(f.metadata(), map[string]any{
				"authorization_servers": []string{"http://x.example/" + secretAccess},
			})))
		},
		"the issuer": func(f *fake, _ *person) {
			f.describe = func(m map[string]any) { m["issuer"] = "https://x.example/" + secretRefresh }
		},
		"an endpoint": func(f *fake, _ *person) {
			f.describe = func(m map[string]any) { m["token_endpoint"] = "ftp://x.example/" + secretRefresh }
		},
		"the metadata's address": func(f *fake, _ *person) {
			f.challenge = `Bearer resource_metadata="ftp://x.example/` + secretAccess + `"`
		},
		"the header": func(f *fake, _ *person) {
			f.answer(atPath, status(http.StatusNotFound))
			f.answer("mcp /mcp", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Mcp-Auth-Server", "ftp://x.example/"+secretAccess)
				w.WriteHeader(http.StatusUnauthorized)
			})
		},
		"the iss of a redirect": func(_ *fake, p *person) {
			p.back = func(q url.Values) []url.Values { return []url.Values{edit(q, map[string]string{"iss": secretAccess})} }
		},
		"the error of a redirect": func(_ *fake, p *person) {
			p.back = func(q url.Values) []url.Values {
				return []url.Values{edit(q, map[string]string{"error": secretAccess, "error_description": secretRefresh})}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			u := f.connect(t, auth.Options{})
			f.keep(t, u, func(l *auth.Login) { l.AccessToken, l.RefreshToken = secretAccess, secretRefresh })
			f.mu.Lock()
			f.access[secretAccess] = ""
			f.mu.Unlock()
			u.call()
			f.expire()
			p := &person{}
			prepare(f, p)
			err := u.login(p)
			if err == nil {
				t.Fatal("it was put up with")
			}
			shows(t, f, "the error", all(err))
			shows(t, f, "the log", u.log.String())
		})
	}
}

func TestAStatusHoldsNothingThatSpoilsATerminal(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	f.keep(t, u, func(l *auth.Login) {
		l.Account, l.Issuer, l.Scopes = "ann\x1b[31m\n", "https://a\r\n", []string{"read\x1b[2J", "write"}
	})
	s, err := u.client.Status(t.Context())
	if err != nil || strings.ContainsAny(s.Account+s.Issuer+strings.Join(s.Scopes, " "), "\x1b\r\n") || !s.LoggedIn {
		t.Errorf("got %+v, %v", s, err)
	}
}

var errPlain = errors.New("plain")

func TestTheErrorsOfLoginsUnwrap(t *testing.T) {
	e := &auth.LoginError{Server: "demo", Command: "log in", Err: errPlain}
	if !errors.Is(e, errPlain) || !errors.Is(e, transport.ErrLoginRequired) || errors.Is(errPlain, transport.ErrLoginRequired) {
		t.Errorf("got %v", e)
	}
	transporttest.CheckLeaks(t)
}
