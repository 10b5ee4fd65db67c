package proc_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpwire/internal/proc"
	"mcpwire/internal/proc/proctest"
)

func TestWhatAHostLeavesBehindIsEndedByTheNext(t *testing.T) {
	signalled := func(s syscall.Signal) func(*host) { return func(h *host) { h.signal(s) } }
	for _, row := range []struct {
		name   string
		script string
		end    func(*host)
	}{
		{"killed, with a server behind a wrapper", wrapped, signalled(syscall.SIGKILL)},
		{"killed, and waiting to be reaped itself", deaf, func(h *host) {
			if err := h.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			proctest.Within(patience, func() bool { return proctest.GroupGone(h.cmd.Process.Pid) })
		}},
		{"ended by SIGINT", deaf, signalled(syscall.SIGINT)},
		{"ended by SIGTERM", deaf, signalled(syscall.SIGTERM)},
		{"ended by SIGHUP", deaf, signalled(syscall.SIGHUP)},
		{"ended by a panic", deaf, func(h *host) { h.say("panic") }},
		{"ended without a shutdown", deaf, func(h *host) { h.say("exit") }},
	} {
		t.Run(row.name, func(t *testing.T) {
			proctest.NoLeaks(t)
			h := startHost(t, filepath.Join(t.TempDir(), "ledger"), row.script)
			row.end(h)
			if h.gone() {
				t.Fatal("nothing is left behind")
			}
			begin := time.Now()
			if orphans := h.reap(); !h.isOrphan(orphans) {
				t.Errorf("ended %v", orphans)
			}
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("took %v", took)
			}
			if !h.gone() {
				t.Error("processes of the group are left")
			}
			if left := names(t, h.folder); len(left) > 0 {
				t.Errorf("records are left: %q", left)
			}
		})
	}
}

func TestWhatAHostThatRunsHasStartedIsLeftAlone(t *testing.T) {
	proctest.NoLeaks(t)
	folder := t.TempDir()
	running := startHost(t, folder, deaf)
	killed := orphaned(t, folder, deaf)
	if orphans := killed.reap(); !killed.isOrphan(orphans) {
		t.Errorf("ended %v", orphans)
	}
	if running.gone() || len(names(t, folder)) != 1 {
		t.Errorf("it was touched; the records are %q", names(t, folder))
	}
	running.say("shut down")
	if !running.gone() || len(names(t, folder)) != 0 {
		t.Errorf("after the shutdown there are records: %q", names(t, folder))
	}
}

func TestWhatIsLeftOfAGroupWithoutItsLeaderIsEnded(t *testing.T) {
	proctest.NoLeaks(t)
	h := orphaned(t, t.TempDir(), wrapped)
	h.killLeader()
	if h.gone() {
		t.Fatal("nothing is left")
	}
	if orphans := h.reap(); !h.isOrphan(orphans) || !h.gone() || len(names(t, h.folder)) != 0 {
		t.Errorf("ended %v; the records are %q", orphans, names(t, h.folder))
	}
}

func TestARecordThatDoesNotFitIsNotActedOn(t *testing.T) {
	later := func(record map[string]any) { record["start"] = number(record["start"]) + 1e6 }
	for _, row := range []struct {
		name   string
		leader bool // runs
		forge  func(record map[string]any)
		kept   bool
	}{
		{"the id is another process's by now", true, later, false},
		{"the id was another's, which has ended too", false, later, false},
		{"the rest belongs to another session", false, func(record map[string]any) {
			record["session"] = number(record["session"]) + 1
		}, false},
		{"the system was started anew", true, func(record map[string]any) { record["boot"] = "another" }, false},
		{"the ids are another namespace's", true, func(record map[string]any) { record["space"] = "pid:[1]" }, true},
		{"the host runs", true, func(record map[string]any) { record["host"] = process(t, os.Getpid(), 0) }, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			proctest.NoLeaks(t)
			h := orphaned(t, t.TempDir(), wrapped)
			if !row.leader {
				h.killLeader()
			}
			path := h.forge(row.forge)
			if orphans := h.reap(); orphans != nil || h.gone() {
				t.Errorf("ended %v", orphans)
			}
			if _, err := os.Stat(path); (err == nil) != row.kept {
				t.Errorf("of the record: %v", err)
			}
		})
	}
}

