//go:build unix

package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAServerOnTheWebIsRecordedAndReplayed(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"said":%q}}`, r.Header.Get("Authorization"))
	}))
	defer web.Close()
	dir := t.TempDir()
	file, servers := filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "servers.json")
	entry := `{"mcpServers":{"web":{"url":"` + web.URL + `/mcp","headers":{"Authorization":"Bearer planted-secret"}}}}`
	if err := os.WriteFile(servers, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	const ask = `{"jsonrpc":"2.0","id":1,"method":"x"}`

	address, end := listeningProgram(t, dir, "record", "-o", file, "web", "--config", servers)
	if got, want := posted(t, address, ask), `{"jsonrpc":"2.0","id":1,"result":{"said":"Bearer planted-secret"}}`; got != want {
		t.Errorf("got %s", got)
	}
	end()
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "planted-secret") {
		t.Errorf("the recording is %s, error %v", text, err)
	}

	address, end = listeningProgram(t, dir, "replay", file, "--strict", "--http", "127.0.0.1:0")
	if got, want := posted(t, address, ask), `{"jsonrpc":"2.0","id":1,"result":{"said":"***"}}`; got != want &&
		got != strings.ReplaceAll(want, "***", "Bearer ***") {
		t.Errorf("got %s", got)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example"
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("got %v, error %v", response, err)
	} else {
		_ = response.Body.Close()
	}
	end()
}

// listeningProgram starts the program, and returns the address that it tells and what ends it, with exit code 0.
func listeningProgram(t *testing.T, dir string, args ...string) (address string, end func()) {
	t.Helper()
	r := &run{t: t, cmd: exec.Command(os.Args[0], args...)}
	r.cmd.Env = append(os.Environ(), runVariable+"=1", raceOptions,
		"XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
	r.start()
	r.await("http://")
	_, address, _ = strings.Cut(r.lines[len(r.lines)-1], "http://")
	return "http://" + address, func() {
		t.Helper()
		begin := time.Now()
		r.signal(syscall.SIGTERM)
		for r.stderr.Scan() {
			t.Errorf("it said %s", r.stderr.Text())
		}
		if err := r.cmd.Wait(); err != nil || time.Since(begin) > 5*time.Second {
			t.Errorf("%q: %v after %v", args, err, time.Since(begin))
		}
	}
}

func posted(t *testing.T, address, body string) string {
	t.Helper()
	response, err := http.Post(address, "application/json", strings.NewReader(body)) //nolint:noctx // it is loopback
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
