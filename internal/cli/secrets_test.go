package cli_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"mcpwire/internal/cli"
	"mcpwire/jsonrpc"
)

const (
	// planted is a secret of the configuration, which servers tell wherever they can.
	planted = "pl4nted-7Qz2Lm/P9x"
	// bearer is one that nobody has told us of.
	bearer = "eyJhbGciOiJIUzI1NiJ9.q7Zk2LmP9xQwR4.sig"
)

// tellAll returns the answer of a server that tells secrets in whatever it says.
func tellAll(method, id, secret string) string {
	said := "the key is " + secret + ", sent as Authorization: Bearer " + bearer
	switch method {
	case "server/discover":
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":` + quote(said) + `}}`
	case "initialize":
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"fake","version":` + quote(secret) + `},"instructions":` + quote(said) + `}}`
	case "tools/list":
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"tools":[{"name":"tell","description":` + quote(said) +
			`,"inputSchema":{"type":"object","properties":{"token":{"type":"string"}}}},` +
			`{"name":"fail","inputSchema":{"type":"object"}}]}}`
	case "tools/call":
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":` + quote(said) + `}],` +
			`"isError":true}}`
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":` + quote(said) + `,"data":` +
		quote(said) + `}}`
}

func quote(text string) string {
	quoted, err := jsonv2.Marshal(text)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(quoted), "/", `\/`) // as some servers escape it
}

// runTelltale is a server on pipes that tells what its environment has.
func runTelltale() {
	secret := os.Getenv("API_KEY")
	fmt.Fprintln(os.Stderr, "stderr: the key is", secret, "and", bearer)
	fmt.Println("stdout: the key is", secret, "and", bearer)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		m := read(in.Bytes())
		if m["id"] != "" {
			fmt.Println(tellAll(strings.Trim(m["method"], `"`), m["id"], secret))
		}
		if m["method"] == `"tools/list"` {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":` +
				quote("the key is "+secret+" and "+bearer) + `}}`)
		}
	}
}

// telltale is a server on the web that tells what it is sent.
func telltale(w http.ResponseWriter, r *http.Request) {
	secret, _ := strings.CutPrefix(r.Header.Get("X-Api-Key"), "key ")
	body, _ := io.ReadAll(r.Body)
	m, err := jsonrpc.Parse(body)
	w.Header().Set("X-Seen", secret)
	w.Header().Set("Set-Cookie", "sid="+secret)
	if r.Method != http.MethodPost || err != nil {
		http.Error(w, "refused for "+secret, http.StatusMethodNotAllowed)
		return
	}
	if m.Kind != jsonrpc.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, tellAll(m.Method, string(m.ID.Append(nil)), secret))
}

