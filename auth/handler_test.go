package auth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"mcpwire/auth"
	"mcpwire/transport"
)

// A handler is one of the official SDK's kind.
type handler struct {
	token      string
	next       string // the token after Authorize
	source     error
	refuses    error
	authorized int
}

func (h *handler) TokenSource(context.Context) (oauth2.TokenSource, error) {
	if h.source != nil || h.token == "" {
		return nil, h.source
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: h.token}), nil
}

func (h *handler) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	h.authorized++
	_ = resp.Body.Close()
	if h.refuses == nil {
		h.token = h.next
	}
	return h.refuses
}

func TestAHandlerOfTheSDKLogsIn(t *testing.T) {
	plain := errors.New("she said no")
	for name, tt := range map[string]struct {
		handler    handler
		background bool
		byHand     bool
		tokens     []string // that were sent
		authorized int
		ok         bool
		err        error // of the request
		why        error // beside the refusal
	}{
		"it has a token":    {handler{token: "access-token-0"}, false, false, []string{"access-token-0"}, 0, true, nil, nil},
		"it gets one":       {handler{next: "access-token-0"}, false, false, []string{"", "access-token-0"}, 1, true, nil, nil},
		"it gets another":   {handler{token: "old", next: "access-token-0"}, false, false, []string{"old", "access-token-0"}, 1, true, nil, nil},
		"it is no good":     {handler{token: "old", next: "older"}, false, false, []string{"old", "older"}, 1, false, nil, nil},
		"it refuses":        {handler{token: "old", refuses: plain}, false, false, []string{"old"}, 1, false, nil, plain},
		"it fails":          {handler{source: plain}, false, false, nil, 0, false, plain, nil},
		"in the background": {handler{next: "access-token-0"}, true, false, []string{""}, 0, false, nil, nil},
		"a header by hand":  {handler{token: "access-token-0"}, false, true, []string{"by-hand"}, 0, false, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.access["access-token-0"] = ""
			pool := &http.Transport{}
			defer pool.CloseIdleConnections()
			h := tt.handler
			u := &user{t: t, http: auth.WrapHandler(&h)(pool), url: f.mcp.URL + "/mcp"}
			ctx := t.Context()
			if !tt.background {
				ctx = waited(t, &transport.Call{})
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, strings.NewReader("hello"))
			if err != nil {
				t.Fatal(err)
			}
			if tt.byHand {
				r.Header.Set("Authorization", "Bearer by-hand")
			}
			got, err := u.send(r)
			if !errors.Is(err, tt.err) || tt.ok != (got.body == "hello") || tt.why != nil && !errors.Is(got.why, tt.why) {
				t.Errorf("got %+v, %v", got, err)
			}
			all := f.asked("mcp /mcp")
			if len(all) != len(tt.tokens) || h.authorized != tt.authorized {
				t.Fatalf("authorized %d times, with the requests %+v", h.authorized, all)
			}
			for i, s := range all {
				if want := strings.TrimSuffix("Bearer "+tt.tokens[i], "Bearer "); s.body != "hello" ||
					s.header.Get("Authorization") != want {
					t.Errorf("request %d is %+v", i, s)
				}
			}
			secrets := u.http.(interface{ Secrets() []string }).Secrets() //nolint:errcheck,forcetypeassert // it has them
			if n := len(secrets); tt.handler.token != "" && !tt.byHand && n == 0 {
				t.Error("it knows no secrets")
			}
		})
	}
}
