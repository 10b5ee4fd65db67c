package stdio_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"mcpwire/transport"
	"mcpwire/transport/stdio"
	"mcpwire/transport/transporttest"
)

// behaviour is the variable that tells the role "suite" what to show.
const behaviour = "STDIO_TEST_BEHAVIOUR"

func init() {
	roles["suite"] = playBehaviour
	roles["child"] = func(*bufio.Reader) { time.Sleep(time.Minute) }
}

func TestStdioKeepsTheContract(t *testing.T) {
	transporttest.Run(t, transporttest.Harness{Open: openBehaviour, Shared: true, Lines: true, Process: true})
}

func openBehaviour(t *testing.T, b transporttest.Behaviour, maxMessage int, r transport.Receiver) transport.Conn {
	t.Helper()
	conn, err := stdio.New(stdio.Options{
		Command: os.Args[0],
		Env: map[string]string{
			role:      "suite",
			behaviour: b.String(),
			"GORACE":  "atexit_sleep_ms=0", // a race detector in the server delays its end by a second otherwise
		},
		MaxMessage: maxMessage,
	}).Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// playBehaviour is a server that shows a behaviour of the suite, with what of it is a matter of the process.
func playBehaviour(in *bufio.Reader) {
	b, err := transporttest.ParseBehaviour(os.Getenv(behaviour))
	if err != nil {
		panic(err)
	}
	switch b.Name {
	case transporttest.Stubborn:
		signal.Ignore(syscall.SIGTERM)
	case transporttest.Grandchild:
		child := exec.Command(os.Args[0])
		child.Env = []string{role + "=child"}
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", transporttest.GrandchildMessage(child.Process.Pid))
	}
	os.Exit(transporttest.Serve(b, in, os.Stdout, os.Stderr))
}
