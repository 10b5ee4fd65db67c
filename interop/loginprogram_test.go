package interop_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// alone runs the program with a folder of its own for what it keeps, and without a keychain.
func alone(t *testing.T, state string, args ...string) *exec.Cmd {
	t.Helper()
	folder := goServers(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(folder, "mcpwire"), args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CONFIG_HOME="+state, "DBUS_SESSION_BUS_ADDRESS=")
	return cmd
}

// TestTheProgramLogsInByPaste plays a person whose browser is on another machine.
func TestTheProgramLogsInByPaste(t *testing.T) {
	t.Parallel()
	r, p := guarded(t, providerOptions{Format: "jwt"}, guard{})
	state := t.TempDir()
	said := func(want string, fails bool, args ...string) {
		t.Helper()
		out, err := alone(t, state, args...).CombinedOutput()
		if (err != nil) != fails || !strings.Contains(string(out), want) {
			t.Errorf("mcpwire %s: %v, printed\n%s", strings.Join(args, " "), err, out)
		}
	}
	said(`run "mcpwire login `+r.id+`"`, true, "call", r.id, "echo", "message=hi")
	cmd := alone(t, state, "login", r.id, "--no-browser")
	paste, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	shown, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(shown)
	address := ""
	for address == "" && lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, p.issuer) {
			address = line
		}
	}
	end, err := (&person{name: "ada"}).walk(t.Context(), address, func(r *http.Request) bool {
		return r.URL.Path == "/callback"
	})
	if err != nil {
		t.Fatal(err)
	}
	wrong := *end
	query := wrong.Query()
	query.Set("state", "another")
	wrong.RawQuery = query.Encode()
	if _, err := io.WriteString(paste, wrong.String()+"\n"); err != nil {
		t.Error(err)
	}
	for lines.Scan() && !strings.Contains(lines.Text(), "not taken") {
	}
	if _, err := io.WriteString(paste, end.String()+"\n"); err != nil {
		t.Error(err)
	}
	rest, err := io.ReadAll(shown)
	if err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("login: %v\n%s", err, rest)
	}
	said("hi", false, "call", r.id, "echo", "message=hi")
	said("ada", false, "auth", "status", r.id)
	said("", false, "logout", r.id)
	said(`run "mcpwire login `+r.id+`"`, true, "call", r.id, "echo", "message=hi")
	if n := p.counts(t); n["authorization"] != 1 || n["grant revoked"] != 1 || n["token refused"] != 0 {
		t.Errorf("at the provider happened %v", n)
	}
}
