package auth_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/auth"
)

var errFake = errors.New("the fake is locked")

// A fakeChain is a keychain in memory. Its fields may be changed with set.
type fakeChain struct {
	mu     sync.Mutex
	items  map[string]string
	calls  []string
	limit  int               // bytes of an item; 0: none
	fail   error             // of every call
	panics bool              // in every call
	hang   chan struct{}     // every call waits until it is closed
	hooks  map[string]func() // by call, once
}

func newFakeChain() *fakeChain { return &fakeChain{items: map[string]string{}} }

func (k *fakeChain) set(change func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change()
}

// called returns what was called since it was asked last.
func (k *fakeChain) called() (calls []string) {
	k.set(func() { calls, k.calls = k.calls, nil })
	return calls
}

// enter begins a call, which goes on with the lock.
func (k *fakeChain) enter(what string) error {
	k.mu.Lock()
	k.calls = append(k.calls, what)
	hang, hook := k.hang, k.hooks[what]
	delete(k.hooks, what)
	k.mu.Unlock()
	if hook != nil {
		hook()
	}
	if hang != nil {
		<-hang
	}
	k.mu.Lock()
	if k.panics {
		k.mu.Unlock()
		panic("a type that nobody expected")
	}
	return k.fail
}

func (k *fakeChain) Get(key string) (string, error) {
	err := k.enter("get")
	defer k.mu.Unlock()
	if err != nil {
		return "", err
	}
	text, ok := k.items[key]
	if !ok {
		return "", auth.ErrNoItem
	}
	return text, nil
}

func (k *fakeChain) Set(key, text string) error {
	err := k.enter("set")
	defer k.mu.Unlock()
	if k.limit > 0 && len(text) > k.limit {
		return errors.New("too big")
	}
	if err == nil {
		k.items[key] = text
	}
	return err
}

func (k *fakeChain) Delete(key string) error {
	err := k.enter("delete")
	defer k.mu.Unlock()
	if err != nil {
		return err
	}
	if _, ok := k.items[key]; !ok {
		return auth.ErrNoItem
	}
	delete(k.items, key)
	return nil
}

// A place is a folder with records, and a keychain.
type place struct {
	folder string
	chain  *fakeChain
	store  auth.Store
}

func newPlace(t *testing.T) place {
	t.Helper()
	folder, chain := t.TempDir(), newFakeChain()
	return place{folder, chain, auth.OpenStore(folder, auth.StoreOptions{Keychain: chain})}
}

// file returns the text of the key's file.
func (p place) file(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, key+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inFile and inChain report whether secrets of the word are there.
func (p place) inFile(t *testing.T, word string) bool {
	t.Helper()
	return strings.Contains(p.file(t), "-"+word+`"`)
}

func (p place) inChain(word string) (found bool) {
	p.chain.set(func() { found = strings.Contains(p.chain.items[key], "-"+word+`"`) })
	return found
}

// bare is a record as it is without its secrets.
func bare() auth.Record {
	r := record("")
	r.Login.AccessToken, r.Login.RefreshToken = "", ""
	delete(r.Registrations, "https://as.example")
	return r
}

func TestSecretsAreInTheKeychainOnly(t *testing.T) {
	p := newPlace(t)
	for _, word := range []string{"one", "two"} {
		save(t, p.store, key, record(word))
		if p.inFile(t, word) || !p.inChain(word) {
			t.Errorf("the file is %s", p.file(t))
		}
		same(t, load(t, p.store, key), record(word))
	}
	if text := p.chain.items[key]; strings.Contains(text, "ann") || strings.Contains(text, "https://mcp") {
		t.Errorf("the keychain has what is no secret: %s", text)
	}
	if err := p.store.Delete(t.Context(), key); err != nil || len(p.chain.items) > 0 {
		t.Errorf("left are %v, %v", p.chain.items, err)
	}
	p.chain.called()
	save(t, p.store, key, bare())
	same(t, load(t, p.store, key), bare())
	if calls := p.chain.called(); len(calls) > 0 {
		t.Errorf("without secrets there were %v", calls)
	}
}

func TestWhatTheKeychainDoesNotTakeStaysInTheFile(t *testing.T) {
	for name, spoil := range map[string]func(*fakeChain){
		"too big": func(k *fakeChain) { k.limit = 10 },
		"refused": func(k *fakeChain) { k.fail = errFake },
		"panic":   func(k *fakeChain) { k.panics = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			save(t, p.store, key, record("one"))
			p.chain.set(func() { spoil(p.chain) })
			save(t, p.store, key, record("two"))
			if !p.inFile(t, "two") {
				t.Errorf("the file is %s", p.file(t))
			}
			same(t, load(t, p.store, key), record("two"))
			if name == "too big" && len(p.chain.items) > 0 {
				t.Errorf("the keychain has a remnant: %v", p.chain.items)
			}
			p.chain.set(func() { p.chain.limit, p.chain.fail, p.chain.panics = 0, nil, false })
			same(t, load(t, p.store, key), record("two")) // whatever the keychain still has
			save(t, p.store, key, record("three"))
			if p.inFile(t, "three") || !p.inChain("three") {
				t.Errorf("the file is %s", p.file(t))
			}
			same(t, load(t, p.store, key), record("three"))
		})
	}
}

