package cli_test

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mcpwire/internal/cli"
)

// runVariable makes the test binary be the program.
const runVariable = "MCPWIRE_TEST_RUN"

// raceOptions spares the second that a race-checked process sleeps before it exits.
const raceOptions = "GORACE=atexit_sleep_ms=0"

// userFolders are the variables that name where the program keeps its files: tests have folders of their own.
var userFolders = []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}

func TestMain(m *testing.M) {
	if os.Getenv(runVariable) != "" {
		runProgram()
	}
	os.Setenv("MCPWIRE_KEYCHAIN", "off") // tests leave the user's alone
	testscript.Main(tests{m}, map[string]func(){
		"mcpwire": runProgram, "fakeserver": runFakeServer, "browser": runBrowser, "telltale": runTelltale,
		"askingserver": runAskingServer, "tally": runTally,
	})
}

// tests run with SIGHUP as it usually is, also under nohup: what is caught here is not ignored by the processes that are
// started.
type tests struct{ *testing.M }

func (m tests) Run() int {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	return m.M.Run()
}

func runProgram() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, raceOptions)
			for _, name := range userFolders {
				e.Setenv(name, filepath.Join(e.WorkDir, ".home", name))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}