func TestAHostWhoseIDIsAnotherProcessesHasGone(t *testing.T) {
	proctest.NoLeaks(t)
	h := orphaned(t, t.TempDir(), deaf)
	h.forge(func(record map[string]any) { record["host"] = process(t, os.Getpid(), 1) })
	if orphans := h.reap(); !h.isOrphan(orphans) || !h.gone() {
		t.Errorf("ended %v", orphans)
	}
}

// process is how a record names a process, with its start moved.
func process(t *testing.T, pid int, by float64) map[string]any {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	stat := string(text)
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')'):])
	start, err := strconv.ParseFloat(fields[20], 64)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"pid": pid, "start": start + by}
}

func number(value any) float64 {
	n, ok := value.(float64)
	if !ok {
		panic("no number")
	}
	return n
}

func TestAHostDoesNotEndItsOwnGroup(t *testing.T) {
	proctest.NoLeaks(t)
	h := orphaned(t, t.TempDir(), deaf)
	reaper := exec.Command(os.Args[0])
	reaper.Env = append(os.Environ(), role+"=reaper", ledgerVariable+"="+h.folder)
	reaper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := reaper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := reaper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reaper.Start(); err != nil {
		t.Fatal(err)
	}
	path := h.forge(func(record map[string]any) {
		it := process(t, reaper.Process.Pid, 0)
		record["pid"], record["start"] = it["pid"], it["start"]
	})
	in.Close()
	said, err := io.ReadAll(out)
	if waitErr := reaper.Wait(); err != nil || waitErr != nil || string(said) != "[] <nil>\n" {
		t.Errorf("said %q; %v, %v", said, err, waitErr)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoRecordIsRemovedOnceItIsOld(t *testing.T) {
	proctest.NoLeaks(t)
	h := orphaned(t, t.TempDir(), deaf)
	good := h.forge(func(record map[string]any) { record["space"] = "pid:[1]" })
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Replace(string(text), strconv.Itoa(h.server), "1", 1)
	own := strings.TrimPrefix(filepath.Base(good), strconv.Itoa(h.server))
	for _, row := range []struct {
		name, file, text string
		age              time.Duration
		stays            bool
	}{
		{"half a record", "77-1.json", `{"pid":77,`, 23 * time.Hour, true},
		{"an old half", "77-2.json", `{"pid":77,`, 25 * time.Hour, false},
		{"an empty one", "77-3.json", ``, 25 * time.Hour, false},
		{"a huge one", "77-4.json", strings.Repeat(" ", 1<<20), 25 * time.Hour, false},
		{"a record of the first process", "1" + own, first, 25 * time.Hour, false},
		{"a record of another name", "78-4.json", string(text), 25 * time.Hour, false},
		{"a draft", ".new-1234", "x", 25 * time.Hour, false},
		{"a new draft", ".new-1235", "x", 0, true},
		{"somebody else's file", "notes.txt", "x", 1000 * time.Hour, true},
		{"another namespace's", filepath.Base(good), string(text), 29 * 24 * time.Hour, true},
		{"an old one of another namespace", filepath.Base(good), string(text), 31 * 24 * time.Hour, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := write(t, filepath.Join(h.folder, row.file), row.text, 0o600)
			then := time.Now().Add(-row.age)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
			if orphans := h.reap(); orphans != nil || h.gone() {
				t.Errorf("ended %v", orphans)
			}
			if _, err := os.Stat(path); (err == nil) != row.stays {
				t.Errorf("of the file: %v", err)
			}
		})
	}
}

func TestAFolderInTheLedgerIsNoHarm(t *testing.T) {
	folder := t.TempDir()
	inside := filepath.Join(folder, "77-1.json", "file")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if orphans, err := proc.LedgerIn(folder).Reap(t.Context()); orphans != nil || err != nil {
		t.Errorf("got %v, %v", orphans, err)
	}
	if _, err := os.Stat(inside); err != nil {
		t.Error(err)
	}
}

func TestOrphansAreEndedTogether(t *testing.T) {
	proctest.NoLeaks(t)
	folder := t.TempDir()
	var hosts []*host
	for range 4 {
		hosts = append(hosts, orphaned(t, folder, wrapped))
	}
	begin := time.Now()
	if orphans := hosts[0].reap(); len(orphans) != len(hosts) {
		t.Errorf("ended %v", orphans)
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	for _, h := range hosts {
		if !h.gone() {
			t.Errorf("processes of the group %d are left", h.server)
		}
	}
}

func TestSeveralMayReapAtOnce(t *testing.T) {
	proctest.NoLeaks(t)
	h := orphaned(t, t.TempDir(), deaf)
	running := startHost(t, h.folder, deaf)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { h.reap() })
	}
	all.Wait()
	if !h.gone() || running.gone() || len(names(t, h.folder)) != 1 {
		t.Errorf("the records are %q", names(t, h.folder))
	}
}

