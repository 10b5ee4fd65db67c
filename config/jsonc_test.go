package config_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mcpwire/config"
)

func TestCommentsAndTrailingCommasAreRead(t *testing.T) {
	f, problems, err := read(t, "\ufeff// head\r\n{\r\n  /* a\r\n ä */ \"mcpServers\": {\r\n"+
		"    \"a\": {\"url\": \"https://h//x/*y*/\", /*é*/ \"odd\": 1,}, // tail\r\n"+
		"    \"b\": {\"command\": \"c\", \"args\": [\"//\", \"\\\"/*\",],},\r\n  },\r\n}\r\n// the end has no line's end")
	if err != nil || names(f) != "a b" {
		t.Fatal(names(f), err)
	}
	if f.Servers[0].URL != "https://h//x/*y*/" || !slices.Equal(f.Servers[1].Args, []string{"//", `"/*`}) {
		t.Errorf("got %+v", f.Servers)
	}
	want := []string{`warning mcp.json:5:46: server "a": unknown key "odd" is ignored`}
	if !slices.Equal(problems, want) {
		t.Errorf("got %q", problems)
	}
	if got := f.Servers[1].Places["args[1]"]; got.Line != 6 || got.Column != 42 {
		t.Errorf("args[1] is at %v", got)
	}
}

