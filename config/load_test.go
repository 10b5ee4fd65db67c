package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcpwire/config"
)

// tree makes files, by their paths below a new folder, which it returns without links in its path. A path that ends in
// "/" is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		full := filepath.Join(dir, path)
		folder := filepath.Dir(full)
		if strings.HasSuffix(path, "/") {
			folder = full
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if folder == full {
			continue
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// approve is Sources.Approved of a host that has asked.
func approve(*config.File) bool { return true }

// load loads the sources of a tree: c.json as the named file, proj as the project, approved, u.json as the user's file.
func load(t *testing.T, files map[string]string) (*config.Set, []string) {
	t.Helper()
	dir := tree(t, files)
	s := config.Sources{Dir: filepath.Join(dir, "proj"), User: filepath.Join(dir, "u.json"), Approved: approve}
	if _, ok := files["c.json"]; ok {
		s.Path = filepath.Join(dir, "c.json")
	}
	set, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	for _, p := range set.Problems {
		problems = append(problems, p.Severity.String()+" "+strings.ReplaceAll(p.Error(), dir+string(filepath.Separator), ""))
	}
	return set, problems
}

// commands lists "scope name command" of each server, with "-" where it is disabled.
func commands(set *config.Set) string {
	var out []string
	for _, s := range set.Servers {
		text := s.Scope.String() + " " + s.Name + " " + s.Command
		if s.Disabled {
			text += " -"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestTheStrongestSourceCountsWhole(t *testing.T) {
	set, problems := load(t, map[string]string{
		"c.json":         `{"mcpServers": {"b": {"command": "c1"}, "a": {"command": "c2"}}}`,
		"proj/.mcp.json": `{"mcpServers": {"p": {"command": "p1"}, "a": {"command": "p2", "env": {"X": "1"}}}}`,
		"u.json":         `{"mcpServers": {"u": {"command": "u1"}, "p": {"url": "u2"}, "a": {"command": "u3"}}}`,
	})
	if got := commands(set); got != "config b c1, config a c2, project p p1, user u u1" || problems != nil {
		t.Errorf("got %s, %q", got, problems)
	}
	if set.Servers[1].Env != nil || set.Servers[2].URL != "" {
		t.Errorf("entries are mixed: %+v", set.Servers)
	}
	if len(set.Sources) != 3 || set.Sources[0].NeedsTrust() || !set.Sources[1].NeedsTrust() || set.Sources[2].NeedsTrust() {
		t.Errorf("got %+v", set.Sources)
	}
}

func TestDisabledAloneChangesTheWeakerEntry(t *testing.T) {
	set, problems := load(t, map[string]string{
		"c.json":         `{"mcpServers": {"on": {"disabled": false}, "p": {"disabled": true}, "both": {"disabled": false}}}`,
		"proj/.mcp.json": `{"mcpServers": {"u": {"disabled": true}, "p": {"command": "p1"}, "both": {"disabled": true}}}`,
		"u.json": `{"mcpServers": {"on": {"command": "u1", "disabled": true}, "p": {"command": "u2"},
			"u": {"command": "u3", "args": ["x"]}, "both": {"command": "u4"}, "lone": {"disabled": true}}}`,
	})
	want := "user on u1, project p p1 -, user both u4, user u u3 -"
	if got := commands(set); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(problems) != 1 || !strings.HasPrefix(problems[0], `warning u.json:2:`) ||
		!strings.Contains(problems[0], `server "lone": it has nothing but "disabled"`) {
		t.Errorf("got %q", problems)
	}
	u, err := set.Server("u")
	if err != nil || filepath.Base(u.Origin) != "u.json" || filepath.Base(u.Places["command"].Path) != "u.json" ||
		filepath.Base(u.Places["disabled"].Path) != ".mcp.json" {
		t.Errorf("got %+v, %v", u, err)
	}
	if _, changed := set.Sources[2].File.Servers[2].Places["disabled"]; changed {
		t.Error("the weaker file's own entry has changed")
	}
	if s, err := set.Server("lone"); s != nil || err != nil {
		t.Errorf("lone: got %v, %v", s, err)
	}
}

func TestOneBrokenFileLeavesTheOthers(t *testing.T) {
	set, problems := load(t, map[string]string{
		"u.json": "{\n\n\n\n\n\n  \"mcpServers\": }",
		"proj/.mcp.json": "\ufeff// servers\r\n{\"mcpServers\": {\r\n  /* one */ \"web\": {\"url\": \"https://h//mcp\",},\r\n" +
			"  \"odd\": {\"command\": 1},\r\n  \"local\": {\"command\": \"c\",},\r\n},}\r\n",
	})
	if got := commands(set); got != "project web , project local c" || set.Servers[0].URL != "https://h//mcp" {
		t.Errorf("got %s", got)
	}
	mcp := filepath.Join("proj", ".mcp.json")
	want := []string{
		`error ` + mcp + `:4:22: server "odd": command must be a string, not a number`,
		`error u.json:7:17: not valid JSON: invalid character '}' at start of value`,
	}
	if !slices.Equal(problems, want) {
		t.Errorf("got  %q\nwant %q", problems, want)
	}
	if len(set.Sources) != 2 || set.Sources[1].File != nil || set.Sources[1].Err == nil {
		t.Errorf("got %+v", set.Sources)
	}
}

func TestEightSpellingsOfEntriesInAFile(t *testing.T) {
	set, problems := load(t, map[string]string{"proj/.mcp.json": `{"mcpServers": {
  "a": {"url": "http://x/mcp", "type": "http"},
  "b": {"url": "http://x/mcp", "type": "streamable-http"},
  "c": {"url": "http://x/mcp", "transport": "streamableHttp"},
  "d": {"url": "http://x/mcp", "type": "streamable_http"},
  "e": {"url": "http://x/mcp", "type": "sse"},
  "f": {"url": "http://x/mcp"},
  "both": {"url": "http://x/mcp", "command": "x"},
  "neither": {}}}`})
	var kinds []string
	for _, s := range set.Servers {
		kind, err := s.Kind()
		if err != nil {
			t.Error(err)
		}
		kinds = append(kinds, s.Name+":"+string(kind))
	}
	if got := strings.Join(kinds, " "); got != "a:http b:http c:http d:http e:sse f:http" {
		t.Errorf("got %s", got)
	}
	if len(problems) != 2 || !strings.Contains(problems[0], `:8:3: server "both": `) || !strings.Contains(problems[1], `:9:3: server "neither": `) {
		t.Errorf("got %q", problems)
	}
}

func TestABrokenEntryHidesTheWeakerOne(t *testing.T) {
	set, _ := load(t, map[string]string{
		"proj/.mcp.json": `{"mcpServers": {"a": {"command": 1}, "b": {"command": 1}}}`,
		"u.json":         `{"mcpServers": {"a": {"command": "u"}}}`,
	})
	if got := commands(set); got != "" {
		t.Errorf("got %s", got)
	}
	_, err := set.Server("a")
	if err == nil || !strings.Contains(err.Error(), "command must be a string") || !strings.Contains(err.Error(), "u.json is not used either") {
		t.Errorf("a: got %v", err)
	}
	if _, err = set.Server("b"); err == nil || strings.Contains(err.Error(), "u.json") {
		t.Errorf("b: got %v", err)
	}
	for _, p := range set.Problems {
		if strings.Contains(p.Text, "u.json") {
			t.Errorf("the problem itself has changed: %v", p)
		}
	}
}

func TestOnlyTheNamedFileMustBeThere(t *testing.T) {
	dir := tree(t, map[string]string{"bad.json": "{"})
	user := filepath.Join(dir, "none", "u.json")
	set, err := config.Sources{Dir: dir, User: user}.Load()
	if err != nil || set.Servers != nil || set.Problems != nil || set.Sources != nil {
		t.Errorf("got %+v, %v", set, err)
	}
	if want := []string{filepath.Join(dir, ".mcp.json"), user}; !slices.Equal(set.Paths(), want) {
		t.Errorf("got %q, want %q", set.Paths(), want)
	}
	_, err = config.Sources{Path: filepath.Join(dir, "x.json"), User: "none"}.Load()
	if _, ok := errors.AsType[*config.Problem](err); !ok || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: got %v", err)
	}
	if _, err = (config.Sources{Path: filepath.Join(dir, "bad.json"), User: "none"}).Load(); err == nil {
		t.Error("broken: no error")
	}
}

func TestAFileCountsOnceAtItsStrongest(t *testing.T) {
	dir := tree(t, map[string]string{".mcp.json": `{"mcpServers": {"a": {"command": 1}, "b": {"command": "x"}}}`})
	path := filepath.Join(dir, ".mcp.json")
	set, err := config.Sources{Path: path, Dir: dir, User: path}.Load()
	if err != nil || len(set.Sources) != 1 || len(set.Problems) != 1 || commands(set) != "config b x" {
		t.Errorf("got %+v, %v", set, err)
	}
	set, err = config.Sources{Path: path, Dir: dir, User: "none", NoProject: true}.Load()
	if err != nil || !slices.Equal(set.Paths(), []string{path}) {
		t.Errorf("got %q, %v", set.Paths(), err)
	}
}

func TestTheProjectsFileIsTheNearestUpToTheRepository(t *testing.T) {
	dir := tree(t, map[string]string{
		".mcp.json": "{}", "repo/.git/": "", "repo/.mcp.json": "{}", "repo/a/b/": "", "repo/a/c/.mcp.json": "{}",
		"tree/.git": "gitdir: elsewhere", "tree/x/": "", "loose/x/": "", "loose/.mcp.json": "{}",
		"repo/odd/.mcp.json/": "",
	})
	for from, want := range map[string]string{
		"repo/a/b": "repo/.mcp.json", "repo/a/c": "repo/a/c/.mcp.json", "repo": "repo/.mcp.json", "repo/odd": "repo/.mcp.json",
		"tree/x": "", "loose/x": "", "loose": "loose/.mcp.json", ".": ".mcp.json", "missing/x": "",
	} {
		got, found := config.ProjectFile(filepath.Join(dir, from))
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got != want || found != (want != "") {
			t.Errorf("%s: got %q, want %q", from, got, want)
		}
	}
	set, err := config.Sources{Dir: filepath.Join(dir, "repo", "a", "b"), User: "none"}.Load()
	want := []string{
		filepath.Join(dir, "repo/a/b/.mcp.json"), filepath.Join(dir, "repo/a/.mcp.json"), filepath.Join(dir, "repo/.mcp.json"),
	}
	if err != nil || !slices.Equal(set.Paths(), want) {
		t.Errorf("got %q, %v", set.Paths(), err)
	}
	t.Chdir(filepath.Join(dir, "repo", "a"))
	if got, _ := config.ProjectFile(""); got != filepath.Join(dir, "repo", ".mcp.json") {
		t.Errorf("got %q", got)
	}
}

func TestProgramsOfAProjectRunInItsFolder(t *testing.T) {
	dir := tree(t, map[string]string{
		"a$$b/.git/": "", "a$$b/sub/": "", "u.json": `{"mcpServers": {"u": {"command": "x"}}}`,
		"a$$b/.mcp.json": `{"mcpServers": {"none": {"command": "x", "args": ["./server.js"]}, "rel": {"command": "x", "cwd": "d"},
			"web": {"url": "http://h"}}}`,
	})
	set, err := config.Sources{
		Dir: filepath.Join(dir, "a$$b", "sub"), User: filepath.Join(dir, "u.json"), Approved: approve,
	}.Load()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range set.Servers {
		expanded, _, err := s.Expand(variables())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, expanded.Cwd)
	}
	if want := []string{filepath.Join(dir, "a$$b"), filepath.Join(dir, "a$$b", "d"), "", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheUsersFileIsInTheUsersFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Setenv("AppData", `C:\data`)
		if path, err := config.UserFile(); path != `C:\data\mcpwire\mcp.json` || err != nil {
			t.Errorf("got %s, %v", path, err)
		}
		return
	}
	t.Setenv("HOME", "/home/me")
	for set, want := range map[string]string{
		"": "/home/me/.config/mcpwire/mcp.json", "/x": "/x/mcpwire/mcp.json", "relative": "/home/me/.config/mcpwire/mcp.json",
	} {
		t.Setenv("XDG_CONFIG_HOME", set)
		if path, err := config.UserFile(); path != want || err != nil {
			t.Errorf("%q: got %s, %v", set, path, err)
		}
	}
}
