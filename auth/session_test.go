package auth_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpwire/auth"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

func TestARequestThatIsRefusedIsSentOnceMoreWithANewToken(t *testing.T) {
	for _, tt := range []struct{ method, body string }{
		{http.MethodPost, "hello"}, {http.MethodGet, ""}, {http.MethodDelete, ""},
	} {
		t.Run(tt.method, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			f := newFake(t)
			u := f.connect(t, auth.Options{})
			f.keep(t, u, nil)
			f.expire()
			got, err := u.do(t.Context(), tt.method, tt.body)
			if err != nil || got.status != http.StatusOK || got.body != tt.body {
				t.Errorf("got %+v, %v", got, err)
			}
			all := f.asked("")
			if len(all) != 3 || all[1].to != "as /o/token" {
				t.Fatalf("the requests were %v", f.order())
			}
			for i, token := range map[int]string{0: "access-token-0", 2: "access-token-1"} {
				s := all[i]
				if s.to != "mcp /mcp" || s.method != tt.method || s.body != tt.body ||
					s.header.Get("Authorization") != "Bearer "+token {
					t.Errorf("request %d is %+v", i, s)
				}
			}
		})
	}
}

// All that a refresh needs is kept, so that no metadata is asked for and no browser opened.
func TestTokensAreRefreshedAsLongAsASessionLastsAndAfterARestart(t *testing.T) {
	f := newFake(t)
	p := &person{}
	store := auth.NewMemoryStore()
	first := f.connect(t, auth.Options{Store: store, Authorizer: p})
	if err := first.login(p); err != nil {
		t.Fatal(err)
	}
	f.forget()
	for _, u := range []*user{first, first, f.connect(t, auth.Options{Store: store, Authorizer: p})} {
		f.expire()
		u.call()
	}
	if got := f.asked("as "); len(got) != 3 || len(f.asked("as /o/token")) != 3 || len(f.asked("mcp /.well-known")) > 0 {
		t.Errorf("the requests were %v", f.order())
	}
	if p.dialogues() != 1 {
		t.Errorf("%d dialogues", p.dialogues())
	}
	for _, s := range f.asked("as /o/token") {
		if s.form.Get("resource") != f.resource || s.form.Get("client_id") == "" {
			t.Errorf("refreshed with %v", s.form)
		}
	}
}

func TestAServerThatTakesNoTokenIsAskedTwice(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	f.keep(t, u, nil)
	f.answer("mcp /mcp", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	u.refused(t.Context())
	if got := len(f.asked("mcp /mcp")); got != 2 {
		t.Errorf("%d requests", got)
	}
	if got := len(f.asked("as /o/token")); got != 1 {
		t.Errorf("%d refreshes", got)
	}
}

func TestAHeaderOfTheEntryIsSentAsItIs(t *testing.T) {
	f := newFake(t)
	p := &person{}
	u := f.connect(t, auth.Options{Authorizer: p})
	f.keep(t, u, nil)
	r, err := http.NewRequestWithContext(waited(t, &transport.Call{}), http.MethodPost, u.url, strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer by-hand")
	got, err := u.send(r)
	if err != nil || got.status != http.StatusUnauthorized || got.why == nil ||
		!strings.Contains(got.why.Error(), "Authorization header of the entry") ||
		errors.Is(got.why, transport.ErrLoginRequired) {
		t.Errorf("got %+v, %v", got, err)
	}
	all := f.asked("")
	if len(all) != 1 || all[0].header.Get("Authorization") != "Bearer by-hand" {
		t.Errorf("the requests were %+v", all)
	}
	if p.dialogues() > 0 {
		t.Error("a person was asked")
	}
}

// An outage of the authorization server is not for people to cure.
func TestATokenEndpointThatIsOutIsNoReasonToLogIn(t *testing.T) {
	for name, out := range map[string]http.HandlerFunc{
		"HTTP 503":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"HTTP 429":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"a page":              func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"a broken connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			f := newFake(t)
			u := f.connect(t, auth.Options{Authorizer: &person{}})
			f.keep(t, u, expired)
			f.answer("as /o/token", out)
			if _, err := u.do(t.Context(), http.MethodPost, "hello"); err == nil ||
				errors.Is(err, transport.ErrLoginRequired) || len(f.asked("mcp /mcp")) > 0 {
				t.Errorf("when it has expired: %v, %v", err, f.order())
			}
			fresh := f.connect(t, auth.Options{Authorizer: &person{}})
			f.keep(t, fresh, nil)
			f.expire()
			got, err := fresh.do(t.Context(), http.MethodPost, "hello")
			later, ok := got.why.(interface{ Temporary() bool })
			if err != nil || !ok || !later.Temporary() || errors.Is(got.why, transport.ErrLoginRequired) {
				t.Errorf("when it is refused: %+v, %v", got, err)
			}
			for _, u := range []*user{u, fresh} {
				if u.kept().RefreshToken != "refresh-token-0" {
					t.Errorf("the store holds %+v", u.kept())
				}
				f.answer("as /o/token", nil)
				u.call()
				f.fresh["refresh-token-0"] = ""
			}
		})
	}
}

