//go:build unix

package doctor_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpwire/config"
	"mcpwire/internal/demo"
	"mcpwire/internal/doctor"
	"mcpwire/jsonrpc"
)

// role is the variable that makes the test binary be a fake server.
const role = "DOCTOR_TEST_SERVER"

func TestMain(m *testing.M) {
	name := os.Getenv(role)
	if name == "" {
		os.Exit(m.Run())
	}
	if name == "demo" {
		if demo.Serve(mustContext()) != nil {
			os.Exit(1)
		}
		return
	}
	fakes[name]()
}

// fake is the entry of a fake server.
func fake(name string) config.Server {
	return config.Server{
		Name: "it", Command: os.Args[0], Env: map[string]string{role: name, "GORACE": "atexit_sleep_ms=0"},
	}
}

// Results of an honest server.
const (
	hello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"7"}}`
	echo  = `{"name":"echo","description":"Says it again.","inputSchema":{"type":"object"}}`
)

// A server answers methods with results; "error …" refuses, "exit" ends the process, "silent" does not answer.
type server struct {
	answers map[string]string
	frame   func(text string) string // nil: one a line
	each    func()                   // before each answer; may be nil
}

func honest(changes ...string) *server {
	s := &server{answers: map[string]string{
		"initialize": hello, "ping": "{}", "tools/list": `{"tools":[` + echo + `]}`,
	}}
	for i := 0; i+1 < len(changes); i += 2 {
		s.answers[changes[i]] = changes[i+1]
	}
	return s
}

func tools(definitions string) *server { return honest("tools/list", `{"tools":[`+definitions+`]}`) }

// serve answers until the input ends.
func (s *server) serve() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Parse(line)
		if err != nil || m.Kind != jsonrpc.Request {
			continue
		}
		if s.each != nil {
			s.each()
		}
		if text := s.answer(m); text != "" {
			if s.frame != nil {
				fmt.Fprint(os.Stdout, s.frame(text))
			} else {
				fmt.Fprintln(os.Stdout, text)
			}
		}
	}
}

func (s *server) answer(m jsonrpc.Message) string {
	result, known := s.answers[m.Method]
	refusal, refused := strings.CutPrefix(result, "error ")
	switch {
	case result == "exit":
		os.Exit(9)
	case result == "silent":
		return ""
	case !known:
		refusal, refused = `{"code":-32601,"message":"no such method"}`, true
	}
	if refused {
		return `{"jsonrpc":"2.0","id":` + m.ID.String() + `,"error":` + refusal + `}`
	}
	return `{"jsonrpc":"2.0","id":` + m.ID.String() + `,"result":` + result + `}`
}

func prints(text string) func() { return func() { fmt.Fprintln(os.Stdout, text) } }
func complain(text string)      { fmt.Fprintln(os.Stderr, text) }
func sleep()                    { time.Sleep(time.Minute) }

// fakes are the servers of programs that the test binary can be.
var fakes = map[string]func(){
	"honest":  honest().serve,
	"stderr":  func() { complain("Error: DEMO_API_KEY is not set"); os.Exit(2) },
	"module":  func() { complain("Error: Cannot find module 'left-pad'"); os.Exit(1) },
	"silent":  func() { os.Exit(0) },
	"closes":  func() { os.Stdout.Close(); sleep() },
	"killed":  func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); sleep() },
	"banner":  func() { prints("Welcome to Fake 7!")(); honest().serve() },
	"logs":    func() { s := honest(); s.each = prints("INFO handling a request"); s.serve() },
	"jsonlog": func() { s := honest(); s.each = prints(`{"level":"info","msg":"request"}`); s.serve() },
	"lsp": func() {
		s := honest()
		s.frame = func(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }
		s.serve()
	},
	"pretty": func() {
		s := honest()
		s.frame = func(text string) string {
			return strings.NewReplacer(`{"jsonrpc":"2.0",`, "{\n  \"jsonrpc\": \"2.0\",\n  ", `,"result"`, ",\n  \"result\"",
				`,"error"`, ",\n  \"error\"").Replace(strings.TrimSuffix(text, "}")) + "\n}\n"
		}
		s.serve()
	},
	"html": func() {
		prints("<!DOCTYPE html><html><body>It works!</body></html>")()
		honest("initialize", "exit").serve()
	},
	"mute": honest("initialize", "silent", "server/discover", "silent").serve,
	"terminal": func() {
		complain("Enter your PIN:")
		honest("initialize", "silent", "server/discover", "silent").serve()
	},
	"http":          func() { complain("Listening on http://127.0.0.1:3000/mcp"); sleepUntilEOF() },
	"refuses":       honest("initialize", `error {"code":-32603,"message":"license expired"}`).serve,
	"old":           honest("initialize", strings.Replace(hello, "2025-11-25", "2023-01-01", 1)).serve,
	"older":         honest("initialize", strings.Replace(hello, "2025-11-25", "2024-11-05", 1)).serve,
	"malformed":     honest("initialize", `"hello"`).serve,
	"unnamed":       honest("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{}}`).serve,
	"refuses list":  honest("tools/list", `error {"code":-32601,"message":"no"}`).serve,
	"fails list":    honest("tools/list", `error {"code":-32000,"message":"database is down"}`).serve,
	"silent list":   honest("tools/list", "silent").serve,
	"circle":        honest("tools/list", `{"tools":[`+echo+`],"nextCursor":"again"}`).serve,
	"twice":         tools(echo + "," + echo).serve,
	"no schema":     tools(`{"name":"echo","description":"Says it."}`).serve,
	"array":         tools(`{"name":"echo","description":"Says it.","inputSchema":{"type":"array"}}`).serve,
	"bad schema":    tools(`{"name":"echo","description":"Says it.","inputSchema":{"type":"object","required":"text"}}`).serve,
	"bad name":      tools(strings.Replace(echo, "echo", "say it/again", 1)).serve,
	"undescribed":   tools(`{"name":"echo","inputSchema":{"type":"object"}}`).serve,
	"heavy":         tools(strings.Replace(echo, "Says it again.", strings.Repeat("Says it again. ", 3000), 1)).serve,
	"undeclared":    honest("initialize", strings.Replace(hello, `"tools":{}`, "", 1)).serve,
	"refuses ping":  honest("ping", `error {"code":-32601,"message":"no"}`).serve,
	"dies in list":  honest("tools/list", "exit").serve,
	"dies of probe": honest("server/discover", "exit").serve,
	"ignores probe": honest("server/discover", "silent").serve,
	"crashes": func() {
		s := honest()
		s.frame = func(text string) string {
			if strings.Contains(text, "serverInfo") {
				fmt.Fprintln(os.Stdout, text)
				complain("panic: nil pointer")
				os.Exit(2)
			}
			return text + "\n"
		}
		s.serve()
	},
	"ignores eof":  func() { honest().serve(); sleep() },
	"ignores term": func() { signal.Ignore(syscall.SIGTERM); honest().serve(); sleep() },
	"sleeps":       sleep,
	"leaves child": func() {
		child := exec.Command(os.Args[0])
		child.Env = []string{role + "=sleeps"}
		if err := child.Start(); err != nil {
			panic(err)
		}
		honest().serve()
	},
	"status":  func() { honest().serve(); os.Exit(3) },
	"secrets": func() { complain(strings.Join(append(os.Args[1:], os.Getenv("MY_TOKEN")), " ")); os.Exit(1) },
}

func sleepUntilEOF() {
	_, _ = bufio.NewReader(os.Stdin).ReadBytes(0)
}

// ids returns the findings of a report, without notes.
func ids(r *doctor.Report) (found []string) {
	for _, s := range r.Steps {
		for _, f := range s.Findings {
			if f.Verdict != doctor.Note {
				found = append(found, f.ID)
			}
		}
	}
	return found
}

// text returns all that a report says.
func text(r *doctor.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Name, r.Verdict)
	for _, s := range r.Steps {
		fmt.Fprintf(&b, "%s %s %s\n", s.Verdict, s.Name, s.Text)
		for _, f := range s.Findings {
			fmt.Fprintf(&b, "  %s (%s): %s\n    → %s\n", f.ID, f.Verdict, f.Text, f.Fix)
		}
	}
	return b.String()
}
