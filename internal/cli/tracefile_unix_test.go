//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestATraceThatNobodyReadsDoesNotHoldTheProgramUp(t *testing.T) {
	t.Parallel()
	cmd, folder := command(t, "call", "demo", "echo", "message="+strings.Repeat("long ", 20_000), "--trace", "pipe")
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // never read
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "mcpwire: warning: the trace pipe is not whole: ") {
		t.Errorf("%v: %.200s … %s", err, out, out[max(0, len(out)-200):])
	}
}