func TestAKeychainThatHangsIsWaitedForOnce(t *testing.T) {
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		save(t, p.store, key, record("one"))
		hang := make(chan struct{})
		p.chain.set(func() { p.chain.hang = hang })
		p.chain.called()
		start := time.Now()
		_, err := p.store.Load(t.Context(), key)
		if !errors.Is(err, auth.ErrUnreadable) || time.Since(start) != auth.KeychainPatience {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		start = time.Now()
		save(t, p.store, key, record("two"))
		same(t, load(t, p.store, key), record("two"))
		if err := p.store.Delete(t.Context(), key); err != nil {
			t.Error(err)
		}
		save(t, p.store, key, record("three"))
		if time.Since(start) != 0 {
			t.Errorf("it was waited for again, %s", time.Since(start))
		}
		if calls := p.chain.called(); !slices.Equal(calls, []string{"get"}) {
			t.Errorf("there were %v", calls)
		}
		close(hang)
		p.chain.set(func() { p.chain.hang = nil })
		synctest.Wait()
		save(t, p.store, key, record("four"))
		if p.inFile(t, "four") || !p.inChain("four") {
			t.Errorf("the keychain isn't used again: %s", p.file(t))
		}
	})
}

func TestAnItemThatIsSetTooLateIsNotUsed(t *testing.T) {
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		p.chain.set(func() { p.chain.hang = hang })
		start := time.Now()
		save(t, p.store, key, record("one"))
		if took := time.Since(start); took != auth.KeychainPatience {
			t.Errorf("it took %s", took)
		}
		second := auth.OpenStore(p.folder, auth.StoreOptions{}) // another process, say
		save(t, second, key, record("two"))
		close(hang)
		synctest.Wait()
		if !p.inChain("one") {
			t.Error("the late call has not come")
		}
		p.chain.set(func() { p.chain.hang = nil })
		same(t, load(t, p.store, key), record("two"))
	})
}

func TestTheCallersEndEndsAWaitForTheKeychain(t *testing.T) {
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		save(t, p.store, key, record("one"))
		hang := make(chan struct{})
		p.chain.set(func() { p.chain.hang = hang })
		cause := errors.New("the reason")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		if _, err := p.store.Load(ctx, key); !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
		p.chain.set(func() { p.chain.hang = nil })
		same(t, load(t, p.store, key), record("one")) // it is not said to hang
		close(hang)
	})
}

