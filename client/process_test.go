package client_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/client"
	"mcpwire/internal/proc/proctest"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport/stdio"
)

// role is the variable that makes the test binary play a server.
const role = "CLIENT_TEST_ROLE"

// connectProcess connects to the test binary in a role, which must succeed. The server is closed with the test; then
// nothing may be left of it.
func connectProcess(t *testing.T, name string, o client.Options, change ...func(*stdio.Options)) *client.Client {
	t.Helper()
	proctest.NoLeaks(t)
	c, err := dialProcess(t, name, o, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeClient(t, c) })
	return c
}

func dialProcess(t *testing.T, name string, o client.Options, change ...func(*stdio.Options)) (*client.Client, error) {
	t.Helper()
	o.Server = "demo"
	process := stdio.Options{
		Name: "demo", Command: os.Args[0],
		// The second keeps a race detector in the test binary from delaying its end by a second.
		Env: map[string]string{role: name, "GORACE": "atexit_sleep_ms=0"},
	}
	for _, f := range change {
		f(&process)
	}
	return client.Connect(t.Context(), stdio.New(process), o)
}

// callText calls a tool and returns the text of its result.
func callText(t *testing.T, c *client.Client, tool string, args any) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), tool, args, nil)
	if err != nil || len(r.Content) != 1 {
		t.Fatalf("%s: got %v and error %v", tool, r, err)
	}
	return r.Content[0].Text
}

// A process is a server that is a process of its own.
type process struct {
	role string

	mu      sync.Mutex
	seen    []string       // what the client has sent
	answers chan string    // what of it was an answer
	waiting []jsonrpc.ID   // calls of the tool "wait"
	running sync.WaitGroup // tools
}

// playServer plays the server of a role until its input ends.
func playServer(name string) {
	p := &process{role: name, answers: make(chan string, 10)}
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	p.begin()
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		p.take(strings.TrimSuffix(line, "\n"))
	}
	p.running.Wait()
}

// begin does what the role does before it reads anything.
func (p *process) begin() {
	switch p.role {
	case "noisy", "silent":
		p.write("Demo server v1.2 \x1b[1mready\x1b[0m\n\n[info] {not json\n42\n\"ready\"\n[1]\n")
	case "fails":
		time.Sleep(50 * time.Millisecond)
		fmt.Fprintln(os.Stderr, "\x1b[31mError:\x1b[0m DEMO_KEY is not set")
		os.Exit(2)
	case "killed":
		fmt.Fprintln(os.Stderr, "out of memory")
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		time.Sleep(time.Minute)
	case "floods":
		fmt.Fprint(os.Stderr, strings.Repeat("x", 256<<10))
	}
}

func (p *process) take(line string) {
	m, err := jsonrpc.Parse([]byte(line))
	if err != nil {
		fmt.Fprintf(os.Stderr, "not a message: %.100q: %v\n", line, err)
		os.Exit(1)
	}
	p.mu.Lock()
	p.seen = append(p.seen, line)
	p.mu.Unlock()
	switch {
	case p.role == "silent":
	case m.Kind == jsonrpc.Response:
		p.answers <- line
	case m.Method == mcp.NotificationInitialized && p.role == "stops reading":
		time.Sleep(time.Minute)
	case m.Method == mcp.MethodInitialize && p.role == "closes its input":
		os.Stdin.Close()
		p.write(result(m, initialized) + "\n")
		time.Sleep(time.Minute)
	case m.Method == mcp.MethodDiscover && p.role == "stateless":
		p.write(result(m, discovered) + "\n")
	case m.Method == mcp.MethodInitialize:
		p.write(result(m, initialized) + "\n")
	case m.Method == mcp.MethodCallTool:
		p.running.Go(func() { p.call(m) })
	case m.Kind == jsonrpc.Request:
		p.write(string(jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound})) + "\n")
	}
}

// write writes text at once.
func (p *process) write(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = os.Stdout.WriteString(text)
}

// answer is the line that answers a tool call with a text.
func answer(id jsonrpc.ID, text string) string {
	quoted := []byte(`"` + text + `"`)
	if strings.ContainsAny(text, "\"\n\\") {
		quoted, _ = mcp.Encode(text)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`+"\n", id, quoted)
}

// call runs a tool.
func (p *process) call(m jsonrpc.Message) {
	var params struct {
		Name      string `json:"name"`
		Arguments struct {
			N    int    `json:"n"`
			Text string `json:"text"`
		} `json:"arguments"`
	}
	if err := mcp.Decode(m.Params, &params); err != nil {
		panic(err)
	}
	n := params.Arguments.N
	text := "done"
	switch params.Name {
	case "print":
		p.write("Calling tool...\n")
	case "complain":
		fmt.Fprint(os.Stderr, strings.Repeat("x", n))
	case "sleep":
		time.Sleep(time.Duration(n) * time.Millisecond)
	case "fill":
		text = strings.Repeat("x", n)
	case "seen":
		p.mu.Lock()
		text = strings.Join(p.seen, "\n")
		p.mu.Unlock()
	case "ask":
		p.write(`{"jsonrpc":"2.0","id":"p-1","method":"ping"}` + "\n" +
			`{"jsonrpc":"2.0","id":9007199254740993,"method":"nope/x"}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"asking"}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/nobody/knows"}` + "\n")
		text = <-p.answers + "\n" + <-p.answers
	case "repeat":
		p.write(answer(m.ID, "first") + answer(m.ID, "second") + answer(jsonrpc.IntID(999), "unknown"))
		return
	case "spell":
		for _, b := range []byte(strings.ReplaceAll(answer(m.ID, params.Arguments.Text), "\n", "\r\n")) {
			p.write(string([]byte{b}))
		}
		return
	case "wait":
		p.wait(m.ID, n)
		return
	}
	p.write(answer(m.ID, text))
}

// wait leaves a call open until there are n, and then ends as the role says.
func (p *process) wait(id jsonrpc.ID, n int) {
	p.mu.Lock()
	p.waiting = append(p.waiting, id)
	all := p.waiting
	p.mu.Unlock()
	if len(all) < n {
		return
	}
	if p.role == "answers together" {
		var text strings.Builder
		for _, id := range all {
			text.WriteString(strings.ReplaceAll(answer(id, "id "+id.String()), "\n", "\r\n"))
		}
		p.write(strings.TrimSuffix(text.String(), "\r\n"))
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "the disk is on fire")
	os.Exit(3)
}
