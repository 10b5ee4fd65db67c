package cli_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// A screen is a terminal that a command runs on, and what it has shown.
type screen struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File

	mu    sync.Mutex
	text  string
	grown chan struct{} // closed when there is more text, or no more to come
	ended bool
}

// onScreen starts a command with all its streams on a terminal of 80 by 24 characters.
func onScreen(t *testing.T, cmd *exec.Cmd) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	s := &screen{t: t, cmd: cmd, master: master, grown: make(chan struct{})}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(cmd.Env, "TERM=xterm")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	go s.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = master.Close()
	})
	return s
}

func (s *screen) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := s.master.Read(buffer)
		s.mu.Lock()
		s.text += strings.ReplaceAll(string(buffer[:n]), "\r\n", "\n")
		s.ended = err != nil
		close(s.grown)
		s.grown = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until the text is shown, or with an empty text until the command has closed the terminal.
func (s *screen) await(text string) string {
	s.t.Helper()
	return s.awaitBehind(0, text)
}

// awaitBehind is await for what is shown behind the first bytes, and returns that.
func (s *screen) awaitBehind(seen int, text string) string {
	s.t.Helper()
	over := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		shown, ended, grown := s.text[seen:], s.ended, s.grown
		s.mu.Unlock()
		switch {
		case text != "" && strings.Contains(shown, text), text == "" && ended:
			return shown
		case ended:
			s.t.Fatalf("no %q in %q", text, shown)
		}
		select {
		case <-grown:
		case <-over:
			s.t.Fatalf("no %q in time; there is %q", text, shown)
		}
	}
}

// ends waits for the end and returns the exit code and all that was shown.
func (s *screen) ends() (code int, shown string) {
	s.t.Helper()
	shown = s.await("")
	_ = s.cmd.Wait() // the exit code tells
	return s.cmd.ProcessState.ExitCode(), shown
}

func TestSomebodyAtATerminalIsAskedForAProjectsServers(t *testing.T) {
	for _, row := range []struct {
		answer string
		code   int
	}{{"y\n", 0}, {" YES \n", 0}, {"n\n", 1}, {"\n", 1}, {"yesterday\n", 1}, {"\x04", 1}} {
		t.Run(fmt.Sprintf("%q", row.answer), func(t *testing.T) {
			t.Parallel()
			cmd, folder := command(t, "ping", "s")
			write(t, filepath.Join(folder, ".mcp.json"),
				`{"mcpServers": {"s": {"command": "`+os.Args[0]+`", "args": ["demo-server"], "env": {"X": "\u001b[8m"}}}}`)
			s := onScreen(t, cmd)
			shown := s.await("[y/N] ")
			for _, text := range []string{"/.mcp.json comes with", os.Args[0] + " demo-server\n", `with the variable $'X=\x1b[8m'`} {
				if !strings.Contains(shown, text) {
					t.Errorf("no %q in %q", text, shown)
				}
			}
			if _, err := io.WriteString(s.master, row.answer); err != nil {
				t.Fatal(err)
			}
			code, shown := s.ends()
			if code != row.code || strings.Contains(shown, "s: ok") != (row.code == 0) {
				t.Errorf("exit code %d, want %d: %q", code, row.code, shown)
			}
			again := exec.Command(cmd.Path, cmd.Args[1:]...)
			again.Dir, again.Env = cmd.Dir, cmd.Env
			if err := again.Run(); (err == nil) != (row.code == 0) {
				t.Errorf("the next run: %v", err)
			}
		})
	}
}

func TestATerminalIsNotSentTheBytesOfAnImage(t *testing.T) {
	t.Parallel()
	cmd, _ := command(t, "read", "demo", "demo://pixel")
	code, shown := onScreen(t, cmd).ends()
	if code != 0 || !strings.Contains(shown, "[resource demo://pixel, image/png, ") || strings.Contains(shown, "IHDR") {
		t.Errorf("exit code %d, %q", code, shown)
	}
	cmd, _ = command(t, "read", "demo", "demo://readme")
	if code, shown := onScreen(t, cmd).ends(); code != 0 || !strings.Contains(shown, "A server to try a client on.") {
		t.Errorf("exit code %d, %q", code, shown)
	}
}