func TestTheEndOfTheContextLeavesTheRestToTheNext(t *testing.T) {
	proctest.NoLeaks(t)
	h := orphaned(t, t.TempDir(), stubborn)
	ledger := proc.LedgerIn(h.folder)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if orphans, err := ledger.ReapOnce(ctx); len(orphans) != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v", orphans, err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v", took)
	}
	if h.gone() {
		t.Error("it was killed")
	}
	h.record()
	if orphans, err := ledger.ReapOnce(context.Background()); !h.isOrphan(orphans) || err != nil || !h.gone() {
		t.Errorf("got %v, %v", orphans, err)
	}
}

func TestAFolderIsReapedOnceInAProcess(t *testing.T) {
	proctest.NoLeaks(t)
	first := orphaned(t, t.TempDir(), deaf)
	ledger := proc.LedgerIn(first.folder)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := ledger.ReapOnce(context.Background()); err != nil || !first.gone() {
				t.Errorf("it returned before the end (error %v)", err)
			}
		})
	}
	all.Wait()
	second := orphaned(t, first.folder, deaf)
	if orphans, err := ledger.ReapOnce(context.Background()); orphans != nil || err != nil || second.gone() {
		t.Errorf("got %v, %v", orphans, err)
	}
}

func TestARecordTellsNoSecrets(t *testing.T) {
	proctest.NoLeaks(t)
	h := startHost(t, filepath.Join(t.TempDir(), "a", "ledger"), deaf)
	text, err := os.ReadFile(h.record())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"command":"sh"`) {
		t.Errorf("the command is not in %s", text)
	}
	for _, secret := range []string{"ready", "s3cr3t", "DEMO_TOKEN", "/bin"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%q is in %s", secret, text)
		}
	}
	for path, want := range map[string]fs.FileMode{h.folder: 0o700, h.record(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("the mode of %s is %v (error %v)", path, info.Mode(), err)
		}
	}
}

func TestAFolderThatOthersMayWriteToIsNotUsed(t *testing.T) {
	proctest.NoLeaks(t)
	h := orphaned(t, t.TempDir(), deaf)
	if err := os.Chmod(h.folder, 0o777); err != nil {
		t.Fatal(err)
	}
	ledger := proc.LedgerIn(h.folder)
	orphans, err := ledger.Reap(context.Background())
	if orphans != nil || err == nil || !strings.Contains(err.Error(), h.folder) || h.gone() {
		t.Errorf("got %v, %v", orphans, err)
	}
	start(t, proc.Spec{Command: "cat", Ledger: ledger})
	if files := names(t, h.folder); len(files) != 1 {
		t.Errorf("the records are %q", files)
	}
}

func TestALedgerThatCannotBeWrittenStopsNothing(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "file"), "", 0o600)
	for _, ledger := range []proc.Ledger{{}, proc.LedgerIn(filepath.Join(file, "ledger")), proc.LedgerIn(file)} {
		p := start(t, proc.Spec{Command: "cat", Ledger: ledger})
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if orphans, err := proc.LedgerIn(missing).Reap(t.Context()); orphans != nil || err != nil {
		t.Errorf("got %v, %v", orphans, err)
	}
}

func TestARecordIsThereUntilTheWholeGroupHasGone(t *testing.T) {
	folder := t.TempDir()
	p := start(t, proc.Spec{
		Command: "sh", Args: []string{"-c", `(trap "" TERM; echo ready; while :; do sleep 0.05; done) & read x`},
		TermWait: 500 * time.Millisecond, Ledger: proc.LedgerIn(folder),
	})
	readLine(t, p)
	if _, err := p.Stdin.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if files := names(t, folder); len(files) != 1 {
		t.Errorf("while the rest of the group ran the records were %q", files)
	}
	shutdown(t, p)
	if files := names(t, folder); !slices.Equal(files, nil) {
		t.Errorf("the records are %q", files)
	}
}
