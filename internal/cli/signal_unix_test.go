//go:build unix

package cli_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpwire/internal/proc/proctest"
)

// A run is the program at work. Its server is started through a shell that tells its process id.
type run struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *bufio.Scanner
	lines  []string
	pid    string // the file that names the server's process id
}

// start runs the program with args, on the server that a shell script is or starts.
func start(t *testing.T, script string, args ...string) *run {
	t.Helper()
	r := prepare(t, script, args...)
	r.start()
	return r
}

func prepare(t *testing.T, script string, args ...string) *run {
	t.Helper()
	dir := t.TempDir()
	r := &run{t: t, pid: filepath.Join(dir, "pid")}
	wrapper := filepath.Join(dir, "server")
	text := "#!/bin/sh\necho $$ >" + r.pid + "\n" + script + "\n"
	if err := os.WriteFile(wrapper, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command(os.Args[0], append(args, "--", wrapper)...)
	r.cmd.Env = append(os.Environ(), runVariable+"=1", raceOptions, "PROGRAM="+os.Args[0],
		"XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
	return r
}

func (r *run) start() {
	r.t.Helper()
	pipe, err := r.cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	r.stderr = bufio.NewScanner(pipe)
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = r.cmd.Process.Kill() })
}

// await reads standard error up to a line that holds text.
func (r *run) await(text string) {
	r.t.Helper()
	for r.stderr.Scan() {
		r.lines = append(r.lines, r.stderr.Text())
		if strings.Contains(r.stderr.Text(), text) {
			return
		}
	}
	r.t.Fatalf("no line with %q in %q", text, r.lines)
}

func (r *run) signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

// ends waits for the end, which must come with the exit code within limit of now and leave no server behind.
func (r *run) ends(code int, limit time.Duration) {
	r.t.Helper()
	begin := time.Now()
	for r.stderr.Scan() {
		r.lines = append(r.lines, r.stderr.Text())
	}
	err := r.cmd.Wait()
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		r.t.Errorf("exit code %d (%v), want %d; %q", got, err, code, r.lines)
	}
	if took := time.Since(begin); took > limit {
		r.t.Errorf("it took %v, want at most %v", took, limit)
	}
	text, err := os.ReadFile(r.pid)
	if err != nil {
		r.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		r.t.Errorf("the server is still there: %v", err)
	}
	if !proctest.GroupGone(pid) {
		r.t.Error("something that the server has started is still there")
	}
}

const demoScript = `exec "$PROGRAM" demo-server`

func TestASignalEndsTheCallAndTheServerInOrder(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			r := start(t, demoScript, "call", "countdown", "seconds=30", "steps=3000", "-v")
			r.await("progress of countdown: 2/3000")
			r.signal(s)
			r.ends(130, 2*time.Second)
			if last := r.lines[len(r.lines)-1]; last != "mcpwire: interrupted" {
				t.Errorf("the last line is %q", last)
			}
		})
	}
}

func TestASecondSignalHurriesTheShutdown(t *testing.T) {
	t.Parallel()
	// The server heeds neither the end of its input nor SIGTERM.
	r := start(t, `trap "" TERM; "$PROGRAM" demo-server; exec sleep 60`,
		"call", "countdown", "seconds=30", "steps=3000", "-v")
	r.await("progress of countdown: 2/3000")
	r.signal(syscall.SIGINT)
	r.await("shutting down")
	r.signal(syscall.SIGINT)
	r.ends(130, 1500*time.Millisecond)
}

func TestASignalEndsAServerBehindAWrapperThatIgnoresTheEndOfItsInput(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			r := start(t, `exec 3<&0; ("$PROGRAM" demo-server; exec sleep 60) <&3 & wait`,
				"call", "countdown", "seconds=30", "steps=3000", "-v")
			r.await("progress of countdown: 2/3000")
			r.signal(s)
			r.ends(130, 5*time.Second)
		})
	}
}

func TestASignalDuringConnectEndsIt(t *testing.T) {
	t.Parallel()
	r := start(t, `echo ready >&2; exec sleep 30`, "ping", "-v")
	r.await("ready")
	r.signal(syscall.SIGINT)
	r.ends(130, 5*time.Second)
}

func TestAClosedStandardOutputLeavesNoServerBehind(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	defer func() { _ = writer.Close() }()
	r := prepare(t, demoScript, "tools")
	r.cmd.Stdout = writer
	r.start()
	r.ends(1, 5*time.Second)
	if r.lines != nil {
		t.Errorf("got %q on standard error", r.lines)
	}
}

func TestAFullDiskIsAFailure(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = full.Close() }()
	r := prepare(t, demoScript, "tools")
	r.cmd.Stdout = full
	r.start()
	r.ends(1, 5*time.Second)
	if text := strings.Join(r.lines, "\n"); !strings.HasPrefix(text, "mcpwire: cannot write to standard output: ") {
		t.Errorf("got %q", text)
	}
}

func TestASignalEndsAnExaminationInOrder(t *testing.T) {
	r := start(t, `echo up >&2; exec cat >/dev/null`, "doctor", "-v")
	r.await("up")
	r.signal(syscall.SIGINT)
	r.ends(130, 3*time.Second)
}
