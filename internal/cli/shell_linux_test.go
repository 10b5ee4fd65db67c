package cli_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mcpwire/internal/proc/proctest"
)

// A typist is somebody at a terminal on which the program runs.
type typist struct {
	*screen
	seen int // of the text that was shown
}

// atShell starts the shell on the demo server, or with other arguments, on a terminal that its signals come from.
func atShell(t *testing.T, args ...string) (*typist, string) {
	t.Helper()
	cmd, folder := command(t, append([]string{"shell"}, args...)...)
	return &typist{screen: atTerminal(t, cmd)}, folder
}

func atTerminal(t *testing.T, cmd *exec.Cmd) *screen {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return onScreen(t, cmd)
}

// press types keys.
func (p *typist) press(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.master, keys); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits for a text behind those that were seen before, and returns what stands between.
func (p *typist) sees(text string) string {
	p.t.Helper()
	between, _, _ := strings.Cut(p.awaitBehind(p.seen, text), text)
	p.seen += len(between) + len(text)
	return between
}

// leaves ends the shell by Ctrl-D at its next prompt: with the exit code, the terminal as it was, and nothing left
// running.
func (p *typist) leaves(code int) {
	p.t.Helper()
	p.sees("> ")
	p.press("\x04")
	p.isGone(code)
}

func (p *typist) isGone(code int) {
	p.t.Helper()
	if got, shown := p.ends(); got != code {
		p.t.Errorf("exit code %d, want %d: %q", got, code, shown)
	}
	state, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	if cooked := uint32(unix.ICANON | unix.ECHO | unix.ISIG); state.Lflag&cooked != cooked || state.Oflag&unix.OPOST == 0 {
		p.t.Errorf("the terminal is left with %#x, %#x", state.Lflag, state.Oflag)
	}
}

func TestTheShellEditsLines(t *testing.T) {
	t.Parallel()
	p, folder := atShell(t, "demo")
	p.sees("connected to demo 1.0.0, protocol ")
	p.sees("demo> ")
	p.press("call echo message='two words'\r")
	p.sees("\ntwo words\n")
	p.sees("demo> ")
	p.press("fail\r")
	p.sees("mcpwire: demo: the tool fail reported an error\n")
	p.sees("demo> ")
	p.press("\x1b[A\x1b[A") // the last line but one
	p.sees("call echo message='two words'")
	p.press("\x7f\x7f!'\r")
	p.sees("\ntwo word!\n")
	p.sees("demo> ")
	p.press("\x1b[A\x03") // an earlier line, cleared
	p.sees("two word!'")
	p.sees("demo> ")
	p.press("ping\r")
	p.sees("demo: ok, ")
	p.sees("demo> ")
	p.press(" add a=2 b=40\r")
	p.sees(`{"sum":42}`)
	p.sees("demo> ")
	p.press("echo message=" + bearer + "\r")
	p.sees("\n" + bearer + "\n")
	p.sees("demo> ")
	p.press("echo message=x api_key=pl4in\r")
	p.sees("reported an error\n")
	p.sees("demo> ")
	p.press("\x03\x03")
	p.sees("Ctrl-D or exit leaves the shell\n")
	p.leaves(0)

	path := filepath.Join(folder, "mcpwire", "shell-history")
	kept, err := os.ReadFile(path)
	want := "call echo message='two words'\nfail\ncall echo message='two word!'\nping\n"
	if err != nil || string(kept) != want {
		t.Errorf("the history is %q (%v), want %q", kept, err, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history's file: %v, %v", info.Mode(), err)
	}
}

func TestTabCompletesWhatTheServerHas(t *testing.T) {
	t.Parallel()
	p, _ := atShell(t, "demo")
	p.sees("demo> ")
	for _, row := range []struct{ keys, shows string }{
		{"ca\t", "call "},
		{"cou\t", "countdown "},
		{"call ec\tm\t", "call echo message="},
		{"c\t\t", "call       complete   countdown  crash"},
		{"add a=1 \t", "add a=1 b="},
		{"read demo://rea\t", "read demo://readme "},
		{"read demo\\:\t", "read demo://"},
		{"prompt gr\tn\tAd\t", "prompt greet name=Ada "},
		{"complete demo://g\t", "complete demo://greeting/{name} "},
		{"complete demo://greeting/{name} \tB\t", "name=Bar"},
		{"log-level w\t", "log-level warning "},
		{"watch o\t\t", "off  on"},
		{"set o\tj\t", "set output json "},
		{"help te\t", "help templates "},
		{"call --o\tj\t", "call --output json "},
		{"use \t", "use demo "},
		{"nothing=\t\x7f", "nothing"},
	} {
		p.press(row.keys)
		p.sees(row.shows)
		p.press("\x03")
		p.sees("demo> ")
	}
	p.press("\r")
	p.leaves(0)
}

// withFake is a command of the program on fake servers, which are the test binary too: their names tell them apart.
func withFake(t *testing.T, fake string, args ...string) (cmd *exec.Cmd, folder string) {
	t.Helper()
	program, err := exec.LookPath("mcpwire")
	if err != nil {
		t.Fatal(err)
	}
	cmd, folder = command(t, args...)
	cmd.Path, cmd.Args[0] = program, program
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, runVariable+"=") })
	write(t, filepath.Join(folder, "fake.txt"), fake)
	return cmd, folder
}

