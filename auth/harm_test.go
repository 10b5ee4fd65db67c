package auth_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpwire/auth"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// declines is a person who lets no login come to pass.
func declines(q url.Values) []url.Values {
	return []url.Values{{"state": q["state"], "error": {"access_denied"}}}
}

// The new client is for another redirect. The login that there is was given to the one before, and needs its secret.
func TestALoginThatIsGivenUpHarmsNoneThatWorks(t *testing.T) {
	f := newFake(t)
	made := 0
	f.answer("as /o/register", func(w http.ResponseWriter, _ *http.Request) {
		made++
		write(w, http.StatusCreated, map[string]any{
			"client_id": fmt.Sprintf("client-%d", made), "client_secret": fmt.Sprintf("the-secret-%d", made),
			"token_endpoint_auth_method": "client_secret_basic",
		})
	})
	u := f.connect(t, auth.Options{})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	if err := u.login(&person{redirect: "http://127.0.0.1:4711/callback", back: declines}); err == nil || made != 2 {
		t.Fatalf("after %d registrations: %v", made, err)
	}
	f.expire()
	f.forget()
	u.call()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("client-1:the-secret-1"))
	if got := f.asked("as /o/token"); len(got) != 1 || got[0].header.Get("Authorization") != want {
		t.Errorf("sent %+v", got)
	}
	if err := u.login(&person{redirect: "http://127.0.0.1:4711/callback"}); err != nil {
		t.Fatal(err)
	}
	f.expire()
	u.call() // with the secret of the one that somebody has agreed to
}

// A configured client belongs to the authorization server at which somebody has agreed.
func TestALoginThatIsGivenUpBindsNoClient(t *testing.T) {
	f := newFake(t)
	o := auth.Options{ClientID: "by-hand", Store: auth.NewMemoryStore()}
	if err := f.connect(t, o).login(&person{back: declines}); err == nil {
		t.Fatal("logged in")
	}
	next := moves(t, f)
	if err := f.connect(t, o).login(&person{}); err != nil || len(next.asked("as /o/token")) != 1 {
		t.Error(err)
	}
}

