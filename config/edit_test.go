package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/config"
)

// edited writes text into a file, lets change change it, and returns the text then.
func edited(t *testing.T, text string, change func(path string) error) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	changeErr := change(path)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	return string(got), changeErr
}

func adding(s config.Server, replace bool) func(string) error {
	return func(path string) error { return config.AddServer(path, s, replace) }
}

var simple = config.Server{Name: "new", Command: "x"}

func TestAnEntryIsAddedInTheMannerOfTheFile(t *testing.T) {
	for _, row := range []struct{ name, before, after string }{
		{"empty", "", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"},
		{"blank with a mark", "\ufeff \n", "\ufeff{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"},
		{"braces", "{}", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}"},
		{
			"tabs and a comment of the neighbour",
			"{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"c\"} // of a\n\t\t// \"old\": {}\n\t}\n}\n",
			"{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"c\"}, // of a\n\t\t// \"old\": {}\n\t\t\"new\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t}\n}\n",
		},
		{
			"four blanks, a trailing comma, CR LF",
			"{\r\n    \"mcpServers\": {\r\n        \"a\": {\"command\": \"c\"}, // of a\r\n    },\r\n}",
			"{\r\n    \"mcpServers\": {\r\n        \"a\": {\"command\": \"c\"}, // of a\r\n        \"new\": {\r\n            \"command\": \"x\"\r\n        },\r\n    },\r\n}",
		},
		{
			"one line",
			`{"mcpServers": {"a": {"command": "c"} /* a */}} // end`,
			`{"mcpServers": {"a": {"command": "c"}, /* a */ "new": {"command": "x"}}} // end`,
		},
		{
			"empty object with a comment",
			"{\n  \"mcpServers\": { // none yet\n  }\n}",
			"{\n  \"mcpServers\": { // none yet\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}",
		},
		{
			"other members only",
			"{\n  \"other\": [1,\n 2]\n}",
			"{\n  \"other\": [1,\n 2],\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}",
		},
		{
			"broken entries beside it",
			"{\"mcpServers\": {\n  \"a\": 1\n}}",
			"{\"mcpServers\": {\n  \"a\": 1,\n  \"new\": {\n    \"command\": \"x\"\n  }\n}}",
		},
	} {
		got, err := edited(t, row.before, adding(simple, false))
		if err != nil || got != row.after {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", row.name, err, got, row.after)
		}
	}
}

func TestAnEntryIsWrittenInAFixedOrderAndReadBackAsItWas(t *testing.T) {
	wait, none, soon := time.Minute, time.Duration(0), 1500*time.Millisecond
	s := config.Server{
		Name: "all \"quoted\" <é>", Type: "stdio", Command: "c", Args: []string{"-y", "<a&b>"}, Env: map[string]string{"B": "b", "A": ""},
		EnvInherit: config.EnvInherit{Minimal: true, Pass: []string{"P"}}, Cwd: "/d", Protocol: "session",
		Timeout: &wait, ConnectTimeout: &none, StartupWait: &soon, Required: true, Disabled: true,
		Tools: config.ToolFilter{Allow: []string{"a*"}, Deny: []string{"b"}},
	}
	got, err := edited(t, "{}\n", func(path string) error {
		if err := config.AddServer(path, s, false); err != nil {
			return err
		}
		f, err := config.ReadFile(path)
		if err != nil || f.Problems != nil {
			t.Fatal(err, f)
		}
		back := f.Servers[0]
		if back.Fingerprint() != s.Fingerprint() || *back.Timeout != wait || *back.ConnectTimeout != 0 || *back.StartupWait != soon ||
			!back.Required || !back.Disabled || back.Tools.Allow[0] != "a*" || back.Name != s.Name {
			t.Errorf("got %+v", back)
		}
		return nil
	})
	want := `{
  "mcpServers": {
    "all \"quoted\" <é>": {
      "type": "stdio",
      "command": "c",
      "args": ["-y", "<a&b>"],
      "env": {
        "A": "",
        "B": "b"
      },
      "envInherit": ["P"],
      "cwd": "/d",
      "protocol": "session",
      "timeout": "1m",
      "connectTimeout": 0,
      "startupWait": "1.5s",
      "required": true,
      "disabled": true,
      "tools": {"allow": ["a*"], "deny": ["b"]}
    }
  }
}
`
	if err != nil || got != want {
		t.Errorf("%v, got\n%s", err, got)
	}
	got, err = edited(t, `{"mcpServers": {"a": {}}}`, adding(config.Server{
		Name: "web", URL: "https://h", Headers: map[string]string{"A": "${T}"}, TLS: config.TLS{CA: "f"}, Proxy: "none",
		EnvInherit: config.EnvInherit{Minimal: true},
	}, false))
	const web = `{"mcpServers": {"a": {}, "web": {"envInherit": "minimal", "url": "https://h", "headers": {"A": "${T}"}, ` +
		`"tls": {"ca": "f"}, "proxy": "none"}}}`
	if err != nil || got != web {
		t.Errorf("%v, got %s", err, got)
	}
}

func TestANameThatIsTakenIsReplacedOnlyWhenAsked(t *testing.T) {
	const before = "{\n  \"mcpServers\": {\n    // of new\n    \"new\": {\"url\": /* in */ 1}, // behind\n    \"z\": {}\n  }\n}"
	got, err := edited(t, before, adding(simple, false))
	if !errors.Is(err, config.ErrServerExists) || got != before {
		t.Errorf("got %v, %s", err, got)
	}
	got, err = edited(t, before, adding(simple, true))
	want := strings.Replace(before, `{"url": /* in */ 1}`, "{\n      \"command\": \"x\"\n    }", 1)
	if err != nil || got != want {
		t.Errorf("got %v, %s", err, got)
	}
}

func TestAnEntryIsRemovedAndTheRestStays(t *testing.T) {
	for _, row := range []struct{ name, before, after string }{
		{"in the middle", "{\"mcpServers\": {\n  \"a\": {}, // a\n  // x\n  \"x\": {\n    // in\n  }, // behind\n  \"b\": {}\n}}", "{\"mcpServers\": {\n  \"a\": {}, // a\n  // x\n  // behind\n  \"b\": {}\n}}"},
		{"first", "{\"mcpServers\": {\r\n  \"x\": {},\r\n  \"b\": {}\r\n}}", "{\"mcpServers\": {\r\n  \"b\": {}\r\n}}"},
		{"last", "{\"mcpServers\": {\n  \"a\": {}, // a\n  \"x\": {} // behind\n}}", "{\"mcpServers\": {\n  \"a\": {} // a\n  // behind\n}}"},
		{"last with a comma", "{\"mcpServers\": {\n  \"a\": {},\n  \"x\": {},\n}}", "{\"mcpServers\": {\n  \"a\": {},\n}}"},
		{"only", "{\"mcpServers\": {\n  \"x\": {}\n}}", "{\"mcpServers\": {}}"},
		{"only with a comment", "{\"mcpServers\": {\n  // c\n  \"x\": {}\n}}", "{\"mcpServers\": {\n  // c\n}}"},
		{"one line, first", `{"mcpServers": {"x": {}, "b": {}}}`, `{"mcpServers": {"b": {}}}`},
		{"one line, middle", `{"mcpServers": {"a": {}, "x": {}, "b": {}}}`, `{"mcpServers": {"a": {}, "b": {}}}`},
		{"one line, last", `{"mcpServers": {"a": {}, "x": {} }}`, `{"mcpServers": {"a": {} }}`},
		{"a comment before the comma", `{"mcpServers": {"x": {} /*c*/ , "b": {}}}`, `{"mcpServers": { /*c*/  "b": {}}}`},
		{"before a comment and the last", `{"mcpServers": {"a": {} /*c*/, "x": {}}}`, `{"mcpServers": {"a": {} /*c*/}}`},
		{"written with an escape", `{"mcpServers": {"\u0078": {}}}`, `{"mcpServers": {}}`},
	} {
		got, err := edited(t, row.before, func(path string) error { return config.RemoveServer(path, "x") })
		if err != nil || got != row.after {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", row.name, err, got, row.after)
		}
	}
}

func TestDisabledIsSetAndTakenOut(t *testing.T) {
	for _, row := range []struct {
		before   string
		disabled bool
		after    string
	}{
		{`{"command": "c"}`, true, `{"command": "c", "disabled": true}`},
		{"{\n    \"command\": \"c\" // c\n  }", true, "{\n    \"command\": \"c\", // c\n    \"disabled\": true\n  }"},
		{`{"disabled": false, "command": "c"}`, true, `{"disabled": true, "command": "c"}`},
		{`{"disabled": true, "command": "c"}`, true, `{"disabled": true, "command": "c"}`},
		{`{"disabled": true, "command": "c"}`, false, `{"command": "c"}`},
		{"{\n    \"command\": \"c\", // c\n    \"disabled\": true,\n  }", false, "{\n    \"command\": \"c\", // c\n  }"},
		{`{"command": "c"}`, false, `{"command": "c"}`},
		{`{"disabled": false}`, false, `{"disabled": false}`},
	} {
		const frame = "{\"mcpServers\": {\n  \"a\": {},\n  \"x\": %s // x\n}}"
		got, err := edited(t, fmt.Sprintf(frame, row.before), func(path string) error {
			return config.SetDisabled(path, "x", row.disabled)
		})
		if want := fmt.Sprintf(frame, row.after); err != nil || got != want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", row.before, err, got, want)
		}
	}
	got, err := edited(t, `{"mcpServers": {"x": {"disabled": true}}}`, func(path string) error { return config.SetDisabled(path, "x", false) })
	if err != nil || got != `{"mcpServers": {}}` {
		t.Errorf("nothing else: got %v, %s", err, got)
	}
}

