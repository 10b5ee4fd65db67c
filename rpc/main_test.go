package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a conversation with a server in memory, and closes it at the end of the test's function. It must be called
// inside a bubble.
func open(t *testing.T, serve func(s *transporttest.Server), o rpc.Options) *rpc.Peer {
	t.Helper()
	if o.Server == "" {
		o.Server = "demo"
	}
	p, err := rpc.Open(t.Context(), transporttest.NewMemory(serve), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func closePeer(t *testing.T, p *rpc.Peer) {
	t.Helper()
	if err := p.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// next reads the next message of the client and fails the test when the connection has ended.
func next(t *testing.T, s *transporttest.Server) jsonrpc.Message {
	t.Helper()
	text, ok := s.Read()
	if !ok {
		t.Error("the connection has ended, a message was expected")
		return jsonrpc.Message{}
	}
	m, err := jsonrpc.Parse(text)
	if err != nil {
		t.Errorf("the client sent %s: %v", text, err)
	}
	return m
}

// drain reads until the connection ends.
func drain(s *transporttest.Server) {
	for {
		if _, ok := s.Read(); !ok {
			return
		}
	}
}

func writef(s *transporttest.Server, format string, args ...any) {
	s.Write(fmt.Appendf(nil, format, args...))
}

// A journal collects what callbacks are told, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

func (j *journal) note(_ context.Context, method string, params json.RawMessage) {
	j.add("%s %s", method, params)
}

func (j *journal) fail(err error) { j.add("error: %v", err) }

func (j *journal) close(err error) { j.add("closed: %v", err) }

func wantLines(t *testing.T, j *journal, want ...string) {
	t.Helper()
	if got := j.String(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
