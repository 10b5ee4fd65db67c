//go:build unix

package cli_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpwire/internal/proc/proctest"
)

// three are servers that tell that they have started, and then never answer, the first two whatever they are told.
const three = `{"mcpServers": {
	"a": {"command": "sh", "args": ["-c", "trap '' TERM; echo $$$$ >a.pid; echo started >&2; sleep 60; sleep 60"]},
	"b": {"command": "sh", "args": ["-c", "trap '' TERM; echo $$$$ >b.pid; echo started >&2; sleep 60; sleep 60"]},
	"c": {"command": "sh", "args": ["-c", "echo $$$$ >c.pid; echo started >&2; exec sleep 60"]}
}}`

// interruptMany runs a command over three servers and gives it signals: the first when all have started, the second,
// if there is one, after a moment for the first. It returns how long it took from the first.
func interruptMany(t *testing.T, signals int, name string) time.Duration {
	t.Helper()
	cmd, folder := command(t, name, "--config", "three.json", "--verbose")
	write(t, filepath.Join(folder, "three.json"), three)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	lines := bufio.NewScanner(pipe)
	for started := map[string]bool{}; len(started) < 3 && lines.Scan(); {
		if name, ok := strings.CutSuffix(lines.Text(), "] started"); ok {
			started[name] = true
		}
	}
	begin := time.Now()
	_ = cmd.Process.Signal(syscall.SIGINT)
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
		if signals > 1 && strings.Contains(lines.Text(), "shutting down") {
			_ = cmd.Process.Signal(syscall.SIGINT)
		}
	}
	_ = cmd.Wait() // the exit code tells
	took := time.Since(begin)
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130; %q", code, rest)
	}
	if len(rest) == 0 || rest[len(rest)-1] != "mcpwire: interrupted" {
		t.Errorf("the last lines are %q", rest)
	}
	for _, name := range []string{"a", "b", "c"} {
		text, err := os.ReadFile(filepath.Join(folder, name+".pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if !proctest.GroupGone(pid) {
			t.Errorf("something of the server %s is still there", name)
		}
	}
	return took
}

func TestASignalClosesAllServersAtTheSameTime(t *testing.T) {
	for _, command := range []string{"servers", "tools"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			if took := interruptMany(t, 1, command); took > 8*time.Second {
				t.Errorf("it took %v: as long as one after the other", took)
			}
		})
	}
}

func TestASecondSignalKillsAllServersAtOnce(t *testing.T) {
	t.Parallel()
	if took := interruptMany(t, 2, "servers"); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}
