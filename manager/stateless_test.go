package manager_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
	"mcpwire/transport/transporttest"
)

// A newer is a server in memory of the stateless era. It agrees to tell of its tools and of the resource x:1.
type newer struct {
	mu     sync.Mutex
	levels []string // of the requests that open a subscription
}

func (n *newer) connect(ctx context.Context, _ config.Server, o client.Options) (*client.Client, error) {
	o.Protocol = client.ProtocolStateless
	return client.Connect(ctx, transporttest.NewMemory(n.serve), o)
}

func (n *newer) serve(s *transporttest.Server) {
	for {
		text, ok := s.Read()
		if !ok {
			return
		}
		m, err := jsonrpc.Parse(text)
		if err != nil || m.Kind != jsonrpc.Request {
			continue
		}
		switch m.Method {
		case "server/discover":
			s.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":`+
				`["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"logging":{}}}}`, m.ID))
		case "tools/list":
			s.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[]}}`, m.ID))
		case "subscriptions/listen":
			n.listen(s, m)
		}
	}
}

func (n *newer) listen(s *transporttest.Server, m jsonrpc.Message) {
	var p struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
		Meta          mcp.RequestMeta        `json:"_meta"`
	}
	if err := mcp.Decode(m.Params, &p); err != nil {
		panic(err)
	}
	n.mu.Lock()
	n.levels = append(n.levels, string(p.Meta.LogLevel))
	n.mu.Unlock()
	agreed := `{"toolsListChanged":true}`
	if slices.Contains(p.Notifications.ResourceSubscriptions, "x:1") {
		agreed = `{"resourceSubscriptions":["x:1"]}`
	}
	s.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":`+
		`{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}}`, m.ID, agreed))
}

func TestTheLevelGoesAlongWithWhatWatchesFromTheFirstConnectionOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &newer{}
		m := manager.New([]config.Server{process("a")}, manager.Options{Connect: n.connect, LogLevel: mcp.LogNotice})
		defer func() { _ = m.Close(context.Background()) }()
		if err := m.Settle(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		n.mu.Lock()
		defer n.mu.Unlock()
		if got := strings.Join(n.levels, " "); got != "notice" {
			t.Errorf("subscriptions were opened with the levels %q", got)
		}
	})
}

func TestASubscriptionThatTheServerDoesNotAgreeToIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manager.New([]config.Server{process("a")}, manager.Options{Connect: (&newer{}).connect})
		defer func() { _ = m.Close(context.Background()) }()
		if err := m.Subscribe(t.Context(), "a", "x:1"); err != nil {
			t.Error(err)
		}
		if err := m.Subscribe(t.Context(), "a", "x:2"); !errors.Is(err, manager.ErrUnheeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestALevelThatAllServersAreAskedForIsAskedOfThoseThatOfferMessages(t *testing.T) {
	for _, offers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake("a")
			f.silent = !offers
			m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{LogLevel: mcp.LogInfo})
			for range 2 {
				if err := m.Settle(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				seen := get(f, func(f *fake) []string { return f.seen })
				if slices.Contains(seen, "logging/setLevel info") != offers {
					t.Errorf("offered: %t, and the server was told %q", offers, seen)
				}
				f.set(func(f *fake) { f.seen = nil })
				if err := m.Reconnect("a"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
