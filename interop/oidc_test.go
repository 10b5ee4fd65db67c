package interop_test

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"math/big"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"

	login "mcpwire/auth"
)

// A provider is an authorization server that runs.
type provider struct {
	*running
	issuer string
}

// providerOptions are those of oidcserver/server.mjs, where they are explained.
type providerOptions struct {
	Resource       string         `json:"resource"`
	Scopes         string         `json:"scopes,omitempty"`
	Format         string         `json:"format,omitempty"`
	Life           int            `json:"life,omitzero"`  // s
	Delay          int            `json:"delay,omitzero"` // ms
	Path           string         `json:"path,omitempty"`
	NoRegistration bool           `json:"-"`
	Registration   bool           `json:"registration"`
	Key            map[string]any `json:"key,omitempty"`
	Nonces         bool           `json:"nonces,omitzero"`
	Document       map[string]any `json:"document,omitempty"`
}

func startProvider(t *testing.T, o providerOptions) *provider {
	t.Helper()
	requireFile(t, filepath.Join(nodeModules(t), "oidc-provider", "package.json"))
	o.Registration = !o.NoRegistration
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	s := webServer{
		server: server{"oidc-provider", []string{"node", "oidcserver/server.mjs", "{port}", string(text)}},
		url:    "http://127.0.0.1:{port}" + o.Path,
	}
	p := &provider{running: s.start(t)}
	p.issuer = p.entry.URL
	return p
}

// restart starts the provider anew, with nothing in its memory.
func (p *provider) restart(t *testing.T) {
	t.Helper()
	p.stop()
	p.launch(t, p.port())
}

// An event is something that has happened at the provider.
type event struct {
	Event    string `json:"event"`
	Client   string `json:"client"`
	Grant    string `json:"grant_type"`
	Resource string `json:"resource"`
	Scope    string `json:"scope"`
	Error    string `json:"error"`
}

func (p *provider) events(t *testing.T) (all []event) {
	t.Helper()
	if err := fetchJSON(t.Context(), "http://127.0.0.1:"+p.port()+"/events", &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// counts returns how often each event has happened; a token is counted as "token refresh_token", by what was given.
func (p *provider) counts(t *testing.T) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, e := range p.events(t) {
		if e.Event == "token" {
			e.Event += " " + e.Grant
		}
		n[e.Event]++
	}
	return n
}

// wantCounts compares all counts.
func (p *provider) wantCounts(t *testing.T, want map[string]int) {
	t.Helper()
	if got := p.counts(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("at the provider happened %v, not %v:\n%+v", got, want, p.events(t))
	}
}

func fetchJSON(ctx context.Context, address string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	return doJSON(r, into)
}

func doJSON(r *http.Request, into any) error {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", r.URL, resp.Status)
	}
	return json.UnmarshalRead(resp.Body, into)
}

// introspected is a verifier for opaque tokens, which the provider is asked about (RFC 7662).
func introspected(p *provider, resource string) auth.TokenVerifier {
	return func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.issuer+"/token/introspection",
			strings.NewReader(url.Values{"token": {token}}.Encode()))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth("resource", url.QueryEscape("the secret of the resource"))
		var said struct {
			Active  bool   `json:"active"`
			For     string `json:"aud"`
			Who     string `json:"sub"`
			Scope   string `json:"scope"`
			Expires int64  `json:"exp"`
			Key     struct {
				Thumbprint string `json:"jkt"`
			} `json:"cnf"`
		}
		if err := doJSON(r, &said); err != nil {
			return nil, err
		}
		if !said.Active || said.For != resource {
			return nil, fmt.Errorf("%w: active %t, for %q", auth.ErrInvalidToken, said.Active, said.For)
		}
		return &auth.TokenInfo{
			Scopes: strings.Fields(said.Scope), Expiration: time.Unix(said.Expires, 0), UserID: said.Who,
			Extra: map[string]any{boundTo: said.Key.Thumbprint},
		}, nil
	}
}

// signed is a verifier for tokens that the provider has signed (RFC 9068).
func signed(p *provider, resource string) auth.TokenVerifier {
	return func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		var claims struct {
			jwt.RegisteredClaims

			Scope string `json:"scope"`
		}
		_, err := jwt.ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) { return p.key(ctx, t) },
			jwt.WithAudience(resource), jwt.WithIssuer(p.issuer), jwt.WithExpirationRequired(),
			jwt.WithValidMethods([]string{"RS256"}))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
		}
		return &auth.TokenInfo{
			Scopes: strings.Fields(claims.Scope), Expiration: claims.ExpiresAt.Time, UserID: claims.Subject,
		}, nil
	}
}

