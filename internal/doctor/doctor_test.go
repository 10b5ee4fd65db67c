//go:build unix

package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/internal/doctor"
)

func mustContext() context.Context { return context.Background() }

// examine examines a server with short clocks.
func examine(t *testing.T, s config.Server, changes ...func(*doctor.Options)) *doctor.Report {
	t.Helper()
	o := doctor.Options{Connect: mcpwire.Options{StateDir: "none"}, Login: "mcpwire login it"}
	o.Connect.ConnectTimeout = 8 * time.Second
	for _, change := range changes {
		change(&o)
	}
	return doctor.Examine(t.Context(), s, o)
}

// healthySoon examines a server, up to three times as the machine may be busy, until it is found to be healthy in under
// 3 s; nil if it never is.
func healthySoon(t *testing.T, s config.Server) *doctor.Report {
	t.Helper()
	for range 3 {
		start := time.Now()
		r := examine(t, s)
		if r.Verdict == doctor.OK && time.Since(start) < 3*time.Second {
			return r
		}
		t.Logf("after %v\n%s", time.Since(start), text(r))
	}
	return nil
}

// impatient is for servers that never answer.
func impatient(o *doctor.Options) {
	o.Connect.ConnectTimeout, o.Connect.ProbeTimeout = 5*time.Second, 1500*time.Millisecond
}

// hasty is for servers that never end a list.
func hasty(o *doctor.Options) { o.Connect.ListTimeout = time.Second }

func TestTheTrueFaultOfAProgramIsNamed(t *testing.T) {
	here := t.TempDir()
	plain := filepath.Join(here, "server.js")
	if err := os.WriteFile(plain, []byte("console.log()\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(here, "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		server  config.Server
		verdict doctor.Verdict
		ids     string // of all findings but notes
		says    []string
		change  func(*doctor.Options)
	}{
		{
			"command not found",
			config.Server{Name: "it", Command: "no-such-cmd"},
			doctor.Broken, "command-not-found",
			[]string{"PATH", "install it"},
			nil,
		},
		{
			"near miss",
			config.Server{Name: "it", Command: "shh"},
			doctor.Broken, "command-not-found",
			[]string{"in PATH there is sh"},
			func(o *doctor.Options) {
				o.Nearest = func(string, []string) []string { return []string{"sh"} }
			},
		},
		{
			"path not found",
			config.Server{Name: "it", Command: here + "/none"},
			doctor.Broken, "command-not-found",
			[]string{"correct the path"},
			nil,
		},
		{
			"not executable",
			config.Server{Name: "it", Command: plain},
			doctor.Broken, "command-not-executable",
			[]string{"chmod +x"},
			nil,
		},
		{"no interpreter", config.Server{Name: "it", Command: script}, doctor.Broken, "interpreter-missing", nil, nil},
		{"wrong cwd", config.Server{Name: "it", Command: "sh", Cwd: here + "/none"}, doctor.Broken, "cwd-missing", nil, nil},
		{"unset variable", config.Server{
			Name: "it", Origin: here + "/mcp.json", Command: "sh", Args: []string{"${NO_SUCH_VARIABLE}"},
			Places: map[string]config.Place{"": {Path: here + "/mcp.json", Line: 3}, "args[0]": {Path: here + "/mcp.json", Line: 4}},
		}, doctor.Broken, "variable-unset", []string{"NO_SUCH_VARIABLE", "mcp.json:4", "mcp.json:3"}, nil},
		{"neither", config.Server{Name: "it"}, doctor.Broken, "entry-invalid", nil, nil},
		{
			"exits with stderr", fake("stderr"), doctor.Broken, "exit-at-start",
			[]string{"exit status 2", "DEMO_API_KEY is not set", `under "env"`},
			nil,
		},
		{"exits for want of a module", fake("module"), doctor.Broken, "exit-at-start", []string{"install what"}, nil},
		{"exits silently", fake("silent"), doctor.Broken, "exit-silent", []string{"exit status 0"}, nil},
		{"is killed", fake("killed"), doctor.Broken, "exit-silent", []string{"SIGKILL"}, nil},
		{"closes its output", fake("closes"), doctor.Broken, "output-closed", nil, nil},
		{"prints a banner", fake("banner"), doctor.Warning, "stdout-banner", []string{"Welcome to Fake 7!"}, nil},
		{"logs to stdout", fake("logs"), doctor.Warning, "stdout-noise", []string{"INFO handling"}, nil},
		{"logs JSON to stdout", fake("jsonlog"), doctor.Warning, "json-no-message", []string{`"msg"`}, nil},
		{"Content-Length frames", fake("lsp"), doctor.Broken, "content-length-frames", []string{"one message a line"}, impatient},
		{"JSON over lines", fake("pretty"), doctor.Broken, "json-over-lines", []string{"on one line"}, impatient},
		{"an HTML page", fake("html"), doctor.Broken, "html-on-stdout exit-in-handshake", []string{"It works"}, nil},
		{"never answers", fake("mute"), doctor.Broken, "no-answer", []string{"--stdio"}, impatient},
		{"waits for a person", fake("terminal"), doctor.Broken, "only-stderr", []string{"Enter your PIN"}, impatient},
		{"serves HTTP", fake("http"), doctor.Broken, "serves-elsewhere", []string{"127.0.0.1:3000"}, impatient},
		{"refuses initialize", fake("refuses"), doctor.Broken, "handshake-refused", []string{"license expired"}, nil},
		{"unsupported version", fake("old"), doctor.Broken, "version-unsupported", []string{"2023-01-01"}, nil},
		{"malformed handshake", fake("malformed"), doctor.Broken, "handshake-malformed", nil, nil},
		{"no name", fake("unnamed"), doctor.Warning, "server-unnamed", nil, nil},
		{"list refused", fake("refuses list"), doctor.Broken, "list-refused", []string{"-32601", "don't declare"}, nil},
		{"list fails", fake("fails list"), doctor.Broken, "list-refused", []string{"database is down"}, nil},
		{"list silent", fake("silent list"), doctor.Broken, "list-silent", nil, hasty},
		{"cursor loop", fake("circle"), doctor.Broken, "list-circle tool-twice", []string{"nextCursor"}, nil},
		{"duplicate names", fake("twice"), doctor.Warning, "tool-twice", []string{`"echo"`}, nil},
		{"no schema", fake("no schema"), doctor.Broken, "schema-missing", nil, nil},
		{"schema of an array", fake("array"), doctor.Broken, "schema-no-object", nil, nil},
		{"bad schema", fake("bad schema"), doctor.Broken, "schema-invalid", []string{"required"}, nil},
		{"bad name", fake("bad name"), doctor.Warning, "tool-name", []string{"say it/again"}, nil},
		{"no description", fake("undescribed"), doctor.Warning, "tool-undescribed", nil, nil},
		{"heavy tools", fake("heavy"), doctor.Warning, "tools-heavy", []string{"echo (112"}, nil},
		{"undeclared tools", fake("undeclared"), doctor.Warning, "capability-undeclared", nil, nil},
		{"refuses ping", fake("refuses ping"), doctor.Warning, "ping-refused", nil, nil},
		{"dies in a list", fake("dies in list"), doctor.Broken, "exit-in-list", []string{"exit status 9"}, nil},
		{"dies of the probe", fake("dies of probe"), doctor.Warning, "probe-fatal", []string{"-32601"}, nil},
		{"ignores the probe", fake("ignores probe"), doctor.Warning, "probe-silent", nil, impatient},
		{
			"crashes after initialize", fake("crashes"), doctor.Broken, "exit-after-initialize",
			[]string{"nil pointer"},
			nil,
		},
		{"ignores the end of its input", fake("ignores eof"), doctor.Warning, "ignores-eof", []string{"SIGTERM"}, nil},
		{"ignores SIGTERM", fake("ignores term"), doctor.Warning, "ignores-term", []string{"killed"}, nil},
		{"leaves a child behind", fake("leaves child"), doctor.Warning, "leaves-processes", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var changes []func(*doctor.Options)
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			r := examine(t, tt.server, changes...)
			want := strings.Fields(tt.ids)
			said := text(r)
			if got := ids(r); r.Verdict != tt.verdict || !slices.Equal(got, want) {
				t.Errorf("%s with %q, want %s with %q\n%s", r.Verdict, got, tt.verdict, want, said)
			}
			for _, part := range tt.says {
				if !strings.Contains(said, part) {
					t.Errorf("it does not say %q\n%s", part, said)
				}
			}
		})
	}
}

