package filecache_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/internal/filecache"
)

const (
	key   = "0123456789abcdef"
	limit = 1 << 20
)

func put(t *testing.T, c filecache.Cache, key, text string) {
	t.Helper()
	if err := c.Put(key, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// names returns the names of all files in the folder.
func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// age makes a file seem that old.
func age(t *testing.T, path string, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasPutIsFoundUntilItIsReplacedOrDropped(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	c := filecache.In(folder)
	if text, ok := c.Get(key, time.Hour, limit); ok {
		t.Errorf("an empty cache has %q", text)
	}
	for _, want := range []string{"one", "", "\x00\xff\r\n", strings.Repeat("long", 100_000)} {
		put(t, c, key, want)
		if text, ok := filecache.In(folder).Get(key, time.Hour, limit); !ok || string(text) != want {
			t.Errorf("got %.20q, %v, want %.20q", text, ok, want)
		}
	}
	if text, ok := c.Get("0f", time.Hour, limit); ok {
		t.Errorf("another key has %q", text)
	}
	for range 2 {
		if err := c.Drop(key); err != nil {
			t.Error(err)
		}
		if _, ok := c.Get(key, time.Hour, limit); ok {
			t.Error("what was dropped is still there")
		}
	}
	if left := names(t, folder); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
}

func TestWhatIsTooOldTooNewOrTooLargeIsNotFound(t *testing.T) {
	folder := t.TempDir()
	c := filecache.In(folder)
	for _, row := range []struct {
		name string
		age  time.Duration
		size int
		want bool
	}{
		{"new", 0, 10, true},
		{"nearly too old", 59 * time.Minute, 10, true},
		{"too old", 61 * time.Minute, 10, false},
		{"the clock was set back by hours", -23 * time.Hour, 10, true},
		{"the clock was days ahead", -25 * time.Hour, 10, false},
		{"just small enough", 0, 100, true},
		{"too large", 0, 101, false},
	} {
		put(t, c, key, strings.Repeat("x", row.size))
		age(t, filepath.Join(folder, key), row.age)
		if text, ok := c.Get(key, time.Hour, 100); ok != row.want || ok && len(text) != row.size {
			t.Errorf("%s: got %d bytes, %v", row.name, len(text), ok)
		}
	}
}

func TestWhatIsKnownIsRenewedAtHalfItsLifetime(t *testing.T) {
	folder := t.TempDir()
	c := filecache.In(folder)
	for _, row := range []struct {
		name, before, next string
		age                time.Duration
		want               bool // it is written
	}{
		{"the same", "x", "x", time.Minute, false},
		{"the same, nearly half as old as it may be", "x", "x", 29 * time.Minute, false},
		{"the same, older", "x", "x", 31 * time.Minute, true},
		{"the same, from the future", "x", "x", -25 * time.Hour, true},
		{"another", "x", "y", time.Minute, true},
		{"its beginning", "xy", "x", time.Minute, true},
		{"more", "x", "xy", time.Minute, true},
	} {
		put(t, c, key, row.before)
		path := filepath.Join(folder, key)
		age(t, path, row.age)
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Renew(key, []byte(row.next), time.Hour); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if wrote := !after.ModTime().Equal(before.ModTime()); wrote != row.want {
			t.Errorf("%s: written is %v", row.name, wrote)
		}
		if text, ok := c.Get(key, time.Hour, limit); !ok || string(text) != row.next {
			t.Errorf("%s: got %q, %v", row.name, text, ok)
		}
	}
}

func TestOnlyAHashIsAKey(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "cache")
	c := filecache.In(folder)
	outside := filepath.Join(folder, "..", "ab")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", ".", "..", "../ab", "/ab", "a/b", `a\b`, "AB", "xyz", "ab.", "ab ", "ab\x00", "nul", "é", strings.Repeat("a", 129),
	} {
		if err := c.Put(bad, []byte("x")); err == nil {
			t.Errorf("%q is a key", bad)
		}
		if text, ok := c.Get(bad, time.Hour, limit); ok {
			t.Errorf("%q finds %q", bad, text)
		}
		if err := c.Renew(bad, []byte("x"), time.Hour); err == nil {
			t.Errorf("%q is renewed", bad)
		}
		if err := c.Drop(bad); err != nil {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	put(t, c, strings.Repeat("a", 128), "x")
}

func TestTheZeroCacheKeepsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []filecache.Cache{{}, filecache.In("")} {
		put(t, c, key, "x")
		if _, ok := c.Get(key, time.Hour, limit); ok {
			t.Error("it kept something")
		}
		if err := c.Renew(key, []byte("x"), time.Hour); err != nil {
			t.Error(err)
		}
		if err := c.Drop(key); err != nil {
			t.Error(err)
		}
	}
	if left := names(t, "."); len(left) != 0 {
		t.Errorf("it wrote %q", left)
	}
}

func TestOnlyTheUserMayReadTheFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	folder := filepath.Join(t.TempDir(), "cache")
	put(t, filecache.In(folder), key, "x")
	for path, want := range map[string]os.FileMode{folder: os.ModeDir | 0o700, filepath.Join(folder, key): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v (error %v), want %v", path, info.Mode(), err, want)
		}
	}
}