func TestSavingIsFinishedWhateverTheCallerDoes(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	p.chain.hooks = map[string]func(){"set": cancel}
	if err := p.store.Save(ctx, key, record("one")); err != nil {
		t.Error(err)
	}
	same(t, load(t, p.store, key), record("one"))
}

func TestAnItemOfAnotherRecordIsNotUsed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, p place){
		"another mark": func(t *testing.T, p place) {
			t.Helper()
			old := p.chain.items[key]
			save(t, p.store, key, record("two"))
			p.chain.items[key] = old
		},
		"an old file": func(t *testing.T, p place) {
			t.Helper()
			old := p.file(t)
			save(t, p.store, key, record("two"))
			if err := os.WriteFile(filepath.Join(p.folder, key+".json"), []byte(old), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"no item":   func(_ *testing.T, p place) { delete(p.chain.items, key) },
		"no JSON":   func(_ *testing.T, p place) { p.chain.items[key] = "Bearer x" },
		"no object": func(_ *testing.T, p place) { p.chain.items[key] = "null" },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			save(t, p.store, key, record("one"))
			spoil(t, p)
			same(t, load(t, p.store, key), bare())
			save(t, p.store, key, record("three"))
			same(t, load(t, p.store, key), record("three"))
		})
	}
}

func TestALoadBetweenKeychainAndFileFindsTheWholeRecord(t *testing.T) {
	p := newPlace(t)
	save(t, p.store, key, record("one"))
	// The file that is read is the old one, and the item the new one.
	p.chain.set(func() {
		p.chain.hooks = map[string]func(){"get": func() {
			if err := p.store.Save(t.Context(), key, record("two")); err != nil {
				t.Error(err)
			}
		}}
	})
	same(t, load(t, p.store, key), record("two"))
	// It is deleted meanwhile.
	p.chain.set(func() {
		p.chain.hooks = map[string]func(){"get": func() {
			if err := p.store.Delete(t.Context(), key); err != nil {
				t.Error(err)
			}
		}}
	})
	same(t, load(t, p.store, key), auth.Record{})
}

func TestAKeychainThatComesAndGoes(t *testing.T) {
	p := newPlace(t)
	without := auth.OpenStore(p.folder, auth.StoreOptions{})
	save(t, without, key, record("one"))
	same(t, load(t, p.store, key), record("one"))
	save(t, p.store, key, record("two"))
	if p.inFile(t, "two") {
		t.Errorf("the file is %s", p.file(t))
	}
	unreadable := func(s auth.Store) {
		t.Helper()
		r, err := s.Load(t.Context(), key)
		same(t, r, bare())
		if !errors.Is(err, auth.ErrUnreadable) || !strings.Contains(err.Error(), p.folder) ||
			!strings.Contains(err.Error(), "log in again") {
			t.Errorf("got %v", err)
		}
	}
	unreadable(without)
	p.chain.set(func() { p.chain.fail = fmt.Errorf("dbus: %w", errFake) })
	unreadable(p.store)
	p.chain.set(func() { p.chain.fail = nil })
	same(t, load(t, p.store, key), record("two")) // nothing was lost meanwhile

	save(t, without, key, record("three"))
	same(t, load(t, p.store, key), record("three"))
	save(t, p.store, key, bare()) // which needs no keychain, and would leave none of the secrets
	same(t, load(t, without, key), bare())
}

func TestDeletingTellsWhatIsLeftInTheKeychain(t *testing.T) {
	p := newPlace(t)
	save(t, p.store, key, record("one"))
	p.chain.set(func() { p.chain.fail = errFake })
	err := p.store.Delete(t.Context(), key)
	if !errors.Is(err, errFake) || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), auth.KeychainService) {
		t.Errorf("got %v", err)
	}
	same(t, load(t, p.store, key), auth.Record{})
	p.chain.set(func() { p.chain.fail = nil })
	if err := p.store.Delete(t.Context(), key); err != nil || len(p.chain.items) > 0 {
		t.Errorf("left are %v, %v", p.chain.items, err)
	}
}
