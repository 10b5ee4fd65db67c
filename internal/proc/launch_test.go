//go:build unix

package proc_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpwire/internal/proc"
	"mcpwire/internal/proc/proctest"
)

// endOf waits for the end of a launched program.
func endOf(t *testing.T, ended <-chan proc.State) proc.State {
	t.Helper()
	select {
	case state := <-ended:
		return state
	case <-time.After(10 * time.Second):
		t.Fatal("its end is not told")
		return proc.State{}
	}
}

func TestALaunchedProgramHasAnInputAndOutputThatLeadNowhere(t *testing.T) {
	proctest.NoLeaks(t)
	ended, err := proc.Launch(proc.Spec{Command: "sh", Args: []string{"-c", `
		echo out; echo err >&2; read x && exit 3
		[ "$1" = "a b" ] && [ "$DEMO" = 1 ] && exit 7`, "sh", "a b"}, Env: map[string]string{"DEMO": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if state := endOf(t, ended); state != (proc.State{Code: 7}) {
		t.Errorf("it ended with %+v", state)
	}
}

func TestALaunchedProgramHasASessionOfItsOwn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("sessions are looked at on Linux only")
	}
	proctest.NoLeaks(t)
	file := filepath.Join(t.TempDir(), "stat")
	ended, err := proc.Launch(proc.Spec{Command: "sh", Args: []string{"-c", `cat /proc/$$/stat >"$1"; kill -9 $$`, "sh", file}})
	if err != nil {
		t.Fatal(err)
	}
	if state := endOf(t, ended); state != (proc.State{Code: -1, Signal: "SIGKILL"}) {
		t.Errorf("it ended with %+v", state)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text)) // pid (sh) state ppid pgrp session tty
	if len(fields) < 7 || fields[0] != fields[4] || fields[0] != fields[5] || fields[6] != "0" {
		t.Errorf("it leads neither a group nor a session, or has a terminal: %q", fields)
	}
}

func TestAProgramThatCannotBeLaunchedIsExplained(t *testing.T) {
	proctest.NoLeaks(t)
	for _, row := range []struct {
		spec   proc.Spec
		reason proc.Reason
	}{
		{proc.Spec{Command: "no-such-cmd"}, proc.NotFound},
		{proc.Spec{Command: "sh", Args: []string{"\x00"}}, proc.Failed},
	} {
		ended, err := proc.Launch(row.spec)
		fail, ok := errors.AsType[*proc.StartError](err)
		if ended != nil || !ok || fail.Reason != row.reason {
			t.Errorf("%v: got %v", row.spec, err)
		}
	}
}
