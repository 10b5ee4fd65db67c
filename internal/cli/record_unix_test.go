//go:build unix

package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ready is what a server says that has set its traps.
const ready = "echo ready >&2; "

// startRecord starts the recorder on a server that a shell script is, once that has written "ready": where the script
// says so, else at its start.
func startRecord(t *testing.T, script string) (r *run, stdin io.Closer, recording string) {
	t.Helper()
	recording = filepath.Join(t.TempDir(), "r.jsonl")
	if !strings.Contains(script, ready) {
		script = ready + script
	}
	r = prepare(t, script, "record", "-o", recording)
	stdin, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.start()
	r.await("ready")
	return r, stdin, recording
}

func recordingHas(t *testing.T, recording, want string) {
	t.Helper()
	text, err := os.ReadFile(recording)
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s is not in %s, error %v", want, text, err)
	}
}

func TestASignalToTheRecorderEndsTheServer(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			r, _, recording := startRecord(t, demoScript)
			r.signal(s)
			r.ends(128+int(syscall.SIGTERM), 2*time.Second)
			recordingHas(t, recording, `"exit":{"code":-1,"signal":"SIGTERM","after":"term"}`)
		})
	}
}

func TestAServerMayEndInOrderWhenTheRecorderIsSignalled(t *testing.T) {
	t.Parallel()
	r, _, recording := startRecord(t, `trap "echo bye >&2; exit 5" TERM; `+ready+`while :; do sleep 0.05; done`)
	r.signal(syscall.SIGTERM)
	r.await("bye")
	r.ends(5, 2*time.Second)
	recordingHas(t, recording, `"exit":{"code":5,"after":"term"}`)
}

func TestASecondSignalToTheRecorderKillsTheServer(t *testing.T) {
	t.Parallel()
	r, _, _ := startRecord(t, `trap "echo no >&2" TERM; `+ready+`while :; do sleep 0.05; done`)
	r.signal(syscall.SIGTERM)
	r.await("no")
	r.signal(syscall.SIGTERM)
	r.ends(128+int(syscall.SIGKILL), 1500*time.Millisecond)
}

func TestTheEndOfTheHostsInputReachesARecordedServer(t *testing.T) {
	t.Parallel()
	r, stdin, recording := startRecord(t, `cat >/dev/null; echo heard it >&2; exit 3`)
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	r.await("heard it")
	r.ends(3, 2*time.Second)
	recordingHas(t, recording, `"exit":{"code":3,"after":"eof"}`)
}

func TestARecordedServerThatDiesEndsTheRecorder(t *testing.T) {
	t.Parallel()
	r, _, recording := startRecord(t, `kill -KILL $$`)
	r.ends(128+int(syscall.SIGKILL), 2*time.Second)
	recordingHas(t, recording, `"exit":{"code":-1,"signal":"SIGKILL"}`)
}

func TestAHostThatReadsNoMoreLeavesNoRecordedServerBehind(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	defer func() { _ = writer.Close() }()
	r := prepare(t, `while :; do echo x; sleep 0.05; done`, "record", "-o", filepath.Join(t.TempDir(), "r.jsonl"))
	if _, err := r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r.cmd.Stdout = writer
	r.start()
	r.ends(128+int(syscall.SIGTERM), 5*time.Second)
}
