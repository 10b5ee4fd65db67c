package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcpwire/config"
)

func TestEachSystemHasItsFilesOfOtherPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of the rows are those of other systems")
	}
	const home = "/home/me"
	xdg := map[string]string{"XDG_CONFIG_HOME": "/xdg"}
	for _, row := range []struct {
		host, goos string
		env        map[string]string
		want       []string
	}{
		{"claude-code", "linux", xdg, []string{"/home/me/.claude.json"}},
		{"claude-code", "windows", nil, []string{"/home/me/.claude.json"}},
		{"claude-code", "darwin", map[string]string{"CLAUDE_CONFIG_DIR": "/c"}, []string{"/c/.claude.json"}},
		{"claude-desktop", "darwin", xdg, []string{"/home/me/Library/Application Support/Claude/claude_desktop_config.json"}},
		{"claude-desktop", "windows", map[string]string{"APPDATA": "/data"}, []string{"/data/Claude/claude_desktop_config.json"}},
		{"claude-desktop", "windows", nil, []string{"/home/me/AppData/Roaming/Claude/claude_desktop_config.json"}},
		{"claude-desktop", "linux", nil, []string{"/home/me/.config/Claude/claude_desktop_config.json"}},
		{"cursor", "linux", xdg, []string{"/home/me/.cursor/mcp.json"}},
		{"cursor", "windows", nil, []string{"/home/me/.cursor/mcp.json"}},
		{"vscode", "linux", nil, []string{"/home/me/.config/Code/User/mcp.json"}},
		{"vscode", "linux", xdg, []string{"/xdg/Code/User/mcp.json"}},
		{"vscode", "darwin", xdg, []string{"/home/me/Library/Application Support/Code/User/mcp.json"}},
		{"vscode", "windows", map[string]string{"APPDATA": "/data"}, []string{"/data/Code/User/mcp.json"}},
		{"codex", "linux", nil, []string{"/home/me/.codex/config.toml"}},
		{"codex", "windows", map[string]string{"CODEX_HOME": "/codex"}, []string{"/codex/config.toml"}},
		{"windsurf", "darwin", nil, []string{"/home/me/.codeium/windsurf/mcp_config.json"}},
		{"opencode", "darwin", xdg, []string{
			"/xdg/opencode/opencode.jsonc", "/xdg/opencode/opencode.json", "/xdg/opencode/config.json",
		}},
		{"opencode", "windows", map[string]string{"OPENCODE_CONFIG": "/own.json"}, []string{
			"/own.json", "/home/me/.config/opencode/opencode.jsonc", "/home/me/.config/opencode/opencode.json",
			"/home/me/.config/opencode/config.json",
		}},
		{"gemini", "linux", xdg, []string{"/home/me/.gemini/settings.json"}},
		{"gemini", "darwin", map[string]string{"GEMINI_CLI_HOME": "/g"}, []string{"/g/.gemini/settings.json"}},
		{"zed", "linux", xdg, []string{"/xdg/zed/settings.json"}},
		{"zed", "linux", map[string]string{"FLATPAK_XDG_CONFIG_HOME": "/f", "XDG_CONFIG_HOME": "/xdg"}, []string{"/f/zed/settings.json"}},
		{"zed", "darwin", xdg, []string{"/home/me/.config/zed/settings.json"}},
		{"zed", "windows", map[string]string{"APPDATA": "/data"}, []string{"/data/Zed/settings.json"}},
	} {
		if got := config.HostFiles(row.host, row.goos, home, row.env); !slices.Equal(got, row.want) {
			t.Errorf("%s on %s with %v: got %q, want %q", row.host, row.goos, row.env, got, row.want)
		}
	}
	for _, h := range config.Hosts() {
		if got := config.HostFiles(h.Name, "linux", "", nil); got != nil {
			t.Errorf("%s without a folder of the user: got %q", h.Name, got)
		}
	}
}

// inHome makes files, and a folder of them the user's.
func inHome(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = tree(t, files)
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, filepath.Join(dir, "home"))
	}
	variables := []string{"XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCODE_CONFIG", "GEMINI_CLI_HOME"}
	for _, name := range variables {
		t.Setenv(name, "")
	}
	return dir
}

// imported loads the sources of a tree: u.json as the user's file, proj as the project.
func imported(t *testing.T, dir string, s config.Sources) (*config.Set, []string) {
	t.Helper()
	s.Dir, s.User = filepath.Join(dir, "proj"), filepath.Join(dir, "u.json")
	set := loaded(t, s)
	var problems []string
	for _, p := range set.Problems {
		problems = append(problems, p.Severity.String()+" "+strings.ReplaceAll(p.Error(), dir+string(filepath.Separator), ""))
	}
	return set, problems
}

const (
	cursorsFile = `{"mcpServers": {"a": {"command": "cursor1"}, "c": {"command": "cursor2"}}}`
	codexsFile  = "[mcp_servers.a]\ncommand = \"codex1\"\n[mcp_servers.x]\ncommand = \"codex2\"\n"
)

