package stdio_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"mcpwire/trace"
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
	return opened(t, behaviourTransport(b, maxMessage), r)
}

// A tap changes nothing of what a line does.
func TestALineWithATapKeepsTheContract(t *testing.T) {
	tapped := func(t *testing.T, b transporttest.Behaviour, maxMessage int, r transport.Receiver) transport.Conn {
		t.Helper()
		w := trace.NewWriter(io.Discard)
		t.Cleanup(func() { _ = w.Close() })
		tap := trace.New(trace.Options{Sink: w.Sink})
		return opened(t, tap.Around(behaviourTransport(b, maxMessage)), r)
	}
	transporttest.Run(t, transporttest.Harness{Open: tapped, Shared: true, Lines: true, Process: true})
}

func behaviourTransport(b transporttest.Behaviour, maxMessage int) transport.Transport {
	return stdio.New(stdio.Options{
		Command: os.Args[0],
		Env: map[string]string{
			role:      "suite",
			behaviour: b.String(),
			"GORACE":  "atexit_sleep_ms=0", // a race detector in the server delays its end by a second otherwise
		},
		MaxMessage: maxMessage,
	})
}

func opened(t *testing.T, carrier transport.Transport, r transport.Receiver) transport.Conn {
	t.Helper()
	conn, err := carrier.Open(t.Context(), r)
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
