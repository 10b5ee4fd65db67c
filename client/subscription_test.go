package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// listens is a server with subscriptions; it acknowledges and gives the ids to the test.
func listens(opened chan<- jsonrpc.ID) (*fake, func(format string, args ...any)) {
	f := newer(map[string]func(jsonrpc.Message) string{"subscriptions/listen": silence})
	var mu sync.Mutex
	var server atomic.Pointer[transporttest.Server]
	f.hook = func(s *transporttest.Server, text []byte) {
		mu.Lock()
		server.Store(s)
		mu.Unlock()
		m, _ := jsonrpc.Parse(text)
		if m.Method != "subscriptions/listen" {
			return
		}
		s.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":`+
			`{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, m.ID))
		opened <- m.ID
	}
	return f, func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		server.Load().Write(fmt.Appendf(nil, format, args...))
	}
}

func TestASubscriptionTellsWhatWasAskedForAndHowItEnded(t *testing.T) {
	changed := func(id jsonrpc.ID) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":`+
			`{"io.modelcontextprotocol/subscriptionId":%s}}}`, id)
	}
	for _, row := range []struct {
		name string
		end  func(write func(string, ...any), id jsonrpc.ID, c *client.Client, w *client.Watch)
		want error
	}{
		{"in order", func(write func(string, ...any), id jsonrpc.ID, _ *client.Client, _ *client.Watch) {
			write(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, id)
		}, client.ErrWatchEnded},
		{"by the server's cancellation", func(write func(string, ...any), id jsonrpc.ID, _ *client.Client, _ *client.Watch) {
			write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
		}, client.ErrWatchEnded},
		{"by an error", func(write func(string, ...any), id jsonrpc.ID, _ *client.Client, _ *client.Watch) {
			write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"}}`, id)
		}, nil},
		{"by us", func(_ func(string, ...any), _ jsonrpc.ID, _ *client.Client, w *client.Watch) {
			_ = w.Close(context.Background())
		}, nil},
		{"with the client", func(_ func(string, ...any), _ jsonrpc.ID, c *client.Client, _ *client.Watch) {
			_ = c.Close(context.Background())
		}, transport.ErrClosed},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opened := make(chan jsonrpc.ID, 2)
				f, write := listens(opened)
				c := connectNewer(t, f, client.Options{})
				defer closeClient(t, c)
				w, err := c.Watch(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
				if err != nil {
					t.Fatal(err)
				}
				other, err := c.Watch(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true})
				if err != nil {
					t.Fatal(err)
				}
				id := <-opened
				if !w.Filter.ToolsListChanged || w.Filter.PromptsListChanged {
					t.Errorf("the server agreed to %+v", w.Filter)
				}
				write("%s", changed(id))
				write("%s", changed(id))
				synctest.Wait()
				if got := <-w.Changes; got.Method != mcp.NotificationToolsChanged {
					t.Errorf("got %+v", got)
				}
				row.end(write, id, c, w)
				synctest.Wait()
				for range w.Changes { // what still waited may come
				}
				err = w.Err()
				if row.name == "by an error" {
					if _, refused := errors.AsType[*jsonrpc.Error](err); !refused {
						t.Errorf("ended with %v", err)
					}
				} else if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
					t.Errorf("ended with %v", err)
				}
				select {
				case _, open := <-other.Changes:
					if open || row.name != "with the client" {
						t.Error("the other watch was told too, or ended")
					}
				default:
				}
			})
		})
	}
}

