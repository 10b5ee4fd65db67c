package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake answers by method, and keeps what it was sent.
type fake struct {
	stateless bool
	answers   map[string]string // a result, or with "!" before it an error; "-": silence, "end": the line ends
	ask       string            // a request that it sends before it answers tools/call

	mu   sync.Mutex
	sent map[string]string // the last params, by method; what we answered under "answer"
}

func (f *fake) answer(m jsonrpc.Message) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sent == nil {
		f.sent = map[string]string{}
	}
	f.sent[m.Method] = string(m.Params)
	answer := f.answers[m.Method]
	switch {
	case answer != "":
	case m.Method == "initialize" && !f.stateless:
		answer = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"f","version":"1"}}`
	case m.Method == "server/discover" && f.stateless:
		answer = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`
	default:
		answer = `!{"code":-32601,"message":"Method not found"}`
	}
	if refusal, ok := strings.CutPrefix(answer, "!"); ok {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, refusal)
	} else if answer == "-" || answer == "end" {
		return answer
	}
	return string(jsonrpc.AppendResult(nil, m.ID, json.RawMessage(answer)))
}

func (f *fake) got(method string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent[method]
}

// memory is the fake on a line in memory, which says that it is of the given kind.
func (f *fake) memory(kind string) transport.Transport {
	return posing{transporttest.NewMemory(func(s *transporttest.Server) {
		for {
			text, ok := s.Read()
			if !ok {
				return
			}
			m, err := jsonrpc.Parse(text)
			if err != nil || m.Kind != jsonrpc.Request {
				continue
			}
			if f.ask != "" && m.Method == "tools/call" {
				s.Write([]byte(f.ask))
				if _, ok := s.Read(); !ok {
					return
				}
			}
			switch reply := f.answer(m); reply {
			case "-":
			case "end":
				return
			default:
				s.Write([]byte(reply))
			}
		}
	}), kind}
}

// http is the fake behind an HTTP server.
func (f *fake) http(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, err := jsonrpc.Parse(body)
		if err != nil || m.Kind != jsonrpc.Request {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if !f.stateless {
			w.Header().Set("Mcp-Session-Id", "session-1")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, f.answer(m))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type posing struct {
	transport.Transport
	kind string
}

type posingConn struct {
	transport.Conn
	kind string
}

func (p posing) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	c, err := p.Transport.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return posingConn{c, p.kind}, nil
}

func (c posingConn) Traits() transport.Traits { return transport.Traits{Name: c.kind} }

func (f *fake) protocol() string {
	if f.stateless {
		return client.ProtocolStateless
	}
	return client.ProtocolSession
}

func connect(t *testing.T, f *fake, carrier transport.Transport, o client.Options) *client.Client {
	t.Helper()
	o.Server, o.Protocol = "files", f.protocol()
	c, err := client.Connect(t.Context(), carrier, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
