package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpwire/internal/demo"
)

const serveVariable = "DEMO_TEST_SERVE"

// raceOptions spares the second that a race-checked process sleeps before it exits.
const raceOptions = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		if err := demo.Serve(context.Background()); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// connect starts the server as a process and opens a session of the SDK's own client.
func connect(t *testing.T, o *mcp.ClientOptions) (*mcp.ClientSession, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"=1", raceOptions)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session, cmd
}

func call(t *testing.T, s *mcp.ClientSession, tool, args string) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result
}

func said(r *mcp.CallToolResult) string {
	if len(r.Content) != 1 {
		return ""
	}
	block, _ := r.Content[0].(*mcp.TextContent)
	return block.Text
}

func TestAddKeepsAllDigits(t *testing.T) {
	s, _ := connect(t, nil)
	for args, want := range map[string]string{
		`{"a":2,"b":40}`:                      "42",
		`{"a":0.1,"b":0.2}`:                   "0.3",
		`{"a":9007199254740993,"b":0}`:        "9007199254740993",
		`{"a":-1.50,"b":1}`:                   "-0.50",
		`{"a":1e3,"b":1}`:                     "1001",
		`{"a":123456789012345678901,"b":0.5}`: "123456789012345678901.5",
	} {
		if r := call(t, s, "add", args); said(r) != `{"sum":`+want+`}` || r.IsError || r.StructuredContent == nil {
			t.Errorf("%s: got %q (error: %t), want %q", args, said(r), r.IsError, want)
		}
	}
	for _, args := range []string{`{}`, `{"a":"1","b":2}`, `{"a":1e999,"b":2}`} {
		if r := call(t, s, "add", args); !r.IsError {
			t.Errorf("%s: got %q and no error", args, said(r))
		}
	}
}

func TestEchoAndFailSayWhatTheyAreTold(t *testing.T) {
	s, _ := connect(t, nil)
	if r := call(t, s, "echo", `{"message":"grüß dich"}`); said(r) != "grüß dich" || r.IsError {
		t.Errorf("echo: got %q, error: %t", said(r), r.IsError)
	}
	if r := call(t, s, "fail", `{"reason":"because"}`); said(r) != "because" || !r.IsError {
		t.Errorf("fail: got %q, error: %t", said(r), r.IsError)
	}
}

func TestCountdownReportsEachStep(t *testing.T) {
	steps := make(chan float64, 8)
	s, _ := connect(t, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			steps <- req.Params.Progress
		},
	})
	params := &mcp.CallToolParams{Name: "countdown", Arguments: json.RawMessage(`{"seconds":0.03,"steps":3}`)}
	params.SetProgressToken("p")
	r, err := s.CallTool(t.Context(), params)
	if err != nil || said(r) != "Lift-off after 3 steps." {
		t.Fatalf("got %v, %v", r, err)
	}
	for want := 1.0; want <= 3; want++ {
		if got := <-steps; got != want {
			t.Errorf("got step %g, want %g", got, want)
		}
	}
}

func TestACancelledSleepLeavesTheServerUsable(t *testing.T) {
	s, _ := connect(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		params := &mcp.CallToolParams{Name: "sleep", Arguments: json.RawMessage(`{"seconds":600}`)}
		_, err := s.CallTool(ctx, params)
		ended <- err
	}()
	call(t, s, "echo", `{"message":"in between"}`)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := s.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestOutOfRangeSecondsAreRefused(t *testing.T) {
	s, _ := connect(t, nil)
	for _, seconds := range []string{"-1", "1e9"} {
		if r := call(t, s, "sleep", `{"seconds":`+seconds+`}`); !r.IsError {
			t.Errorf("%s: got %q", seconds, said(r))
		}
	}
}

func TestCrashEndsTheServerWithAReason(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"=1", raceOptions)
	const messages = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"crash","arguments":{"reason":"no more"}}}` + "\n"
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe() // it stays open: the end of input would end the server too
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte(messages)); err != nil {
		t.Error(err)
	}
	err = cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 3 || stderr.String() != "fatal: no more\n" {
		t.Errorf("got %v, %q", err, stderr.String())
	}
}

func TestResourcesAndThePromptCanBeRead(t *testing.T) {
	s, _ := connect(t, nil)
	r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "demo://readme"})
	if err != nil || len(r.Contents) != 1 || r.Contents[0].Text == "" {
		t.Errorf("readme: got %v, %v", r, err)
	}
	r, err = s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "demo://pixel"})
	if err != nil || len(r.Contents) != 1 || !strings.HasPrefix(string(r.Contents[0].Blob), "\x89PNG") {
		t.Errorf("pixel: got %v, %v", r, err)
	}
	p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
	if err != nil || len(p.Messages) != 1 {
		t.Errorf("greet: got %v, %v", p, err)
	}
}

func TestWhatTheServerHasIsKnownWithoutAStart(t *testing.T) {
	s, _ := connect(t, nil)
	started, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	known, err := demo.ReadLists(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range started.Tools {
		if !strings.Contains(string(known.Tools), `"name":"`+tool.Name+`"`) {
			t.Errorf("no %s in %s", tool.Name, known.Tools)
		}
	}
	for list, want := range map[string]string{
		string(known.Resources): `"uri":"demo://readme"`, string(known.Prompts): `"name":"greet"`,
	} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in %s", want, list)
		}
	}
}

func TestTheEndOfInputEndsTheServer(t *testing.T) {
	s, cmd := connect(t, nil)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("got %v", cmd.ProcessState)
	}
}
