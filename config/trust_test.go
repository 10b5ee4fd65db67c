package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mcpwire/config"
)

// reread reads a file with new content.
func reread(t *testing.T, path, text string) *config.File {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := config.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAFileIsTrustedByItsPathAndContent(t *testing.T) {
	dir := tree(t, nil)
	store := config.OpenTrust(filepath.Join(dir, "state", "trust.json"))
	path := filepath.Join(dir, ".mcp.json")
	first := reread(t, path, `{"mcpServers": {"a": {"command": "x"}}}`)
	if store.Trusted(first) {
		t.Error("trusted without approval")
	}
	if err := store.Approve(first); err != nil {
		t.Fatal(err)
	}
	second := reread(t, path, `{"mcpServers": {"a": {"command": "x"}}} `)
	if !store.Trusted(first) || store.Trusted(second) {
		t.Errorf("first %v, second %v", store.Trusted(first), store.Trusted(second))
	}
	if err := store.Approve(second); err != nil || !store.Trusted(first) || !store.Trusted(second) {
		t.Errorf("after the second: %v", err)
	}
	if other := reread(t, filepath.Join(dir, "other.json"), `{"mcpServers": {"a": {"command": "x"}}}`); store.Trusted(other) {
		t.Error("the same content elsewhere is trusted")
	}
	t.Chdir(dir)
	relative, err := config.ReadFile(".mcp.json")
	if err != nil || !store.Trusted(relative) {
		t.Errorf("not trusted by its relative path: %v", err)
	}
	if store.Trusted(&config.File{Path: path}) || store.Approve(&config.File{Path: path}) == nil {
		t.Error("a file that was not read")
	}
}

func TestALinkIsTrustedWhereItStands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	dir := tree(t, map[string]string{"real/f.json": "{}", "a/": "", "b/": ""})
	for _, link := range []string{"a/.mcp.json", "b/.mcp.json"} {
		if err := os.Symlink("../real/f.json", filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	store := config.OpenTrust(filepath.Join(dir, "trust.json"))
	files := map[string]*config.File{}
	for _, folder := range []string{"a", "b", "alias"} {
		f, err := config.ReadFile(filepath.Join(dir, folder, ".mcp.json"))
		if err != nil {
			t.Fatal(err)
		}
		files[folder] = f
	}
	if err := store.Approve(files["a"]); err != nil {
		t.Fatal(err)
	}
	if !store.Trusted(files["alias"]) || store.Trusted(files["b"]) {
		t.Errorf("alias %v, b %v", store.Trusted(files["alias"]), store.Trusted(files["b"]))
	}
}

func TestADamagedStoreTrustsNothingAndIsReplaced(t *testing.T) {
	dir := tree(t, nil)
	f := reread(t, filepath.Join(dir, "f.json"), "{}")
	path := filepath.Join(dir, "trust.json")
	store := config.OpenTrust(path)
	if err := store.Approve(f); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "null", "[]", string(good[:len(good)-3]), string(good) + "x", strings.Replace(string(good), `"approved": [`, `"approved": [1, `, 1),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if store.Trusted(f) {
			t.Errorf("%q is trusted", text)
		}
		if err := store.Approve(f); err != nil || !store.Trusted(f) {
			t.Errorf("%q: not replaced: %v", text, err)
		}
	}
}

func TestTheStoreKeepsTheNewestThousand(t *testing.T) {
	dir := tree(t, nil)
	path := filepath.Join(dir, "f.json")
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `%s{"path": %q, "sha256": "%d"}`, map[bool]string{true: ","}[i > 0], path, i)
	}
	store := filepath.Join(dir, "trust.json")
	if err := os.WriteFile(store, []byte(`{"approved": [`+text.String()+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := reread(t, path, "{}")
	for range 2 {
		if err := config.OpenTrust(store).Approve(f); err != nil || !config.OpenTrust(store).Trusted(f) {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(store)
	if n := strings.Count(string(got), `"path"`); err != nil || n != 1000 || strings.Contains(string(got), `"sha256": "0"`) ||
		!strings.Contains(string(got), `"sha256": "1"`) {
		t.Errorf("%d are kept, %v", n, err)
	}
}

func TestApprovalsAtOnceAreAllKept(t *testing.T) {
	dir := tree(t, nil)
	path := filepath.Join(dir, "state", "trust.json")
	var files []*config.File
	for i := range 10 {
		files = append(files, reread(t, filepath.Join(dir, fmt.Sprint(i)), "{}"))
	}
	var all sync.WaitGroup
	for _, f := range files {
		all.Go(func() {
			if err := config.OpenTrust(path).Approve(f); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, f := range files {
		if !config.OpenTrust(path).Trusted(f) {
			t.Errorf("%s is not trusted", f.Path)
		}
	}
	if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode() != 0o600) {
		t.Errorf("got %v, %v", info, err)
	}
}

func TestTheStoreIsInTheUsersFolder(t *testing.T) {
	dir := tree(t, nil)
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("LocalAppData", dir)
	if state, err := config.StateDir(); state != filepath.Join(dir, "mcpwire") || err != nil {
		t.Errorf("the folder for state is %s, %v", state, err)
	}
	f := reread(t, filepath.Join(dir, "f.json"), "{}")
	if err := config.OpenTrust("").Approve(f); err != nil || !config.OpenTrust(filepath.Join(dir, "mcpwire", "trust.json")).Trusted(f) {
		t.Errorf("got %v", err)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	t.Setenv("LocalAppData", "")
	if store := config.OpenTrust(""); store.Trusted(f) || store.Approve(f) == nil {
		t.Error("without a folder")
	}
}

func TestAPathThatTheStoreCannotHoldIsNotTrusted(t *testing.T) {
	dir := tree(t, nil)
	store := config.OpenTrust(filepath.Join(dir, "trust.json"))
	odd, twin := filepath.Join(dir, "a\xff"), filepath.Join(dir, "a\ufffd")
	for _, folder := range []string{odd, twin} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Skip("the file system takes no such name: ", err)
		}
	}
	good, bad := reread(t, filepath.Join(twin, "f"), "{}"), reread(t, filepath.Join(odd, "f"), "{}")
	if err := store.Approve(good); err != nil || store.Trusted(bad) {
		t.Errorf("the approval of another file counts (error %v)", err)
	}
	if err := store.Approve(bad); err == nil || !strings.Contains(err.Error(), "its path is not valid UTF-8") || store.Trusted(bad) {
		t.Errorf("it was approved (error %v)", err)
	}
}