func TestSyntaxErrorsTellWhatAndWhereWithoutShowingValues(t *testing.T) {
	for text, want := range map[string]string{
		"{\"mcpServers\": {}, /* x":                 "mcp.json:1:20: not valid JSON: a comment that begins here has no end",
		"{\n\"é\": \"a\\qSECRET\"}":                 "mcp.json:2:8: not valid JSON: invalid escape sequence",
		"{\"a\": truSECRET}":                        "mcp.json:1:10: not valid JSON: ",
		"{\"a\": \"SECRET":                          "mcp.json:1:14: not valid JSON: it ends in the middle",
		"{\"a\": \"SECRET\xff\"}":                   "mcp.json:1:14: not valid JSON: invalid UTF-8",
		"// c\n{\"a\": 1,, \"b\": 2}":               "mcp.json:2:9: not valid JSON: invalid character ','",
		"{\"mcpServers\": {}} // c\n}":              "mcp.json:2:1: more text behind the end of the JSON value",
		"// only a comment":                         "mcp.json:1:18: not valid JSON: it ends in the middle",
		"\xff\xfe{\x00":                             "mcp.json:1:1: it is written in UTF-16; save it as UTF-8",
		"{\"a\": " + strings.Repeat("[", 1_000_000): "mcp.json:1:1: it has more than 100000 brackets",
		"{\"a\": " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}": "not valid JSON: exceeded max depth",
	} {
		_, _, err := read(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

func TestAFileThatIsTooBigIsRefused(t *testing.T) {
	_, _, err := read(t, "{}"+strings.Repeat(" ", 4<<20))
	if err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestEveryValueRemembersItsPlace(t *testing.T) {
	f, _, err := read(t, `{"mcpServers": {
  "a": {
    "transport": "stdio", "command": "x",
    "args": ["1", "2"],
    "env": {"ä": "1", "B": "2"}, "tls": {"ca": "f"},
    "tools": {"deny": ["d"]}
  }}}`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for field, at := range f.Servers[0].Places {
		if at.Path != f.Path {
			t.Errorf("%s is in %q", field, at.Path)
		}
		got[field] = strings.TrimPrefix(at.String(), f.Path+":")
	}
	want := map[string]string{
		"": "2:3", "type": "3:18", "command": "3:38", "args": "4:13", "args[0]": "4:14", "args[1]": "4:19",
		"env": "5:12", "env.ä": "5:18", "env.B": "5:28", "tls": "5:41", "tls.ca": "5:48",
		"tools": "6:14", "tools.deny": "6:23",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestKeysThatAreNearlyRightAreTold(t *testing.T) {
	_, problems, err := read(t, `{"mcpservers": {}, "mcpServers": {"a": {"command": "x",
"Command":0,"headerS":0,"comand":0,"envinherit":0,"argz":0,"env_inherit":0,"conect_timeout":0,"ur":0,"name":0}}}`)
	want := []string{
		`unknown key "mcpservers" is ignored; write "mcpServers"`,
		`unknown key "Command" is ignored; write "command"`,
		`unknown key "headerS" is ignored; write "headers"`,
		`unknown key "comand" is ignored; did you mean "command"?`,
		`unknown key "envinherit" is ignored; write "envInherit"`,
		`unknown key "argz" is ignored; did you mean "args"?`,
		`unknown key "env_inherit" is ignored; did you mean "envInherit"?`,
		`unknown key "conect_timeout" is ignored; did you mean "connectTimeout"?`,
		`unknown key "ur" is ignored; did you mean "url"?`,
		`unknown key "name" is ignored`,
	}
	if err != nil || len(problems) != len(want) {
		t.Fatal(err, strings.Join(problems, "\n"))
	}
	for i, p := range problems {
		if !strings.HasPrefix(p, "warning ") || !strings.HasSuffix(p, want[i]) {
			t.Errorf("got %q, want %q", p, want[i])
		}
	}
}

func TestWhatLooksLikeAMistakeIsAWarning(t *testing.T) {
	for member, want := range map[string]string{
		`"timeout": 30`:            `timeout 30 means 30 milliseconds; write "30s" for seconds, or "30ms" if that is meant`,
		`"connectTimeout": 999`:    `connectTimeout 999 means 999 milliseconds`,
		`"startupWait": 0.5`:       `startupWait 0.5 means 0.5 milliseconds`,
		`"timeout": 30000000000`:   `timeout 30000000000 means 8333h20m, since a number counts milliseconds; write the unit`,
		`"timeout": "25h"`:         `timeout "25h" is longer than a day; 0 means no limit`,
		`"tools": {"allow": []}`:   `tools has an empty allow, which lets every tool through`,
		`"timeout": 1000`:          "",
		`"timeout": 0`:             "",
		`"timeout": "30ms"`:        "",
		`"startupWait": "24h"`:     "",
		`"tools": {"deny": ["*"]}`: "",
	} {
		f, problems, err := read(t, `{"mcpServers":{"a":{"command":"x",`+member+`}}}`)
		if err != nil || names(f) != "a" || (want == "") != (problems == nil) {
			t.Errorf("%s: got %v, %q", member, err, problems)
			continue
		}
		if want != "" && (len(problems) != 1 || !strings.HasPrefix(problems[0], "warning mcp.json:1:") ||
			!strings.Contains(problems[0], want)) {
			t.Errorf("%s: got %q, want %q", member, problems, want)
		}
	}
}

func TestPathsAreTakenFromTheFolderOfTheFile(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"sub", "a$$b"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const text = `{"mcpServers": {"rel": {"command": "x", "cwd": "in", "tls": {"ca": "ca.pem"}}, "none": {"command": "x"},
		"var": {"command": "x", "cwd": "${V}"}, "inner": {"command": "x", "cwd": "d/${V}"}}}`
	for _, folder := range []string{"sub", "a$$b"} {
		path := filepath.Join(dir, folder, "mcp.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Chdir(filepath.Dir(path))
		f, err := config.ReadFile("mcp.json")
		if err != nil {
			t.Fatal(err)
		}
		here := filepath.Dir(path)
		absolute := filepath.Join(dir, "elsewhere")
		var got []string
		for _, value := range []string{"w", absolute} {
			for _, s := range f.Servers {
				expanded, _, err := s.Expand(func(string) (string, bool) { return value, true })
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, expanded.Cwd, expanded.TLS.CA)
			}
		}
		in, ca := filepath.Join(here, "in"), filepath.Join(here, "ca.pem")
		want := []string{
			in, ca, "", "", filepath.Join(here, "w"), "", filepath.Join(here, "d", "w"), "",
			in, ca, "", "", absolute, "", filepath.Join(here, "d", absolute), "",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestToolPatternsKnowStarAndQuestionMarkOnly(t *testing.T) {
	for _, row := range []struct {
		allow, deny string
		tool        string
		want        bool
	}{
		{"", "", "any", true},
		{"read", "", "read", true},
		{"read", "", "reads", false},
		{"read_*", "", "read_file", true},
		{"read_*", "", "read_", true},
		{"*a*b", "", "xaab", true},
		{"*a*b", "", "xaabc", false},
		{"?é?", "", "éé/", true},
		{"??", "", "é", false},
		{"a/*", "", "a/b/c", true},
		{"[ab].c", "", "a.c", false},
		{"[ab].c", "", "[ab].c", true},
		{`\*`, "", `\x`, true},
		{"read", "", "READ", false},
		{"*", "write*", "write_file", false},
		{"*", "write*", "read_file", true},
		{"", "*", "any", false},
		{strings.Repeat("*a", 30), "", strings.Repeat("a", 5000) + "b", false},
	} {
		var f config.ToolFilter
		if row.allow != "" {
			f.Allow = []string{"never", row.allow}
		}
		if row.deny != "" {
			f.Deny = []string{row.deny, "never"}
		}
		if got := f.Allows(row.tool); got != row.want {
			t.Errorf("allow %q, deny %q: %q is %v", row.allow, row.deny, row.tool, got)
		}
	}
}

// base is an entry in which every field of the fingerprint is set.
func base() config.Server {
	return config.Server{
		Name: "n", Type: "stdio", Command: "c", Args: []string{"a", "b"}, Env: map[string]string{"A": "1", "B": "2"},
		EnvInherit: config.EnvInherit{Minimal: true, Pass: []string{"P"}}, Cwd: "/d", URL: "u",
		Headers: map[string]string{"H": "h"}, TLS: config.TLS{CA: "ca", Cert: "cert", Key: "key"}, Proxy: "p", Protocol: "session",
	}
}

func TestTheFingerprintTellsWhichServerIsMeant(t *testing.T) {
	seen := map[string]string{base().Fingerprint(): "base"}
	for name, change := range map[string]func(*config.Server){
		"type": func(s *config.Server) { s.Type = "" }, "command": func(s *config.Server) { s.Command = "d" },
		"args": func(s *config.Server) { s.Args = []string{"ab"} }, "fewer args": func(s *config.Server) { s.Args = nil },
		"env": func(s *config.Server) { s.Env = map[string]string{"A": "1"} }, "cwd": func(s *config.Server) { s.Cwd = "" },
		"inherit": func(s *config.Server) { s.EnvInherit.Pass = nil }, "all": func(s *config.Server) { s.EnvInherit = config.EnvInherit{} },
		"url": func(s *config.Server) { s.URL = "" }, "headers": func(s *config.Server) { s.Headers = nil },
		"ca": func(s *config.Server) { s.TLS.CA = "" }, "cert": func(s *config.Server) { s.TLS.Cert = "" },
		"key": func(s *config.Server) { s.TLS.Key = "" }, "proxy": func(s *config.Server) { s.Proxy = "" },
		"protocol": func(s *config.Server) { s.Protocol = "" },
		"moved":    func(s *config.Server) { s.Command, s.Cwd = s.Cwd, s.Command },
	} {
		s := base()
		change(&s)
		if other, ok := seen[s.Fingerprint()]; ok {
			t.Errorf("%s: the same as %s", name, other)
		}
		seen[s.Fingerprint()] = name
	}
	s := base()
	s.Name, s.Origin, s.Scope, s.Disabled, s.Required = "other", "o", config.ScopeUser, true, true
	s.Tools.Deny, s.Places = []string{"x"}, map[string]config.Place{}
	if s.Fingerprint() != base().Fingerprint() {
		t.Error("it changes with what does not decide which server is reached")
	}
	const kept = "9940297d5be4828701c418e66393c87e2c9b82cab8c7208a98f1da063de019d7"
	if got := base().Fingerprint(); got != kept {
		t.Errorf("it is not what it was in earlier versions: %s", got)
	}
}

func TestReadingIsTheSameWithAndWithoutComments(t *testing.T) {
	plain, _, err := read(t, `{"mcpServers": {"a": {"command": "x"   } }   }`)
	if err != nil {
		t.Fatal(err)
	}
	commented, _, err := read(t, `{"mcpServers": {"a": {"command": "x",/**/}/**/,},}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*config.File{plain, commented} {
		for i := range f.Servers {
			f.Servers[i].Origin, f.Servers[i].Places = "", nil
		}
	}
	if !reflect.DeepEqual(plain.Servers, commented.Servers) {
		t.Errorf("got %+v and %+v", plain.Servers, commented.Servers)
	}
	if _, err := config.ReadFile(t.TempDir()); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("a folder: got %v", err)
	}
}
