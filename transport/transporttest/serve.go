package transporttest

import (
	"bufio"
	"bytes"
	"io"
	"time"
)

// forever is longer than any row of the suite. A server whose test was killed does not stay for longer.
const forever = time.Minute

// Serve is a fake server of one connection whose messages are lines. It returns the status to exit with, after the end
// of in or when the behaviour says so; Stubborn and Deaf do not return in time.
//
// It keeps to the three streams. What belongs to the process is up to the caller: for Stubborn to ignore SIGTERM, for
// Grandchild to start a process that holds out, and to write GrandchildMessage as the first line.
func Serve(b Behaviour, in io.Reader, out, errw io.Writer) (status int) {
	s := lineServer{out: out, errw: errw}
	script := NewScript(b)
	if s.do(script.Begin()) {
		return s.status
	}
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 && s.do(script.Next(line)) {
			return s.status
		}
		if err != nil {
			break
		}
	}
	if b.Name == Stubborn {
		time.Sleep(forever)
	}
	return 0
}

type lineServer struct {
	out, errw io.Writer
	status    int
}

// do takes steps and reports whether the server is to exit.
func (s *lineServer) do(steps []Step) (exit bool) {
	for _, step := range steps {
		switch step.Do {
		case Say:
			s.write(append(step.Data, '\n'))
		case Raw:
			s.write(step.Data)
		case Trickle:
			for i := range step.Data {
				s.write(step.Data[i : i+1])
			}
		case Complain:
			_, _ = s.errw.Write(step.Data) // who does not listen misses it
		case Pause:
			time.Sleep(step.Wait)
		case Stall:
			time.Sleep(forever)
		case HangUp:
			if c, ok := s.out.(io.Closer); ok {
				_ = c.Close() // a file of our own
			}
		case Exit:
			s.status = step.Code
			return true
		}
	}
	return false
}

// write ignores errors: a client that has gone away is noticed by the end of the input.
func (s *lineServer) write(b []byte) { _, _ = s.out.Write(b) }
