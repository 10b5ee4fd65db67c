package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport/transporttest"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		playServer(name)
		return
	}
	goleak.VerifyTestMain(m)
}

const initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},` +
	`"serverInfo":{"name":"fake","version":"1.2"},"instructions":"Be kind."}`

// A fake is a server in memory: it answers initialize, and every other request by method.
type fake struct {
	initialize string                                     // the result of initialize; empty: initialized
	answers    map[string]func(m jsonrpc.Message) string  // raw messages; empty: silence
	hook       func(s *transporttest.Server, text []byte) // sees every message first; may be nil

	mu   sync.Mutex
	seen []string // messages of the client
}

func (f *fake) serve(s *transporttest.Server) {
	for {
		text, ok := s.Read()
		if !ok {
			return
		}
		f.mu.Lock()
		f.seen = append(f.seen, string(text))
		f.mu.Unlock()
		if f.hook != nil {
			f.hook(s, text)
		}
		m, err := jsonrpc.Parse(text)
		if err != nil || m.Kind != jsonrpc.Request {
			continue
		}
		if reply := f.reply(m); reply != "" {
			s.Write([]byte(reply))
		}
	}
}

func (f *fake) reply(m jsonrpc.Message) string {
	if answer := f.answers[m.Method]; answer != nil {
		return answer(m)
	}
	if m.Method != "initialize" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
	}
	if f.initialize != "" {
		return result(m, f.initialize)
	}
	return result(m, initialized)
}

func (f *fake) messages() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.seen...)
}

func (f *fake) count(method string) (n int) {
	for _, text := range f.messages() {
		if strings.Contains(text, fmt.Sprintf(`"method":%q`, method)) {
			n++
		}
	}
	return n
}

func result(m jsonrpc.Message, text string) string {
	return string(jsonrpc.AppendResult(nil, m.ID, json.RawMessage(text)))
}

func always(text string) func(jsonrpc.Message) string {
	return func(m jsonrpc.Message) string { return result(m, text) }
}

func silence(jsonrpc.Message) string { return "" }

// connect connects to the fake, which must succeed. It must be called inside a bubble.
func connect(t *testing.T, f *fake, o client.Options) *client.Client {
	t.Helper()
	if o.Server == "" {
		o.Server = "demo"
	}
	if o.Protocol == "" {
		o.Protocol = client.ProtocolSession
	}
	c, err := client.Connect(t.Context(), transporttest.NewMemory(f.serve), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func closeClient(t *testing.T, c *client.Client) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// progressing answers tools/call after n progress notifications, each after a pause.
func progressing(n int, pause time.Duration) func(s *transporttest.Server, text []byte) {
	return func(s *transporttest.Server, text []byte) {
		m, _ := jsonrpc.Parse(text)
		if m.Method != "tools/call" {
			return
		}
		for i := range n {
			time.Sleep(pause)
			s.Write(fmt.Appendf(nil,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.ID, i))
		}
		s.Write([]byte(result(m, `{"content":[]}`)))
	}
}
