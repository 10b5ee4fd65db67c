//go:build unix

package leaks_test

import (
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpwire/internal/leaks"
)

// start starts a process that lives until its input ends, which is the end of the test.
func start(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it may have been ended
	})
	return cmd
}

func TestAChildThatWasThereIsNotLeftBehindWhateverItDoes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked at on Linux only")
	}
	cmd := start(t)
	before := leaks.Note()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // the test has failed without
	for end := time.Now().Add(5 * time.Second); !stopped(cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not stop")
		}
	}
	if left := before.Left(0); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	another := start(t)
	if left := strings.Join(before.Left(0), "; "); !strings.Contains(left, "(cat, state") {
		t.Errorf("process %d is not noticed: %s", another.Process.Pid, left)
	}
}

func stopped(pid int) bool {
	for _, child := range leaks.Children() {
		if child.PID == pid {
			return child.State == "T"
		}
	}
	return false
}

func TestAProcessRunsUntilItHasEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked at on Linux only")
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	_, running := leaks.Running(pid)
	if !running {
		t.Error("it is not seen")
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, running := leaks.Running(pid); running {
		t.Error("it is seen when it has gone")
	}
}
