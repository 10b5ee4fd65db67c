package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/auth"
	"mcpwire/internal/httpwire"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// quotes know no secrets.
var quotes = httpwire.Knowing(httpwire.Options{})

func init() {
	roles["make a call"] = makeCall
	roles["refresh and hang"] = makeCall
}

const urlVariable = "MCPWIRE_AUTH_URL"

// makeCall is a process that makes one call with the login in the folder.
func makeCall() {
	c, err := auth.New(auth.Options{
		Server: "demo", URL: os.Getenv(urlVariable),
		Store: auth.OpenStore(os.Getenv(folderVariable), auth.StoreOptions{}),
	})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	defer c.Close()
	r, err := http.NewRequest(http.MethodPost, os.Getenv(urlVariable), strings.NewReader("hello"))
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	resp, err := c.Wrap(&http.Transport{}).RoundTrip(r)
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stdout, resp.Status)
	}
}

// expired makes the login in the store one whose access token has expired.
func expired(l *auth.Login) {
	l.Obtained, l.Expires = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	l.AccessToken = "expired-token"
}

// refreshedOnce checks that there was exactly one refresh, and that the store holds what came of it.
func refreshedOnce(t *testing.T, f *fake, u *user) {
	t.Helper()
	if got := len(f.asked("as /o/token")); got != 1 {
		t.Errorf("%d refreshes", got)
	}
	if l := u.kept(); l.AccessToken != "access-token-1" || l.RefreshToken != "refresh-token-1" || l.Expires.IsZero() {
		t.Errorf("the store holds %+v", l)
	}
}

func TestFiveProcessesRefreshATokenOnce(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	f.delay = 300 * time.Millisecond
	folder := t.TempDir()
	u := f.connect(t, auth.Options{Store: auth.OpenStore(folder, auth.StoreOptions{})})
	f.keep(t, u, expired)
	var all sync.WaitGroup
	for range 5 {
		cmd := again(t, "make a call", folder)
		cmd.Env = append(cmd.Env, urlVariable+"="+u.url)
		all.Go(func() {
			if out, err := cmd.Output(); err != nil || len(out) > 0 {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
	all.Wait()
	refreshedOnce(t, f, u)
}

func TestFiveCallsOfOneProcessRefreshATokenOnce(t *testing.T) {
	for name, change := range map[string]func(*auth.Login){
		"it has expired":              expired,
		"the server takes it no more": func(l *auth.Login) { l.AccessToken = "revoked-token" },
		"there is none":               func(l *auth.Login) { l.AccessToken = "" },
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			f := newFake(t)
			f.delay = 300 * time.Millisecond
			u := f.connect(t, auth.Options{})
			f.keep(t, u, change)
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					got, err := u.do(t.Context(), http.MethodPost, "hello")
					if err != nil || got.body != "hello" {
						t.Errorf("got %+v, %v", got, err)
					}
				})
			}
			all.Wait()
			refreshedOnce(t, f, u)
		})
	}
}

func TestATokenThatAnotherProcessHasBroughtIsUsed(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	f.keep(t, u, nil)
	u.call()
	f.expire()
	f.keep(t, u, func(l *auth.Login) { l.AccessToken, l.RefreshToken = "newer-token", "newer-refresh" })
	f.mu.Lock()
	f.access["newer-token"] = ""
	f.mu.Unlock()
	u.call()
	if got := f.asked("as "); len(got) > 0 {
		t.Errorf("asked for %+v", got)
	}
}

func TestALoginThatAnotherProcessHasMadeIsUsed(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	if why := u.refused(t.Context()); why.Err != nil || why.Command != "mcpwire login demo" {
		t.Errorf("got %v", why)
	}
	f.keep(t, u, nil)
	u.call()
}

// A refusal says that a refresh token is not good; meanwhile somebody who knows nothing of locks has another.
func TestAfterInvalidGrantTheStoreIsReadOnceMore(t *testing.T) {
	for name, tt := range map[string]struct {
		newer  func(*auth.Login) // what the other has left
		tokens int
		ok     bool
	}{
		"a newer pair":                  {func(l *auth.Login) { l.AccessToken, l.RefreshToken = "access-token-0", "newer" }, 1, true},
		"another refresh token":         {func(l *auth.Login) { l.AccessToken, l.RefreshToken = "expired-token", "good" }, 2, true},
		"another that is no good":       {func(l *auth.Login) { l.AccessToken, l.RefreshToken = "expired-token", "bad" }, 2, false},
		"the same":                      {func(l *auth.Login) { l.RefreshToken = "tried" }, 1, false},
		"nothing that can be refreshed": {func(l *auth.Login) { l.AccessToken, l.RefreshToken = "expired-token", "" }, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.fresh["good"] = ""
			u := f.connect(t, auth.Options{})
			f.keep(t, u, func(l *auth.Login) {
				expired(l)
				l.RefreshToken = "tried"
			})
			times := 0
			f.answer("as /o/token", func(w http.ResponseWriter, r *http.Request) {
				if times++; times == 1 {
					f.keep(t, u, func(l *auth.Login) {
						expired(l)
						tt.newer(l)
						if l.AccessToken == "access-token-0" {
							l.Expires = time.Time{}
						}
					})
				}
				f.token(w, r)
			})
			if tt.ok {
				u.call()
			} else {
				u.refused(t.Context())
			}
			if got := len(f.asked("as /o/token")); got != tt.tokens {
				t.Errorf("asked for tokens %d times", got)
			}
		})
	}
}