func TestTheTableOfServersIsDrawnInPlace(t *testing.T) {
	t.Parallel()
	cmd, folder := command(t, "servers", "--config", "some.json")
	write(t, filepath.Join(folder, "some.json"), `{"mcpServers": {
		"one": {"command": "`+os.Args[0]+`", "args": ["demo-server"]},
		"two": {"command": "sh", "args": ["-c", "until [ -e go ]; do sleep 0.05; done; exec '`+os.Args[0]+`' demo-server"]}
	}}`)
	s := onScreen(t, cmd)
	s.await(" connecting")
	s.await("one   ready")
	write(t, filepath.Join(folder, "go"), "")
	code, shown := s.ends()
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	frames := strings.Split(shown, "\x1b[3A\r\x1b[J")
	if len(frames) < 3 {
		t.Errorf("only %d drawings: %q", len(frames), shown)
	}
	last, _, _ := strings.Cut(frames[len(frames)-1], "⠋ shutting down") // which a slow machine shows
	if strings.Count(last, " ready ") != 2 || strings.Contains(last, "\x1b") || strings.Contains(last, "connecting") {
		t.Errorf("the last drawing is %q", last)
	}
}

func TestATraceFitsTheTerminalAndSendsItNoControlSequences(t *testing.T) {
	t.Parallel()
	const file = `{"time":"2026-07-28T12:00:00Z","server":"s\u001b[2J","event":"stderr","text":"\u001b]0;title\u0007x\u009b31m"}
{"time":"2026-07-28T12:00:00Z","server":"s","event":"sent","message":{"jsonrpc":"2.0","id":"\u001b[5mC15m","method":"a\u001b[1m"}}
{"time":"2026-07-28T12:00:01Z","server":"s","event":"noise","text":"\u001b[8mLONG"}
`
	for _, view := range [][]string{nil, {"--messages"}, {"--messages", "-v"}, {"--errors"}, {"--calls"}, {"--waterfall"}} {
		cmd, folder := command(t, append([]string{"trace", "t.jsonl"}, view...)...)
		write(t, filepath.Join(folder, "t.jsonl"), strings.NewReplacer("LONG", strings.Repeat("long ", 100), "C1", "\u009b").Replace(file))
		code, shown := onScreen(t, cmd).ends()
		plain := strings.NewReplacer("\x1b[1m", "", "\x1b[31m", "", "\x1b[m", "").Replace(shown)
		if code != 0 || strings.ContainsAny(plain, "\x1b\a\u009b") {
			t.Errorf("%q: exit code %d, and it shows %q", view, code, plain)
		}
		for line := range strings.Lines(plain) {
			if len(view) < 2 && utf8.RuneCountInString(line) > 81 && !strings.Contains(line, "METHOD") {
				t.Errorf("%q: a line is too long: %q", view, line)
			}
		}
	}
}

func TestAWatchOnATerminalIsColouredAndShowsNoControlSequences(t *testing.T) {
	t.Parallel()
	cmd, folder := command(t, "watch", "--count", "2", "--", "sh", "-c", `cat talk; exec "$PROGRAM" demo-server`)
	write(t, filepath.Join(folder, "talk"), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"\u001b[8mhidden\u009b1m"}}
{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"fine"}}
`)
	code, shown := onScreen(t, cmd).ends()
	if code != 0 || !strings.Contains(shown, "\x1b[31m") || !strings.Contains(shown, "log           info: fine") {
		t.Errorf("exit code %d, %q", code, shown)
	}
	plain := strings.NewReplacer("\x1b[31m", "", "\x1b[m", "").Replace(shown)
	if strings.ContainsAny(plain, "\x1b\u009b") || !strings.Contains(plain, "log           error: hidden\n") {
		t.Errorf("it shows %q", plain)
	}
}
