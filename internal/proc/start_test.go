//go:build unix

package proc_test

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpwire/internal/proc"
	"mcpwire/internal/proc/proctest"
)

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatCannotBeStartedIsExplained(t *testing.T) {
	dir := t.TempDir()
	plain := write(t, filepath.Join(dir, "plain"), "#!/bin/sh\n", 0o644)
	bare := write(t, filepath.Join(dir, "bare"), "echo hi\n", 0o755)
	lost := write(t, filepath.Join(dir, "lost"), "#!/no/such/interpreter\n", 0o755)
	path := map[string]string{"PATH": dir + ":/nowhere"}
	for _, row := range []struct {
		name   string
		spec   proc.Spec
		reason proc.Reason
		want   []string // parts of the text
	}{
		{
			"no such command",
			proc.Spec{Command: "no-such-cmd", Env: path},
			proc.NotFound,
			[]string{`"no-such-cmd"`, dir + ":/nowhere", "PATH", "full path"},
		},
		{"no such file", proc.Spec{Command: "./no-such", Dir: dir}, proc.NotFound, []string{filepath.Join(dir, "no-such")}},
		{"no x bit", proc.Spec{Command: plain}, proc.NotExecutable, []string{plain, "not an executable"}},
		{"no x bit in PATH", proc.Spec{Command: "plain", Env: path}, proc.NotExecutable, []string{plain}},
		{"a directory", proc.Spec{Command: dir}, proc.NotExecutable, []string{dir}},
		{
			"no such directory",
			proc.Spec{Command: "sh", Dir: "/no/such/dir"},
			proc.NoDir,
			[]string{`working directory "/no/such/dir"`},
		},
		{"a file for a directory", proc.Spec{Command: "sh", Dir: plain}, proc.NoDir, []string{plain}},
		{"no #! line", proc.Spec{Command: bare}, proc.NoFormat, []string{bare, "#!"}},
		{"no such interpreter", proc.Spec{Command: lost}, proc.NoInterpreter, []string{lost, "interpreter"}},
		{"no command", proc.Spec{}, proc.NotFound, []string{"no command"}},
		{
			"an empty PATH",
			proc.Spec{Command: "sh", Env: map[string]string{"PATH": ""}},
			proc.NotFound,
			[]string{"PATH is empty"},
		},
		{"NUL", proc.Spec{Command: "sh", Args: []string{"\x00"}}, proc.Failed, []string{"invalid argument"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			proctest.NoLeaks(t)
			p, err := proc.Start(row.spec)
			var fail *proc.StartError
			if p != nil || !errors.As(err, &fail) || fail.Reason != row.reason {
				t.Fatalf("got %v, %v", p, err)
			}
			for _, part := range row.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has more than one line", err)
			}
		})
	}
}

func TestACommandIsFoundWhereItIsLookedUp(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "demo-server"), "#!/bin/sh\necho found\n", 0o755)
	t.Chdir(dir)
	for _, row := range []struct {
		name  string
		spec  proc.Spec
		found bool
	}{
		{"in the PATH configured", proc.Spec{Command: "demo-server", Env: map[string]string{"PATH": "/none:" + dir}}, true},
		{"in our own PATH", proc.Spec{Command: "demo-server"}, false},
		{"relative to the configured directory", proc.Spec{Command: "./demo-server", Dir: dir}, true},
		{"relative to another directory", proc.Spec{Command: "./demo-server", Dir: "/"}, false},
		{"not through an empty entry", proc.Spec{Command: "demo-server", Env: map[string]string{"PATH": "::"}}, false},
		{"not through a relative entry", proc.Spec{Command: "demo-server", Env: map[string]string{"PATH": ".:./"}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if !row.found {
				if p, err := proc.Start(row.spec); err == nil {
					p.Stdin.Close()
					t.Fatal("found")
				}
				return
			}
			if line := readLine(t, start(t, row.spec)); line != "found" {
				t.Errorf("got %q", line)
			}
		})
	}
}

func TestTheEnvironmentIsInheritedAsTold(t *testing.T) {
	t.Setenv("DEMO_X", "1")
	t.Setenv("HTTPS_PROXY", "p")
	t.Setenv("LC_DEMO", "l")
	t.Setenv("DEMO_EMPTY", "")
	own := map[string]string{role: "environment", "GORACE": "atexit_sleep_ms=0"}
	for _, row := range []struct {
		name    string
		inherit proc.Inherit
		pass    []string
		env     map[string]string
		with    []string
		without []string
	}{
		{"all", proc.InheritAll, nil, nil, []string{"DEMO_X=1", "HTTPS_PROXY=p", "LC_DEMO=l", "DEMO_EMPTY="}, nil},
		{
			"minimal", proc.InheritMinimal, nil, nil,
			[]string{"LC_DEMO=l", "PATH=" + os.Getenv("PATH")},
			[]string{"DEMO_X", "HTTPS_PROXY"},
		},
		{
			"minimal and a list", proc.InheritMinimal,
			[]string{"DEMO_X", "HTTPS_*"},
			nil,
			[]string{"DEMO_X=1", "HTTPS_PROXY=p"},
			[]string{"DEMO_EMPTY"},
		},
		{
			"configured values win", proc.InheritAll, nil,
			map[string]string{"DEMO_X": "2", "HTTPS_PROXY": ""},
			[]string{"DEMO_X=2", "HTTPS_PROXY="},
			nil,
		},
		{
			"configured values win over the list", proc.InheritMinimal,
			[]string{"DEMO_X"},
			map[string]string{"DEMO_X": ""},
			[]string{"DEMO_X="},
			nil,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := proc.Spec{Command: os.Args[0], Inherit: row.inherit, Pass: row.pass, Env: map[string]string{}}
			for _, env := range []map[string]string{own, row.env} {
				maps.Copy(spec.Env, env)
			}
			p := start(t, spec)
			out, err := io.ReadAll(p.Stdout)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(strings.TrimSpace(string(out)), "\n")
			for name := range row.env {
				names := slices.DeleteFunc(slices.Clone(got), func(entry string) bool { return !strings.HasPrefix(entry, name+"=") })
				if len(names) != 1 {
					t.Errorf("passed were %q", names)
				}
			}
			for _, want := range row.with {
				if !slices.Contains(got, want) {
					t.Errorf("%s is missing", want)
				}
			}
			for _, name := range row.without {
				if slices.ContainsFunc(got, func(entry string) bool { return strings.HasPrefix(entry, name+"=") }) {
					t.Errorf("%s was passed", name)
				}
			}
		})
	}
}

func TestTheMinimalEnvironmentIsListed(t *testing.T) {
	if got := proc.Minimal(); !slices.Contains(got, "PATH") || slices.Contains(got, "HTTPS_PROXY") {
		t.Errorf("got %q", got)
	}
}

func TestArgumentsAndDirectoryArriveUnchanged(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-c", `pwd; printf '%s|' "$@"; echo`, "sh", "a b", `"&%PATH%`, "", "✅"}
	p := start(t, proc.Spec{Command: "sh", Args: args, Dir: dir})
	if got := readLine(t, p); got != dir {
		t.Errorf("runs in %q, want %q", got, dir)
	}
	if got, want := readLine(t, p), `a b|"&%PATH%||✅|`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