// What a tool answers is the user's, and goes to standard output as it is. Everything else keeps quiet about secrets.
func TestNoCommandShowsASecretInWhatItTellsOfTheRun(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(telltale))
	defer web.Close()
	server, err := exec.LookPath("telltale")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range userFolders {
		t.Setenv(name, filepath.Join(folder, name))
	}
	t.Setenv("SCRIPT_SECRET", planted)
	file := filepath.Join(folder, "mcp.json")
	entries := fmt.Sprintf(`{"mcpServers": {
		"pipe": {"command": %q, "env": {"API_KEY": "${SCRIPT_SECRET}"}},
		"web": {"url": %q, "headers": {"X-Api-Key": "key ${SCRIPT_SECRET}"}}
	}}`, server, web.URL+"/mcp?api_key=${SCRIPT_SECRET}")
	if err := os.WriteFile(file, []byte(entries), 0o600); err != nil {
		t.Fatal(err)
	}
	otherPrograms(t, folder)
	for _, row := range []struct {
		args   []string
		result bool // standard output is what the server has answered
	}{
		{[]string{"ping", "pipe"}, false},
		{[]string{"tools", "pipe"}, true},
		{[]string{"call", "pipe", "tell", "token=" + planted}, true},
		{[]string{"call", "pipe", "missing"}, false},
		{[]string{"call", "pipe", "tell", "--each", file}, true},
		{[]string{"resources", "pipe"}, false},
		{[]string{"read", "pipe", "x://missing"}, false},
		{[]string{"skills", "pipe"}, false},
		{[]string{"shell", "pipe", "-c", "read x://missing"}, false},
		{[]string{"skill", "pipe", "skill://x/SKILL.md"}, false},
		{[]string{"prompts", "web"}, false},
		{[]string{"complete", "web", "p", "a=missing"}, false},
		{[]string{"watch", "pipe", "--count", "1"}, false},
		{[]string{"log-level", "pipe", "info"}, false},
		{[]string{"call", "pipe", "tell", "--level", "info"}, true},
		{[]string{"watch", "web", "--for", "10ms"}, false},
		{[]string{"ping", "web"}, false},
		{[]string{"tools", "web"}, true},
		{[]string{"call", "web", "tell", "token=" + planted}, true},
		{[]string{"call", "web", "missing"}, false},
		{[]string{"servers"}, false},
		{[]string{"servers", "-o", "json"}, false},
		{[]string{"tools"}, true},
		{[]string{"config"}, false},
		{[]string{"doctor", "pipe"}, false},
		{[]string{"doctor", "web", "-o", "json"}, false},
		{[]string{"login", "web", "--no-browser"}, false},
		{[]string{"logout", "web"}, false},
		{[]string{"post", web.URL + "/mcp?api_key=" + planted, "tools/list", "--header", "X-Api-Key: key " + planted}, true},
		{[]string{"post", web.URL + "/mcp", "missing", "--header", "Authorization: Bearer " + bearer}, true},
		{[]string{"add", "more", "--env", "API_KEY=" + planted, "--", server}, false},
		{[]string{"add", "web2", web.URL + "/mcp?token=" + planted, "--header", "X-Api-Key: " + planted}, false},
		{[]string{"disable", "more"}, false},
		{[]string{"enable", "more"}, false},
		{[]string{"remove", "more"}, false},
		{[]string{"auth", "status"}, false},
		{[]string{"import"}, false},
		{[]string{"import", "all"}, false},
		{[]string{"import", "cursor", "-o", "json"}, false},
		{[]string{"import", "codex"}, false},
		{[]string{"import", "cursor", "--dry-run"}, false},
		{[]string{"import", "cursor", "--copy"}, false},
		{[]string{"import", "cursor", "literal", "--force"}, false},
		{[]string{"config", "--import", "all"}, false},
		{[]string{"ping", "literal", "--import", "cursor"}, false},
		{[]string{"version"}, false},
		{[]string{"completion", "bash"}, false},
	} {
		t.Run(strings.Join(row.args[:min(len(row.args), 3)], " "), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trace.jsonl")
			flags := []string{"--trace", path}
			if !slices.Contains([]string{"post", "add", "disable", "enable", "remove", "import", "version", "completion"}, row.args[0]) {
				flags = append(flags, "--config", file, "--verbose")
			}
			args := append(slices.Clone(row.args), flags...)
			if dash := slices.Index(row.args, "--"); dash >= 0 {
				args = slices.Insert(slices.Clone(row.args), dash, flags...)
			}
			code, stdout, stderr := program(t, args...)
			if code == 2 && row.args[len(row.args)-1] != "missing" {
				t.Fatalf("exit code 2: %s", stderr)
			}
			traced, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			clean(t, "standard error", stderr)
			clean(t, "the trace", string(traced))
			if !row.result {
				clean(t, "standard output", stdout)
			}
		})
	}
}

