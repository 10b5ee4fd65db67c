package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport/transporttest"
)

func TestNotificationsArriveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told journal
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			for i := range 3 {
				writef(s, `{"jsonrpc":"2.0","method":"note","params":{"n":%d}}`, i)
			}
			s.Write([]byte(`{"jsonrpc":"2.0","method":"bare"}`))
			s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
			drain(s)
		}, rpc.Options{OnNotification: told.note})
		defer closePeer(t, p)
		if _, err := p.Request(t.Context(), "x", nil, none); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantLines(t, &told, `note {"n":0}`, `note {"n":1}`, `note {"n":2}`, `bare `)
	})
}

func TestABlockedCallbackStopsNeitherReadingNorAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, release := make(chan struct{}, 50), make(chan struct{})
		var told journal
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			for i := range 50 {
				if i == 1 {
					<-running
				}
				writef(s, `{"jsonrpc":"2.0","method":"note","params":{"n":%d}}`, i)
			}
			s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
			drain(s)
		}, rpc.Options{
			Queue: 10,
			OnNotification: func(ctx context.Context, m string, n json.RawMessage) {
				running <- struct{}{}
				<-release
				told.note(ctx, m, n)
			},
			OnError: told.fail,
		})
		defer closePeer(t, p)
		if _, err := p.Request(t.Context(), "x", nil, none); err != nil {
			t.Fatal(err)
		}
		close(release)
		synctest.Wait()
		lines := strings.Split(told.String(), "\n")
		if lines[0] != `note {"n":0}` || lines[len(lines)-1] != `note {"n":49}` {
			t.Errorf("the newest and what was running must survive; got\n%s", told.String())
		}
		if got := strings.Count(told.String(), "note"); got > 11 {
			t.Errorf("%d notifications were kept, the limit is 10", got)
		}
		lost := 50 - strings.Count(told.String(), "note")
		if want := fmt.Sprintf("error: %d notifications were dropped", lost); !strings.Contains(told.String(), want) {
			t.Errorf("want %q among\n%s", want, told.String())
		}
	})
}

func TestWaitingNotificationsAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var told journal
		p := open(t, func(s *transporttest.Server) {
			for i := range 20 {
				writef(s, `{"jsonrpc":"2.0","method":"note","params":{"n":%d,"pad":%q}}`, i, strings.Repeat("x", 1000))
			}
			drain(s)
		}, rpc.Options{
			QueueBytes:     5000,
			OnNotification: func(context.Context, string, json.RawMessage) { <-release; told.add("note") },
		})
		synctest.Wait()
		close(release)
		synctest.Wait()
		if got := strings.Count(told.String(), "note"); got < 2 || got > 6 {
			t.Errorf("%d notifications of 1 kB were kept, the limit is 5 kB", got)
		}
		closePeer(t, p)
	})
}

func TestProgressReachesItsRequestBeforeItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told, other journal
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			for i := range 3 {
				writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.ID, i)
			}
			writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1}}`)
			s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
			writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":9}}`, m.ID)
			drain(s)
		}, rpc.Options{OnNotification: other.note})
		defer closePeer(t, p)
		_, err := p.Request(t.Context(), "x", nil, rpc.RequestOptions{OnProgress: func(params json.RawMessage) {
			time.Sleep(10 * time.Millisecond)
			told.add("%s", params)
		}})
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, &told,
			`{"progressToken":1,"progress":0}`, `{"progressToken":1,"progress":1}`, `{"progressToken":1,"progress":2}`)
		synctest.Wait()
		wantLines(t, &other, "")
		if strings.Contains(told.String(), "9") {
			t.Error("progress after the answer was told")
		}
	})
}