// key returns the key that a token was signed with.
func (p *provider) key(ctx context.Context, token *jwt.Token) (any, error) {
	var set struct {
		Keys []struct {
			Kind     string `json:"kty"`
			ID       string `json:"kid"`
			Modulus  string `json:"n"`
			Exponent string `json:"e"`
		} `json:"keys"`
	}
	if err := fetchJSON(ctx, p.issuer+"/jwks", &set); err != nil {
		return nil, err
	}
	for _, key := range set.Keys {
		if key.Kind == "RSA" && key.ID == token.Header["kid"] {
			n, err := base64.RawURLEncoding.DecodeString(key.Modulus)
			if err != nil {
				return nil, err
			}
			e, err := base64.RawURLEncoding.DecodeString(key.Exponent)
			if err != nil {
				return nil, err
			}
			return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}, nil
		}
	}
	return nil, fmt.Errorf("the provider has no key %v", token.Header["kid"])
}

// A person logs in with a browser that has no window: it follows redirects, keeps cookies and fills in forms.
type person struct {
	name    string
	refuses bool
	seen    []string // the last pages
}

// asks has the person log in through a window on this machine.
func (p *person) asks() *login.Loopback {
	return &login.Loopback{Browser: p.browse, Limit: time.Minute}
}

var (
	formPattern  = regexp.MustCompile(`(?s)<form[^>]* action="([^"]*)"[^>]*>(.*?)</form>`)
	inputPattern = regexp.MustCompile(`<input[^>]*name="([^"]*)"[^>]*>`)
	valuePattern = regexp.MustCompile(`value="([^"]*)"`)
	abortPattern = regexp.MustCompile(`<a href="([^"]*/abort)"`)
)

// browse goes to an address and on until there is nothing left to fill in. It is an error if that is at a page which
// tells of one.
func (p *person) browse(ctx context.Context, address string) error {
	_, err := p.walk(ctx, address, func(*http.Request) bool { return false })
	return err
}

// walk does the same, but does not load an address at which stop reports true. It returns where it ends.
func (p *person) walk(ctx context.Context, address string, stop func(*http.Request) bool) (*url.URL, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if stop(r) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	for range 10 {
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", "text/html")
		resp, err := browser.Do(r)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		p.seen = append(p.seen, string(text))
		if resp.StatusCode >= 400 {
			return nil, fmt.Errorf("the page at %s tells of an error: %s", resp.Request.URL, resp.Status)
		}
		if to, err := resp.Location(); err == nil {
			return to, nil
		}
		form := formPattern.FindStringSubmatch(string(text))
		if form == nil {
			return resp.Request.URL, nil
		}
		if r, err = p.fillIn(ctx, resp.Request.URL, form, string(text)); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("there is always another form")
}

// fillIn answers a form, or takes the way out that its page offers.
func (p *person) fillIn(ctx context.Context, page *url.URL, form []string, text string) (*http.Request, error) {
	if out := abortPattern.FindStringSubmatch(text); p.refuses && out != nil {
		to, err := page.Parse(html.UnescapeString(out[1]))
		if err != nil {
			return nil, err
		}
		return http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	}
	to, err := page.Parse(html.UnescapeString(form[1]))
	if err != nil {
		return nil, err
	}
	values := url.Values{}
	for _, input := range inputPattern.FindAllStringSubmatch(form[2], -1) {
		value := p.name
		if given := valuePattern.FindStringSubmatch(input[0]); given != nil {
			value = html.UnescapeString(given[1])
		}
		values.Set(input[1], value)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(values.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r, err
}

// nobody is there to log in: the test fails if somebody is asked.
func nobody(t *testing.T) *login.Loopback {
	t.Helper()
	return &login.Loopback{Browser: func(context.Context, string) error {
		t.Error("somebody was asked to log in")
		return os.ErrPermission
	}}
}

func sorted(words []string) string {
	words = slices.Clone(words)
	slices.Sort(words)
	return strings.Join(words, " ")
}
