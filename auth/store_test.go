package auth_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/auth"
	"mcpwire/transport/transporttest"
)

const (
	key   = "0123456789abcdef"
	other = "fedcba9876543210"
)

// record returns a record with everything in it, whose secrets all end in the word.
func record(word string) auth.Record {
	return auth.Record{
		Server: "demo", URL: "https://mcp.example/mcp",
		Login: &auth.Login{
			Issuer: "https://as.example", Resource: "https://mcp.example/mcp", TokenEndpoint: "https://as.example/token",
			Revocation: "https://as.example/revoke", ClientID: "client", AuthMethod: "client_secret_basic", Account: "ann",
			AccessToken: "access-" + word, RefreshToken: "refresh-" + word, Scopes: []string{"read", "write"},
			Obtained: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Expires: time.Date(2026, 1, 2, 4, 4, 5, 0, time.UTC),
		},
		Registrations: map[string]auth.Registration{
			"https://as.example": {
				ClientID: "client", ClientSecret: "client-" + word, AuthMethod: "client_secret_basic",
				RedirectURI: "http://127.0.0.1:1/callback", SecretExpires: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
			},
			"https://other.example": {ClientID: "public", AuthMethod: "none"},
		},
	}
}

// stores are the kinds of stores, each of which passes the suite.
var stores = []struct {
	name string
	open func(t *testing.T) auth.Store
}{
	{"memory", func(*testing.T) auth.Store { return auth.NewMemoryStore() }},
	{"files", func(t *testing.T) auth.Store {
		t.Helper()
		return auth.OpenStore(filepath.Join(t.TempDir(), "a", "b"), auth.StoreOptions{})
	}},
	{"files and a keychain", func(t *testing.T) auth.Store {
		t.Helper()
		return auth.OpenStore(filepath.Join(t.TempDir(), "a", "b"), auth.StoreOptions{Keychain: newFakeChain()})
	}},
}

func load(t *testing.T, s auth.Store, key string) auth.Record {
	t.Helper()
	r, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func save(t *testing.T, s auth.Store, key string, r auth.Record) {
	t.Helper()
	if err := s.Save(t.Context(), key, r); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, got, want auth.Record) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v with login %+v,\nwant %+v with login %+v", got, got.Login, want, want.Login)
	}
}

func TestStores(t *testing.T) {
	for _, row := range stores {
		t.Run(row.name, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			for name, test := range map[string]func(*testing.T, auth.Store){
				"what was saved is loaded until it is deleted":   keeps,
				"nothing is shared with what was saved":          sharesNothing,
				"only a hash is a key":                           refusesKeys,
				"whoever loads finds a whole record":             isWhole,
				"a lock is held by one":                          excludes,
				"a wait for a lock ends with the context":        boundsLocks,
				"what has ended before it begins does nothing":   endsBefore,
				"a name that is no word is no lock":              refusesLocks,
				"locks are independent, of records and of names": locksApart,
			} {
				t.Run(name, func(t *testing.T) { test(t, row.open(t)) })
			}
		})
	}
}

func keeps(t *testing.T, s auth.Store) {
	t.Helper()
	same(t, load(t, s, key), auth.Record{})
	for _, want := range []auth.Record{
		record("one"),
		record("two"),
		{Server: "demo", URL: "https://mcp.example/mcp"},
		{Server: "demo", Login: &auth.Login{Issuer: "https://as.example", AccessToken: "only"}},
		{},
		record("three"),
	} {
		save(t, s, key, want)
		same(t, load(t, s, key), want)
		same(t, load(t, s, other), auth.Record{})
	}
	for range 2 {
		if err := s.Delete(t.Context(), key); err != nil {
			t.Error(err)
		}
		same(t, load(t, s, key), auth.Record{})
	}
}

func sharesNothing(t *testing.T, s auth.Store) {
	t.Helper()
	change := func(r auth.Record) {
		r.Login.AccessToken, r.Login.Scopes[0] = "changed", "changed"
		r.Registrations["https://third.example"] = auth.Registration{}
	}
	mine := record("one")
	save(t, s, key, mine)
	same(t, mine, record("one"))
	change(mine)
	same(t, load(t, s, key), record("one"))
	change(load(t, s, key))
	same(t, load(t, s, key), record("one"))
}