// browse follows an address, and the redirects after it.
func browse(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	pool := &http.Transport{}
	defer pool.CloseIdleConnections()
	resp, err := (&http.Client{Transport: pool}).Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// A window is for one dialogue; another client needs another one.
func TestAForgottenClientIsMadeAnewInAWindowOfItsOwn(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	times := 0
	f.answer("as /o/token", func(w http.ResponseWriter, r *http.Request) {
		if times++; times == 1 {
			write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
			return
		}
		f.token(w, r)
	})
	u := f.connect(t, auth.Options{})
	_, err := u.client.Login(t.Context(), &auth.Loopback{Browser: browse, Limit: 20 * time.Second})
	if err != nil || len(f.asked("as /o/register")) != 2 {
		t.Fatalf("after %q: %v", f.order(), err)
	}
	u.call()
}

// Whoever sends a refresh token that was used up ends the login.
func TestATokenThatCouldNotBeKeptIsNotForgotten(t *testing.T) {
	f := newFake(t)
	store := &brokenStore{Store: auth.NewMemoryStore()}
	u := f.connect(t, auth.Options{Store: store})
	if err := u.login(&person{}); err != nil {
		t.Fatal(err)
	}
	store.save = errors.New("the disk is full")
	for range 3 {
		f.expire()
		u.call()
	}
	store.save = nil
	f.expire()
	u.call()
	if l := u.kept(); l.RefreshToken == "" || !strings.Contains(u.log.String(), "the disk is full") {
		t.Errorf("kept %+v", l)
	}
	f.expire()
	f.connect(t, auth.Options{Store: store}).call() // another process has all that it needs
}

func TestRefusalsOfARefreshThatLastAreALoginThatIsNeeded(t *testing.T) {
	for code, tt := range map[string]struct {
		status int
		needed bool
		kept   bool // the tokens
	}{
		"invalid_grant":           {http.StatusBadRequest, true, false},
		"bad_refresh_token":       {http.StatusOK, true, false},
		"interaction_required":    {http.StatusBadRequest, true, true},
		"invalid_scope":           {http.StatusBadRequest, true, true},
		"temporarily_unavailable": {http.StatusServiceUnavailable, false, true},
		"server_error":            {http.StatusInternalServerError, false, true},
		"slow_down":               {http.StatusTooManyRequests, false, true},
		"":                        {http.StatusTooManyRequests, false, true},
	} {
		t.Run(code, func(t *testing.T) {
			f := newFake(t)
			u := f.connect(t, auth.Options{})
			f.keep(t, u, nil)
			f.expire()
			f.answer("as /o/token", says(tt.status, map[string]any{"error": code}))
			got, err := u.do(t.Context(), http.MethodPost, "hello")
			if err != nil || got.why == nil || errors.Is(got.why, transport.ErrLoginRequired) != tt.needed {
				t.Errorf("got %+v, %v", got, err)
			}
			if l := u.kept(); (l.RefreshToken != "") != tt.kept {
				t.Errorf("kept %+v", l)
			}
		})
	}
}

func TestARecordThatCanNotBeReadIsALoginThatIsNeeded(t *testing.T) {
	f := newFake(t)
	store := &brokenStore{Store: auth.NewMemoryStore(), load: fmt.Errorf("%w: f.json is damaged", auth.ErrUnreadable)}
	u := f.connect(t, auth.Options{Store: store})
	if why := u.refused(t.Context()); !strings.Contains(why.Error(), "f.json is damaged") {
		t.Errorf("got %v", &why)
	}
}

func TestNobodyLogsInOverAWayThatOthersCanRead(t *testing.T) {
	f := newFake(t)
	p := &person{}
	u := f.connect(t, auth.Options{URL: "http://192.0.2.1/mcp"})
	start := time.Now()
	if err := u.login(p); err == nil || !strings.Contains(err.Error(), "https://") || p.dialogues() > 0 {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("something was asked for %v", took)
	}
}

// The body of a refusal may never end, and nobody wants it.
func TestARefusalThatDoesNotEndHoldsNothingUp(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	f.keep(t, u, nil)
	f.expire()
	f.answer("mcp /mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer access-token-0" {
			f.serve(w, r)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte("no"))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
			t.Error("the connection was waited for")
		}
	})
	u.call()
}

// Such a server says where to log in only when it is asked for its stream.
func TestAServerOfEventsTellsWhereToLogIn(t *testing.T) {
	f := newFake(t)
	f.answer(atPath, status(http.StatusNotFound))
	f.answer("mcp /odd", says(http.StatusOK, f.metadata()))
	f.answer("mcp /mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata=%q`, f.mcp.URL+"/odd"))
		w.WriteHeader(http.StatusUnauthorized)
	})
	if err := f.connect(t, auth.Options{}).login(&person{}); err != nil {
		t.Errorf("after %q: %v", f.order(), err)
	}
}

// Some hosts answer every address with HTTP 200.
func TestJSONThatIsNoMetadataIsPassedOver(t *testing.T) {
	f := newFake(t)
	other := says(http.StatusOK, map[string]any{"error": "not found"})
	f.challenge = "Bearer"
	f.answer(atPath, other)
	f.answer(atRoot, says(http.StatusOK, f.metadata()))
	f.answer("as /.well-known/oauth-authorization-server", other)
	f.answer("as /.well-known/openid-configuration", says(http.StatusOK, f.described()))
	if err := f.connect(t, auth.Options{}).login(&person{}); err != nil {
		t.Errorf("after %q: %v", f.order(), err)
	}
}

// What a look-up says is in the hands of whoever has the name.
func TestALookUpOpensPrivateNetworksAndNeverThisMachine(t *testing.T) {
	for address, byName := range map[string]bool{
		"10.1.2.3": true, "fd00::1": true, "8.8.8.8": true,
		"127.0.0.1": false, "::1": false, "169.254.169.254": false, "fe80::1": false, "0.0.0.0": false,
		"::ffff:127.0.0.1": false,
	} {
		ip := netip.MustParseAddr(address)
		if got := auth.Allows(ip, false); got != byName {
			t.Errorf("%s: %v", address, got)
		}
		if !auth.Allows(ip, true) {
			t.Errorf("%s is refused although the entry allows it", address)
		}
	}
}
