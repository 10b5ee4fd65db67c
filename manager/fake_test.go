package manager_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is a server in memory of the session era. Its fields may be changed with set while it serves.
type fake struct {
	name string

	mu           sync.Mutex
	delay        time.Duration // before initialize is answered
	refuse       error         // connecting fails with it
	mute         bool          // nothing is answered
	deaf         bool          // nothing is read once the tools have been listed
	dies         bool          // it ends when the tools have been listed
	listErr      bool          // tools/list is refused
	silent       bool          // it offers no log messages
	torn         bool          // of the tools only the first comes, and a page that is refused
	unauthorized bool          // requests are refused with 401, as over HTTP
	tools        []mcp.Tool
	lists        int         // how often the tools were listed
	opened       []time.Time // when connections were opened
	open         int         // connections that are open
	most         int         // the largest number that was open at once
	runs         map[string]int
	onCall       func(s *transporttest.Server, m jsonrpc.Message) string // the answer; empty: none
	seen         []string                                                // methods, with the level or the URI
	lines        map[*transporttest.Server]bool
}

func newFake(name string, tools ...string) *fake {
	f := &fake{name: name, runs: map[string]int{}, lines: map[*transporttest.Server]bool{}}
	for _, t := range tools {
		f.tools = append(f.tools, mcp.Tool{Name: t, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return f
}

// set changes the fake.
func (f *fake) set(change func(f *fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// get reads the fake.
func get[T any](f *fake, read func(f *fake) T) T {
	f.mu.Lock()
	defer f.mu.Unlock()
	return read(f)
}

// kill ends all connections from the server's side.
func (f *fake) kill() {
	f.mu.Lock()
	var all []*transporttest.Server
	for s := range f.lines {
		all = append(all, s)
	}
	f.mu.Unlock()
	for _, s := range all {
		s.End(&transport.ExitError{Code: 1, Stderr: "killed"})
	}
}

// tell sends a notification on all connections.
func (f *fake) tell(method, params string) {
	f.mu.Lock()
	var all []*transporttest.Server
	for s := range f.lines {
		all = append(all, s)
	}
	f.mu.Unlock()
	for _, s := range all {
		s.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
	}
}

func (f *fake) serve(s *transporttest.Server) {
	f.set(func(f *fake) {
		f.lines[s] = true
		f.open++
		f.most = max(f.most, f.open)
	})
	defer f.set(func(f *fake) {
		delete(f.lines, s)
		f.open--
	})
	for {
		text, ok := s.Read()
		if !ok {
			return
		}
		m, err := jsonrpc.Parse(text)
		if err != nil || m.Kind == jsonrpc.Response {
			continue
		}
		if !f.take(s, m) {
			return
		}
	}
}

// take serves one message; false ends the connection.
func (f *fake) take(s *transporttest.Server, m jsonrpc.Message) bool {
	f.mu.Lock()
	mute, dies, delay, onCall, listErr, torn := f.mute, f.dies, f.delay, f.onCall, f.listErr, f.torn
	tools := append([]mcp.Tool(nil), f.tools...)
	f.seen = append(f.seen, subject(m))
	f.mu.Unlock()
	if mute || m.Kind != jsonrpc.Request {
		return true
	}
	answer := func(result string) {
		s.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
	}
	refuse := func(code int, text string) {
		s.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, code, text))
	}
	switch m.Method {
	case "initialize":
		if delay > 0 {
			select {
			case <-time.After(delay):
			case <-s.Done():
				return false
			}
		}
		logging := `"logging":{},`
		if get(f, func(f *fake) bool { return f.silent }) {
			logging = ""
		}
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},` + logging +
			`"resources":{"subscribe":true}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "tools/list":
		f.set(func(f *fake) { f.lists++ })
		if listErr || len(m.Params) > 0 {
			refuse(-32603, "no list today")
			return true
		}
		if torn {
			answer(fmt.Sprintf(`{"tools":[{"name":%q}],"nextCursor":"2"}`, tools[0].Name))
			return true
		}
		list, err := mcp.Encode(struct {
			Tools []mcp.Tool `json:"tools"`
		}{tools})
		if err != nil {
			panic(err)
		}
		answer(string(list))
		if get(f, func(f *fake) bool { return f.deaf }) {
			<-s.Done()
			return false
		}
		if dies {
			s.End(&transport.ExitError{Code: 0})
			return false
		}
	case "tools/call":
		if onCall != nil {
			if reply := onCall(s, m); reply != "" {
				s.Write([]byte(reply))
			}
			return true
		}
		f.ran(m)
		answer(`{"content":[{"type":"text","text":"done"}]}`)
	case "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		answer(`{}`)
	default:
		refuse(-32601, "unknown method")
	}
	return true
}

// ran counts a run of a call by its argument "call".
func (f *fake) ran(m jsonrpc.Message) {
	var p struct {
		Arguments struct {
			Call string `json:"call"`
		} `json:"arguments"`
	}
	_ = mcp.Decode(m.Params, &p)
	f.set(func(f *fake) { f.runs[p.Arguments.Call]++ })
}

// subject returns the method, with what it is about.
func subject(m jsonrpc.Message) string {
	var p struct {
		Level string `json:"level"`
		URI   string `json:"uri"`
	}
	if len(m.Params) > 0 {
		_ = mcp.Decode(m.Params, &p)
	}
	return strings.TrimSpace(m.Method + " " + p.Level + p.URI)
}

// A fleet is a number of fakes, as Options.Connect reaches them.
type fleet map[string]*fake

func newFleet(fakes ...*fake) fleet {
	all := fleet{}
	for _, f := range fakes {
		all[f.name] = f
	}
	return all
}

func (all fleet) connect(ctx context.Context, s config.Server, o client.Options) (*client.Client, error) {
	f := all[s.Name]
	if f == nil {
		return nil, errors.New("no such fake")
	}
	f.mu.Lock()
	f.opened = append(f.opened, time.Now())
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != nil {
		return nil, refuse
	}
	o.Protocol = client.ProtocolSession
	if s.ConnectTimeout != nil {
		o.ConnectTimeout = *s.ConnectTimeout
	}
	if s.Timeout != nil {
		o.Timeout = *s.Timeout
	}
	return client.Connect(ctx, gated{transporttest.NewMemory(f.serve), f}, o)
}

// gated is a carrier that refuses requests as an HTTP server does that wants a login.
type gated struct {
	transport.Transport
	f *fake
}

func (g gated) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	c, err := g.Transport.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return gatedConn{c, g.f}, nil
}

type gatedConn struct {
	transport.Conn
	f *fake
}

func (c gatedConn) Exchange(ctx context.Context, call *transport.Call) error {
	if get(c.f, func(f *fake) bool { return f.unauthorized }) {
		status := &transport.StatusError{Status: 401, Text: "Unauthorized"}
		return &transport.Error{Delivery: transport.Answered, Err: status}
	}
	return c.Conn.Exchange(ctx, call)
}

// process is an entry that counts as a server that we start; remote one that does not.
func process(name string) config.Server { return config.Server{Name: name, Command: "fake"} }

func remote(name string) config.Server {
	return config.Server{Name: name, URL: "http://127.0.0.1:1/mcp"}
}

func run(t *testing.T, all fleet, servers []config.Server, o manager.Options) *manager.Manager {
	t.Helper()
	o.Connect = all.connect
	m := manager.New(servers, o)
	t.Cleanup(func() { // in a bubble, before it ends
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for name, f := range all {
			if n := get(f, func(f *fake) int { return f.open }); n != 0 {
				t.Errorf("%s: %d connections are left", name, n)
			}
		}
	})
	return m
}

// state waits until a server is in a state.
func state(t *testing.T, m *manager.Manager, name string, want manager.State, within time.Duration) manager.Status {
	t.Helper()
	over := time.After(within)
	for {
		snap := m.Snapshot()
		s, ok := snap.Server(name)
		if ok && s.State == want {
			return s
		}
		select {
		case <-snap.Changed():
		case <-over:
			t.Fatalf("%s is %v (%v) after %v, not %v", name, s.State, s.Err, within, want)
		}
	}
}

// names returns the safe names of a snapshot's tools, with their availability where it is not live.
func names(s *manager.Snapshot) string {
	var out []string
	for _, t := range s.Tools {
		name := t.SafeName
		if t.Now != manager.Live {
			name += "(" + t.Now.String() + ")"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}
