package auth_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"mcpwire/auth"
	"mcpwire/transport/transporttest"
)

// edit returns what a browser comes back with, with some parameters replaced.
func edit(q url.Values, with map[string]string) url.Values {
	edited := maps.Clone(q)
	for name, value := range with {
		edited.Set(name, value)
	}
	return edited
}

// The fake checks the verifier against the challenge.
func TestEachLoginHasAStateAndAVerifierOfItsOwn(t *testing.T) {
	f := newFake(t)
	p := &person{}
	u := f.connect(t, auth.Options{})
	for range 2 {
		if err := u.login(p); err != nil {
			t.Fatal(err)
		}
	}
	one, two := p.shown[0].Query(), p.shown[1].Query()
	for _, name := range []string{"state", "code_challenge"} {
		if len(one.Get(name)) < 20 || one.Get(name) == two.Get(name) {
			t.Errorf("%s is %q and %q", name, one.Get(name), two.Get(name))
		}
	}
	for i, s := range f.asked("as /o/token") {
		verifier := s.form.Get("code_verifier")
		if oauth2.S256ChallengeFromVerifier(verifier) != p.shown[i].Query().Get("code_challenge") {
			t.Errorf("%q is not the verifier of %v", verifier, p.shown[i])
		}
	}
}

func TestARedirectWithAnotherStateIsRefusedAndTheFlowStaysOpen(t *testing.T) {
	f := newFake(t)
	p := &person{back: func(q url.Values) []url.Values {
		return []url.Values{
			edit(q, map[string]string{"state": "guessed", "code": "stolen"}), edit(q, map[string]string{"state": ""}),
			{},
			{"error": {"access_denied"}, "state": {"guessed"}},
			q,
		}
	}}
	if err := f.connect(t, auth.Options{}).login(p); err != nil {
		t.Fatal(err)
	}
	if len(p.refused) != 4 || len(f.asked("as /o/token")) != 1 {
		t.Errorf("refused were %v", p.refused)
	}
}

// A redirect says by whom it is, so that no code is sent to a server that did not make it (RFC 9207).
func TestTheIssuerOfARedirect(t *testing.T) {
	for name, tt := range map[string]struct {
		named bool // the metadata says that redirects name their issuer
		iss   string
		ok    bool
	}{
		"named and right":         {true, "%", true},
		"named and missing":       {true, "", false},
		"named and another":       {true, "https://evil.example", false},
		"named, and a slash more": {true, "%/", false},
		"not named and missing":   {false, "", true},
		"not named and right":     {false, "%", true},
		"not named and another":   {false, "https://evil.example", false},
		"not named, a slash more": {false, "%/", false},
		"not named, in capitals":  {false, "HTTP%", false},
	} {
		for _, kind := range []string{"code", "error"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				f := newFake(t)
				f.describe = func(m map[string]any) { m["authorization_response_iss_parameter_supported"] = tt.named }
				p := &person{back: func(q url.Values) []url.Values {
					if kind == "error" {
						q = url.Values{"state": q["state"], "error": {"access_denied"}, "error_description": {"she said no"}}
					}
					if tt.iss != "" {
						q.Set("iss", strings.Replace(tt.iss, "%", f.issuer, 1))
					}
					return []url.Values{q}
				}}
				err := f.connect(t, auth.Options{}).login(p)
				exchanged := len(f.asked("as /o/token")) > 0
				switch {
				case tt.ok && kind == "code":
					if err != nil {
						t.Error(err)
					}
				case tt.ok:
					if refused, is := errors.AsType[*auth.TokenError](err); !is || refused.ErrorCode != "access_denied" ||
						!strings.Contains(err.Error(), "access_denied (she said no)") {
						t.Errorf("got %v", err)
					}
				case err == nil, strings.Contains(err.Error(), "she said no"):
					t.Errorf("got %v", err)
				}
				if exchanged != (tt.ok && kind == "code") {
					t.Errorf("a code was exchanged: %t", exchanged)
				}
			})
		}
	}
}