func TestImportedServersAreWeakerThanAllOfOurs(t *testing.T) {
	files := map[string]string{
		"home/.cursor/mcp.json": cursorsFile, "home/.codex/config.toml": codexsFile,
		"proj/.mcp.json": `{"mcpServers": {"p": {"command": "p"}, "x": {"disabled": true}}}`,
		"u.json":         `{"import": ["cursor", "codex"], "mcpServers": {"c": {"command": "u"}}}`,
	}
	dir := inHome(t, files)
	for _, row := range []struct {
		name, user string
		imports    []string
		want       string
	}{
		{
			"the user's list", files["u.json"], nil,
			"project p p, import x codex2 -, user c u, import a cursor1",
		},
		{
			"the other way round", `{"import": ["codex", "cursor"]}`, nil,
			"project p p, import x codex2 -, import a codex1, import c cursor2",
		},
		{
			"names that are given come first", `{"import": ["cursor"]}`,
			[]string{"codex"},
			"project p p, import x codex2 -, import a codex1, import c cursor2",
		},
		{"all", `{}`, []string{"all"}, "project p p, import x codex2 -, import a cursor1, import c cursor2"},
		{"none", files["u.json"], []string{"none"}, "project p p, user c u"},
		{"nothing asked for", `{"mcpServers": {"c": {"command": "u"}}}`, nil, "project p p, user c u"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "u.json"), []byte(row.user), 0o600); err != nil {
				t.Fatal(err)
			}
			set, _ := imported(t, dir, config.Sources{Import: row.imports, Approved: approve})
			if got := commands(set); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
	if _, err := (config.Sources{Import: []string{"cursors"}}).Load(); err == nil || !strings.Contains(err.Error(), "known are claude-code") {
		t.Errorf("an unknown program: got %v", err)
	}
}

func TestTheOriginOfAnImportedServerIsThePlaceInItsFile(t *testing.T) {
	dir := inHome(t, map[string]string{
		"home/.codex/config.toml": codexsFile + "[mcp_servers.x.env]\nMODE = \"fast\"\n", "proj/": "", "u.json": `{"import": ["codex"]}`,
	})
	set, _ := imported(t, dir, config.Sources{})
	x, err := set.Server("x")
	if err != nil || x == nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "home", ".codex", "config.toml")
	for field, line := range map[string]int{"": 3, "command": 4, "env.MODE": 6} {
		if at := x.Places[field]; at.Path != path || at.Line != line {
			t.Errorf("%q stands at %v, want line %d", field, at, line)
		}
	}
	if x.Origin != path || x.Scope != config.ScopeImport || x.Host != "codex" {
		t.Errorf("got %+v", x)
	}
	if !slices.Contains(set.Paths(), path) {
		t.Errorf("%s is not among %q", path, set.Paths())
	}
}

func TestOnlyTheUsersFileCanAskForImports(t *testing.T) {
	dir := inHome(t, map[string]string{
		"home/.cursor/mcp.json": cursorsFile, "u.json": `{"import": ["nobody", "zed"]}`,
		"proj/.mcp.json": "{\n \"import\": [\"cursor\"]}", "c.json": `{"import": "cursor"}`,
	})
	set, problems := imported(t, dir, config.Sources{Approved: approve, Path: filepath.Join(dir, "c.json")})
	want := []string{
		`warning c.json:1:12: import is ignored: it must be an array of strings, not a string`,
		`warning ` + filepath.Join("proj", ".mcp.json") + `:2:13: import counts in the user's file only, and is ignored here; put it ` +
			`there, or give --import`,
		`warning u.json:1:13: import: "nobody" is no program whose servers can be imported; known are claude-code, ` +
			`claude-desktop, cursor, vscode, codex, windsurf, opencode, gemini, zed or all`,
	}
	if got := commands(set); got != "" || !slices.Equal(problems, want) {
		t.Errorf("got %s and\n%s", got, strings.Join(problems, "\n"))
	}
}

