package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

func TestTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wire transport.Wire
		f := &fake{hook: func(s *transporttest.Server, text []byte) {
			if strings.Contains(string(text), "notifications/initialized") {
				wire = s.Negotiated()
			}
		}}
		c := connect(t, f, client.Options{Info: mcp.Implementation{Name: "me", Version: "3"}})
		defer closeClient(t, c)
		synctest.Wait()
		want := []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
				`"clientInfo":{"name":"me","version":"3"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		}
		if got := f.messages(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("sent\n%s", strings.Join(got, "\n"))
		}
		s := c.Server()
		if s.Info.Name != "fake" || s.Info.Version != "1.2" || s.Revision != "2025-11-25" ||
			s.Instructions != "Be kind." || s.Capabilities.Tools == nil {
			t.Errorf("got %+v", s)
		}
		if wire.Revision != "2025-11-25" {
			t.Errorf("the carrier was told %+v before the first notification", wire)
		}
	})
}

func TestEveryRevisionOfTheSessionEraIsSpoken(t *testing.T) {
	for _, revision := range mcp.SessionRevisions() {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, &fake{initialize: strings.Replace(initialized, "2025-11-25", revision, 1)}, client.Options{})
			defer closeClient(t, c)
			if got := c.Server().Revision; got != revision {
				t.Errorf("got %s, want %s", got, revision)
			}
		})
	}
}

func TestNoCommonRevisionNamesBothSides(t *testing.T) {
	const ours = "this client speaks 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
	refuse := func(m jsonrpc.Message) string {
		return `{"jsonrpc":"2.0","id":` + m.ID.String() + `,"error":{"code":-32602,"message":"Unsupported protocol version",` +
			`"data":{"supported":["1.0","1.1"],"requested":"2025-11-25"}}}`
	}
	for _, row := range []struct {
		name string
		fake *fake
		want string
	}{
		{
			"an unknown one is answered",
			&fake{initialize: strings.Replace(initialized, "2025-11-25", "2031-01-01", 1)},
			`no common protocol revision: demo speaks "2031-01-01", ` + ours,
		},
		{
			"none is answered", &fake{initialize: `{}`},
			`no common protocol revision: demo speaks "", ` + ours,
		},
		{
			"the server refuses", &fake{answers: map[string]func(jsonrpc.Message) string{"initialize": refuse}},
			`no common protocol revision: demo speaks "1.0", "1.1", ` + ours,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := client.Connect(t.Context(), transporttest.NewMemory(row.fake.serve), client.Options{Server: "demo", Protocol: client.ProtocolSession})
				var version *client.VersionError
				if !errors.As(err, &version) || err.Error() != row.want {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestARefusedHandshakeIsTheServersError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"initialize": func(m jsonrpc.Message) string {
			return `{"jsonrpc":"2.0","id":` + m.ID.String() + `,"error":{"code":-32000,"message":"not today"}}`
		}}}
		_, err := client.Connect(t.Context(), transporttest.NewMemory(f.serve), client.Options{Protocol: client.ProtocolSession})
		var refusal *jsonrpc.Error
		if !errors.As(err, &refusal) || refusal.Message != "not today" {
			t.Errorf("got %v", err)
		}
	})
}

func TestConnectHasOneDeadlineThatNothingExtends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"initialize": silence}}
		f.hook = func(s *transporttest.Server, _ []byte) {
			for range 5 {
				s.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"still starting"}}`))
				time.Sleep(time.Second)
			}
		}
		start := time.Now()
		_, err := client.Connect(t.Context(), transporttest.NewMemory(f.serve), client.Options{
			Server: "demo", Protocol: client.ProtocolSession, ConnectTimeout: 3 * time.Second, Timeout: time.Hour,
		})
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "demo: connect: connect timeout after 3000ms" {
			t.Errorf("got %v", err)
		}
		if f.count("notifications/cancelled") != 0 {
			t.Error("initialize was cancelled")
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestTheCallerCanGiveUpConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"initialize": silence}}
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(stop) })
		_, err := client.Connect(ctx, transporttest.NewMemory(f.serve), client.Options{Protocol: client.ProtocolSession})
		if err != stop { //nolint:errorlint // it itself is promised
			t.Errorf("got %v", err)
		}
	})
}

func TestAServerThatDiesInTheHandshakeIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("exit status 2")
		closed := make(chan error, 1)
		start := time.Now()
		_, err := client.Connect(t.Context(), transporttest.NewMemory(func(s *transporttest.Server) {
			s.Read()
			s.End(reason)
		}), client.Options{Protocol: client.ProtocolSession, OnClose: func(err error) { closed <- err }})
		if !errors.Is(err, transport.ErrClosed) || !errors.Is(err, reason) || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if len(closed) != 0 {
			t.Errorf("OnClose was told %v of a connection that never was", <-closed)
		}
	})
}

func TestPingCountsARefusalAsASignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, &fake{}, client.Options{})
		defer closeClient(t, c)
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"ping": silence}}
		c := connect(t, f, client.Options{Timeout: time.Second})
		defer closeClient(t, c)
		if err := c.Ping(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheServersPingIsAnsweredDuringTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pong string
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"initialize": silence}}
		f.hook = func(s *transporttest.Server, text []byte) {
			m, _ := jsonrpc.Parse(text)
			if m.Method == "initialize" {
				s.Write([]byte(`{"jsonrpc":"2.0","id":"p","method":"ping"}`))
				reply, _ := s.Read()
				pong = string(reply)
				s.Write([]byte(result(m, initialized)))
			}
		}
		c := connect(t, f, client.Options{})
		closeClient(t, c)
		if pong != `{"jsonrpc":"2.0","id":"p","result":{}}` {
			t.Errorf("got %s", pong)
		}
	})
}

func TestNotificationsReachTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 1)
		f := &fake{hook: func(s *transporttest.Server, text []byte) {
			if strings.Contains(string(text), "initialized") {
				s.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
			}
		}}
		c := connect(t, f, client.Options{OnNotification: func(_ context.Context, method string, _ json.RawMessage) {
			got <- method
		}})
		defer closeClient(t, c)
		if method := <-got; method != mcp.NotificationToolsChanged {
			t.Errorf("got %s", method)
		}
	})
}

func TestTheHostIsToldOnceThatTheLineHasEnded(t *testing.T) {
	reason := errors.New("exit status 2")
	for _, row := range []struct {
		name string
		end  func(t *testing.T, c *client.Client, dies chan struct{})
		want error // nil: OnClose is told nil
	}{
		{"by Close", func(t *testing.T, c *client.Client, _ chan struct{}) { t.Helper(); closeClient(t, c) }, nil},
		{"by the server", func(_ *testing.T, _ *client.Client, dies chan struct{}) { close(dies) }, reason},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := make(chan error, 2)
				dies := make(chan struct{})
				c, err := client.Connect(t.Context(), transporttest.NewMemory(func(s *transporttest.Server) {
					go func() {
						select {
						case <-dies:
							s.End(reason)
						case <-s.Done():
						}
					}()
					(&fake{}).serve(s)
				}), client.Options{Protocol: client.ProtocolSession, OnClose: func(err error) { closed <- err }})
				if err != nil || c.Err() != nil {
					t.Fatal(err, c.Err())
				}
				row.end(t, c, dies)
				<-c.Done()
				if got := <-closed; !errors.Is(got, row.want) || (got == nil) != (row.want == nil) {
					t.Errorf("OnClose was told %v", got)
				}
				if err := c.Err(); !errors.Is(err, transport.ErrClosed) || row.want != nil && !errors.Is(err, row.want) {
					t.Errorf("Err is %v", err)
				}
				closeClient(t, c)
				if len(closed) != 0 {
					t.Error("OnClose was told twice")
				}
			})
		})
	}
}
