package manager_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/config"
	"mcpwire/internal/proc/proctest"
	"mcpwire/manager"
)

// A watched is a manager of fakes a, b and c that follows one file.
type watched struct {
	t    *testing.T
	m    *manager.Manager
	all  fleet
	path string

	mu     sync.Mutex
	loads  int
	failed []error
}

// watch starts to follow a file, which need not exist.
func watch(t *testing.T, path string) *watched {
	t.Helper()
	proctest.NoLeaks(t)
	w := &watched{t: t, all: newFleet(newFake("a", "x"), newFake("b", "x"), newFake("c", "x")), path: path}
	w.m = run(t, w.all, nil, manager.Options{})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- w.m.Watch(ctx, config.Sources{NoProject: true, User: path}, func(set *config.Set) []config.Server {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.loads++
			for _, p := range set.Problems {
				w.failed = append(w.failed, p)
			}
			return set.Servers
		}, func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, err)
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	w.until("the first reading", func() bool { return w.loaded() > 0 })
	return w
}

func (w *watched) loaded() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loads
}

func (w *watched) failures() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(errors.Join(w.failed...))
}

func (w *watched) until(what string, ok func() bool) {
	w.t.Helper()
	if !proctest.Within(enough, ok) {
		w.t.Fatalf("%s is waited for in vain; failures: %s", what, w.failures())
	}
}

// ready waits until exactly these servers are configured and ready.
func (w *watched) ready(names string) {
	w.t.Helper()
	w.until(names, func() bool {
		var all []string
		for _, s := range w.m.Snapshot().Servers {
			if s.State == manager.Ready {
				all = append(all, s.Config.Name)
			}
		}
		return strings.Join(all, " ") == names
	})
}

// text is a file with servers.
func text(args string, names ...string) string {
	var entries []string
	for _, name := range names {
		entries = append(entries, fmt.Sprintf(`%q: {"command": "fake", "args": [%q]}`, name, args))
	}
	return `{"mcpServers": {` + strings.Join(entries, ", ") + `}}`
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAStormOfChangesOfAFileIsOneReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, text("", "a"))
	w := watch(t, path)
	w.ready("a")
	pauses, last := 0, time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := range 50 {
		<-tick.C
		write(t, path, text(fmt.Sprint(i), "a"))
		if time.Since(last) > 150*time.Millisecond {
			pauses++ // of a busy machine: this was no storm
		}
		last = time.Now()
	}
	write(t, path, text("last", "a", "b"))
	w.ready("a b")
	if n := w.loaded() - 1; n > 2+pauses {
		t.Errorf("it was read %d times, and there were %d pauses", n, pauses)
	}
	if n := get(w.all["a"], func(f *fake) int { return len(f.opened) }); n > 3+pauses {
		t.Errorf("the server was started %d times", n)
	}
}

func TestAFileThatIsReplacedIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, text("", "a"))
	w := watch(t, path)
	w.ready("a")
	for _, names := range []string{"b", "a b", "c"} { // more than once, since each is another file
		write(t, path+".new", text("", strings.Fields(names)...))
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		w.ready(names)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.ready("")
}

func TestABrokenFileKeepsTheServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	write(t, path, text("", "a"))
	w := watch(t, path)
	w.ready("a")
	write(t, path, `{"mcpServers": {`)
	w.until("a failure", func() bool { return strings.Contains(w.failures(), path) })
	w.ready("a")
	loads := w.loaded()
	write(t, path, `{"mcpServers": {"a": {"command": 7}, "b": {"command": "fake"}}}`) // an entry alone is broken
	w.until("another reading", func() bool { return w.loaded() > loads })
	w.until("both", func() bool {
		_, ok := w.m.Snapshot().Server("b")
		return ok
	})
	w.until("both ready", func() bool {
		a, _ := w.m.Snapshot().Server("a")
		b, _ := w.m.Snapshot().Server("b")
		return a.State == manager.Ready && b.State == manager.Ready
	})
	write(t, path, text("", "a", "b"))
	w.ready("a b")
	write(t, path, text("", "b"))
	w.ready("b")
	if n := get(w.all["a"], func(f *fake) int { return len(f.opened) }); n != 1 {
		t.Errorf("the server was started %d times", n)
	}
}

func TestAFileThatAppearsLaterIsFound(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "one", "two")
	w := watch(t, filepath.Join(folder, "mcp.json"))
	for _, names := range []string{"a", "b"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, w.path, text("", names))
		w.ready(names)
		if err := os.RemoveAll(filepath.Dir(folder)); err != nil {
			t.Fatal(err)
		}
		w.ready("")
	}
}

func TestANamedFileThatGoesAndComesAgainIsFollowed(t *testing.T) {
	proctest.NoLeaks(t)
	folder := filepath.Join(t.TempDir(), "one")
	path := filepath.Join(folder, "mcp.json")
	put := func(names ...string) {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, text("", names...))
	}
	put("a")
	w := &watched{t: t, all: newFleet(newFake("a", "x"), newFake("b", "x"))}
	w.m = run(t, w.all, nil, manager.Options{})
	ctx, stop := context.WithCancel(context.Background())
	ended, failed := make(chan error, 1), make(chan error, 100)
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	go func() {
		loaded := func(set *config.Set) []config.Server { return set.Servers }
		ended <- w.m.Watch(ctx, config.Sources{Path: path, NoProject: true, User: "none"}, loaded, func(err error) { failed <- err })
	}()
	w.ready("a")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the failure is %v", err)
	}
	w.ready("a")
	put("a", "b")
	w.ready("a b")
}