func TestAHealthyProgramIsHealthyInNoTime(t *testing.T) {
	for _, row := range [][2]string{{"honest", ""}, {"demo", ""}, {"demo", "session"}} {
		name := strings.Join(row[:], " ")
		s := fake(row[0])
		s.Protocol = row[1]
		r := healthySoon(t, s)
		if r == nil {
			t.Errorf("%s is not healthy within 3 s", name)
			continue
		}
		if slices.ContainsFunc(r.Steps, func(s *doctor.Step) bool { return s.Name == doctor.Tools && s.Verdict != doctor.OK }) {
			t.Error(text(r))
		}
	}
}

func TestAReportShowsNoSecrets(t *testing.T) {
	const secret, second = "hunter2-hunter2", "correct-horse"
	t.Setenv("DOCTOR_SECRET", second)
	for _, origin := range []string{"", filepath.Join(t.TempDir(), "mcp.json")} {
		s := fake("secrets")
		s.Origin = origin
		s.Args = []string{"--api-key", secret, "--url=https://me:" + secret + "@example.com/?token=" + secret}
		s.Env["MY_TOKEN"] = secret
		if origin != "" {
			s.Env["OTHER_TOKEN"] = "${DOCTOR_SECRET}"
			s.Args = append(s.Args, "${DOCTOR_SECRET}")
		}
		r := examine(t, s)
		if said := text(r); strings.Contains(said, secret) || strings.Contains(said, second) || !slices.Equal(ids(r), []string{"exit-at-start"}) {
			t.Error(said)
		}
		s.Command = "no-such-cmd"
		if said := text(examine(t, s)); strings.Contains(said, secret) {
			t.Error(said)
		}
	}
}