func TestARedirectWithoutACodeIsAnError(t *testing.T) {
	f := newFake(t)
	p := &person{back: func(q url.Values) []url.Values { return []url.Values{{"state": q["state"]}} }}
	if err := f.connect(t, auth.Options{}).login(p); err == nil || !strings.Contains(err.Error(), "neither a code") {
		t.Errorf("got %v", err)
	}
}

func TestScopesThatAreAskedFor(t *testing.T) {
	const challenge = `Bearer scope="from challenge"`
	for name, tt := range map[string]struct {
		configured, more []string
		challenge        string
		resource         []string // scopes_supported of the resource
		server           []string // and of the authorization server
		want             string
	}{
		"none in particular":                 {nil, nil, "Bearer", nil, nil, ""},
		"those of the resource":              {nil, nil, "Bearer", []string{"a", "b"}, nil, "a b"},
		"those of the challenge":             {nil, nil, challenge, []string{"a", "b"}, nil, "from challenge"},
		"the configured ones":                {[]string{"mine"}, nil, challenge, []string{"a"}, nil, "mine"},
		"and more":                           {nil, []string{"more"}, challenge, nil, nil, "from challenge more"},
		"offline access where there is such": {nil, nil, "Bearer", []string{"a"}, []string{"a", "offline_access"}, "a offline_access"},
		"offline access once":                {[]string{"offline_access"}, nil, "Bearer", nil, []string{"offline_access"}, "offline_access"},
		"no offline access alone":            {nil, nil, "Bearer", nil, []string{"offline_access"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.challenge = tt.challenge
			f.describe = func(m map[string]any) { m["scopes_supported"] = tt.server }
			f.answer(atPath, says(http.StatusOK, changed(f.metadata(), map[string]any{"scopes_supported": tt.resource})))
			p := &person{}
			u := f.connect(t, auth.Options{Scopes: tt.configured, MoreScopes: tt.more})
			if err := u.login(p); err != nil {
				t.Fatal(err)
			}
			if got := p.shown[0].Query().Get("scope"); got != tt.want {
				t.Errorf("asked for %q", got)
			}
			if got := u.kept().Scopes; !slices.Equal(got, strings.Fields(tt.want)) {
				t.Errorf("kept %q", got)
			}
		})
	}
}

func TestALoginEndsWithItsContext(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	gone := errors.New("the person is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := &person{back: func(url.Values) []url.Values {
		cancel(gone)
		return nil
	}}
	u := f.connect(t, auth.Options{})
	if _, err := u.client.Login(ctx, p); !errors.Is(err, gone) || p.open != 0 {
		t.Errorf("got %v, with %d windows open", err, p.open)
	}
	unlock, err := u.store.Lock(t.Context(), u.key, auth.LoginLock)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestOneLoginGoesOnAtATime(t *testing.T) {
	f := newFake(t)
	store := auth.NewMemoryStore()
	first, second := f.connect(t, auth.Options{Store: store}), f.connect(t, auth.Options{Store: store})
	inside := make(chan struct{})
	goOn := make(chan struct{})
	ended := make(chan error)
	go func() {
		ended <- first.login(&person{back: func(q url.Values) []url.Values {
			close(inside)
			<-goOn
			return []url.Values{q}
		}})
	}()
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	p := &person{}
	if _, err := second.client.Login(ctx, p); !errors.Is(err, context.DeadlineExceeded) || p.dialogues() > 0 {
		t.Errorf("got %v after %d dialogues", err, p.dialogues())
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The entry's headers are for the MCP server, and its login is nobody else's business.
func TestHeadersOfTheEntryGoToItsServerAlone(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{Headers: map[string]string{"X-Api-Key": "the-key", "X-Empty": ""}})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	for _, s := range f.asked("") {
		if has := s.header.Get("X-Api-Key") == "the-key"; has != (s.to == "mcp /mcp") {
			t.Errorf("%s was sent %v", s.to, s.header)
		}
	}
}

func TestAServerThatNeedsNoLoginSaysSo(t *testing.T) {
	f := newFake(t)
	f.answer("mcp /mcp", status(http.StatusOK))
	f.answer(atPath, status(http.StatusNotFound))
	err := f.connect(t, auth.Options{}).login(&person{})
	if err == nil || !strings.Contains(err.Error(), "answers without a login") {
		t.Errorf("got %v", err)
	}
}
