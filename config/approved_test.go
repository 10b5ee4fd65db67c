package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcpwire/config"
)

func TestAFileThatNobodyHasApprovedChangesNothing(t *testing.T) {
	const user = `{"mcpServers": {"on": {"command": "u1"}, "off": {"command": "u2", "disabled": true}}}`
	for _, row := range []struct {
		name, project string
		approved      string // the servers then
		problems      int    // then
	}{
		{"another server", `"new": {"command": "p"}`, "project new p, user on u1, user off u2 -", 0},
		{"an override", `"on": {"command": "p"}`, "project on p, user off u2 -", 0},
		{"enabling", `"off": {"disabled": false}`, "user off u2, user on u1", 0},
		{"disabling", `"on": {"disabled": true}`, "user on u1 -, user off u2 -", 0},
		{"a broken entry", `"on": {"command": 1}`, "user off u2 -", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"u.json": user, ".mcp.json": `{"mcpServers": {` + row.project + `}}`})
			store := config.OpenTrust(filepath.Join(dir, "trust.json"))
			sources := config.Sources{Dir: dir, User: filepath.Join(dir, "u.json"), Approved: store.Trusted}
			for _, s := range []config.Sources{sources, {Dir: dir, User: sources.User}} {
				set := loaded(t, s)
				if got := commands(set); got != "user on u1, user off u2 -" || len(set.Problems) != 0 {
					t.Errorf("waiting: got %s, %v", got, set.Problems)
				}
				for _, name := range []string{"on", "off"} {
					if found, err := set.Server(name); found == nil || found.Scope != config.ScopeUser || err != nil {
						t.Errorf("waiting: %s is %v, %v", name, found, err)
					}
				}
				if found, err := set.Server("new"); found != nil || err != nil {
					t.Errorf("waiting: new is %v, %v", found, err)
				}
				if len(set.Sources) != 2 || !set.Sources[0].Waiting || set.Sources[0].File == nil || set.Sources[1].Waiting {
					t.Errorf("waiting: got %+v", set.Sources)
				}
			}
			file, err := config.ReadFile(filepath.Join(dir, ".mcp.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Approve(file); err != nil {
				t.Fatal(err)
			}
			set := loaded(t, sources)
			if got := commands(set); got != row.approved || len(set.Problems) != row.problems || set.Sources[0].Waiting {
				t.Errorf("approved: got %s, %v", got, set.Problems)
			}
			if _, err := set.Server("on"); (err != nil) != (row.problems > 0) {
				t.Errorf("approved: on is %v", err)
			}
			named := config.Sources{Path: filepath.Join(dir, ".mcp.json"), Dir: dir, User: sources.User}
			if set := loaded(t, named); len(set.Sources) != 2 || set.Sources[0].Scope != config.ScopeConfig || set.Sources[0].Waiting {
				t.Errorf("named by hand: got %+v", set.Sources)
			}
		})
	}
}

func loaded(t *testing.T, s config.Sources) *config.Set {
	t.Helper()
	set, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestAProjectThatLinksToTheUsersFileDoesNotHideIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	dir := tree(t, map[string]string{"proj/": "", "u.json": `{"mcpServers": {"a": {"command": "c"}}}`})
	user := filepath.Join(dir, "u.json")
	if err := os.Symlink(user, filepath.Join(dir, "proj", ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	if got := commands(loaded(t, config.Sources{Dir: filepath.Join(dir, "proj"), User: user})); got != "user a c" {
		t.Errorf("got %s", got)
	}
}

func TestAnUnapprovedFileThatCannotBeParsedCostsNothingElse(t *testing.T) {
	dir := tree(t, map[string]string{"u.json": `{"mcpServers": {"a": {"command": "c"}}}`, ".mcp.json": "{"})
	set := loaded(t, config.Sources{Dir: dir, User: filepath.Join(dir, "u.json")})
	if got := commands(set); got != "user a c" || len(set.Problems) != 1 || !strings.Contains(set.Problems[0].Error(), ".mcp.json") {
		t.Errorf("got %s, %v", got, set.Problems)
	}
	if set.Sources[0].Waiting {
		t.Error("there is nothing to approve")
	}
}
