package eracache_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/internal/eracache"
)

func TestARevisionIsRemembered(t *testing.T) {
	folder := t.TempDir()
	c := eracache.In(folder)
	const key = "0123abcd"
	if got := c.Revision(key); got != "" {
		t.Errorf("an empty cache knows %q", got)
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		if err := c.Remember(key, revision); err != nil {
			t.Fatal(err)
		}
		if got := eracache.In(folder).Revision(key); got != revision {
			t.Errorf("got %q, want %q", got, revision)
		}
	}
	if got := c.Revision("4567"); got != "" {
		t.Errorf("another server speaks %q", got)
	}
	files, err := filepath.Glob(filepath.Join(folder, "eras", "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("the cache holds %v (error %v)", files, err)
	}
}

func TestOldAndDamagedEntriesDoNotCount(t *testing.T) {
	folder := t.TempDir()
	c := eracache.In(folder)
	if err := c.Remember("0f", "2025-11-25"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "eras", "0f")
	old := time.Now().Add(-eracache.Lifetime - time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if got := c.Revision("0f"); got != "" {
		t.Errorf("an old entry says %q", got)
	}
	if err := c.Remember("0f", "2025-11-25"); err != nil || c.Revision("0f") != "2025-11-25" {
		t.Errorf("it was not renewed: %v", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.Revision("0f"); got != "" {
		t.Errorf("a damaged entry says %q", got)
	}
}

func TestACacheThatCannotBeWrittenIsNoHarm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := eracache.In(file)
	if err := c.Remember("0f", "2025-11-25"); err == nil || c.Revision("0f") != "" {
		t.Errorf("got %v and %q", err, c.Revision("0f"))
	}
	var none eracache.Cache
	if err := none.Remember("0f", "2025-11-25"); err != nil || none.Revision("0f") != "" {
		t.Error("the zero cache remembers something")
	}
}

func TestManyMayRememberAtOnce(t *testing.T) {
	c := eracache.In(t.TempDir())
	var all sync.WaitGroup
	for i := range 20 {
		revision := []string{"2025-11-25", "2026-07-28"}[i%2]
		all.Go(func() {
			if err := c.Remember("0f", revision); err != nil {
				t.Error(err)
			}
			if got := c.Revision("0f"); !strings.HasPrefix(got, "202") {
				t.Errorf("got %q", got)
			}
		})
	}
	all.Wait()
}

func TestWhatIsKnownIsWrittenAgainAtHalfItsLifetime(t *testing.T) {
	folder := t.TempDir()
	c := eracache.In(folder)
	path := filepath.Join(folder, "eras", "0f")
	for _, row := range []struct {
		name, revision string
		age            time.Duration
		want           bool // it is written
	}{
		{"known", "2025-11-25", time.Hour, false},
		{"younger than half its lifetime", "2025-11-25", eracache.Lifetime/2 - time.Hour, false},
		{"older", "2025-11-25", eracache.Lifetime/2 + time.Hour, true},
		{"another", "2026-07-28", time.Hour, true},
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := c.Remember("0f", "2025-11-25"); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-row.age).Truncate(time.Second)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		if err := c.Remember("0f", row.revision); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if wrote := !info.ModTime().Equal(then); wrote != row.want || c.Revision("0f") != row.revision {
			t.Errorf("%s: written is %v, %q is known", row.name, wrote, c.Revision("0f"))
		}
	}
}

func TestARevisionOfAnyLengthIsRememberedWholeOrNotAtAll(t *testing.T) {
	for length, want := range map[int]bool{0: false, 1: true, 63: true, 64: false, 1000: false} {
		folder := t.TempDir()
		c, revision := eracache.In(folder), strings.Repeat("r", length)
		if err := c.Remember("0f", revision); err != nil {
			t.Error(err)
		}
		_, err := os.Stat(filepath.Join(folder, "eras", "0f"))
		if got := c.Revision("0f"); want != (err == nil) || want && got != revision || !want && got != "" {
			t.Errorf("%d bytes: got %q, of the file %v", length, got, err)
		}
	}
}