func TestAProjectsFilesOfOtherProgramsMustBeApproved(t *testing.T) {
	const entry = `{"mcpServers": {"a": {"command": "theirs"}}}`
	dir := inHome(t, map[string]string{
		"home/.cursor/mcp.json": cursorsFile, "u.json": `{"import": ["cursor", "gemini"]}`, "proj/.git/": "", "proj/sub/": "",
		"proj/.cursor/mcp.json": entry, "proj/.gemini/settings.json": `{"mcpServers": {"g": {"command": "./g"}}}`,
	})
	store := config.OpenTrust(filepath.Join(dir, "trust.json"))
	sources := config.Sources{Dir: filepath.Join(dir, "proj", "sub"), User: filepath.Join(dir, "u.json"), Approved: store.Trusted}
	set := loaded(t, sources)
	if got := commands(set); got != "import a cursor1, import c cursor2" {
		t.Errorf("waiting: got %s", got)
	}
	path := filepath.Join(dir, "proj", ".cursor", "mcp.json")
	waiting := func(s config.Source) bool { return s.Path == path && s.Waiting && s.NeedsTrust() && s.Host == "cursor" }
	if !slices.ContainsFunc(set.Sources, waiting) {
		t.Errorf("got %+v", set.Sources)
	}
	file, err := config.ReadProjectFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Approve(file); err != nil {
		t.Fatal(err)
	}
	set = loaded(t, sources)
	if got := commands(set); got != "import a theirs, import c cursor2" {
		t.Errorf("approved: got %s", got)
	}
	if a := set.Servers[0]; a.Cwd != filepath.Join(dir, "proj") || a.Cwd != file.Servers[0].Cwd {
		t.Errorf("it runs in %s", a.Cwd)
	}
	if err := os.WriteFile(path, []byte(entry+" "), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := commands(loaded(t, sources)); got != "import a cursor1, import c cursor2" {
		t.Errorf("changed: got %s", got)
	}
	sources.NoProject = true
	if set := loaded(t, sources); len(set.Sources) != 2 {
		t.Errorf("no project: got %+v", set.Sources)
	}
}

func TestTheUsersFilesAreNotThoseOfAProjectInTheUsersFolder(t *testing.T) {
	dir := inHome(t, map[string]string{"home/.cursor/mcp.json": cursorsFile, "home/.git/": "", "home/src/": ""})
	for _, here := range []string{"home", "home/src"} {
		set := loaded(t, config.Sources{Dir: filepath.Join(dir, here), User: "none", Import: []string{"cursor"}})
		if got := commands(set); got != "import a cursor1, import c cursor2" || len(set.Sources) != 1 {
			t.Errorf("in %s: got %s of %+v", here, got, set.Sources)
		}
	}
}

func TestAFileOfAnotherProgramThatCannotBeReadIsAProblem(t *testing.T) {
	dir := inHome(t, map[string]string{
		"home/.cursor/mcp.json/": "", "home/.codex/config.toml": "[mcp_servers.a]\ntoken = sk-planted-secret\n",
		"home/.gemini/settings.json": `[]`, "home/.codeium/windsurf/mcp_config.json": `{"mcpServers": 3}`, "proj/": "",
		"home/.claude.json": `{"mcpServers": {"a": {"command": "claude"}}}`, "u.json": `{"import": ["all"]}`,
	})
	set, problems := imported(t, dir, config.Sources{})
	if got := commands(set); got != "import a claude" || len(problems) != 4 || len(set.Sources) != 6 {
		t.Errorf("got %s of %+v", got, set.Sources)
	}
	for i, want := range []string{
		"error home/.cursor/mcp.json: it is no regular file",
		`error home/.codex/config.toml:2:9: not valid TOML: expected value but found … instead`,
		"error home/.codeium/windsurf/mcp_config.json:1:16: mcpServers must be an object of servers by name, not a number",
		"error home/.gemini/settings.json:1:1: an object is expected, not an array",
	} {
		if i < len(problems) && filepath.ToSlash(problems[i]) != want {
			t.Errorf("got %s, want %s", problems[i], want)
		}
	}
	if _, err := config.ReadProjectFile(filepath.Join(dir, "none", ".cursor", "mcp.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing one: got %v", err)
	}
}

func TestAProgramSwitchesItsOwnServersOnly(t *testing.T) {
	dir := inHome(t, map[string]string{
		"proj/opencode.json":                  `{"mcp": {"a": {"enabled": false}, "o": {"enabled": false}}}`,
		"home/.config/opencode/opencode.json": `{"mcp": {"o": {"type": "local", "command": ["o"]}}}`,
		"home/.cursor/mcp.json":               cursorsFile, "u.json": `{"import": ["opencode", "cursor"]}`,
	})
	set, _ := imported(t, dir, config.Sources{Approved: approve})
	if got := commands(set); got != "import a cursor1, import o o -, import c cursor2" {
		t.Errorf("got %s", got)
	}
}

func TestAServerOfAWeakerFileCanBeSwitched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f", "mcp.json")
	for _, row := range []struct {
		disabled bool
		want     string
	}{
		{true, "{\n  \"mcpServers\": {\n    \"a\": {\"disabled\": true}\n  }\n}\n"},
		{false, "{\n  \"mcpServers\": {\n    \"a\": {\"disabled\": false}\n  }\n}\n"},
	} {
		if err := config.Override(path, "a", row.disabled); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); string(text) != row.want {
			t.Errorf("got %s, %v", text, err)
		}
	}
	if err := config.AddServer(path, config.Server{Name: "b", Command: "c"}, false); err != nil {
		t.Fatal(err)
	}
	if err := config.Override(path, "b", true); err != nil {
		t.Fatal(err)
	}
	if file, err := config.ReadFile(path); err != nil || len(file.Servers) != 1 || !file.Servers[0].Disabled {
		t.Errorf("got %+v, %v", file, err)
	}
}
