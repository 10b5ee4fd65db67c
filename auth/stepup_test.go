package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/auth"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

func TestACallThatNeedsAnotherScopeHasAPersonAgree(t *testing.T) {
	f := newFake(t)
	f.challenge = `Bearer scope="read"`
	p := &person{}
	u := f.connect(t, auth.Options{Authorizer: p})
	if err := u.login(p); err != nil {
		t.Fatal(err)
	}
	f.scopes = []string{"write"}
	got, err := u.do(waited(t, &transport.Call{}), http.MethodPost, "hello")
	if err != nil || got.body != "hello" || p.dialogues() != 2 {
		t.Fatalf("after %d dialogues: %+v, %v", p.dialogues(), got, err)
	}
	if scope := p.shown[1].Query().Get("scope"); scope != "read write" {
		t.Errorf("asked for %q", scope)
	}
	if l := u.kept(); !slices.Equal(l.Scopes, []string{"read", "write"}) {
		t.Errorf("kept %q", l.Scopes)
	}
	u.call()
}

func TestManyCallsShareOneDialogue(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	const calls = 5
	held := make(chan struct{})
	p := &person{back: func(q url.Values) []url.Values {
		<-held
		return []url.Values{q}
	}}
	u := f.connect(t, auth.Options{Authorizer: p})
	// The first that comes opens the dialogue; the others are on their way when all have been refused.
	refused := 0
	var mu sync.Mutex
	f.answer("mcp /mcp", func(w http.ResponseWriter, r *http.Request) {
		f.serve(w, r)
		mu.Lock()
		defer mu.Unlock()
		if refused++; refused == calls {
			close(held)
		}
	})
	var all sync.WaitGroup
	for range calls {
		ctx := waited(t, &transport.Call{})
		all.Go(func() {
			if got, err := u.do(ctx, http.MethodPost, "hello"); err != nil || got.body != "hello" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	all.Wait()
	if p.dialogues() != 1 {
		t.Errorf("%d dialogues", p.dialogues())
	}
}

func TestTheClockOfACallStandsStillWhileAPersonIsAsked(t *testing.T) {
	f := newFake(t)
	call := &transport.Call{Timeout: 100 * time.Millisecond}
	p := &person{back: func(q url.Values) []url.Values {
		select {
		case <-call.Ended():
			t.Errorf("the call ended: %v", call.Err())
		case <-time.After(300 * time.Millisecond):
		}
		return []url.Values{q}
	}}
	u := f.connect(t, auth.Options{Authorizer: p})
	got, err := u.do(waited(t, call), http.MethodPost, "hello")
	if err != nil || got.body != "hello" {
		t.Errorf("got %+v, %v", got, err)
	}
	select {
	case <-call.Ended():
	case <-time.After(5 * time.Second):
		t.Error("the clock has not been started again")
	}
}

// Nobody waits for what runs in the background: standing streams, DELETEs, notifications and cancel notes.
func TestWhatRunsInTheBackgroundAsksNobody(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		f := newFake(t)
		p := &person{}
		u := f.connect(t, auth.Options{Authorizer: p})
		got, err := u.do(t.Context(), method, "")
		if err != nil || !errors.Is(got.why, transport.ErrLoginRequired) || p.dialogues() > 0 {
			t.Errorf("%s: %+v, %v after %d dialogues", method, got, err, p.dialogues())
		}
	}
}

func TestWithoutAPersonTheErrorNamesScopeAndCommand(t *testing.T) {
	f := newFake(t)
	u := f.connect(t, auth.Options{Server: "my server"})
	f.keep(t, u, nil)
	f.scopes = []string{"files:write", "$(reboot)"}
	got, err := u.do(waited(t, &transport.Call{}), http.MethodPost, "hello")
	why, ok := errors.AsType[*auth.LoginError](got.why)
	if err != nil || got.status != http.StatusForbidden || !ok || !errors.Is(got.why, transport.ErrLoginRequired) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if !slices.Equal(why.Scopes, f.scopes) || why.Command != "mcpwire login 'my server' --scope files:write" {
		t.Errorf("got %+v", why)
	}
	if len(f.asked("as ")) > 0 {
		t.Errorf("the requests were %q", f.order())
	}
}

func TestAPersonIsAskedOnceForWhatIsRefusedAllTheSame(t *testing.T) {
	for name, refuse := range map[string]http.HandlerFunc{
		"401": status(http.StatusUnauthorized),
		"403, one scope": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="more"`)
			w.WriteHeader(http.StatusForbidden)
		},
		"403, no scope": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
			w.WriteHeader(http.StatusForbidden)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.answer("mcp /mcp", refuse)
			p := &person{}
			u := f.connect(t, auth.Options{Authorizer: p})
			got, err := u.do(waited(t, &transport.Call{}), http.MethodPost, "hello")
			if err != nil || !errors.Is(got.why, transport.ErrLoginRequired) ||
				!strings.Contains(got.why.Error(), "refuses what was just granted") {
				t.Errorf("got %+v, %v", got, err)
			}
			if n := p.dialogues(); n != 1 {
				t.Errorf("%d dialogues", n)
			}
			if why := u.refused(waited(t, &transport.Call{})); p.dialogues() != 1 || why.Err == nil {
				t.Errorf("the next call asked again: %v", &why)
			}
		})
	}
}

func TestAPersonWhoRefusesIsNotAskedAgainAtOnce(t *testing.T) {
	f := newFake(t)
	p := &person{back: func(q url.Values) []url.Values {
		return []url.Values{{"state": q["state"], "error": {"access_denied"}}}
	}}
	u := f.connect(t, auth.Options{Authorizer: p})
	why := u.refused(waited(t, &transport.Call{}))
	if !strings.Contains(why.Error(), "access_denied") || p.dialogues() != 1 {
		t.Errorf("after %d dialogues: %v", p.dialogues(), &why)
	}
	why = u.refused(waited(t, &transport.Call{}))
	if !strings.Contains(why.Error(), "in vain a moment ago") || p.dialogues() != 1 {
		t.Errorf("after %d dialogues: %v", p.dialogues(), &why)
	}
	p.back = nil
	if err := u.login(p); err != nil { // which nobody keeps from being tried
		t.Error(err)
	}
	u.call()
}

// The others still wait for the person's answer.
func TestACallThatEndsDoesNotEndTheDialogue(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	inside, goOn := make(chan struct{}), make(chan struct{})
	p := &person{back: func(q url.Values) []url.Values {
		close(inside)
		<-goOn
		return []url.Values{q}
	}}
	u := f.connect(t, auth.Options{Authorizer: p})
	gone := errors.New("the caller is gone")
	ctx, cancel := context.WithCancelCause(waited(t, &transport.Call{}))
	first := make(chan error)
	go func() {
		_, err := u.do(ctx, http.MethodPost, "hello")
		first <- err
	}()
	<-inside
	cancel(gone)
	if err := <-first; err != nil && !errors.Is(err, gone) {
		t.Error(err)
	}
	second := make(chan outcome)
	waits := waited(t, &transport.Call{})
	go func() {
		got, _ := u.do(waits, http.MethodPost, "hello")
		second <- got
	}()
	for len(f.asked("mcp /mcp")) < 2 {
		time.Sleep(time.Millisecond)
	}
	close(goOn)
	if got := <-second; got.body != "hello" || p.dialogues() != 1 {
		t.Errorf("after %d dialogues: %+v", p.dialogues(), got)
	}
}

func TestClosingEndsADialogue(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := newFake(t)
	inside := make(chan struct{})
	p := &person{back: func(url.Values) []url.Values {
		close(inside)
		return nil
	}}
	u := f.connect(t, auth.Options{Authorizer: p})
	ended := make(chan outcome)
	ctx := waited(t, &transport.Call{})
	go func() {
		got, _ := u.do(ctx, http.MethodPost, "hello")
		ended <- got
	}()
	<-inside
	start := time.Now()
	u.client.Close()
	if got := <-ended; got.why == nil || time.Since(start) > time.Second || p.open != 0 {
		t.Errorf("after %v: %+v", time.Since(start), got)
	}
}

func TestALoginOfAnotherProcessSavesADialogue(t *testing.T) {
	f := newFake(t)
	p := &person{}
	u := f.connect(t, auth.Options{Authorizer: p})
	unlock, err := u.store.Lock(t.Context(), u.key, auth.LoginLock)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan outcome)
	ctx := waited(t, &transport.Call{})
	go func() {
		got, _ := u.do(ctx, http.MethodPost, "hello")
		ended <- got
	}()
	for len(f.asked("mcp /mcp")) == 0 {
		time.Sleep(time.Millisecond)
	}
	f.keep(t, u, nil)
	unlock()
	if got := <-ended; got.body != "hello" || p.dialogues() > 0 {
		t.Errorf("after %d dialogues: %+v", p.dialogues(), got)
	}
}