func refusesKeys(t *testing.T, s auth.Store) {
	t.Helper()
	for _, bad := range []string{
		"", ".", "..", "../ab", "/ab", "a/b", `a\b`, "AB", "xyz", "ab.", "ab ", "ab\x00", "é", strings.Repeat("a", 129),
	} {
		_, err := s.Load(t.Context(), bad)
		_, lockErr := s.Lock(t.Context(), bad, auth.RecordLock)
		for what, err := range map[string]error{
			"load": err, "lock": lockErr, "save": s.Save(t.Context(), bad, record("one")), "delete": s.Delete(t.Context(), bad),
		} {
			if err == nil || !strings.Contains(err.Error(), "is no key") {
				t.Errorf("%s of %q: %v", what, bad, err)
			}
		}
	}
	save(t, s, strings.Repeat("a", 128), record("one"))
}

func refusesLocks(t *testing.T, s auth.Store) {
	t.Helper()
	for _, bad := range []auth.Lock{"", "..", "a/b", "A", "a.b", "a1"} {
		if _, err := s.Lock(t.Context(), key, bad); err == nil {
			t.Errorf("%q is a lock", bad)
		}
	}
}

func isWhole(t *testing.T, s auth.Store) {
	t.Helper()
	save(t, s, key, record("0"))
	var savers, loaders sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		savers.Go(func() {
			for j := range 8 {
				// Records of many lengths, so that a torn one shows.
				if err := s.Save(t.Context(), key, record(strings.Repeat(fmt.Sprint(i), 1+j*100))); err != nil {
					t.Error(err)
				}
			}
		})
		loaders.Go(func() {
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				r, err := s.Load(t.Context(), key)
				if err != nil || r.Login == nil {
					t.Errorf("got %+v, %v", r, err)
					return
				}
				word, _ := strings.CutPrefix(r.Login.AccessToken, "access-")
				if want := record(word); !reflect.DeepEqual(r, want) {
					t.Errorf("got %+v with login %+v", r, r.Login)
					return
				}
			}
		})
	}
	savers.Wait()
	close(done)
	loaders.Wait()
}

func excludes(t *testing.T, s auth.Store) {
	t.Helper()
	held, count := 0, 0 // the race detector sees them too
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 3 {
				unlock, err := s.Lock(t.Context(), key, auth.RecordLock)
				if err != nil {
					t.Error(err)
					return
				}
				if held++; held != 1 {
					t.Errorf("%d hold the lock", held)
				}
				runtime.Gosched()
				held--
				count++
				unlock()
			}
		})
	}
	all.Wait()
	if count != 24 {
		t.Errorf("it was held %d times", count)
	}
}