func TestAFileThatCannotBeParsedIsNeverWritten(t *testing.T) {
	for _, text := range []string{
		"{", "[]", `{"mcpServers": []}`, `{"mcpServers": {}, "mcpServers": {}}`, "\xff\xfe{}", `{"mcpServers": {}} x`,
		`{"mcpServers": {"x": {}, "x": {}}}`, "// only a comment", `{"a": "` + "\xff" + `"}`,
	} {
		for name, change := range map[string]func(string) error{
			"add":     adding(config.Server{Name: "x", Command: "c"}, true),
			"remove":  func(path string) error { return config.RemoveServer(path, "x") },
			"disable": func(path string) error { return config.SetDisabled(path, "x", true) },
		} {
			got, err := edited(t, text, change)
			if _, ok := errors.AsType[*config.Problem](err); !ok || got != text {
				t.Errorf("%s %q: got %v, %q", name, text, err, got)
			}
		}
	}
}

func TestWhatIsNotThereCannotBeChanged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for name, err := range map[string]error{
		"remove, no file":  config.RemoveServer(filepath.Join(dir, "f"), "x"),
		"disable, no file": config.SetDisabled(filepath.Join(dir, "f"), "x", true),
	} {
		if !errors.Is(err, config.ErrNoServer) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	_, err := edited(t, `{}`, func(path string) error { return config.RemoveServer(path, "x") })
	if !errors.Is(err, config.ErrNoServer) || !strings.HasSuffix(err.Error(), `mcp.json: server "x": there is no server of that name`) {
		t.Errorf("got %v", err)
	}
	for _, s := range []config.Server{{Command: "c"}, {Name: "x"}, {Name: "a\xff", Command: "c"}} {
		if got, err := edited(t, "{}", adding(s, false)); err == nil || got != "{}" {
			t.Errorf("%+v: got %v, %s", s, err, got)
		}
	}
	negative := -time.Second
	s := config.Server{Name: "x", Command: "c", Timeout: &negative}
	if got, err := edited(t, "{}", adding(s, false)); err == nil || got != "{}" {
		t.Errorf("an entry that can't be read: got %v, %s", err, got)
	}
}

func TestWritingKeepsLinksAndModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights, and there are no modes")
	}
	dir := tree(t, map[string]string{"real/mcp.json": "{}"})
	file, link := filepath.Join(dir, "real", "mcp.json"), filepath.Join(dir, "link.json")
	dangling, target := filepath.Join(dir, "dangling.json"), filepath.Join(dir, "real", "later.json")
	err := errors.Join(os.Chmod(file, 0o640), os.Symlink("real/mcp.json", link), os.Symlink(target, dangling))
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(dir, "new", "sub", "mcp.json")
	for path, want := range map[string]struct {
		file string
		mode fs.FileMode
	}{link: {file, 0o640}, dangling: {target, 0o600}, made: {made, 0o600}} {
		if err := config.AddServer(path, simple, false); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(want.file)
		if err != nil || info.Mode() != want.mode {
			t.Errorf("%s: got %v, %v", path, info.Mode(), err)
		}
		if f, err := config.ReadFile(path); err != nil || names(f) != "new" {
			t.Errorf("%s: got %v, %v", path, f, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}

func TestALinkIsFollowedFromWhereItReallyStands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	for _, row := range []struct{ name, link, to, want string }{
		{"a linked folder", "alias/mcp.json", "../mcp.json", "deep/mcp.json"},
		{"a linked folder, no file yet", "alias/mcp.json", "../new.json", "deep/new.json"},
		{"in the target", "mcp.json", "alias/../mcp.json", "deep/mcp.json"},
		{"another folder", "mcp.json", "deep/real/mcp.json", "deep/real/mcp.json"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"deep/real/": "", "deep/mcp.json": "{}"})
			if err := os.Symlink("deep/real", filepath.Join(dir, "alias")); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(dir, row.link)
			if err := os.Symlink(row.to, link); err != nil {
				t.Fatal(err)
			}
			if err := config.AddServer(link, simple, false); err != nil {
				t.Fatal(err)
			}
			if f, err := config.ReadFile(filepath.Join(dir, row.want)); err != nil || names(f) != "new" {
				t.Errorf("got %v, %v", f, err)
			}
			if f, err := config.ReadFile(link); err != nil || names(f) != "new" {
				t.Errorf("through the link: got %v, %v", f, err)
			}
			set, err := config.Sources{Path: link, User: "none", NoProject: true}.Load()
			if want := []string{link, filepath.Join(dir, row.want)}; err != nil || !slices.Equal(set.Paths(), want) {
				t.Errorf("watched are %q, want %q (error %v)", set.Paths(), want, err)
			}
		})
	}
}

func TestDraftsOfKilledWritersAreRemoved(t *testing.T) {
	const draft, others, folder = ".mcp.json.new-123", ".mcp.json.new-idea", ".mcp.json.new-4"
	dir := tree(t, map[string]string{"mcp.json": "{}", draft: "{", others: "", folder + "/": "", ".x.json.new-1": ""})
	if err := config.AddServer(filepath.Join(dir, "mcp.json"), simple, false); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range left {
		got = append(got, e.Name())
	}
	if want := []string{folder, others, ".x.json.new-1", "mcp.json"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

func TestManyWritersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	const writers = 20
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			if err := config.AddServer(path, config.Server{Name: fmt.Sprint(i), Command: "c"}, false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f, err := config.ReadFile(path)
	if err != nil || len(f.Servers) != writers {
		t.Errorf("got %v, %v", f, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}
