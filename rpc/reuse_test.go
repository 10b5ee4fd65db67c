package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport/transporttest"
)

// A server that answers twice, tells progress late, and asks while it answers, must not reach a later request by what
// was meant for an earlier one, whose memory that may be.
func TestRequestsThatFollowEachOtherDoNotMeet(t *testing.T) {
	const callers, requests = 8, 300
	serve := func(s *transporttest.Server) {
		for n := 0; ; n++ {
			text, ok := s.Read()
			if !ok {
				return
			}
			m, err := jsonrpc.Parse(text)
			if err != nil || m.Kind != jsonrpc.Request {
				continue
			}
			id := m.ID.String()
			writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"of":%s}}`, id, id)
			if n%5 == 0 {
				writef(s, `{"jsonrpc":"2.0","id":"q%d","method":"ask"}`, n)
			}
			writef(s, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, m.Params)
			writef(s, `{"jsonrpc":"2.0","id":%s,"result":"again"}`, id)
			writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"of":"late"}}`, id)
		}
	}
	p := open(t, serve, rpc.Options{
		OnRequest: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(time.Millisecond) // the calls that it stops the clocks of have ended
			return json.RawMessage(`{}`), nil
		},
	})
	defer closePeer(t, p)
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() {
			for i := range requests {
				o := rpc.RequestOptions{Timeout: 20 * time.Second}
				var mu sync.Mutex
				var progress []string
				if i%2 == 0 {
					o.OnProgress = func(params json.RawMessage) {
						mu.Lock()
						defer mu.Unlock()
						progress = append(progress, string(params))
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				if i%11 == 0 {
					go cancel()
				}
				got, err := p.Request(ctx, "echo", fmt.Appendf(nil, `{"is":"%d/%d"}`, caller, i), o)
				gaveUp := ctx.Err() != nil
				cancel()
				want := fmt.Sprintf(`"is":"%d/%d"`, caller, i)
				switch {
				case err != nil && gaveUp:
				case err != nil:
					t.Error(err)
				case !strings.Contains(string(got), want):
					t.Errorf("request %d/%d was answered %s", caller, i, got)
				}
				mu.Lock()
				// One that has given up may hear of itself until it is forgotten.
				if len(progress) > 1 && !gaveUp || !ofOne(progress, got) {
					t.Errorf("request %d/%d, answered %s, has got the progress %q", caller, i, got, progress)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
}

// ofOne reports whether all progress is of one request: that of the answer, which shows its token, if there is one.
func ofOne(progress []string, answer json.RawMessage) bool {
	for _, p := range progress {
		token, _, _ := strings.Cut(p, ",") // {"progressToken":1
		own, _, _ := strings.Cut(progress[0], ",")
		if token != own || answer != nil && !strings.Contains(string(answer), token+"}") {
			return false
		}
	}
	return true
}
