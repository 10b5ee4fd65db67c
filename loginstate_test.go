package mcpwire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/auth"
	"mcpwire/config"
	"mcpwire/manager"
	"mcpwire/transport"
)

// Only a refusal wants a person; an outage of the authorization server passes by itself.
func TestAServerWhoseTokenCanNotBeRefreshed(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  string
		status  int
		expires time.Time // of the access token; zero: only the server knows that it has
		state   manager.State
	}{
		"refused":                    {`{"error":"invalid_grant"}`, http.StatusBadRequest, time.Now().Add(-time.Hour), manager.NeedsLogin},
		"refused, after the server":  {`{"error":"invalid_grant"}`, http.StatusBadRequest, time.Time{}, manager.NeedsLogin},
		"an outage":                  {``, http.StatusServiceUnavailable, time.Now().Add(-time.Hour), manager.Waiting},
		"an outage, after a refusal": {``, http.StatusServiceUnavailable, time.Time{}, manager.Waiting},
	} {
		t.Run(name, func(t *testing.T) {
			tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.answer))
			}))
			t.Cleanup(tokens.Close)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				w.WriteHeader(http.StatusUnauthorized)
			}))
			t.Cleanup(server.Close)
			at, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			keep := func() auth.Store {
				store := auth.NewMemoryStore()
				if err := store.Save(t.Context(), auth.Key("counter", at), auth.Record{Login: &auth.Login{
					Issuer: tokens.URL, TokenEndpoint: tokens.URL, ClientID: "c", AuthMethod: "none",
					AccessToken: "old-token", RefreshToken: "old-refresh", Expires: tt.expires,
				}}); err != nil {
					t.Fatal(err)
				}
				return store
			}

			entry := config.Server{Name: "counter", URL: server.URL}
			_, err = mcpwire.Connect(t.Context(), entry, mcpwire.Options{
				CacheDir: "none", StateDir: "none", Auth: mcpwire.Auth{Store: keep()},
			})
			carriage, ok := errors.AsType[*transport.Error](err)
			if !ok || carriage.Delivery == transport.MaybeDelivered ||
				errors.Is(err, transport.ErrLoginRequired) != (tt.state == manager.NeedsLogin) {
				t.Errorf("got %v", err)
			}

			o := mcpwire.ManageOptions{Auth: mcpwire.Auth{Store: keep()}}
			o.CacheDir, o.StateDir = "none", "none"
			m := mcpwire.Manage([]config.Server{entry}, o)
			defer func() {
				if err := m.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			for m.Snapshot().Servers[0].State == manager.Connecting {
				time.Sleep(time.Millisecond)
			}
			if got := m.Snapshot().Servers[0].State; got != tt.state {
				t.Errorf("the state is %v", got)
			}
		})
	}
}

// An unwilling is an Authorizer that must not be asked.
type unwilling struct{ t *testing.T }

func (u unwilling) Open(context.Context, string) (auth.Window, error) {
	u.t.Error("a person was asked")
	return nil, errors.New("nobody is there")
}

// Nobody waits for a manager that connects by itself.
func TestAManagerThatConnectsAsksNobody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		case "/.well-known/oauth-authorization-server":
			at := "http://" + r.Host
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q,"registration_endpoint":%q,
				"code_challenge_methods_supported":["S256"]}`, at, at+"/a", at+"/t", at+"/r")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	o := mcpwire.ManageOptions{Auth: mcpwire.Auth{Authorizer: unwilling{t}}}
	o.CacheDir, o.StateDir = "none", "none"
	m := mcpwire.Manage([]config.Server{{Name: "shy", URL: server.URL + "/mcp"}}, o)
	defer func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for m.Snapshot().Servers[0].State == manager.Connecting {
		time.Sleep(time.Millisecond)
	}
	if got := m.Snapshot().Servers[0].State; got != manager.NeedsLogin {
		t.Errorf("the state is %v", got)
	}
}
