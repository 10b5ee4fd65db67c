//go:build unix

package proc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpwire/internal/proc"
	"mcpwire/internal/proc/proctest"
)

// role is the variable that makes the test binary play another program.
const role = "PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		if signal.Ignored(syscall.SIGHUP) { // as under nohup; what is caught is not ignored by processes that we start
			signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		}
		os.Exit(m.Run())
	case "environment":
		fmt.Fprintln(os.Stdout, strings.Join(os.Environ(), "\n"))
	case "zombie":
		startNurse()
	case "nurse":
		nurseZombie()
	case "host":
		playHost()
	case "reaper":
		playReaper()
	}
}

// startNurse leaves the group with nothing but a zombie in it, whose parent is outside of the group.
func startNurse() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{role + "=nurse", "GROUP=" + strconv.Itoa(os.Getpid())}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	os.Stdout.WriteString(line)
	_, _ = io.ReadAll(os.Stdin)
}

func nurseZombie() {
	group, _ := strconv.Atoi(os.Getenv("GROUP"))
	sys := &syscall.SysProcAttr{Setpgid: true, Pgid: group}
	if _, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: sys}); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, os.Getpid())
	time.Sleep(time.Minute)
}

// start starts a process that is shut down with the test, whose end then checks for leaks.
func start(t *testing.T, spec proc.Spec) *proc.Process {
	t.Helper()
	proctest.NoLeaks(t)
	p, err := proc.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		p.Stdout.Close()
		p.Stderr.Close()
		if !proctest.Within(5*time.Second, func() bool { return proctest.GroupGone(p.Pid()) }) {
			t.Error("processes of the group are left")
		}
	})
	return p
}

// shell starts a script and waits until it has written a line.
func shell(t *testing.T, script string) *proc.Process {
	t.Helper()
	p := start(t, proc.Spec{Command: "sh", Args: []string{"-c", script}})
	readLine(t, p)
	return p
}

func readLine(t *testing.T, p *proc.Process) string {
	t.Helper()
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := p.Stdout.Read(b); err != nil {
			t.Fatalf("after %q: %v", line, err)
		}
		if b[0] == '\n' {
			return string(line)
		}
		line = append(line, b[0])
	}
}

func shutdown(t *testing.T, p *proc.Process) time.Duration {
	t.Helper()
	begin := time.Now()
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	return time.Since(begin)
}