// A token that will expire soon is refreshed early, and used as it is where that fails.
func TestATokenIsRefreshedBeforeItExpires(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	soon := func(l *auth.Login) {
		l.Obtained, l.Expires = time.Now().Add(-time.Hour), time.Now().Add(20*time.Second)
	}
	f.keep(t, u, soon)
	f.answer("as /o/token", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	u.call()
	f.answer("as /o/token", nil)
	u.call()
	all := f.asked("mcp /mcp")
	if len(all) != 2 || all[0].header.Get("Authorization") != "Bearer access-token-0" ||
		all[1].header.Get("Authorization") == "Bearer access-token-0" {
		t.Errorf("the requests were %+v", all)
	}
}

func TestATokenIsNotSentToAnotherOrigin(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	f.keep(t, u, nil)
	u.url = f.as.URL + "/elsewhere"
	if _, err := u.do(t.Context(), http.MethodGet, ""); err != nil {
		t.Fatal(err)
	}
	if s := f.asked("as /elsewhere"); len(s) != 1 || s[0].header.Get("Authorization") != "" {
		t.Errorf("got %+v", s)
	}
}

func TestAStoreThatFailsIsNoReasonToLogIn(t *testing.T) {
	f := newFake(t)
	broken := errors.New("the disk is broken")
	u := f.connect(t, auth.Options{Store: &brokenStore{Store: auth.NewMemoryStore(), load: broken}})
	_, err := u.do(t.Context(), http.MethodPost, "hello")
	if !errors.Is(err, broken) || errors.Is(err, transport.ErrLoginRequired) {
		t.Errorf("got %v", err)
	}
}

func TestATokenThatCanNotBeKeptIsUsed(t *testing.T) {
	f := newFake(t)
	memory := auth.NewMemoryStore()
	u := f.connect(t, auth.Options{Store: memory})
	f.keep(t, u, expired)
	u = f.connect(t, auth.Options{Store: &brokenStore{Store: memory, save: errors.New("the disk is full")}})
	u.call()
	u.call()
	if got := len(f.asked("as /o/token")); got != 1 {
		t.Errorf("%d refreshes", got)
	}
	if !strings.Contains(u.log.String(), "the disk is full") {
		t.Errorf("the log says %s", u.log)
	}
}

// A login is refused before a person is asked in vain.
func TestALoginThatCanNotBeKeptIsGivenUpBeforeAPersonIsAsked(t *testing.T) {
	f := newFake(t)
	for name, store := range map[string]*brokenStore{
		"read": {Store: auth.NewMemoryStore(), load: errors.New("broken")},
		"kept": {Store: auth.NewMemoryStore(), save: errors.New("broken")},
	} {
		p := &person{}
		err := f.connect(t, auth.Options{Store: store}).login(p)
		if err == nil || !strings.Contains(err.Error(), "can't be kept") || p.dialogues() > 0 || p.open != 0 {
			t.Errorf("%s: got %v after %d dialogues", name, err, p.dialogues())
		}
	}
}
