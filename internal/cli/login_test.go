package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// runBrowser goes to an address, and wherever it is sent from there. It is a browser that writes too much.
func runBrowser() {
	fmt.Fprintln(os.Stdout, "noise of the browser")
	fmt.Fprintln(os.Stderr, "noise of the browser")
	resp, err := http.Get(os.Args[1])
	if err != nil {
		fail(err)
	}
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		fail(err)
	}
	if file := os.Getenv("BROWSER_PAGE"); file != "" {
		if err := os.WriteFile(file, page, 0o600); err != nil {
			fail(err)
		}
	}
}

// A serverKey is under what a script has its authServer.
type serverKey struct{}

func TestLoginScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/login",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, raceOptions, "MCPWIRE_KEYCHAIN=off", "BROWSER=browser")
			for _, name := range userFolders {
				e.Setenv(name, filepath.Join(e.WorkDir, ".home", name))
			}
			s := startAuthServer()
			e.Defer(s.Close)
			e.Values[serverKey{}] = s
			e.Setenv("FAKE_SERVER", s.URL)
			e.Setenv("BROWSER_PAGE", filepath.Join(e.WorkDir, "page"))
			busy, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Defer(func() { _ = busy.Close() })
			_, port, _ := net.SplitHostPort(busy.Addr().String())
			text := `{"mcpServers": {"busy": {"url": "${FAKE_SERVER}/mcp", "auth": {"callbackPort": ` + port + `}}}}`
			e.Setenv("BUSY_PORT", port)
			return os.WriteFile(filepath.Join(e.WorkDir, "busy.json"), []byte(text), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "person": person, "people": people, "asked": asked,
		},
	})
}

// people changes what people do: "people refuse", "people agree", and "people lose" has all tokens be worth nothing.
func people(ts *testscript.TestScript, _ bool, args []string) {
	s := serverOf(ts)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch args[0] {
	case "refuse", "agree":
		s.deny = args[0] == "refuse"
	case "lose":
		s.tokens = map[string]bool{}
	default:
		ts.Fatalf("unknown: %s", args[0])
	}
}

// asked checks what the authorization server was asked since the last time, a text each.
func asked(ts *testscript.TestScript, _ bool, args []string) {
	s := serverOf(ts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.log, args) {
		ts.Fatalf("the authorization server was asked %q, want %q", s.log, args)
	}
	s.log = nil
}

func serverOf(ts *testscript.TestScript) *authServer {
	s, ok := ts.Value(serverKey{}).(*authServer)
	if !ok {
		ts.Fatalf("there is no authorization server")
	}
	return s
}

// person runs a command that shows an address on its standard error, and acts: "person CODE DEED... -- COMMAND ARG...".
// The deeds, in their order, are:
//
//	paste     the address at which the browser ends
//	query     its query alone
//	foreign   the same with another state
//	bare      the code alone
//	visit     the browser comes back to the program with another state, which must be refused
//	end       the end of the input
//	browser   a browser goes there and comes back
//	signal    SIGINT
//
// What the command wrote is left in the files out and err.
func person(ts *testscript.TestScript, neg bool, args []string) {
	at := slices.Index(args, "--")
	if neg || at < 1 || at+2 > len(args) {
		ts.Fatalf("usage: person CODE DEED... -- COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	program, err := exec.LookPath(args[at+1])
	ts.Check(err)
	var stdout bytes.Buffer
	cmd := exec.Command(program, args[at+2:]...)
	cmd.Dir, cmd.Stdout = ts.MkAbs("."), &stdout
	cmd.Env = append(os.Environ(), raceOptions)
	for _, name := range passed {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	in, err := cmd.StdinPipe()
	ts.Check(err)
	errs, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewScanner(errs)
	var stderr strings.Builder
	read := func(until string) string {
		for lines.Scan() {
			stderr.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), until) {
				return strings.TrimSpace(lines.Text())
			}
		}
		return ""
	}
	if address := read("/authorize?"); address != "" {
		for _, deed := range args[1:at] {
			err := act(deed, address, in, cmd.Process)
			ts.Check(err)
			if slices.Contains([]string{"foreign", "bare", "visit"}, deed) {
				read("mcpwire: not taken: ")
			}
		}
	}
	for lines.Scan() {
		stderr.WriteString(lines.Text() + "\n")
	}
	err = cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), stdout.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), []byte(stderr.String()), 0o600))
	ts.Logf("[stdout]\n%s[stderr]\n%s", stdout.String(), stderr.String())
	if code := cmd.ProcessState.ExitCode(); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// act is what a person does who was shown an address.
func act(deed, address string, in io.WriteCloser, program *os.Process) error {
	switch deed {
	case "end":
		return in.Close()
	case "signal":
		return program.Signal(os.Interrupt)
	case "browser":
		resp, err := http.Get(address)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	back, err := redirectOf(address)
	if err != nil {
		return err
	}
	params := back.Query()
	line := back.String()
	switch deed {
	case "query":
		line = "?" + back.RawQuery
	case "bare":
		line = params.Get("code")
	case "foreign", "visit":
		params.Set("state", "another")
		back.RawQuery = params.Encode()
		line = back.String()
	}
	if deed == "visit" {
		resp, err := http.Get(line)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusBadRequest {
			return fmt.Errorf("a redirect with another state gets HTTP %d", resp.StatusCode)
		}
		return nil
	}
	_, err = io.WriteString(in, line+"\n")
	return err
}

// redirectOf returns where the authorization server sends a browser, which does not go there.
func redirectOf(address string) (*url.URL, error) {
	r, err := http.NewRequest(http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	return resp.Location()
}
