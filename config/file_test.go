package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"mcpwire/config"
)

// read writes text to a file named mcp.json and reads it. Problems are returned with the folder cut off.
func read(t *testing.T, text string) (*config.File, []string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := config.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var problems []string
	for _, p := range f.Problems {
		problems = append(problems, p.Severity.String()+" "+strings.ReplaceAll(p.Error(), dir+string(filepath.Separator), ""))
	}
	return f, problems, nil
}

func names(f *config.File) string {
	var out []string
	for _, s := range f.Servers {
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

func TestAllFieldsOfAnEntryAreRead(t *testing.T) {
	f, problems, err := read(t, "\ufeff"+`{"$schema": "x", "mcpServers": {
		"local": {"type": "stdio", "command": "npx", "args": ["-y", "s"], "env": {"A": "", "B": "b"},
			"envInherit": ["PATH_X", "C"], "cwd": "sub", "timeout": "1m", "connectTimeout": 1500,
			"startupWait": "250ms", "required": true, "disabled": true, "tools": {"allow": ["a*"], "deny": ["?"]}},
		"remote": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${T}"}, "timeout": 0}
	}}`)
	if err != nil || problems != nil {
		t.Fatal(err, problems)
	}
	minute, later, soon, none := time.Minute, 1500*time.Millisecond, 250*time.Millisecond, time.Duration(0)
	want := []config.Server{
		{
			Name: "local", Origin: f.Path, Type: "stdio", Command: "npx", Args: []string{"-y", "s"},
			Env:        map[string]string{"A": "", "B": "b"},
			EnvInherit: config.EnvInherit{Minimal: true, Pass: []string{"PATH_X", "C"}},
			Cwd:        filepath.Join(filepath.Dir(f.Path), "sub"), Timeout: &minute, ConnectTimeout: &later,
			StartupWait: &soon, Required: true, Disabled: true,
			Tools: config.ToolFilter{Allow: []string{"a*"}, Deny: []string{"?"}},
		},
		{
			Name: "remote", Origin: f.Path, URL: "https://example.com/mcp",
			Headers: map[string]string{"Authorization": "Bearer ${T}"}, Timeout: &none,
		},
	}
	for i := range f.Servers {
		f.Servers[i].Places = nil
	}
	if !reflect.DeepEqual(f.Servers, want) {
		t.Errorf("got  %+v\nwant %+v", f.Servers, want)
	}
}

func TestServersKeepTheOrderOfTheFile(t *testing.T) {
	f, _, err := read(t, `{"mcpServers": {"z": {"command":"c"}, "a": {"command":"c"}, "m": {"command":"c"}}}`)
	if err != nil || names(f) != "z a m" {
		t.Errorf("got %q, %v", names(f), err)
	}
}

func TestABadEntryCostsOnlyThatEntry(t *testing.T) {
	f, problems, err := read(t, `{"mcpServers": {
  "a": {"url": "http://x/mcp", "type": "http"},
  "b": {"url": "http://x/mcp", "type": "streamable-http"},
  "c": {"url": "http://x/mcp", "transport": "streamableHttp"},
  "d": {"url": "http://x/mcp", "type": "streamable_http"},
  "e": {"url": "http://x/mcp", "type": "sse"},
  "f": {"url": "http://x/mcp"},
  "both": {"url": "http://x/mcp", "command": "x"},
  "neither": {},
  "näme": {"command": 7}
}}`)
	if err != nil {
		t.Fatal(err)
	}
	if names(f) != "a b c d e f" {
		t.Errorf("got the servers %q", names(f))
	}
	want := []string{
		`error mcp.json:8:3: server "both": it has both a command and a url; ` +
			`give a command for a program, or a url for an HTTP server`,
		`error mcp.json:9:3: server "neither": it has neither a command nor a url; ` +
			`give a command for a program, or a url for an HTTP server`,
		`error mcp.json:10:23: server "näme": command must be a string, not a number`,
	}
	if !reflect.DeepEqual(problems, want) {
		t.Errorf("got  %q\nwant %q", problems, want)
	}
}

func TestAProblemOfOneMemberNamesIt(t *testing.T) {
	for entry, want := range map[string]string{
		`[]`:                                            `it must be an object, not an array`,
		`{"command":"x","args":"y"}`:                    `args must be an array of strings, not a string`,
		`{"command":"x","args":["y",1]}`:                `args must hold strings: number 2 must be a string, not a number`,
		`{"command":"x","env":{"PORT":80}}`:             `env must hold strings: PORT must be a string, not a number`,
		`{"command":"x","env":{"A":"1","A":"1"}}`:       `env has A twice`,
		`{"url":"x","headers":{"x-a":"1","X-A":"2"}}`:   `headers has X-A twice`,
		`{"url":"x","tls":{"ca":"a","ca":"b"}}`:         `tls has ca twice`,
		`{"command":"x","env":[]}`:                      `env must be an object of strings, not an array`,
		`{"command":"x","cwd":null}`:                    `cwd must be a string, not null`,
		`{"command":"x","envInherit":"some"}`:           `envInherit must be "all", "minimal", or a list of names`,
		`{"command":"x","timeout":-1}`:                  `timeout must not be negative; 0 means no limit`,
		`{"command":"x","timeout":"-1s"}`:               `timeout must not be negative; 0 means no limit`,
		`{"command":"x","timeout":"30"}`:                `timeout must be a duration such as "30s" or a number of`,
		`{"command":"x","connectTimeout":true}`:         `connectTimeout must be a duration such as "30s" or a number of`,
		`{"command":"x","timeout":1e300}`:               `timeout is out of range: 1e300`,
		`{"url":"x","type":"http","transport":"sse"}`:   `transport says "sse", and the entry says "http" too; give type or`,
		`{"url":"x","type":"stdio"}`:                    `type stdio takes a command, not a url`,
		`{"command":"x","type":"http"}`:                 `type http takes a url, not a command`,
		`{"command":"x","type":"tcp"}`:                  `unknown type "tcp"; accepted are stdio, http (or streamable-http) and`,
		`{"command":"x"},"odd":{"command":"the other"}`: `the name stands there twice; the first entry counts`,
		`{"command":"x","command":"y"}`:                 `command stands there twice`,
		`{"command":"x","required":"yes"}`:              `required must be true or false, not a string`,
		`{"command":"x","tools":["a"]}`:                 `tools must be an object with allow and deny, not an array`,
		`{"command":"x","tools":{"denied":["a"]}}`:      `tools has the unknown key "denied"; accepted are allow and deny`,
		`{"command":"x","tools":{"deny":"a"}}`:          `tools has deny, which must be an array of strings, not a string`,
		`{"command":"x","tools":{"deny":["a",""]}}`:     `tools must not hold an empty pattern`,
		`{"disabled":true,"timeout":"5s"}`:              `it has neither a command nor a url`,
	} {
		_, problems, err := read(t, `{"mcpServers":{"odd":`+entry+`}}`)
		if err != nil || len(problems) != 1 || !strings.HasPrefix(problems[0], "error ") ||
			!strings.Contains(problems[0], `server "odd": `+want) {
			t.Errorf("%s: got %v %q, want %q", entry, err, problems, want)
		}
	}
}

func TestUnknownKeysAreWarningsOnly(t *testing.T) {
	f, problems, err := read(t, `{"servers": {}, "mcpServers": {"a": {"command": "x", "autoApprove": []}}}`)
	want := []string{
		`warning mcp.json:1:2: unknown key "servers" is ignored; servers are read from "mcpServers"`,
		`warning mcp.json:1:54: server "a": unknown key "autoApprove" is ignored`,
	}
	if err != nil || names(f) != "a" || !reflect.DeepEqual(problems, want) {
		t.Errorf("got %v, %q", err, problems)
	}
}

func TestABrokenFileGivesOneErrorWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\"mcpServers\": {\n\t\"ä\" 1}}":     "mcp.json:2:6: not valid JSON: ",
		"{\"mcpServers\": {":                  "mcp.json:1:17: not valid JSON: ",
		"{}\n{}":                              "mcp.json:2:1: more text behind the end of the JSON value",
		"[]":                                  "mcp.json:1:1: an object with \"mcpServers\" is expected, not an array",
		"{\n  \"mcpServers\": []}":            "mcp.json:2:17: mcpServers must be an object of servers by name, not an array",
		"{\"mcpServers\":{},\"mcpServers\":1": "mcp.json:1:32: not valid JSON: ",
	} {
		_, _, err := read(t, text)
		p, ok := errors.AsType[*config.Problem](err)
		if !ok || !strings.Contains(p.Error(), want) || p.Severity != config.Error {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestAnEmptyFileHoldsNoServers(t *testing.T) {
	for _, text := range []string{"", "\ufeff", " \r\n", "{}", `{"mcpServers":{}}`} {
		if f, problems, err := read(t, text); err != nil || len(f.Servers) != 0 || problems != nil {
			t.Errorf("%q: got %v, %v, %v", text, f, problems, err)
		}
	}
}

func TestAMissingFileIsToldApart(t *testing.T) {
	_, err := config.ReadFile(filepath.Join(t.TempDir(), "none.json"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestServerFindsTheEntryOrWhatIsWrongWithIt(t *testing.T) {
	f, _, err := read(t, `{"mcpServers": {"good": {"command": "x", "odd": 1}, "bad": {}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := f.Server("good"); s == nil || s.Command != "x" || err != nil {
		t.Errorf("good: got %v, %v", s, err)
	}
	if s, err := f.Server("bad"); s != nil || err == nil {
		t.Errorf("bad: got %v, %v", s, err)
	}
	if s, err := f.Server("none"); s != nil || err != nil {
		t.Errorf("none: got %v, %v", s, err)
	}
}

func TestTheKindFollowsFromTypeOrCommandOrURL(t *testing.T) {
	for _, row := range []struct {
		server config.Server
		want   config.Kind
	}{
		{config.Server{Command: "x"}, config.Stdio},
		{config.Server{Command: "x", Type: "stdio"}, config.Stdio},
		{config.Server{URL: "x"}, config.HTTP},
		{config.Server{URL: "x", Type: "http"}, config.HTTP},
		{config.Server{URL: "x", Type: "sse"}, config.SSE},
	} {
		if kind, err := row.server.Kind(); kind != row.want || err != nil {
			t.Errorf("%+v: got %v, %v", row.server, kind, err)
		}
	}
	_, err := config.Server{Name: "a", Origin: "f.json", Type: "ws", URL: "x"}.Kind()
	want := `f.json: server "a": unknown type "ws"; accepted are stdio, http (or streamable-http) and sse`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestEnvInheritSaysWhatItMeans(t *testing.T) {
	for want, e := range map[string]config.EnvInherit{
		"all": {}, "minimal": {Minimal: true}, "minimal and A, B": {Minimal: true, Pass: []string{"A", "B"}},
	} {
		if e.String() != want {
			t.Errorf("got %q, want %q", e, want)
		}
	}
}

func TestEnvInheritIsReadInItsForms(t *testing.T) {
	for form, want := range map[string]string{
		`"all"`: "all", `"minimal"`: "minimal", `[]`: "minimal", `["DEMO_X"]`: "minimal and DEMO_X",
	} {
		f, problems, err := read(t, `{"mcpServers":{"a":{"command":"demo-server","env":{"PATH":"/opt/demo/bin","E":""},"envInherit":`+form+`}}}`)
		if err != nil || problems != nil || f.Servers[0].EnvInherit.String() != want {
			t.Errorf("%s: got %+v, %q, %v", form, f, problems, err)
			continue
		}
		if value, set := f.Servers[0].Env["E"]; value != "" || !set || f.Servers[0].Env["PATH"] != "/opt/demo/bin" {
			t.Errorf("%s: got %v", form, f.Servers[0].Env)
		}
	}
}
