package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

func TestTheNewestNotificationIsNeverDropped(t *testing.T) {
	big := strings.Repeat("x", 10_000)
	for _, row := range []struct {
		name    string
		options rpc.Options
		notes   []string // behind the first, which is being handled while they come
		want    string   // of the notifications handed over
		dropped string
	}{
		{"a queue of one", rpc.Options{Queue: 1}, []string{"b", "c"}, "a c", "1 notifications"},
		{"a queue of two", rpc.Options{Queue: 2}, []string{"b", "c", "d", "e"}, "a e", "3 notifications"},
		{"one bigger than the queue", rpc.Options{QueueBytes: 5000}, []string{"b", "c", big}, "a " + big, "2 notifications"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var told, faults journal
				row.options.OnNotification = func(_ context.Context, method string, params json.RawMessage) {
					<-release
					told.add("%s", method+string(params))
				}
				row.options.OnError = faults.fail
				p := open(t, func(s *transporttest.Server) {
					writef(s, `{"jsonrpc":"2.0","method":"a"}`)
					time.Sleep(time.Second)
					for _, note := range row.notes {
						writef(s, `{"jsonrpc":"2.0","method":"","params":%q}`, note)
					}
					drain(s)
				}, row.options)
				defer closePeer(t, p)
				time.Sleep(2 * time.Second)
				close(release)
				synctest.Wait()
				got := strings.ReplaceAll(strings.ReplaceAll(told.String(), `"`, ""), "\n", " ")
				if got != row.want || !strings.Contains(faults.String(), row.dropped+" were dropped") {
					t.Errorf("got %.100s\nand were told %q", got, faults.String())
				}
			})
		})
	}
}

func TestTheDefaultLimitCutsNoTimeoutShort(t *testing.T) {
	for _, row := range []struct {
		name           string
		timeout, limit time.Duration
		after          time.Duration // of the answer
		answered       bool
	}{
		{"a timeout above it", 20 * time.Minute, 0, 15 * time.Minute, true},
		{"that runs out", 20 * time.Minute, 0, 21 * time.Minute, false},
		{"no timeout", -1, 0, 24 * time.Hour, true},
		{"no timeout but a limit", -1, time.Hour, 2 * time.Hour, false},
		{"a limit below the timeout", 20 * time.Minute, time.Minute, 2 * time.Minute, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, transporttest.Respond(func(m jsonrpc.Message) []byte {
					time.Sleep(row.after)
					return jsonrpc.AppendResult(nil, m.ID, nil)
				}), rpc.Options{})
				defer closePeer(t, p)
				_, err := p.Request(t.Context(), "x", nil, rpc.RequestOptions{Timeout: row.timeout, Limit: row.limit})
				if row.answered != (err == nil) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestARequestThatHasReachedItsLimitIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var note string
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			for range 3 {
				time.Sleep(time.Second)
				writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.ID)
			}
			text, _ := s.Read()
			note = string(text)
			drain(s)
		}, rpc.Options{})
		defer closePeer(t, p)
		start := time.Now()
		_, err := p.Request(t.Context(), "x", nil, rpc.RequestOptions{
			Extend: true, Timeout: 2 * time.Second, Limit: 3 * time.Second,
		})
		if timeout, ok := errors.AsType[*transport.TimeoutError](err); !ok || timeout.After != 3*time.Second ||
			time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		synctest.Wait()
		if note != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` {
			t.Errorf("the server got %s", note)
		}
	})
}
