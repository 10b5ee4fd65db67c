package interop_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/auth"

	"mcpwire"
	login "mcpwire/auth"
	"mcpwire/config"
)

// calling is the variable that has this program call a tool in place of running tests.
const calling = "MCPWIRE_INTEROP_CALL"

// An errand is what such a process does.
type errand struct{ Name, URL, StateDir string }

// callAlone connects, calls the tool echo and closes, and returns the exit status.
func callAlone(text string) int {
	var e errand
	err := json.Unmarshal([]byte(text), &e)
	if err == nil {
		err = e.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (e errand) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := mcpwire.Connect(ctx, config.Server{Name: e.Name, Type: "http", URL: e.URL}, mcpwire.Options{
		StateDir: e.StateDir, CacheDir: "none", Auth: mcpwire.Auth{FilesOnly: true},
	})
	if err != nil {
		return err
	}
	if _, err := c.CallTool(ctx, "echo", said{"hi"}, nil); err != nil {
		return err
	}
	return c.Close(ctx)
}

func TestFiveProcessesRefreshATokenOnce(t *testing.T) {
	for name, expired := range map[string]bool{
		"that is known to have expired": true, "that the server does not accept any more": false,
	} {
		t.Run(name, func(t *testing.T) {
			r := startResource(t)
			p := startProvider(t, providerOptions{Resource: r.id, Delay: 300})
			var last, dead atomic.Value
			known := introspected(p, r.id)
			r.serve(guard{issuer: p.issuer, verify: func(ctx context.Context, token string, req *http.Request) (
				*auth.TokenInfo, error,
			) {
				if last.Store(token); token == dead.Load() {
					return nil, auth.ErrInvalidToken
				}
				return known(ctx, token, req)
			}})
			o := keeping(t)
			mustLogIn(t, r.entry(), o, &person{name: "ada"})
			say(t, r.entry(), o)
			dead.Store(last.Load())
			if expired {
				expire(t, o.StateDir, r.entry())
			}
			inFiveProcesses(t, errand{r.entry().Name, r.id, o.StateDir})
			say(t, r.entry(), o)
			// A second refresh with the same refresh token would have the provider revoke the grant.
			p.wantCounts(t, map[string]int{
				"registration": 1, "authorization": 1, "token authorization_code": 1, "token refresh_token": 1,
			})
			dead.Store(last.Load())
			say(t, r.entry(), o) // with the refresh token that is kept now
			if n := p.counts(t); n["token refresh_token"] != 2 || n["token refused"]+n["grant revoked"] != 0 {
				t.Errorf("at the provider happened %v", n)
			}
		})
	}
}

// expire changes what is kept, so that the access token has expired.
func expire(t *testing.T, state string, entry config.Server) {
	t.Helper()
	endpoint, err := url.Parse(entry.URL)
	if err != nil {
		t.Fatal(err)
	}
	key := login.Key(entry.Name, endpoint)
	store := login.OpenStore(filepath.Join(state, "logins"), login.StoreOptions{})
	rec, err := store.Load(t.Context(), key)
	if err != nil || rec.Login == nil {
		t.Fatalf("the login is %+v, %v", rec, err)
	}
	rec.Login.Expires = time.Now().Add(-time.Minute)
	if err := store.Save(t.Context(), key, rec); err != nil {
		t.Fatal(err)
	}
}

// inFiveProcesses runs the errand in five at once, none of which may fail.
func inFiveProcesses(t *testing.T, e errand) {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), calling+"="+string(text))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", i+1, err, out)
			}
		})
	}
	all.Wait()
}
