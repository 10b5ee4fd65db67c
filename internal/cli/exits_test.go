package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// passed are the variables of a script that the program gets.
var passed = append([]string{"PATH", "HOME", "SCRIPT_SECRET", "FAKE_SERVER", "BROWSER", "COLUMNS"}, userFolders...)

// exits runs a command and checks its exit code: "exits CODE mcpwire ARG...". What it wrote is left in the files out
// and err, for grep and cmp. The file in, where there is one, is its standard input.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	program, err := exec.LookPath(args[1])
	ts.Check(err)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program, args[2:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), &stdout, &stderr
	cmd.Env = append(os.Environ(), raceOptions)
	for _, name := range passed {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	if input, err := os.ReadFile(ts.MkAbs("in")); err == nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	err = cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), stdout.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), stderr.Bytes(), 0o600))
	ts.Logf("[stdout]\n%s[stderr]\n%s", stdout.String(), stderr.String())
	if code := cmd.ProcessState.ExitCode(); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}
