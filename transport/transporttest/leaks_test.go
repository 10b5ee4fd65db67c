package transporttest_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"mcpwire/transport/transporttest"
)

// A trial is a test that may fail without failing the test that runs it.
type trial struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (t *trial) Helper()          {}
func (t *trial) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }
func (t *trial) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// end runs the clean-up and returns what was wrong.
func (t *trial) end() string {
	for _, f := range t.cleanups {
		f()
	}
	return strings.Join(t.errors, "\n")
}

func TestCheckLeaksIsSilentWhenNothingIsLeft(t *testing.T) {
	before := make(chan struct{})
	defer close(before)
	go func() { <-before }()
	trial := trial{TB: t}
	transporttest.CheckLeaks(&trial)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go close(done)
	<-done
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := trial.end(); got != "" {
		t.Error(got)
	}
}

func TestCheckLeaksTellsOfAGoroutine(t *testing.T) {
	trial := trial{TB: t}
	transporttest.CheckLeaks(&trial)
	stop := make(chan struct{})
	defer close(stop)
	go func() { <-stop }()
	if got := trial.end(); !strings.Contains(got, "goroutine") {
		t.Errorf("got %q", got)
	}
}

func TestCheckLeaksTellsOfAnOpenFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files are looked at on Linux only")
	}
	trial := trial{TB: t}
	transporttest.CheckLeaks(&trial)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	got := trial.end()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(got, "left behind: open file") || !strings.Contains(got, os.DevNull) {
		t.Errorf("got %q", got)
	}
}

func TestCheckLeaksTellsOfAProcessThatNobodyWaitedFor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked at on Linux only")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	trial := trial{TB: t}
	transporttest.CheckLeaks(&trial)
	child, err := os.StartProcess(self, []string{self, "-test.run=^$"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	got := trial.end()
	if _, err := child.Wait(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(got, fmt.Sprintf("left behind: process %d ", child.Pid)) {
		t.Errorf("got %q", got)
	}
}
