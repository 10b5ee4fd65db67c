package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// batchOf prepares a batch whose second line hangs. asked returns what the server was asked up to now.
func batchOf(t *testing.T) (start func() *exec.Cmd, asked func() string, folder string) {
	t.Helper()
	program, err := exec.LookPath("mcpwire")
	if err != nil {
		t.Fatal(err)
	}
	_, folder = command(t)
	write(t, filepath.Join(folder, "lines.jsonl"), `{"n":1}`+"\n"+`{"do":"hang"}`+"\n"+`{"n":3}`+"\n")
	start = func() *exec.Cmd {
		cmd, _ := command(t, "call", "run", "--each", "lines.jsonl", "--results", "r.jsonl", "--", "tally", "asked")
		cmd.Path, cmd.Args[0], cmd.Dir = program, program, folder
		cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, runVariable+"=") })
		return cmd
	}
	return start, func() string {
		text, _ := os.ReadFile(filepath.Join(folder, "asked")) // before it is there nothing was asked
		return string(text)
	}, folder
}

func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	for over := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(over) {
			t.Fatal("it does not happen")
		}
	}
}

func hangs(asked func() string) func() bool {
	return func() bool { return strings.Contains(asked(), "hang") }
}

// goesOn runs the same command again, which calls nothing that may have run.
func goesOn(t *testing.T, start func() *exec.Cmd, asked func() string, folder, why string) {
	t.Helper()
	cmd := start()
	out, _ := cmd.CombinedOutput() // the exit code tells
	if code := cmd.ProcessState.ExitCode(); code != 5 || !strings.Contains(string(out), "1 of 3 lines failed: 2 done, 1 outcome_unknown") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if strings.Count(asked(), `"n":1`) != 1 || strings.Count(asked(), "hang") != 1 || strings.Count(asked(), `"n":3`) != 1 {
		t.Errorf("asked was\n%s", asked())
	}
	results, err := os.ReadFile(filepath.Join(folder, "r.jsonl"))
	if err != nil || !strings.Contains(string(results), `{"line":2,"error":{"kind":"outcome_unknown","message":"`+why) {
		t.Errorf("the results are %s, %v", results, err)
	}
}

func TestABatchThatIsInterruptedGoesOn(t *testing.T) {
	t.Parallel()
	start, asked, folder := batchOf(t)
	cmd := start()
	s := onScreen(t, cmd)
	waitUntil(t, hangs(asked))
	s.await("calling run ██████░░░░░░░░░░░░░░ 1/3")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	code, shown := s.ends()
	if code != 130 || !strings.Contains(shown, "the same command goes on with line 3") {
		t.Errorf("exit code %d: %q", code, shown)
	}
	if !strings.Contains(asked(), "cancelled") {
		t.Errorf("the server does not know: %s", asked())
	}
	goesOn(t, start, asked, folder, "interrupted during the call: the tool may have run")
}

func TestABatchThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	start, asked, folder := batchOf(t)
	cmd := start()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, hangs(asked))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	goesOn(t, start, asked, folder, "an earlier run was ended during the call: the tool may have run")
}

func TestTwoBatchesDoNotShareTheirResults(t *testing.T) {
	t.Parallel()
	start, asked, _ := batchOf(t)
	first := start()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, hangs(asked))
	second := start()
	out, _ := second.CombinedOutput() // the exit code tells
	if code := second.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "another run is writing ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
}
