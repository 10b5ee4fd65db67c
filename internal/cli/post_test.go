package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpwire/internal/cli"
)

// program runs the program in this process.
func program(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestPostPrintsTheAnswerAsItCame(t *testing.T) {
	var got string
	var header http.Header
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, header = string(body), r.Header.Clone()
		switch r.URL.Path {
		case "/refuses":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)
		case "/streams":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"+
				"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		case "/fails":
			http.Error(w, "on fire", http.StatusInternalServerError)
		case "/hangs":
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{ "jsonrpc":"2.0","id":1,"result":{"n":1.50} }`)
		}
	}))
	t.Cleanup(web.Close)
	for _, row := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string // a part of it
	}{
		{"a result", []string{"/", "tools/list"}, 0, `{ "jsonrpc":"2.0","id":1,"result":{"n":1.50} }` + "\n", ""},
		{"an error", []string{"/refuses", "x"}, 0, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}` + "\n", ""},
		{"a stream", []string{"/streams", "x"}, 0, `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", ""},
		{"a failure", []string{"/fails", "x"}, 1, "", "HTTP 500: Internal Server Error: on fire"},
		{"silence", []string{"/hangs", "x", "--timeout", "100ms"}, 1, "", "request timeout after 100ms"},
		{"verbose", []string{"/", "x", "-v"}, 0, "{", "POST " + web.URL + "/: 200 after"},
		{"no method", []string{"/"}, 2, "", "a URL, a method and at most one JSON are wanted"},
		{"no JSON", []string{"/", "x", "{oops"}, 2, "", "are not a JSON object or array"},
		{"no header", []string{"/", "x", "--header", "oops"}, 2, "", "--header must have the form 'NAME: VALUE'"},
	} {
		t.Run(row.name, func(t *testing.T) {
			args := append([]string{"post", web.URL + row.args[0]}, row.args[1:]...)
			start := time.Now()
			code, stdout, stderr := program(t, args...)
			if code != row.code || !strings.HasPrefix(stdout, row.stdout) || row.stdout == "" && stdout != "" ||
				!strings.Contains(stderr, row.stderr) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	if code, _, stderr := program(t, "post", "localhost", "x"); code != 2 || !strings.Contains(stderr, "is no URL") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if _, _, stderr := program(t, "post", web.URL, "x", "--header", "planted-secret"); strings.Contains(stderr, "planted") {
		t.Errorf("a header that may be a secret is shown: %q", stderr)
	}
	program(t, "post", web.URL, "tools/call", `{"name":"echo"}`, "--header", "X-Own:  1 ")
	if got != `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}` || header.Get("X-Own") != "1" {
		t.Errorf("sent %s with %v", got, header)
	}
}

func TestTheEndOfTheCallersContextIsAnInterruption(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(web.Close)
	var out, errs bytes.Buffer
	code := cli.Main(ctx, []string{"post", web.URL, "x"}, strings.NewReader(""), &out, &errs)
	if code != 130 || errs.String() != "mcpwire: interrupted\n" {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}
