//go:build unix

package cli_test

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"mcpwire/internal/cli"
	"mcpwire/manager"
	"mcpwire/mcp"
)

// A watcher is a run of the command watch with --output json.
type watcher struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr strings.Builder
}

func watchJSON(t *testing.T, args ...string) *watcher {
	t.Helper()
	w := &watcher{t: t}
	w.cmd, _ = command(t, append([]string{"watch", "--output", "json"}, args...)...)
	w.cmd.Stderr = &w.stderr
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	w.lines = bufio.NewScanner(stdout)
	return w
}

// A watchedLine is what the tests look at of a line.
type watchedLine struct {
	Kind  string   `json:"kind"`
	Added []string `json:"added"`
	Error string   `json:"error"`
}

// next reads lines up to one of a kind.
func (w *watcher) next(kind string) (line watchedLine) {
	w.t.Helper()
	for w.lines.Scan() {
		line = watchedLine{}
		if err := mcp.Decode(json.RawMessage(w.lines.Bytes()), &line); err != nil {
			w.t.Fatal(err)
		}
		if line.Kind == kind {
			return line
		}
	}
	w.t.Fatalf("no line of the kind %s; %s", kind, w.stderr.String())
	return line
}

// What one client of a server changes another one is told of, until a signal ends it in order.
func TestAWatchTellsWhatOthersChangeUntilItIsInterrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			url := serveDemo(t)
			w := watchJSON(t, url, "--resource", "demo://clock") // which comes after the lists have been read
			w.next("subscribed")
			code, _, stderr := program(t, "call", url, "learn", "name=wave")
			if code != 0 {
				t.Fatal(stderr)
			}
			if line := w.next("tools"); len(line.Added) != 1 || line.Added[0] != "wave" {
				t.Errorf("got %+v", line)
			}
			if err := w.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			for w.lines.Scan() { // what it says until then is of no interest
			}
			_ = w.cmd.Wait() // the exit code tells
			if code := w.cmd.ProcessState.ExitCode(); code != 130 || w.stderr.String() != "mcpwire: interrupted\n" {
				t.Errorf("exit code %d, %q", code, w.stderr.String())
			}
		})
	}
}

func TestAWatchThatEndsByItselfTellsWhoIsNotConnected(t *testing.T) {
	all := func(states ...manager.State) *manager.Snapshot {
		s := &manager.Snapshot{}
		for _, state := range states {
			s.Servers = append(s.Servers, manager.Status{State: state})
		}
		return s
	}
	for _, row := range []struct {
		snapshot *manager.Snapshot
		lost     int
		want     int
	}{
		{all(manager.Ready, manager.Ready), 0, 0},
		{all(manager.Ready, manager.Waiting), 0, 5},
		{all(manager.Ready), 1, 5},
		{all(manager.Waiting, manager.Failed), 0, 1},
		{all(manager.NeedsLogin), 0, 4},
	} {
		if got := cli.WatchOutcome(row.snapshot, row.lost); got != row.want {
			t.Errorf("%+v: exit code %d, want %d", row, got, row.want)
		}
	}
}