func boundsLocks(t *testing.T, s auth.Store) {
	t.Helper()
	unlock, err := s.Lock(t.Context(), key, auth.RecordLock)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("the reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	waited := make(chan error)
	go func() {
		_, err := s.Lock(ctx, key, auth.RecordLock)
		waited <- err
	}()
	cancel(cause)
	if err := <-waited; !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	unlock()
	if unlock, err = s.Lock(t.Context(), key, auth.RecordLock); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func endsBefore(t *testing.T, s auth.Store) {
	t.Helper()
	save(t, s, key, record("one"))
	cause := errors.New("the reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := s.Load(ctx, key)
	_, lockErr := s.Lock(ctx, key, auth.RecordLock)
	for what, err := range map[string]error{
		"load": err, "lock": lockErr, "save": s.Save(ctx, key, record("two")), "delete": s.Delete(ctx, key),
	} {
		if !errors.Is(err, cause) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same(t, load(t, s, key), record("one"))
}

func locksApart(t *testing.T, s auth.Store) {
	t.Helper()
	for _, row := range []struct {
		key  string
		lock auth.Lock
	}{{key, auth.RecordLock}, {key, auth.LoginLock}, {other, auth.RecordLock}} {
		unlock, err := s.Lock(t.Context(), row.key, row.lock)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(unlock)
	}
	save(t, s, key, record("one")) // as a refresh does, which holds the lock
	same(t, load(t, s, key), record("one"))
	if err := s.Delete(t.Context(), key); err != nil {
		t.Error(err)
	}
}

func TestFilesAreTheUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no permissions")
	}
	for _, before := range []os.FileMode{0, 0o700, 0o755} {
		folder := filepath.Join(t.TempDir(), "logins")
		if before != 0 {
			if err := os.Mkdir(folder, before); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, key+".json"), []byte("{}"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		save(t, auth.OpenStore(folder, auth.StoreOptions{}), key, record("one"))
		for name, want := range map[string]os.FileMode{
			".": os.ModeDir | 0o700, key + ".json": 0o600, key + ".save.lock": 0o600,
		} {
			if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode() != want {
				t.Errorf("before %v: %s is %v, %v", before, name, info.Mode(), err)
			}
		}
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != 2 {
			t.Errorf("there are %v, %v", entries, err)
		}
	}
}

func TestADamagedFileIsNamedAndReplaced(t *testing.T) {
	whole := `{"server":"demo","url":"https://mcp.example","login":{"access_token":"s3cret-token"}}`
	for name, text := range map[string]string{
		"empty":             "",
		"cut off":           whole[:len(whole)-10],
		"two":               whole + whole,
		"no object":         `["s3cret-token"]`,
		"a wrong type":      `{"login":{"access_token":["s3cret-token"]}}`,
		"a wrong time":      `{"login":{"expires":"s3cret-token"}}`,
		"the same twice":    `{"server":"a","server":"s3cret-token"}`,
		"binary":            "\x00\xff\xfe",
		"too large":         whole + strings.Repeat(" ", 1<<20),
		"a wrong reference": `{"keychain":"s3cret-token"}`,
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, key+".json")
			s := auth.OpenStore(folder, auth.StoreOptions{Keychain: newFakeChain()})
			for _, mend := range []func() error{
				func() error { return s.Save(t.Context(), key, record("new")) },
				func() error { return s.Delete(t.Context(), key) },
			} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := s.Load(t.Context(), key)
				same(t, r, auth.Record{})
				if !errors.Is(err, auth.ErrUnreadable) || !strings.Contains(err.Error(), path) ||
					!strings.Contains(err.Error(), "log in again") || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("got %v", err)
				}
				if err := mend(); err != nil {
					t.Error(err)
				}
				load(t, s, key)
			}
		})
	}
}

func TestAFolderInPlaceOfAFileIsAnError(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, key+".json", "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := auth.OpenStore(folder, auth.StoreOptions{})
	if _, err := s.Load(t.Context(), key); err == nil {
		t.Error("it was loaded")
	}
	if err := s.Save(t.Context(), key, record("one")); err == nil {
		t.Error("it was replaced")
	}
	if err := s.Delete(t.Context(), key); err == nil {
		t.Error("it was deleted")
	}
	if drafts, _ := filepath.Glob(filepath.Join(folder, ".*")); len(drafts) > 0 {
		t.Errorf("left are %q", drafts)
	}
}

func TestMembersOfLaterVersionsStay(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, key+".json")
	s := auth.OpenStore(folder, auth.StoreOptions{Keychain: newFakeChain()})
	if err := os.WriteFile(path, []byte(`{"server":"demo","dpop":{"key":[1,2]},"colour":"red"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		save(t, s, key, record("one"))
		same(t, load(t, s, key), record("one"))
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"dpop": {`) || !strings.Contains(string(text), `"colour": "red"`) {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestDraftsOfTheDeadAreRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "with[signs]*")
	s := auth.OpenStore(folder, auth.StoreOptions{})
	for _, act := range []func() error{
		func() error { return s.Save(t.Context(), key, record("one")) },
		func() error { return s.Delete(t.Context(), key) },
	} {
		save(t, s, other, record("other"))
		for name, stays := range map[string]bool{"." + key + ".new-1": false, "." + other + ".new-1": true} {
			draft := filepath.Join(folder, name)
			if err := os.WriteFile(draft, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := act(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(draft); err == nil != stays {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
