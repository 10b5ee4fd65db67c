package cli_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A collector takes what is sent to it, as bytes.
type collector struct {
	*httptest.Server
	mu  sync.Mutex
	got map[string]string // by path
}

func collect(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *collector {
	t.Helper()
	c := &collector{got: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.got[r.URL.Path] += string(body)
		c.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) sent(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got[path]
}

// observe runs the program with more variables, and returns its exit code and what it wrote.
func observe(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), runVariable+"=1", raceOptions)
	for _, name := range userFolders {
		cmd.Env = append(cmd.Env, name+"="+folder)
	}
	cmd.Env = append(cmd.Env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func lacks(text string, parts ...string) (missing []string) {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			missing = append(missing, part)
		}
	}
	return missing
}

func TestACollectorGetsTheTraceOfACommand(t *testing.T) {
	c := collect(t, nil)
	env := []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_SERVICE_NAME=my-agent", "OTEL_RESOURCE_ATTRIBUTES=team=blue",
		"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	code, stdout, stderr := observe(t, env, "call", "demo", "add", "a=41", "b=28")
	if code != 0 || stdout != `{"sum":69}`+"\n" || stderr != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	spans, metrics := c.sent("/v1/traces"), c.sent("/v1/metrics")
	if missing := lacks(spans, "my-agent", "team", "mcpwire call", "server/discover", "tools/list", "tools/call add",
		"gen_ai.tool.name", "process.exit.code", "mcpwire.server.name", "pipe"); missing != nil {
		t.Errorf("the spans lack %q", missing)
	}
	trace := "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"
	if n := strings.Count(spans, trace); n < 4 || strings.Count(spans, "tools/list") < 1 {
		t.Errorf("%d spans are of the trace", n)
	}
	if missing := lacks(metrics, "my-agent", "mcp.client.operation.duration", "mcp.client.session.duration", "tools/call"); missing != nil {
		t.Errorf("the metrics lack %q", missing)
	}
	observe(t, env, "call", "demo", "echo", "message=very-private")
	if spans := c.sent("/v1/traces"); strings.Contains(spans, "very-private") || !strings.Contains(spans, "tools/call echo") {
		t.Error("what the tool is told or tells shows, or nothing does")
	}
}

func TestACommandThatFailsIsTracedToo(t *testing.T) {
	c := collect(t, nil)
	env := []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.URL + "/mine"}
	code, _, stderr := observe(t, env, "call", "fail", "--", "no-such-program-here")
	if code != 1 || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if missing := lacks(c.sent("/mine"), "mcpwire call", "error.type"); missing != nil {
		t.Errorf("the spans lack %q", missing)
	}
	if c.sent("/v1/metrics") != "" {
		t.Error("metrics went somewhere")
	}
}

func TestSeveralServersAreOneTrace(t *testing.T) {
	c := collect(t, nil)
	env := []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	if code, _, stderr := observe(t, env, "servers", "demo"); code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	spans := c.sent("/v1/traces")
	trace := "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"
	if missing := lacks(spans, "mcpwire servers", "tools/list"); missing != nil || strings.Count(spans, trace) < 3 {
		t.Errorf("the spans lack %q; %d are of the trace", missing, strings.Count(spans, trace))
	}
}

func TestTroubleWithTheCollectorIsOneWarning(t *testing.T) {
	released := make(chan struct{})
	hangs := collect(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	})
	defer close(released)
	refuses := collect(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, row := range []struct {
		name, variable, want string
	}{
		{"it refuses", "OTEL_EXPORTER_OTLP_ENDPOINT=" + refuses.URL, "the collector answered HTTP 401"},
		{"there is none", "OTEL_EXPORTER_OTLP_ENDPOINT=" + gone.URL, "connect"},
		{"it hangs", "OTEL_EXPORTER_OTLP_ENDPOINT=" + hangs.URL, "the collector did not take everything within 2s"},
		{"another protocol", "OTEL_TRACES_EXPORTER=zipkin", "OTEL_TRACES_EXPORTER"},
	} {
		begun := time.Now()
		code, stdout, stderr := observe(t, []string{row.variable}, "call", "demo", "add", "a=1", "b=2")
		warned := strings.HasPrefix(stderr, "mcpwire: warning: telemetry: ") && strings.Count(stderr, "\n") == 1
		if code != 0 || stdout != `{"sum":3}`+"\n" || !warned || !strings.Contains(stderr, row.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", row.name, code, stdout, stderr)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s: it took %v", row.name, took)
		}
	}
}

func TestWhatTalksToNoServerSendsNothing(t *testing.T) {
	c := collect(t, nil)
	for _, row := range []struct {
		env  string
		args []string
	}{
		{"", []string{"--version"}},
		{"", []string{"config", "--help"}},
		{"OTEL_SDK_DISABLED=true", []string{"call", "demo", "add", "a=1", "b=2"}},
	} {
		code, _, stderr := observe(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, row.env}, row.args...)
		if code != 0 || stderr != "" || c.sent("/v1/traces") != "" {
			t.Errorf("%s: exit code %d, stderr %q, sent %q", row.args, code, stderr, c.sent("/v1/traces"))
		}
	}
}