func TestProgressExtendsTheTimeoutOnlyIfAsked(t *testing.T) {
	for _, row := range []struct {
		name    string
		options rpc.RequestOptions
		after   time.Duration // of the error; 0: none
	}{
		{"asked", rpc.RequestOptions{Extend: true, Timeout: 2 * time.Second, Limit: 10 * time.Second}, 0},
		{
			"the limit holds",
			rpc.RequestOptions{Extend: true, Timeout: 2 * time.Second, Limit: 3 * time.Second},
			3 * time.Second,
		},
		{"not asked", rpc.RequestOptions{OnProgress: func(json.RawMessage) {}, Timeout: 2 * time.Second}, 2 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, func(s *transporttest.Server) {
					m := next(t, s)
					for range 5 {
						time.Sleep(time.Second)
						writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s}}`, m.ID)
					}
					s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
					drain(s)
				}, rpc.Options{})
				defer closePeer(t, p)
				start := time.Now()
				_, err := p.Request(t.Context(), "x", nil, row.options)
				if took := time.Since(start); row.after != 0 && (took != row.after || !errors.Is(err, context.DeadlineExceeded)) {
					t.Errorf("after %v: %v", took, err)
				} else if row.after == 0 && (err != nil || took != 5*time.Second) {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

func TestTheServersRequestsAreAnsweredWhileACallRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got journal
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			for _, text := range []string{
				`{"jsonrpc":"2.0","id":"p-1","method":"ping"}`,
				`{"jsonrpc":"2.0","id":9007199254740993,"method":"nope/x","params":{}}`,
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"note"}}`,
			} {
				s.Write([]byte(text))
			}
			for range 2 {
				text, _ := s.Read()
				got.add("%s", text)
			}
			s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
			drain(s)
		}, rpc.Options{Instant: map[string]json.RawMessage{"ping": json.RawMessage(`{}`)}})
		defer closePeer(t, p)
		if _, err := p.Request(t.Context(), "tools/call", nil, none); err != nil {
			t.Fatal(err)
		}
		wantLines(t, &got,
			`{"jsonrpc":"2.0","id":"p-1","result":{}}`,
			`{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32601,"message":"Method not found: nope/x"}}`)
	})
}

func TestOnRequestAnswersTheServer(t *testing.T) {
	for _, row := range []struct {
		name   string
		result string
		err    error
		want   string
	}{
		{"a result", `{"roots":[]}`, nil, `"result":{"roots":[]}}`},
		{"nothing", ``, nil, `"result":{}}`},
		{"a refusal", ``, &rpc.Refusal{Code: -1, Message: "no", Data: []byte(`1`)}, `"error":{"code":-1,"message":"no","data":1}}`},
		{"an error", ``, errors.New("broke"), `"error":{"code":-32603,"message":"broke"}}`},
		{"no JSON", `{`, nil, `"error":{"code":-32603,"message":"the result is not valid JSON"}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got string
				p := open(t, func(s *transporttest.Server) {
					s.Write([]byte(`{"jsonrpc":"2.0","id":"a","method":"roots/list","params":{"x":1}}`))
					text, _ := s.Read()
					got = string(text)
					drain(s)
				}, rpc.Options{OnRequest: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
					if method != "roots/list" || string(params) != `{"x":1}` {
						t.Errorf("asked for %s with %s", method, params)
					}
					return json.RawMessage(row.result), row.err
				}})
				defer closePeer(t, p)
				synctest.Wait()
				if want := `{"jsonrpc":"2.0","id":"a",` + row.want; got != want {
					t.Errorf("answered %s, want %s", got, want)
				}
			})
		})
	}
}

func TestTheClockOfACallStandsStillWhileTheServerIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			s.Write([]byte(`{"jsonrpc":"2.0","id":"ask","method":"elicitation/create"}`))
			next(t, s)
			time.Sleep(20 * time.Second)
			s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
			drain(s)
		}, rpc.Options{OnRequest: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(5 * time.Minute) // a person is asked
			return json.RawMessage(`{"action":"accept"}`), nil
		}})
		defer closePeer(t, p)
		if _, err := p.Request(t.Context(), "tools/call", nil, none); err != nil {
			t.Errorf("the call failed while the person was asked: %v", err)
		}
	})
}

func TestAPingIsAnsweredWhileEveryHandlerIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := map[string]int{}
		p := open(t, func(s *transporttest.Server) {
			for i := range 3 {
				writef(s, `{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage"}`, i)
			}
			s.Write([]byte(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`))
			for {
				text, ok := s.Read()
				if !ok {
					return
				}
				answers[string(text)]++
			}
		}, rpc.Options{
			Serving: 2,
			Instant: map[string]json.RawMessage{"ping": nil},
			OnRequest: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		synctest.Wait()
		closePeer(t, p)
		if answers[`{"jsonrpc":"2.0","id":"ping","result":{}}`] != 1 {
			t.Errorf("the ping was not answered: %v", answers)
		}
		if answers[`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"too many open requests"}}`] != 1 {
			t.Errorf("the third request was not refused: %v", answers)
		}
		if len(answers) != 2 {
			t.Errorf("requests were answered that ended with the line: %v", answers)
		}
	})
}

func TestARequestThatTheServerCancelsIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got journal
		p := open(t, func(s *transporttest.Server) {
			s.Write([]byte(`{"jsonrpc":"2.0","id":"a","method":"ask"}`))
			time.Sleep(time.Second)
			s.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`))
			for {
				text, ok := s.Read()
				if !ok {
					return
				}
				got.add("%s", text)
			}
		}, rpc.Options{OnRequest: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			got.add("%v", context.Cause(ctx))
			return json.RawMessage(`{}`), nil
		}})
		time.Sleep(2 * time.Second)
		closePeer(t, p)
		wantLines(t, &got, "cancelled by the server")
	})
}

