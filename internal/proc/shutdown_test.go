//go:build unix

package proc_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpwire/internal/proc"
	"mcpwire/internal/proc/proctest"
)

func TestAProcessThatEndsWithItsInputGetsNoSignal(t *testing.T) {
	p := shell(t, `trap 'exit 9' TERM; echo ready; cat; sleep 1; exit 3`)
	if took := shutdown(t, p); took < time.Second || took > 1900*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if got := p.State(); got != (proc.State{Code: 3}) {
		t.Errorf("got %+v", got)
	}
}

func TestAProcessThatIgnoresTheEndOfItsInputIsAskedToEnd(t *testing.T) {
	p := shell(t, `trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done`)
	if took := shutdown(t, p); took < 2*time.Second || took > 4*time.Second {
		t.Errorf("took %v", took)
	}
	if got := p.State(); got != (proc.State{Code: 9}) {
		t.Errorf("got %+v", got)
	}
}

func TestAProcessThatIgnoresEverythingIsKilled(t *testing.T) {
	p := shell(t, `trap '' TERM; echo ready; while :; do sleep 0.05; done`)
	if took := shutdown(t, p); took < 4*time.Second || took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if got := p.State(); got != (proc.State{Code: -1, Signal: "SIGKILL"}) {
		t.Errorf("got %+v", got)
	}
}

