package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpwire/transport/stdio"
)

// role is the variable that makes the test binary play a server.
const role = "STDIO_TEST_ROLE"

// goFile is the variable that names the file for which the role "late" waits.
const goFile = "STDIO_TEST_GO_FILE"

// stateVariable is the variable that names the folder in which the role "host" keeps its state.
const stateVariable = "STDIO_TEST_STATE"

// noDelay is the variable that keeps a race detector in the test binary from delaying its end by a second.
const noDelay = "GORACE"

func TestMain(m *testing.M) {
	name := os.Getenv(role)
	if name == "" {
		os.Exit(m.Run())
	}
	play, ok := roles[name]
	if !ok {
		panic("no role " + name)
	}
	play(bufio.NewReaderSize(os.Stdin, 1<<20))
}

// roles are the fake servers. A request is {"id":1,...}; where nothing else is said an answer is the same line.
var roles = map[string]func(in *bufio.Reader){
	"echo":     func(in *bufio.Reader) { answerAll(in) },
	"fail":     func(*bufio.Reader) { fmt.Fprintln(os.Stderr, "\x1b[31mError:\x1b[0m DEMO_KEY is not set"); os.Exit(2) },
	"suicide":  func(in *bufio.Reader) { readLine(in); killSelf() },
	"hang up":  func(in *bufio.Reader) { readLine(in); readLine(in); readLine(in); os.Exit(3) },
	"last":     func(in *bufio.Reader) { os.Stdout.Write(bytes.TrimSpace(readLine(in))) },
	"deaf":     func(*bufio.Reader) { ready(); time.Sleep(time.Minute) },
	"close in": func(*bufio.Reader) { os.Stdin.Close(); ready(); time.Sleep(time.Minute) },
	"late": func(in *bufio.Reader) { // reads nothing until a file is there
		ready()
		for {
			if _, err := os.Stat(os.Getenv(goFile)); err == nil {
				answerAll(in)
				return
			}
			time.Sleep(time.Millisecond)
		}
	},
	"EOF":      func(in *bufio.Reader) { readLine(in); os.Stdout.Close(); readLine(in) },
	"mute":     func(in *bufio.Reader) { ready(); os.Stdout.Close(); readLine(in); readLine(in) },
	"stubborn": func(*bufio.Reader) { signal.Ignore(syscall.SIGTERM); ready(); time.Sleep(time.Minute) },
	"exit soon": func(in *bufio.Reader) {
		readLine(in)
		os.Stdout.Close()
		time.Sleep(50 * time.Millisecond)
		os.Exit(4)
	},
	"on TERM": func(*bufio.Reader) {
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		ready()
		<-term
		fmt.Fprintln(os.Stderr, "cleaned up")
	},
	"holder": func(in *bufio.Reader) { // leaves somebody behind who holds the pipes and does not listen
		child := exec.Command(os.Args[0])
		child.Env = []string{role + "=stubborn"}
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		os.Stdout.Write(readLine(in))
		readLine(in)
		os.Exit(5)
	},
	"slow": func(in *bufio.Reader) {
		for slow := bufio.NewReader(slowly{in}); ; {
			line := readLine(slow)
			if line == nil {
				return
			}
			id, rest, _ := bytes.Cut(line, []byte(`,"text":"`))
			x := bytes.Count(rest, rest[:1])
			fmt.Fprintf(os.Stdout, "%s,\"whole\":%t}\n", id, x == 100<<10 && string(rest[x:]) == "\"}\n")
		}
	},
	"stderr": func(in *bufio.Reader) {
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for range 4 {
			os.Stderr.Write(chunk)
		}
		answerAll(in)
	},
	"stderr aside": func(in *bufio.Reader) {
		for line := readLine(in); line != nil; line = readLine(in) {
			fmt.Fprintln(os.Stderr, "aside")
			os.Stdout.Write(line)
		}
		fmt.Fprint(os.Stderr, "at last")
	},
	"stderr flood": func(in *bufio.Reader) {
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for range 200 << 20 / len(chunk) {
			os.Stderr.Write(chunk)
		}
		os.Stderr.WriteString("\nthe last line")
		readLine(in)
		os.Exit(1)
	},
	"sizes": func(in *bufio.Reader) {
		for _, size := range []int{65535, 65536, 1 << 20, 11 << 20, 16 << 20, 10} {
			var id int
			if _, err := fmt.Sscanf(string(readLine(in)), `{"id":%d}`, &id); err != nil {
				return
			}
			fmt.Fprintf(os.Stdout, "{\"id\":%d,\"text\":%q}\n", id, strings.Repeat("x", size))
		}
		readLine(in)
	},
	"halves": func(in *bufio.Reader) { // the second half of an answer comes with the next request
		rest := ""
		for line := readLine(in); line != nil; line = readLine(in) {
			half := len(line) / 2
			os.Stdout.WriteString(rest + string(line[:half]))
			rest = string(line[half:])
		}
	},
	"afterthought": func(in *bufio.Reader) { // says something some time after each answer
		for line := readLine(in); line != nil; line = readLine(in) {
			os.Stdout.Write(line)
			time.Sleep(time.Millisecond)
			ready()
		}
	},
	"fitful": func(in *bufio.Reader) { // leaves some requests unanswered, and takes its time for others
		for n, line := 0, readLine(in); line != nil; n, line = n+1, readLine(in) {
			switch {
			case n%7 == 0:
				continue
			case n%5 == 0:
				time.Sleep(time.Millisecond)
			}
			os.Stdout.Write(line)
		}
	},
	"bytes": func(in *bufio.Reader) {
		os.Stdout.WriteString("\ufeff")
		for line := readLine(in); line != nil; line = readLine(in) {
			for _, c := range append(bytes.TrimSpace(line), "\r\n"...) {
				os.Stdout.Write([]byte{c})
			}
		}
	},
	"host": func(in *bufio.Reader) { // opens a connection and never closes it
		o := stdio.Options{
			Command: os.Args[0], Env: map[string]string{role: "stubborn"}, StateDir: os.Getenv(stateVariable),
		}
		r := newReceiver()
		if _, err := stdio.New(o).Open(context.Background(), r); err != nil {
			panic(err)
		}
		<-r.received
		ready()
		readLine(in)
	},
	"noise": func(in *bufio.Reader) {
		os.Stdout.WriteString("Demo server v1.2 \x1b[1mready\x1b[0m\n\n[info] {not json\n42\n")
		os.Stdout.WriteString(strings.Repeat("é", 400) + "\n")
		for line := readLine(in); line != nil; line = readLine(in) {
			fmt.Fprintf(os.Stdout, "Calling tool...\n%s", line)
		}
	},
}

func killSelf() {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	_ = self.Kill()
	select {}
}

func ready() { fmt.Fprintln(os.Stdout, `{"ready":true}`) }

func readLine(in *bufio.Reader) []byte {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil
	}
	return line
}

func answerAll(in *bufio.Reader) {
	for line := readLine(in); line != nil; line = readLine(in) {
		os.Stdout.Write(line)
	}
}

type slowly struct{ r io.Reader }

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(100 * time.Microsecond)
	return s.r.Read(p[:min(len(p), 4096)])
}
