package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport/transporttest"
)

func TestCallbacksAreToldThatTheConnectionHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told journal
		p := open(t, func(s *transporttest.Server) {
			writef(s, `{"jsonrpc":"2.0","method":"note"}`)
			writef(s, `{"jsonrpc":"2.0","id":1,"method":"ask"}`)
			time.Sleep(time.Second)
			s.End(errors.New("the end"))
		}, rpc.Options{
			OnNotification: func(ctx context.Context, _ string, _ json.RawMessage) {
				<-ctx.Done()
				told.add("note")
			},
			OnRequest: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
				<-ctx.Done()
				time.Sleep(time.Second)
				told.add("ask")
				return nil, nil
			},
			OnEnd: func(err error) { told.add("ended: %v", err) },
		})
		time.Sleep(time.Minute)
		wantLines(t, &told, "ended: transport closed: the end", "note", "ask")
		closePeer(t, p)
	})
}

func TestCloseDropsWhatWaitsButTellsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told journal
		p := open(t, func(s *transporttest.Server) {
			for i := range 3 {
				writef(s, `{"jsonrpc":"2.0","method":"note","params":{"n":%d}}`, i)
			}
			drain(s)
		}, rpc.Options{
			OnNotification: func(ctx context.Context, method string, params json.RawMessage) {
				<-ctx.Done()
				time.Sleep(10 * time.Millisecond)
				told.note(ctx, method, params)
			},
			OnClose: told.close,
		})
		synctest.Wait()
		closePeer(t, p)
		wantLines(t, &told, `note {"n":0}`, "closed: <nil>")
	})
}

func TestCloseWaitsForTheServersRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(s *transporttest.Server) {
			writef(s, `{"jsonrpc":"2.0","id":1,"method":"ask"}`)
			drain(s)
		}, rpc.Options{OnRequest: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond)
			return nil, nil
		}})
		synctest.Wait()
		start := time.Now()
		closePeer(t, p)
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestTheClockRunsAgainWhenTheServerHasBeenServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(s *transporttest.Server) {
			next(t, s)
			writef(s, `{"jsonrpc":"2.0","id":"ask","method":"elicitation/create"}`)
			drain(s)
		}, rpc.Options{OnRequest: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(5 * time.Minute)
			return nil, nil
		}})
		defer closePeer(t, p)
		start := time.Now()
		_, err := p.Request(t.Context(), "tools/call", nil, none)
		if took := time.Since(start); took != 5*time.Minute+30*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

func TestAnIDOfTheServerIsFreeAgainWhenItsRequestWasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got journal
		p := open(t, func(s *transporttest.Server) {
			read := func() {
				text, _ := s.Read()
				got.add("%s", text)
			}
			writef(s, `{"jsonrpc":"2.0","id":1,"method":"ask"}`)
			writef(s, `{"jsonrpc":"2.0","id":1,"method":"ask"}`)
			read()
			read()
			writef(s, `{"jsonrpc":"2.0","id":1,"method":"ask"}`)
			read()
			drain(s)
		}, rpc.Options{OnRequest: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(time.Second)
			return nil, nil
		}})
		time.Sleep(time.Minute)
		closePeer(t, p)
		wantLines(t, &got,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a request with this id is already open"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
}

func TestTheFirstOfTwoAnswersCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s}}`, m.ID)
			s.Write(jsonrpc.AppendResult(nil, m.ID, []byte(`"first"`)))
			s.Write(jsonrpc.AppendResult(nil, m.ID, []byte(`"second"`)))
			drain(s)
		}, rpc.Options{})
		defer closePeer(t, p)
		// The request is still waiting for its progress to be handled when the second answer comes.
		got, err := p.Request(t.Context(), "x", nil, rpc.RequestOptions{
			OnProgress: func(json.RawMessage) { time.Sleep(100 * time.Millisecond) },
		})
		if err != nil || string(got) != `"first"` {
			t.Errorf("got %s and error %v", got, err)
		}
	})
}

func TestTheRestOfABrokenBatchIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults journal
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			writef(s, `[{"jsonrpc":"2.0","id":%s,"result":{}},{"jsonrpc"`, m.ID)
			drain(s)
		}, rpc.Options{OnError: faults.fail})
		defer closePeer(t, p)
		if _, err := p.Request(t.Context(), "x", nil, none); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		wantLines(t, &faults, "error: the rest of a batch is lost: unexpected end of JSON text")
	})
}