// otherPrograms gives the user files of other programs with secrets in them.
func otherPrograms(t *testing.T, home string) {
	t.Helper()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	for name, text := range map[string]string{
		".cursor/mcp.json": `{"mcpServers": {
			"literal": {"command": "telltale", "args": ["--api-key", "` + planted + `"], "env": {"API_KEY": "` + planted + `"}},
			"header": {"url": "http://u:` + planted + `@localhost:1/?token=` + planted + `", "headers": {"X-Api-Key": "` + planted + `"}},
			"login": {"url": "http://localhost:1", "auth": {"CLIENT_ID": "x", "CLIENT_SECRET": "` + planted + `"}},
			"wrong": {"command": "x", "env": {"API_KEY": "` + planted + `${input:` + planted + `}"}},
			"odd": {"command": "x", "envFile": "` + planted + `", "timeout": "` + planted + `"}}}`,
		".codex/config.toml":    "[mcp_servers.a]\nbearer_token = " + planted + "\n",
		".gemini/settings.json": `{"mcpServers": {"a": {"command": "x", "timeout": "` + planted + `", "tcp": "` + planted + `"}}}`,
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A question that nobody answers is told of the run: without the secrets that it tells.
func TestAQuestionIsToldWithoutSecrets(t *testing.T) {
	folder := t.TempDir()
	for _, name := range userFolders {
		t.Setenv(name, filepath.Join(folder, name))
	}
	t.Setenv("SCRIPT_SECRET", planted)
	said := "the key is ${API_KEY}, sent as Authorization: Bearer " + bearer
	write(t, filepath.Join(folder, "steps.txt"), strings.ReplaceAll(
		`{"id":1,"method":"elicitation/create","params":{"message":"SAID","requestedSchema":{"type":"object","properties":`+
			`{"field SAID":{"type":"string"}}}}}
answer
{"id":2,"method":"elicitation/create","params":{"mode":"url","url":"https://example.com/${API_KEY}/`+bearer+`","message":"SAID"}}
answer
{"id":3,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"SAID"}}]}}
answer
`, "SAID", said))
	write(t, filepath.Join(folder, "mcp.json"), `{"mcpServers": {"asking": {"command": "askingserver", "cwd": ".",
		"args": ["steps.txt"], "env": {"API_KEY": "${SCRIPT_SECRET}"}}}}`)
	code, stdout, stderr := program(t, "call", "asking", "ask", "-v", "--config", filepath.Join(folder, "mcp.json"))
	if code != 1 || strings.Count(stderr, "asking asks for ") != 3 || strings.Count(stdout, `"cancel"`) != 2 {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	clean(t, "standard error", stderr)
}

// What is made of a trace, and a recording, keep quiet too.
func TestNoFileThatIsKeptHasASecret(t *testing.T) {
	server, err := exec.LookPath("telltale")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range userFolders {
		t.Setenv(name, filepath.Join(folder, name))
	}
	t.Setenv("SCRIPT_SECRET", planted)
	in := func(name string) string { return filepath.Join(folder, name) }
	entry := fmt.Sprintf(`{"mcpServers": {"pipe": {"command": %q, "env": {"API_KEY": "${SCRIPT_SECRET}"}}}}`, server)
	if err := os.WriteFile(in("mcp.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, "call", "pipe", "tell", "token="+planted, "--config", in("mcp.json"), "--trace", in("t.jsonl"))
	var views []string
	for _, view := range [][]string{{}, {"--calls"}, {"--messages", "-v"}, {"--errors"}, {"--waterfall"}} {
		code, stdout, stderr := program(t, append([]string{"trace", in("t.jsonl")}, view...)...)
		if code != 0 || stdout == "" {
			t.Fatalf("trace %v: exit code %d, %q", view, code, stderr)
		}
		views = append(views, stdout)
	}
	clean(t, "a view of a trace", strings.Join(views, "\n"))
	if code, _, stderr := program(t, "trace", in("t.jsonl"), "--html", in("t.html")); code != 0 {
		t.Fatalf("trace --html: exit code %d, %q", code, stderr)
	}
	host := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tell","arguments":` +
		`{"token":"` + planted + `"}}}` + "\n")
	var out, errs bytes.Buffer
	args := []string{"record", "-o", in("r.jsonl"), "--config", in("mcp.json"), "pipe"}
	if code := cli.Main(t.Context(), args, host, &out, &errs); code != 0 || !strings.Contains(out.String(), "isError") {
		t.Fatalf("record: exit code %d, %q, %q", code, out.String(), errs.String())
	}
	for _, name := range []string{"t.jsonl", "t.html", "r.jsonl"} {
		text, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "tools/call") {
			t.Errorf("%s does not have the call", name)
		}
		clean(t, name, string(text))
	}
	_, _, stderr := program(t, "replay", in("r.jsonl"))
	clean(t, "replay", stderr)
}

// clean checks that a text has no secret, however it is escaped.
func clean(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{planted, strings.ReplaceAll(planted, "/", `\/`), "pl4nted-7Qz2Lm%2FP9x", bearer} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s shows a secret: …%s", what, text[max(0, i-200):i+len(secret)])
		}
	}
}
