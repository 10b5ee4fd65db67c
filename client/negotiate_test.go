package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
	`"instructions":"Be brief.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}}}`

func refusing(code int, data string) func(jsonrpc.Message) string {
	if data != "" {
		data = `,"data":` + data
	}
	return func(m jsonrpc.Message) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"refused"%s}}`, m.ID, code, data)
	}
}

// starts counts how often a server is started, and starts another one each time.
func starts(n *atomic.Int32, servers ...func(s *transporttest.Server)) func(s *transporttest.Server) {
	return func(s *transporttest.Server) {
		i := int(n.Add(1)) - 1
		servers[min(i, len(servers)-1)](s)
	}
}

func TestTheEraOfAServerOnPipes(t *testing.T) {
	type methods = map[string]func(jsonrpc.Message) string
	discover := func(f func(jsonrpc.Message) string) *fake {
		return &fake{answers: methods{"server/discover": f}}
	}
	newer := func() *fake {
		return &fake{answers: methods{"server/discover": always(discovered), "initialize": refusing(-32601, "")}}
	}
	older := func() *fake { return &fake{} }
	mute := func(s *transporttest.Server) { drainAll(s) }
	const session, stateless = "2025-11-25", "2026-07-28"
	for _, row := range []struct {
		name     string
		servers  []func(s *transporttest.Server)
		options  client.Options
		revision string // empty: it fails
		starts   int32
		within   time.Duration
	}{
		{"a newer one", serving(newer()), client.Options{}, stateless, 1, 0},
		{"an older one: -32601", serving(older()), client.Options{}, session, 1, 0},
		{"-32602", serving(discover(refusing(-32602, ""))), client.Options{}, session, 1, 0},
		{"-32000", serving(discover(refusing(-32000, ""))), client.Options{}, session, 1, 0},
		{"an empty result", serving(discover(always(`{}`))), client.Options{}, session, 1, 0},
		{"no object", serving(discover(always(`true`))), client.Options{}, session, 1, 0},
		{"silence", serving(discover(silence)), client.Options{}, session, 1, 2 * time.Second},
		{"silence, shorter", serving(discover(silence)), client.Options{ProbeTimeout: time.Second}, session, 1, time.Second},
		{
			"exit",
			[]func(s *transporttest.Server){func(s *transporttest.Server) { s.Read() }, older().serve},
			client.Options{},
			session, 2, 0,
		},
		{
			"silent for a while, then exit",
			[]func(s *transporttest.Server){func(s *transporttest.Server) { s.Read(); time.Sleep(3 * time.Second) }, older().serve},
			client.Options{},
			session, 2, 3 * time.Second,
		},
		{
			"silent to both",
			[]func(s *transporttest.Server){mute, older().serve},
			client.Options{ConnectTimeout: 20 * time.Second},
			session, 2, 11 * time.Second,
		},
		{
			"silent to both, always",
			[]func(s *transporttest.Server){mute},
			client.Options{ConnectTimeout: 20 * time.Second},
			"", 2, 20 * time.Second,
		},
		{
			"refuses initialize after the probe",
			[]func(s *transporttest.Server){
				(&fake{answers: methods{"initialize": refusing(0, "")}}).serve, older().serve,
			},
			client.Options{},
			session, 2, 0,
		},
		{
			"late: answers the probe after initialize was sent",
			serving(&fake{answers: methods{"initialize": silence, "server/discover": func(m jsonrpc.Message) string {
				time.Sleep(3 * time.Second)
				return result(m, discovered)
			}}}),
			client.Options{},
			stateless, 1, 3 * time.Second,
		},
		{
			"a slow starter answers both, the refusal first",
			serving(&fake{answers: methods{"server/discover": func(m jsonrpc.Message) string {
				time.Sleep(3 * time.Second)
				return refusing(-32601, "")(m)
			}}}),
			client.Options{},
			session, 1, 3 * time.Second,
		},
		{
			"-32022 with the same revision", serving(&fake{answers: methods{"server/discover": again(
				refusing(-32022, `{"supported":["2026-07-28"],"requested":"2026-07-28"}`), always(discovered),
			)}}), client.Options{}, stateless, 1, 0,
		},
		{
			"-32022 with older revisions only", serving(discover(refusing(-32022, `{"supported":["2025-06-18"]}`))),
			client.Options{},
			session, 1, 0,
		},
		{
			"-32022 with nothing in common", serving(discover(refusing(-32022, `{"supported":["2031-01-01"]}`))),
			client.Options{},
			"", 1, 0,
		},
		{
			"older revisions only are discovered",
			serving(discover(always(`{"supportedVersions":["2025-11-25"],"capabilities":{}}`))),
			client.Options{},
			session, 1, 0,
		},
		{
			"nothing in common is discovered",
			serving(discover(always(`{"supportedVersions":["2031-01-01"],"capabilities":{}}`))),
			client.Options{},
			"", 1, 0,
		},
		{"pinned to sessions", serving(newerAndOlder()), client.Options{Protocol: "session"}, session, 1, 0},
		{"pinned to a revision", serving(newerAndOlder()), client.Options{Protocol: "2025-11-25"}, session, 1, 0},
		{"pinned to stateless", serving(newerAndOlder()), client.Options{Protocol: "stateless"}, stateless, 1, 0},
		{"pinned to what it does not speak", serving(older()), client.Options{Protocol: "2026-07-28"}, "", 1, 0},
		{"pinned to nonsense", serving(older()), client.Options{Protocol: "mcp"}, "", 1, 0},
		{"known to be older", serving(discover(silence)), client.Options{Known: "2025-11-25"}, session, 1, 0},
		{
			"known to be older, and wrongly so", serving(newer()), client.Options{Known: "2025-11-25"}, stateless, 2, 0,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var started atomic.Int32
				start := time.Now()
				row.options.Server = "demo"
				c, err := client.Connect(t.Context(), transporttest.NewMemory(starts(&started, row.servers...)), row.options)
				took := time.Since(start)
				if err == nil {
					defer closeClient(t, c)
					if got := c.Server().Revision; got != row.revision {
						t.Errorf("it speaks %s", got)
					}
				} else if row.revision != "" {
					t.Errorf("got %v", err)
				}
				if err == nil && row.revision == "" {
					t.Error("it connected")
				}
				if got := started.Load(); got != row.starts || took > row.within+100*time.Millisecond {
					t.Errorf("%d starts, after %v; want %d within %v", got, took, row.starts, row.within)
				}
			})
		})
	}
}

func serving(f *fake) []func(s *transporttest.Server) {
	return []func(s *transporttest.Server){f.serve}
}

func newerAndOlder() *fake {
	return &fake{answers: map[string]func(jsonrpc.Message) string{"server/discover": always(discovered)}}
}

// again answers in turn.
func again(answers ...func(jsonrpc.Message) string) func(jsonrpc.Message) string {
	n := 0
	return func(m jsonrpc.Message) string {
		n++
		return answers[min(n, len(answers))-1](m)
	}
}

func drainAll(s *transporttest.Server) {
	for {
		if _, ok := s.Read(); !ok {
			return
		}
	}
}

func TestALateAnswerToTheProbePoisonsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probe jsonrpc.Message
		f := &fake{answers: map[string]func(jsonrpc.Message) string{
			"server/discover": func(m jsonrpc.Message) string { probe = m; return "" },
			"tools/call":      always(`{"content":[{"type":"text","text":"right"}]}`),
		}}
		f.hook = func(s *transporttest.Server, text []byte) {
			if m, _ := jsonrpc.Parse(text); m.Method == "tools/call" {
				s.Write([]byte(result(probe, discovered)))
			}
		}
		c, err := client.Connect(t.Context(), transporttest.NewMemory(f.serve), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer closeClient(t, c)
		r, err := c.CallTool(t.Context(), "x", nil, nil)
		if err != nil || r.Content[0].Text != "right" || c.Server().Revision != "2025-11-25" {
			t.Errorf("got %+v and error %v", r, err)
		}
		if f.count("notifications/cancelled") != 0 {
			t.Error("the probe was cancelled on the wire")
		}
	})
}

func TestAnEndedContextEndsTheProbe(t *testing.T) {
	for name, f := range map[string]*fake{
		"silent": {answers: map[string]func(jsonrpc.Message) string{"server/discover": silence, "initialize": silence}},
	} {
		for _, after := range []time.Duration{time.Second, 5 * time.Second} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					stop := errors.New("enough")
					ctx, cancel := context.WithTimeoutCause(t.Context(), after, stop)
					defer cancel()
					start := time.Now()
					_, err := client.Connect(ctx, transporttest.NewMemory(f.serve), client.Options{})
					if !errors.Is(err, stop) || time.Since(start) != after {
						t.Errorf("after %v: %v", time.Since(start), err)
					}
				})
			})
		}
	}
}

func TestASilentServerIsATimeoutThatSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := client.Connect(t.Context(), transporttest.NewMemory(drainAll), client.Options{
			Server: "demo", ConnectTimeout: 10 * time.Second,
		})
		var timeout *transport.TimeoutError
		if !errors.As(err, &timeout) || timeout.After != 10*time.Second {
			t.Errorf("got %v", err)
		}
	})
}
