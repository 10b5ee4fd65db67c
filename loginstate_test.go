package mcpwire_test

import (
	"context"
	"errors"
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