// cancellable is a server that never answers a call, and tells on standard error that it was cancelled.
const cancellable = `tools/list {"tools":[{"name":"wait","inputSchema":{"type":"object"}}]}
tools/call never
hear tools/call
hear notifications/cancelled
`

func TestCtrlCCancelsTheCallAndNotTheShell(t *testing.T) {
	t.Parallel()
	cmd, folder := withFake(t, cancellable, "shell", "-v", "--", "sh", "-c", "echo $$ >pid; exec fakeserver fake.txt")
	p := &typist{screen: atTerminal(t, cmd)}
	p.sees("sh> ")
	p.press("wait\r")
	p.sees("[sh] tools/call\n")
	p.press("\x03")
	p.awaitBehind(p.seen, "mcpwire: interrupted\n")
	p.awaitBehind(p.seen, "[sh] notifications/cancelled\n") // before or behind that
	p.press("info\r")
	p.sees("fake 7\n")
	p.leaves(0)
	text, err := os.ReadFile(filepath.Join(folder, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || !proctest.GroupGone(pid) {
		t.Errorf("the server %s is still there: %v", text, err)
	}
}

func TestASignalEndsTheShellInOrder(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		for _, busy := range []bool{false, true} {
			t.Run(signal.String()+map[bool]string{false: " at the prompt", true: " in a call"}[busy], func(t *testing.T) {
				t.Parallel()
				p, _ := atShell(t, "demo", "-v")
				p.sees("demo> ")
				if busy {
					p.press("countdown seconds=600 steps=6000\r")
					p.sees("progress of countdown: 2/6000")
				} else {
					p.press("half a li")
					p.sees("half a li")
				}
				if err := p.cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				p.sees("mcpwire: interrupted\n")
				p.isGone(130)
			})
		}
	}
}

func TestWhatAServerTellsIsShownAboveThePrompt(t *testing.T) {
	t.Parallel()
	cmd, folder := withFake(t, `tools/list {"tools":[{"name":"t","inputSchema":{"type":"object"}}]}
tools/call {"content":[]}
when tell.txt {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"db","data":"it is\u001b[2J full"}}
when more.txt {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}
`, "shell", "--", "fakeserver", "fake.txt")
	p := &typist{screen: atTerminal(t, cmd)}
	p.sees("fakeserver> ")
	p.press("call t")
	p.sees("call t")
	write(t, filepath.Join(folder, "tell.txt"), "")
	p.sees("\x1b[K[fakeserver] error db: it is full\n")
	p.sees("fakeserver> call t") // as it was typed
	p.press(" -o json\r")
	p.sees(`{"content":[]}`)
	p.press("watch off\r")
	p.sees("fakeserver> ")
	p.press("watch\r")
	p.sees("\noff\n")
	write(t, filepath.Join(folder, "more.txt"), "")
	p.press("info\r")
	if between := p.sees("fake 7\n"); strings.Contains(between, "resources") {
		t.Errorf("it tells %q", between)
	}
	p.leaves(0)
}

func TestALostConnectionIsToldAtThePrompt(t *testing.T) {
	t.Parallel()
	cmd, folder := command(t, "shell", "--", "sh", "-c", `echo $$ >pid; exec "$PROGRAM" demo-server`)
	p := &typist{screen: atTerminal(t, cmd)}
	p.sees("sh> ")
	text, err := os.ReadFile(filepath.Join(folder, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.sees("mcpwire: sh: transport closed: ")
	p.press("echo message=again\r")
	p.sees("sh: connected anew, for the connection before has ended: sh: transport closed: ")
	p.sees("\nagain\n")
	p.leaves(0)
}

func TestTheShellLendsTheTerminalToWhatAServerAsks(t *testing.T) {
	t.Parallel()
	p, _ := atShell(t, "demo")
	p.sees("demo> ")
	p.press("call book\r")
	p.sees("for whom the table is\n")
	p.sees("> ")
	p.press("!decline\n")
	p.sees("No table is booked: the answer was decline.\n")
	p.sees("demo> ")
	p.press("book\r")
	p.sees("for whom the table is\n")
	p.sees("> ")
	p.press("Ad\x03") // the call is cancelled, and the shell goes on
	p.sees("mcpwire: interrupted\n")
	p.sees("demo> ")
	p.press("add a=40 b=2\r")
	p.sees(`{"sum":42}`)
	p.leaves(0)
}