func TestAWatchInASessionSubscribesAndUnsubscribes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{
			initialize: strings.Replace(initialized, `"tools":{"listChanged":true}`,
				`"tools":{"listChanged":true},"resources":{"subscribe":true}`, 1),
			answers: map[string]func(jsonrpc.Message) string{
				"resources/subscribe": always(`{}`), "resources/unsubscribe": always(`{}`),
			},
		}
		var server atomic.Pointer[transporttest.Server]
		f.hook = func(s *transporttest.Server, _ []byte) { server.Store(s) }
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		filter := mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"x:1", "x:2"}}
		w, err := c.Watch(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		other, err := c.Watch(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:2"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:1"}}`,
			`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:3"}}`,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		} {
			server.Load().Write([]byte(text))
		}
		if a, b := <-w.Changes, <-w.Changes; a.URI != "x:1" || b.Method != mcp.NotificationToolsChanged {
			t.Errorf("got %+v and %+v", a, b)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if f.count("resources/subscribe") != 3 || f.count("resources/unsubscribe") != 1 {
			t.Errorf("sent %v", f.messages())
		}
		if err := other.Close(t.Context()); err != nil || f.count("resources/unsubscribe") != 2 {
			t.Errorf("%v; sent %v", err, f.messages())
		}
	})
}

func TestARefusedSubscriptionIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newer(map[string]func(jsonrpc.Message) string{"subscriptions/listen": refusing(-32601, "")})
		c := connectNewer(t, f, client.Options{})
		defer closeClient(t, c)
		_, err := c.Watch(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true})
		if _, refused := errors.AsType[*jsonrpc.Error](err); !refused {
			t.Errorf("got %v", err)
		}
	})
}

func TestAChangeProvesASubscriptionWhoseAcknowledgementIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newer(map[string]func(jsonrpc.Message) string{"subscriptions/listen": silence})
		f.hook = func(s *transporttest.Server, text []byte) {
			if m, _ := jsonrpc.Parse(text); m.Method == "subscriptions/listen" {
				s.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":`+
					`{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID))
			}
		}
		c := connectNewer(t, f, client.Options{})
		defer closeClient(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w, err := c.Watch(ctx, mcp.SubscriptionFilter{ToolsListChanged: true})
		if err != nil {
			t.Fatal(err)
		}
		if change := <-w.Changes; change.Method != mcp.NotificationToolsChanged || !w.Filter.ToolsListChanged {
			t.Errorf("got %v, filter %+v", change, w.Filter)
		}
	})
}

func TestASubscriptionHearsOfSubResourcesAndOfNothingElse(t *testing.T) {
	for _, row := range []struct {
		told  string
		heard bool
	}{
		{"file:///dir", true}, {"file:///dir/a.txt", true}, {"file:///dir2", false}, {"file:///", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var server atomic.Pointer[transporttest.Server]
			f := &fake{answers: map[string]func(jsonrpc.Message) string{"resources/subscribe": always(`{}`), "ping": always(`{}`)}}
			f.hook = func(s *transporttest.Server, _ []byte) { server.Store(s) }
			c := connect(t, f, client.Options{})
			defer closeClient(t, c)
			w, err := c.Watch(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"file:///dir"}})
			if err != nil {
				t.Fatal(err)
			}
			server.Load().Write(fmt.Appendf(nil,
				`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, row.told))
			synctest.Wait()
			select {
			case change := <-w.Changes:
				if !row.heard || change.URI != row.told {
					t.Errorf("%s: heard %+v", row.told, change)
				}
			default:
				if row.heard {
					t.Errorf("%s was not heard", row.told)
				}
			}
		})
	}
}

func TestChangesOfListsAreOneWhateverComesWithThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server atomic.Pointer[transporttest.Server]
		f := &fake{answers: map[string]func(jsonrpc.Message) string{}}
		f.hook = func(s *transporttest.Server, _ []byte) { server.Store(s) }
		c := connect(t, f, client.Options{})
		defer closeClient(t, c)
		w, err := c.Watch(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			server.Load().Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"uri":"%d"}}`, i))
		}
		synctest.Wait()
		heard := 0
		for heard < 10 {
			select {
			case change := <-w.Changes:
				if heard++; change.URI != "" {
					t.Errorf("heard %+v", change)
				}
				synctest.Wait()
				continue
			default:
			}
			break
		}
		if heard == 0 || heard > 2 {
			t.Errorf("heard %d times", heard)
		}
	})
}

func TestAClientThatHasEndedCantBeWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, &fake{}, client.Options{})
		closeClient(t, c)
		if _, err := c.Watch(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}
