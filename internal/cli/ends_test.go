package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // what others use is meant
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpwire/config"
	"mcpwire/internal/cli"
	"mcpwire/transport"
)

// broken is a standard output whose reader has gone.
type broken struct{}

func (broken) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

func TestOnlyAReaderOfOurResultsThatHasGoneIsNotTold(t *testing.T) {
	var errs bytes.Buffer
	args := []string{"selftest", "--list", "--output", "json"}
	if code := cli.Main(t.Context(), args, strings.NewReader(""), broken{}, &errs); code != 1 || errs.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
	failed := &transport.Error{Op: "tools/list", Server: "x", Err: fmt.Errorf("write tcp: %w", syscall.EPIPE)}
	if cli.ReaderGone(failed) {
		t.Errorf("%v is not told", failed)
	}
}

func TestAShutdownThatFailsIsToldWhateverTheWorkCameTo(t *testing.T) {
	work, stuck := errors.New("no such tool"), &transport.Error{Op: "close", Server: "x", Err: errors.New("stuck")}
	for _, row := range []struct {
		work, close, want error
		told              string
	}{
		{nil, nil, nil, ""},
		{nil, stuck, stuck, ""},
		{work, nil, work, ""},
		{work, stuck, work, "mcpwire: warning: x: close: stuck\n"},
	} {
		var errs bytes.Buffer
		if got := cli.Graver(&errs, "x", row.work, row.close); got != row.want || errs.String() != row.told { //nolint:errorlint // as they are
			t.Errorf("%v, %v: got %v, told %q", row.work, row.close, got, errs.String())
		}
	}
}

func TestWhatLibrariesLogIsNotShown(t *testing.T) {
	var logged bytes.Buffer
	before := log.Writer()
	defer log.SetOutput(before)
	log.SetOutput(&logged)
	program(t, "--version")
	log.Print("Unsolicited response received on idle HTTP channel")
	if logged.Len() > 0 {
		t.Errorf("got %q", logged.String())
	}
}

func TestTheClockOfListsIsAsWideAsTheWidestTimeout(t *testing.T) {
	timeouts := func(all ...time.Duration) (servers []config.Server) {
		for _, d := range all {
			servers = append(servers, config.Server{Timeout: &d})
		}
		return append(servers, config.Server{})
	}
	for _, row := range []struct {
		servers []config.Server
		want    time.Duration
	}{
		{timeouts(), 0},
		{timeouts(time.Second), 0},
		{timeouts(5*time.Minute, time.Second, 2*time.Minute), 5 * time.Minute},
		{timeouts(5*time.Minute, 0), -1},
	} {
		if got := cli.ListTimeout(row.servers); got != row.want {
			t.Errorf("got %v, want %v", got, row.want)
		}
	}
}

func TestADemoServerThatSaysSomethingElseIsQuoted(t *testing.T) {
	if url, err := cli.ListeningAt(strings.NewReader("listening on http://x\n")); url != "http://x" || err != nil {
		t.Errorf("got %q, %v", url, err)
	}
	if _, err := cli.ListeningAt(strings.NewReader("hello\n")); err == nil || !strings.Contains(err.Error(), "hello") {
		t.Errorf("got %v", err)
	}
	if _, err := cli.ListeningAt(strings.NewReader("")); err != io.EOF { //nolint:errorlint // as it is
		t.Errorf("got %v", err)
	}
}

func TestWhatSomebodyElseWritesMeanwhileIsNotApproved(t *testing.T) {
	const mine, both = `{"mcpServers": {"mine": {"command": "x"}}}`,
		`{"mcpServers": {"mine": {"command": "x"}, "theirs": {"command": "y"}}}`
	const off = `{"mcpServers": {"mine": {"command": "x"}, "theirs": {"command": "y", "disabled": true}}}`
	for _, row := range []struct {
		name, before, after string
		want                bool
	}{
		{"a new file", "", mine, true},
		{"a new file with more", "", both, false},
		{"another entry", mine, both, false},
		{"another entry switched on", off, both, false},
		{"nothing else", both, both, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			folder := t.TempDir()
			t.Setenv("XDG_STATE_HOME", folder)
			t.Setenv("LocalAppData", folder)
			path := filepath.Join(folder, ".mcp.json")
			if row.before != "" {
				write(t, path, row.before)
				file, err := config.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := config.OpenTrust("").Approve(file); err != nil {
					t.Fatal(err)
				}
			}
			approved, err := cli.Edit(path, "mine", func() error { return os.WriteFile(path, []byte(row.after), 0o600) })
			if approved != row.want || err != nil {
				t.Errorf("got %t, %v", approved, err)
			}
		})
	}
}
