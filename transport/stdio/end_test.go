package stdio_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpwire/internal/proc/proctest"
	"mcpwire/transport"
	"mcpwire/transport/stdio"
)

func TestAServerThatFailsAtOnceSaysWhy(t *testing.T) {
	begin := time.Now()
	s := open(t, "fail")
	err := s.Exchange(context.Background(), s.request(1, ""))
	exit := exited(t, err)
	if exit.Code != 2 || exit.Command != os.Args[0] || exit.Stderr != "Error: DEMO_KEY is not set\n" {
		t.Errorf("got %+v", exit)
	}
	want := "transport closed: exit status 2 (" + os.Args[0] + "); stderr: Error: DEMO_KEY is not set"
	if !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %q, want %q at its end", err, want)
	}
	if !errors.Is(s.waitClosed(), s.Err()) {
		t.Errorf("Closed told %v, Err tells %v", s.waitClosed(), s.Err())
	}
	failed(t, s.Exchange(context.Background(), s.request(2, "")), transport.NotDelivered, transport.ErrClosed)
	failed(t, s.Send(context.Background(), s.request(3, "")), transport.NotDelivered, transport.ErrClosed)
	soon(t, begin, 3*time.Second)
}

func TestAnExitEndsAllCallsAtOnce(t *testing.T) {
	s := open(t, "hang up")
	begin := time.Now()
	var all sync.WaitGroup
	for id := range 3 {
		all.Go(func() {
			err := s.Exchange(context.Background(), s.request(id, ""))
			failed(t, err, transport.MaybeDelivered, transport.ErrClosed)
			if exit := exited(t, err); exit.Code != 3 || exit.Running {
				t.Errorf("got %+v", exit)
			}
		})
	}
	all.Wait()
	soon(t, begin, 2*time.Second)
}

func TestTheSignalThatEndedAServerIsNamed(t *testing.T) {
	s := open(t, "suicide")
	err := s.Exchange(context.Background(), s.request(1, ""))
	if exit := exited(t, err); exit.Signal != "SIGKILL" || !strings.Contains(err.Error(), "killed by SIGKILL") {
		t.Errorf("got %v", err)
	}
}

func TestAnExitThatFollowsTheEndOfOutputIsNamed(t *testing.T) {
	s := open(t, "exit soon")
	if exit := exited(t, s.Exchange(context.Background(), s.request(1, ""))); exit.Code != 4 || exit.Running {
		t.Errorf("got %+v", exit)
	}
}

func TestTheEndOfOutputEndsTheConnection(t *testing.T) {
	s := open(t, "EOF")
	err := s.Exchange(context.Background(), s.request(1, ""))
	failed(t, err, transport.MaybeDelivered, transport.ErrClosed)
	if exit := exited(t, err); !exit.Running || exit.Code != -1 {
		t.Errorf("got %+v", exit)
	}
	if err := s.waitClosed(); err == nil {
		t.Error("Closed told nothing")
	}
}

func TestNothingIsSentOnceTheOutputHasEnded(t *testing.T) {
	s := open(t, "mute")
	s.waitReady()
	time.Sleep(100 * time.Millisecond) // the end comes at once, but is told only when the exit has had time to explain it
	failed(t, s.Exchange(context.Background(), s.request(1, "")), transport.NotDelivered, transport.ErrClosed)
	failed(t, s.Send(context.Background(), s.request(2, "")), transport.NotDelivered, transport.ErrClosed)
}

func TestAWriteThatFailsIsAFaultAndEndsTheConnection(t *testing.T) {
	s := open(t, "close in")
	s.waitReady()
	begin := time.Now()
	err := s.Exchange(context.Background(), s.request(1, ""))
	failed(t, err, transport.NotDelivered, transport.ErrClosed)
	if exit := exited(t, err); !exit.Running || !strings.Contains(err.Error(), "the server closed its input") {
		t.Errorf("got %v", err)
	}
	soon(t, begin, 2*time.Second)
	_ = s.waitClosed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) != 1 || !errors.Is(s.faults[0], syscall.EPIPE) {
		t.Errorf("got %v", s.faults)
	}
}

func TestSomebodyWhoHoldsThePipesDelaysTheEndALittle(t *testing.T) {
	s := open(t, "holder")
	s.waitReady()
	s.mustAnswer(1, "")
	begin := time.Now()
	if exit := exited(t, s.Exchange(context.Background(), s.request(2, ""))); exit.Code != 5 {
		t.Errorf("got %+v", exit)
	}
	soon(t, begin, 1500*time.Millisecond)
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	soon(t, begin, 5*time.Second)
}

func TestCloseEndsCallsFirstAndTellsOnce(t *testing.T) {
	s := open(t, "stubborn", func(o *stdio.Options) { o.StdinWait, o.TermWait = time.Second, time.Second })
	s.waitReady()
	pending := make(chan error, 1)
	written := s.request(1, "")
	go func() { pending <- s.Exchange(context.Background(), written) }()
	if err := s.Send(context.Background(), &transport.Call{Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if len(s.closed) != 1 || s.closed[0] != nil {
				t.Errorf("Closed told %v", s.closed)
			}
		})
	}
	if err := <-pending; !errors.Is(err, transport.ErrClosed) {
		t.Errorf("got %v", err)
	}
	soon(t, begin, 900*time.Millisecond)
	all.Wait()
	if took := time.Since(begin); took < 2*time.Second {
		t.Errorf("took %v only", took)
	}
	failed(t, s.Exchange(context.Background(), s.request(2, "")), transport.NotDelivered, transport.ErrClosed)
}

func TestAServerMayCleanUpWhenAskedToEnd(t *testing.T) {
	var heard collector
	s := open(t, "on TERM", func(o *stdio.Options) {
		o.StdinWait, o.OnStderr = 50*time.Millisecond, heard.add
	})
	s.waitReady()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if got := heard.all(); len(got) != 1 || got[0] != "cleaned up" {
		t.Errorf("heard %q", got)
	}
}

func TestTheServerBehindAWrapperGoesToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	s := open(t, "stubborn", func(o *stdio.Options) {
		o.Args = []string{"-c", `exec 3<&0; "$0" <&3 & echo $! >` + file + `; wait`, o.Command}
		o.Command, o.StdinWait, o.TermWait = "sh", 50*time.Millisecond, 50*time.Millisecond
	})
	s.waitReady()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		return err == nil && !strings.Contains(string(stat), ") Z ")
	}
	if !proctest.Within(time.Second, func() bool { return !running() }) {
		t.Error("the server still runs")
	}
}

func TestTenStubbornServersAreClosedTogether(t *testing.T) {
	servers := make([]*server, 10)
	for i := range servers {
		servers[i] = open(t, "stubborn")
	}
	for _, s := range servers {
		s.waitReady()
	}
	begin := time.Now()
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(func() {
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	soon(t, begin, 6*time.Second)
}
