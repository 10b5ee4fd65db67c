package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTheDoctorTellsWhatAKilledRunHasLeftBehind(t *testing.T) {
	t.Parallel()
	r := start(t, `"$PROGRAM" demo-server; exec sleep 60`, "call", "countdown", "seconds=30", "steps=3000", "-v")
	r.await("progress of countdown: 2/3000")
	r.signal(syscall.SIGKILL)
	_ = r.cmd.Wait()
	again := exec.Command(os.Args[0], "doctor", "demo")
	again.Env = r.cmd.Env
	said, err := again.CombinedOutput()
	want := "mcpwire: warning: an earlier run had left the server " + filepath.Base(r.cmd.Args[len(r.cmd.Args)-1])
	if err != nil || !strings.Contains(string(said), want) || !strings.Contains(string(said), "demo: healthy") {
		t.Errorf("%v, without %q\n%s", err, want, said)
	}
}