func TestACredentialIsOnlyGivenUpIfItIsTheOneThatWasTried(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	f.keep(t, u, func(l *auth.Login) {
		expired(l)
		l.RefreshToken = "tried-1"
	})
	times := 0
	f.answer("as /o/token", func(w http.ResponseWriter, _ *http.Request) {
		times++
		f.keep(t, u, func(l *auth.Login) {
			expired(l)
			l.RefreshToken = fmt.Sprintf("tried-%d", times+1)
		})
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
	})
	u.refused(t.Context())
	if l := u.kept(); l.RefreshToken != "tried-3" {
		t.Errorf("the store holds %+v", l)
	}
}

func TestATokenThatIsRefusedForGoodIsTriedOnce(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	f.keep(t, u, func(l *auth.Login) {
		expired(l)
		l.RefreshToken = "worthless"
	})
	why := u.refused(t.Context())
	if !strings.Contains(why.Error(), `run "mcpwire login demo"`) || !strings.Contains(why.Error(), "invalid_grant") {
		t.Errorf("got %v", why)
	}
	u.refused(t.Context())
	f.connect(t, auth.Options{Store: u.store}).refused(t.Context())
	if got := len(f.asked("as ")); got != 1 {
		t.Errorf("asked %d times", got)
	}
	if l := u.kept(); l.AccessToken != "" || l.RefreshToken != "" || l.Issuer != f.issuer {
		t.Errorf("the store holds %+v", l)
	}
}

func TestACallThatEndsDoesNotEndTheRefresh(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	u := f.connect(t, auth.Options{})
	f.keep(t, u, expired)
	asked, goOn := make(chan struct{}), make(chan struct{})
	f.answer("as /o/token", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-goOn
		f.token(w, r)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller is gone")
	ended := make(chan error)
	go func() {
		_, err := u.do(ctx, http.MethodPost, "hello")
		ended <- err
	}()
	<-asked
	cancel(gone)
	if err := <-ended; !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	close(goOn)
	u.call()
	refreshedOnce(t, f, u)
}

func TestAClientThatIsClosedKeepsATokenThatIsOnItsWay(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	f.delay = 300 * time.Millisecond
	u := f.connect(t, auth.Options{})
	f.keep(t, u, expired)
	asked := make(chan struct{})
	f.answer("as /o/token", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		f.token(w, r)
	})
	ended := make(chan error)
	go func() {
		_, err := u.do(t.Context(), http.MethodPost, "hello")
		ended <- err
	}()
	<-asked
	u.client.Close()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	refreshedOnce(t, f, u)
}

func TestClosingWaitsNeitherForATokenEndpointThatHangsNorForALock(t *testing.T) {
	for name, hang := range map[string]func(t *testing.T, f *fake, u *user) (begun <-chan struct{}, end func()){
		"the endpoint": func(_ *testing.T, f *fake, _ *user) (<-chan struct{}, func()) {
			begun, goOn := make(chan struct{}), make(chan struct{})
			f.answer("as /o/token", func(http.ResponseWriter, *http.Request) {
				close(begun)
				<-goOn
			})
			return begun, func() { close(goOn) }
		},
		"the lock": func(t *testing.T, _ *fake, u *user) (<-chan struct{}, func()) {
			t.Helper()
			unlock, err := u.store.Lock(t.Context(), u.key, auth.RecordLock)
			if err != nil {
				t.Fatal(err)
			}
			begun := make(chan struct{})
			close(begun)
			return begun, unlock
		},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			f := newFake(t)
			u := f.connect(t, auth.Options{})
			f.keep(t, u, expired)
			begun, end := hang(t, f, u)
			defer end()
			ended := make(chan error)
			go func() {
				_, err := u.do(t.Context(), http.MethodPost, "hello")
				ended <- err
			}()
			<-begun
			start := time.Now()
			u.client.Close()
			err := <-ended
			if took := time.Since(start); err == nil || took > 3*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
			if _, err := u.do(t.Context(), http.MethodPost, "hello"); !errors.Is(err, transport.ErrClosed) {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// A process that is killed in the middle of a refresh leaves the lock to others, who have to try its token.
func TestAProcessThatIsKilledWhileItRefreshesBlocksNobody(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	folder := t.TempDir()
	u := f.connect(t, auth.Options{Store: auth.OpenStore(folder, auth.StoreOptions{})})
	f.keep(t, u, expired)
	asked := make(chan struct{})
	gone := make(chan struct{})
	f.answer("as /o/token", func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-gone
	})
	cmd := again(t, "refresh and hang", folder)
	cmd.Env = append(cmd.Env, urlVariable+"="+u.url)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	f.answer("as /o/token", nil)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	close(gone)
	u.call()
	if l := u.kept(); l.AccessToken != "access-token-1" {
		t.Errorf("the store holds %+v", l)
	}
}