func TestAPutThatFailsLeavesNothingBehind(t *testing.T) {
	folder := t.TempDir()
	c := filecache.In(folder)
	// A folder in the file's place can be neither replaced nor read.
	if err := os.MkdirAll(filepath.Join(folder, key, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Put(key, []byte("x")); err == nil {
		t.Error("a folder was replaced")
	}
	if text, ok := c.Get(key, time.Hour, limit); ok {
		t.Errorf("a folder holds %q", text)
	}
	if left := names(t, folder); len(left) != 1 {
		t.Errorf("left are %q", left)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := filecache.In(file).Put(key, []byte("x")); err == nil {
		t.Error("a file served as a folder")
	}
}

func TestTheFirstPutRemovesWhatIsOld(t *testing.T) {
	folder := t.TempDir()
	for name, old := range map[string]time.Duration{
		"aa":          filecache.MaxAge + time.Hour,
		"bb":          filecache.MaxAge - time.Hour,
		".new-killed": 2 * time.Hour,
		".new-now":    time.Minute,
		"notes.txt":   2 * filecache.MaxAge,
		"dd":          -25 * time.Hour,
		"ee":          -23 * time.Hour,
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		age(t, path, old)
	}
	c := filecache.In(folder)
	put(t, c, "cc", "x")
	if got, want := fmt.Sprint(names(t, folder)), "[.new-now bb cc ee notes.txt]"; got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
	age(t, filepath.Join(folder, "bb"), 2*filecache.MaxAge)
	put(t, c, "cc", "y")
	if left := names(t, folder); len(left) != 5 {
		t.Errorf("a later Put looked again: left are %q", left)
	}
}

func TestTheFirstPutLeavesOnlySoManyFiles(t *testing.T) {
	folder := t.TempDir()
	const more = 5
	for i := range filecache.MaxFiles + more {
		path := filepath.Join(folder, fmt.Sprintf("%08x", i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		age(t, path, time.Duration(i)*time.Minute)
	}
	for i := range more { // which count for nothing, and must not push out what does
		path := filepath.Join(folder, fmt.Sprintf("f%07x", i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		age(t, path, -48*time.Hour)
	}
	put(t, filecache.In(folder), "ff", "x")
	left := names(t, folder)
	if len(left) != filecache.MaxFiles+1 {
		t.Errorf("%d files are left", len(left))
	}
	if newest, oldest := left[0], left[filecache.MaxFiles-1]; newest != "00000000" ||
		oldest != fmt.Sprintf("%08x", filecache.MaxFiles-1) {
		t.Errorf("left are %s to %s", newest, oldest)
	}
}

func TestManyMayPutAndGetAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("on Windows a file that is being read can't be replaced")
	}
	c := filecache.In(t.TempDir())
	put(t, c, key, strings.Repeat("0", 10_000))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				if err := c.Put(key, bytes.Repeat([]byte{byte('0' + i)}, 10_000)); err != nil {
					t.Error(err)
				}
				text, ok := c.Get(key, time.Hour, limit)
				if !ok || len(text) != 10_000 || strings.Trim(string(text), string(text[:1])) != "" {
					t.Errorf("got %d bytes, %v", len(text), ok)
				}
			}
		})
	}
	all.Wait()
}
