package cli_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A file that is followed is shown as it grows, also when it is written anew, shorter or longer, or replaced.
func TestATraceIsFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no signal there that ends it")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "t.jsonl")
	const first = `{"time":"2026-07-28T12:00:00Z","server":"a","event":"closing"}` + "\n"
	writeWith(t, file, os.O_CREATE|os.O_WRONLY, first)
	cmd := exec.Command(os.Args[0], "trace", "--follow", file)
	cmd.Env = append(os.Environ(), runVariable+"=1", raceOptions)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || strings.TrimSpace(lines.Text()) != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
	}
	next("0.000  a · closing")
	writeWith(t, file, os.O_APPEND|os.O_WRONLY, `{"time":"2026-07-28T12:00:01Z","server":"a","ev`)
	writeWith(t, file, os.O_APPEND|os.O_WRONLY, `ent":"closed"}`+"\n")
	next("1.000  a · closed")
	writeWith(t, file, os.O_TRUNC|os.O_WRONLY, strings.ReplaceAll(first, `"a"`, `"b"`))
	next("0.000  b · closing")
	writeWith(t, file, os.O_TRUNC|os.O_WRONLY, strings.Repeat(strings.ReplaceAll(first, "28T12", "29T12"), 3))
	for range 3 {
		next("0.000  a · closing")
	}
	other := filepath.Join(dir, "other")
	writeWith(t, other, os.O_CREATE|os.O_WRONLY, strings.Repeat(strings.ReplaceAll(first, `"a"`, `"c"`), 4))
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		next("0.000  c · closing")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() {
		t.Errorf("then it said %q", lines.Text())
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

func writeWith(t *testing.T, path string, flags int, text string) {
	t.Helper()
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
