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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"mcpwire/internal/proc"
	"mcpwire/internal/proc/proctest"
)

// patience is how long what was killed may take to disappear.
const patience = 5 * time.Second

// Scripts of servers that go on after the end of their input.
const (
	deaf     = `echo ready; while :; do sleep 0.05; done`
	stubborn = `trap "" TERM; ` + deaf
	wrapped  = `exec 3<&0; (` + stubborn + `) <&3 & wait`
)

// Variables of the roles "host" and "reaper".
const (
	ledgerVariable = "PROC_TEST_LEDGER"
	scriptVariable = "PROC_TEST_SCRIPT"
)

// playHost starts a shell script, tells its process id, and ends as a line on its input says.
func playHost() {
	signal.Reset()
	p, err := proc.Start(proc.Spec{
		Command: "/bin/sh", Args: []string{"-c", os.Getenv(scriptVariable)},
		Env:    map[string]string{"DEMO_TOKEN": "s3cr3t"},
		Ledger: proc.LedgerIn(os.Getenv(ledgerVariable)),
	})
	if err != nil {
		panic(err)
	}
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		panic(err)
	}
	fmt.Println(p.Pid())
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	switch in.Text() {
	case "panic":
		go panic("as asked")
		select {}
	case "exit":
		os.Exit(0)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Shutdown(ctx); err != nil {
		panic(err)
	}
}

// playReaper reaps when it is told to, and tells what it has ended.
func playReaper() {
	bufio.NewScanner(os.Stdin).Scan()
	orphans, err := proc.LedgerIn(os.Getenv(ledgerVariable)).Reap(context.Background())
	fmt.Println(orphans, err)
}

// A host is a program that has started one server, and has recorded it.
type host struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	folder string // of the ledger
	server int
}

// startHost starts a host whose server is a script. Both are killed with the test.
func startHost(t *testing.T, folder, script string) *host {
	t.Helper()
	h := &host{t: t, cmd: exec.Command(os.Args[0]), folder: folder}
	h.cmd.Env = append(os.Environ(), role+"=host", ledgerVariable+"="+folder, scriptVariable+"="+script,
		"GORACE=atexit_sleep_ms=0")
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
		if h.server > 1 && !h.gone() {
			_ = syscall.Kill(-h.server, syscall.SIGKILL)
			h.awaitGone()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if h.server, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	return h
}

// orphaned starts a host and kills it.
func orphaned(t *testing.T, folder, script string) *host {
	t.Helper()
	h := startHost(t, folder, script)
	h.signal(syscall.SIGKILL)
	return h
}

func (h *host) signal(s syscall.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		h.t.Fatal(err)
	}
	_ = h.cmd.Wait()
}

func (h *host) say(text string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, text+"\n"); err != nil {
		h.t.Fatal(err)
	}
	_ = h.cmd.Wait()
}

// killLeader kills the process that the host has started, and nothing else.
func (h *host) killLeader() {
	h.t.Helper()
	if err := syscall.Kill(h.server, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	if !proctest.Within(patience, func() bool { return syscall.Kill(h.server, 0) != nil }) {
		h.t.Skip("the system's first process reaps nothing")
	}
}

// gone reports whether nothing of the server runs.
func (h *host) gone() bool { return proctest.GroupGone(h.server) }

func (h *host) awaitGone() {
	h.t.Helper()
	if !proctest.Within(patience, h.gone) {
		h.t.Error("processes of the group are left")
	}
}

// reap reaps once and wants it to go well.
func (h *host) reap() []proc.Orphan {
	h.t.Helper()
	orphans, err := proc.LedgerIn(h.folder).Reap(context.Background())
	if err != nil {
		h.t.Error(err)
	}
	return orphans
}

// isOrphan tells whether the server is all that was ended.
func (h *host) isOrphan(orphans []proc.Orphan) bool {
	return slices.Equal(orphans, []proc.Orphan{{Pid: h.server, Command: "sh"}})
}

// record returns the path of the server's record.
func (h *host) record() string {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.folder, strconv.Itoa(h.server)+"-*.json"))
	if err != nil || len(files) != 1 {
		h.t.Fatalf("the records are %q (error %v)", files, err)
	}
	return files[0]
}

// forge changes the server's record, and returns its new path.
func (h *host) forge(change func(record map[string]any)) string {
	h.t.Helper()
	old := h.record()
	text, err := os.ReadFile(old)
	if err != nil {
		h.t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(text, &record); err != nil {
		h.t.Fatal(err)
	}
	change(record)
	if text, err = json.Marshal(record); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Remove(old); err != nil {
		h.t.Fatal(err)
	}
	path := filepath.Join(h.folder, fmt.Sprintf("%v-%.0f.json", record["pid"], record["start"]))
	return write(h.t, path, string(text), 0o600)
}

// names lists a folder.
func names(t *testing.T, folder string) []string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		all = append(all, file.Name())
	}
	return all
}