func TestCloseFailsRequestsAndRunsOnCloseOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told journal
		p := open(t, drain, rpc.Options{OnClose: told.close})
		failed := make(chan error, 1)
		go func() {
			_, err := p.Request(t.Context(), "x", nil, none)
			failed <- err
		}()
		synctest.Wait()
		closePeer(t, p)
		closePeer(t, p)
		if err := <-failed; err == nil || !strings.Contains(err.Error(), "transport closed") {
			t.Errorf("got %v", err)
		}
		wantLines(t, &told, "closed: <nil>")
	})
}

func TestCloseFromInsideACallbackDoesNotWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *rpc.Peer
		opened, closed := make(chan struct{}), make(chan time.Duration, 1)
		p = open(t, func(s *transporttest.Server) {
			s.Write([]byte(`{"jsonrpc":"2.0","method":"note"}`))
			drain(s)
		}, rpc.Options{OnNotification: func(ctx context.Context, _ string, _ json.RawMessage) {
			<-opened
			start := time.Now()
			closePeer(t, p)
			unmarked := time.Since(start)
			start = time.Now()
			if err := p.Close(ctx); err != nil {
				t.Error(err)
			}
			closed <- time.Since(start)
			if unmarked > time.Second {
				t.Errorf("with another context it took %v", unmarked)
			}
		}})
		close(opened)
		if took := <-closed; took != 0 {
			t.Errorf("it waited %v", took)
		}
		closePeer(t, p)
	})
}

func TestCloseWaitsForCallbacksButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := open(t, func(s *transporttest.Server) {
			s.Write([]byte(`{"jsonrpc":"2.0","method":"note"}`))
			drain(s)
		}, rpc.Options{OnNotification: func(context.Context, string, json.RawMessage) { <-release }})
		synctest.Wait()
		start := time.Now()
		closePeer(t, p)
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v", took)
		}
		close(release)
	})
}

func TestCallbacksMayUseTheConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *rpc.Peer
		opened := make(chan struct{})
		got := make(chan error, 1)
		p = open(t, func(s *transporttest.Server) {
			s.Write([]byte(`{"jsonrpc":"2.0","method":"note"}`))
			m := next(t, s)
			writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s}}`, m.ID)
			s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
			drain(s)
		}, rpc.Options{OnNotification: func(ctx context.Context, _ string, _ json.RawMessage) {
			<-opened
			start := time.Now()
			// The progress waits behind this very callback.
			_, err := p.Request(ctx, "x", nil, rpc.RequestOptions{OnProgress: func(json.RawMessage) {}})
			if took := time.Since(start); took != 0 {
				t.Errorf("it took %v", took)
			}
			got <- err
		}})
		close(opened)
		if err := <-got; err != nil {
			t.Error(err)
		}
		closePeer(t, p)
	})
}

func TestAnErrorForNoRequestIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told journal
		p := open(t, func(s *transporttest.Server) {
			s.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`))
			drain(s)
		}, rpc.Options{OnError: told.fail})
		synctest.Wait()
		closePeer(t, p)
		wantLines(t, &told, "error: the server reported an error for no request: MCP error -32700: Parse error")
	})
}

func TestAFailedOpenLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var told journal
	_, err := rpc.Open(ctx, transporttest.NewMemory(drain), rpc.Options{OnClose: told.close})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantLines(t, &told, "")
}