func TestAProcessThatDiesTooLateIsReaped(t *testing.T) {
	proctest.NoLeaks(t)
	defer proc.SetKillWait(-1)()
	p, err := proc.Start(proc.Spec{
		Command: "sh", Args: []string{"-c", `trap '' TERM; while :; do sleep 0.05; done`}, StdinWait: -1, TermWait: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Shutdown(context.Background()) // ErrStuck, unless it was very quick
	p.Stdout.Close()
	p.Stderr.Close()
	select {
	case <-p.Exited():
	case <-time.After(5 * time.Second):
		t.Error("it is still not reaped")
	}
}

func TestTheWaitsAreConfigurable(t *testing.T) {
	p := start(t, proc.Spec{
		Command: "sh", Args: []string{"-c", `trap '' TERM; echo ready; while :; do sleep 0.05; done`},
		StdinWait: -1, TermWait: 10 * time.Millisecond,
	})
	readLine(t, p)
	if took := shutdown(t, p); took > time.Second {
		t.Errorf("took %v", took)
	}
}

func TestADoneContextSkipsTheWaits(t *testing.T) {
	p := shell(t, `trap '' TERM; echo ready; while :; do sleep 0.05; done`)
	var all sync.WaitGroup
	for i := range 8 { // all but one have time
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i == 3 {
				cancel()
			}
			begin := time.Now()
			if err := p.Shutdown(ctx); err != nil || time.Since(begin) > 1500*time.Millisecond {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
		})
	}
	all.Wait()
}

func TestAServerBehindAWrapperHasTimeToCleanUp(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	// The wrapper ends with its input; the server behind it needs half a second more.
	p := shell(t, `exec 3<&0; (trap 'exit 1' TERM; cat <&3 >/dev/null; sleep 0.5; echo clean >`+done+`) & echo ready; cat`)
	if took := shutdown(t, p); took < 500*time.Millisecond || took > 1900*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if _, err := os.Stat(done); err != nil {
		t.Error("the server did not get to clean up")
	}
}

func TestAStubbornServerBehindAWrapperIsKilled(t *testing.T) {
	p := shell(t, `(trap '' TERM; while :; do sleep 0.05; done) & echo ready; wait`)
	if took := shutdown(t, p); took < 4*time.Second || took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestWhatALeaderLeavesBehindIsAskedToEnd(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	p := shell(t, `(trap 'echo asked >`+done+`; exit' TERM; echo ready; while :; do sleep 0.05; done) & read x; exit 7`)
	if _, err := p.Stdin.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if got := p.State(); got != (proc.State{Code: 7}) {
		t.Errorf("got %+v", got)
	}
	if !proctest.Within(5*time.Second, func() bool { return proctest.GroupGone(p.Pid()) }) {
		t.Error("the rest of the group is still there")
	}
	if _, err := os.Stat(done); err != nil {
		t.Error("the rest of the group was not asked")
	}
}

func TestWhatALeaderLeavesBehindIsKilledIfItDoesNotListen(t *testing.T) {
	p := start(t, proc.Spec{
		Command: "sh", Args: []string{"-c", `(trap '' TERM; echo ready; while :; do sleep 0.05; done) & read x`},
		TermWait: 100 * time.Millisecond,
	})
	readLine(t, p)
	if _, err := p.Stdin.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if !proctest.Within(5*time.Second, func() bool { return proctest.GroupGone(p.Pid()) }) {
		t.Error("the rest of the group is still there")
	}
}

func TestTheSignalThatEndedAProcessIsNamed(t *testing.T) {
	p := shell(t, `echo ready; kill -SEGV $$`)
	<-p.Exited()
	if got := p.State(); got != (proc.State{Code: -1, Signal: "SIGSEGV"}) {
		t.Errorf("got %+v", got)
	}
}

func TestProcessesThatNobodyReapsAreNotWaitedFor(t *testing.T) {
	p := start(t, proc.Spec{Command: os.Args[0], Env: map[string]string{role: "zombie"}})
	nurse, err := strconv.Atoi(readLine(t, p))
	if err != nil {
		t.Fatal(err)
	}
	took := shutdown(t, p)
	if syscall.Kill(-p.Pid(), 0) != nil {
		t.Error("there was no zombie")
	}
	if took > 1900*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if err := syscall.Kill(nurse, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestOurEndsCanBeClosedWhileSomebodyReads(t *testing.T) {
	p := shell(t, `echo ready; cat >/dev/null`)
	ended := make(chan error)
	go func() {
		_, err := p.Stdout.Read(make([]byte, 1))
		ended <- err
	}()
	p.Stdout.Close()
	if err := <-ended; err == nil {
		t.Error("the Read did not fail")
	}
}

func TestItIsToldWhatAnEndTook(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		input        bool // is closed by the shutdown while the process waits for it; else it ends by itself
		want         proc.End
		least        time.Duration
	}{
		{
			"with its input", `echo ready; read x; exit 3`, true,
			proc.End{State: proc.State{Code: 3}, After: proc.StepInput},
			0,
		},
		{
			"when it is asked", `echo ready; while :; do sleep 0.02; done`, true,
			proc.End{State: proc.State{Code: -1, Signal: "SIGTERM"}, After: proc.StepTerm},
			300 * time.Millisecond,
		},
		{
			"when it is killed", `trap '' TERM; echo ready; while :; do sleep 0.02; done`, true,
			proc.End{State: proc.State{Code: -1, Signal: "SIGKILL"}, After: proc.StepKill},
			600 * time.Millisecond,
		},
		{
			"with a child that stays", `(while :; do sleep 0.02; done) & echo ready; read x`, true,
			proc.End{State: proc.State{Code: 1}, After: proc.StepInput, Left: true},
			0,
		},
		{"by itself", `echo ready; exit 4`, false, proc.End{State: proc.State{Code: 4}}, 0},
		{
			"by itself, with a child that stays", `(while :; do sleep 0.02; done) & echo ready; exit 5`, false,
			proc.End{State: proc.State{Code: 5}, Left: true},
			0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, proc.Spec{
				Command: "sh", Args: []string{"-c", tt.script},
				StdinWait: 300 * time.Millisecond, TermWait: 300 * time.Millisecond,
			})
			readLine(t, p)
			if _, ok := p.End(); ok && tt.input {
				t.Error("it is told before the end")
			}
			if !tt.input {
				<-p.Exited()
			}
			shutdown(t, p)
			got, ok := p.End()
			took := got.Took
			if got.Took = 0; !ok || got != tt.want || took < tt.least || took > tt.least+250*time.Millisecond {
				t.Errorf("got %+v, %v after %v", got, ok, took)
			}
			if !filepath.IsAbs(p.Path()) || filepath.Base(p.Path()) != "sh" {
				t.Errorf("started is %q", p.Path())
			}
		})
	}
}
