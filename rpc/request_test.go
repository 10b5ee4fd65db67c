package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

var none rpc.RequestOptions

func TestARequestIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, transporttest.Respond(func(m jsonrpc.Message) []byte {
			return jsonrpc.AppendResult(nil, m.ID, m.Params)
		}), rpc.Options{})
		defer closePeer(t, p)
		got, err := p.Request(t.Context(), "echo", json.RawMessage(`{"n":1.50}`), none)
		if err != nil || string(got) != `{"n":1.50}` {
			t.Errorf("got %s and error %v", got, err)
		}
	})
}

func TestWhatIsSent(t *testing.T) {
	progress := func(json.RawMessage) {}
	for _, row := range []struct {
		name    string
		params  string
		options rpc.RequestOptions
		strings bool
		want    string
	}{
		{"no params", ``, none, false, `{"jsonrpc":"2.0","id":1,"method":"x"}`},
		{"params", `{"a":1}`, none, false, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1}}`},
		{"a string id", ``, none, true, `{"jsonrpc":"2.0","id":"1","method":"x"}`},
		{
			"meta", `{"a":1}`,
			rpc.RequestOptions{Meta: json.RawMessage(` {"m":2} `)},
			false,
			`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"m":2},"a":1}}`,
		},
		{
			"a progress token", ` { "a":1 } `,
			rpc.RequestOptions{OnProgress: progress},
			false,
			`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1},"a":1}}`,
		},
		{
			"both", `{}`,
			rpc.RequestOptions{Extend: true, Meta: json.RawMessage(`{"m":2}`)},
			true,
			`{"jsonrpc":"2.0","id":"1","method":"x","params":{"_meta":{"m":2,"progressToken":"1"}}}`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []byte
				p := open(t, func(s *transporttest.Server) {
					got, _ = s.Read()
					m, _ := jsonrpc.Parse(got)
					s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
					drain(s)
				}, rpc.Options{StringIDs: row.strings})
				defer closePeer(t, p)
				if _, err := p.Request(t.Context(), "x", json.RawMessage(row.params), row.options); err != nil {
					t.Fatal(err)
				}
				if string(got) != row.want {
					t.Errorf("sent %s, want %s", got, row.want)
				}
			})
		})
	}
}

func TestParamsThatAreNoObjectAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, drain, rpc.Options{})
		defer closePeer(t, p)
		for _, params := range []string{`[1]`, `1`, `{"a":}`, `{} {}`, ` `} {
			_, err := p.Request(t.Context(), "x", json.RawMessage(params), none)
			if err == nil || !strings.Contains(err.Error(), "not a JSON object") {
				t.Errorf("%q: got error %v", params, err)
			}
			if err := p.Notify(t.Context(), "x", json.RawMessage(params)); err == nil {
				t.Errorf("%q was sent with a notification", params)
			}
		}
	})
}

func TestManyRequestsAreAnsweredInAnyOrder(t *testing.T) {
	const n = 100
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(s *transporttest.Server) {
			var all []jsonrpc.Message
			for range n {
				all = append(all, next(t, s))
			}
			for i := range all {
				m := all[n-1-i]
				s.Write(jsonrpc.AppendResult(nil, m.ID, m.Params))
			}
			drain(s)
		}, rpc.Options{})
		defer closePeer(t, p)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				want := fmt.Sprintf(`{"n":%d}`, i)
				if got, err := p.Request(t.Context(), "x", json.RawMessage(want), none); err != nil || string(got) != want {
					t.Errorf("got %s and error %v, want %s", got, err, want)
				}
			})
		}
		wg.Wait()
	})
}

func TestARefusalReachesTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, transporttest.Respond(func(m jsonrpc.Message) []byte {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no","data":{"n":1.0}}}`, m.ID)
		}), rpc.Options{})
		defer closePeer(t, p)
		_, err := p.Request(t.Context(), "x", nil, none)
		var refusal *jsonrpc.Error
		if !errors.As(err, &refusal) || err.Error() != "MCP error -32602: no" || string(refusal.Data) != `{"n":1.0}` {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnIDOfAnotherTypeIsAcceptedIfItDenotesTheSame(t *testing.T) {
	for _, row := range []struct {
		form     string
		answered bool
	}{{`"%d"`, true}, {`%d.0`, true}, {`%de0`, true}, {`"0%d"`, false}, {`%d.5`, false}} {
		t.Run(row.form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, func(s *transporttest.Server) {
					next(t, s)
					writef(s, `{"jsonrpc":"2.0","id":`+row.form+`,"result":{}}`, 1)
					drain(s)
				}, rpc.Options{})
				defer closePeer(t, p)
				_, err := p.Request(t.Context(), "x", nil, rpc.RequestOptions{Timeout: time.Second})
				if (err == nil) != row.answered {
					t.Errorf("got error %v", err)
				}
			})
		})
	}
}

func TestATimeoutNamesItsMillisecondsAndCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var note string
		p := open(t, func(s *transporttest.Server) {
			next(t, s)
			text, _ := s.Read()
			note = string(text)
			drain(s)
		}, rpc.Options{})
		defer closePeer(t, p)
		start := time.Now()
		_, err := p.Request(t.Context(), "tools/call", nil, rpc.RequestOptions{Timeout: 2500 * time.Millisecond, Name: "add"})
		if took := time.Since(start); took != 2500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if err == nil || err.Error() != "tools/call add: request timeout after 2500ms" {
			t.Errorf("got %v", err)
		}
		var carriage *transport.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &carriage) {
			t.Errorf("got %#v", err)
		}
		synctest.Wait()
		if note != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` {
			t.Errorf("the server got %s", note)
		}
	})
}

func TestTheDefaultTimeoutIsHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, drain, rpc.Options{})
		defer closePeer(t, p)
		_, err := p.Request(t.Context(), "x", nil, none)
		if err == nil || !strings.HasSuffix(err.Error(), "request timeout after 30000ms") {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheCallersEndIsTheCallersOwnError(t *testing.T) {
	stop := errors.New("the user pressed escape")
	for _, row := range []struct {
		name string
		ctx  func(context.Context) (context.Context, func())
		want error
	}{
		{"cancelled with a cause", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(stop) })
			return ctx, func() { cancel(nil) }
		}, stop},
		{"cancelled", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, context.Canceled},
		{"the caller's deadline", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			return ctx, cancel
		}, context.DeadlineExceeded},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var second jsonrpc.Message
				p := open(t, func(s *transporttest.Server) {
					next(t, s)
					second = next(t, s)
					drain(s)
				}, rpc.Options{})
				defer closePeer(t, p)
				ctx, end := row.ctx(t.Context())
				defer end()
				if _, err := p.Request(ctx, "x", nil, none); err != row.want { //nolint:errorlint // it itself is promised
					t.Errorf("got %#v, want %v itself", err, row.want)
				}
				synctest.Wait()
				if second.Method != "notifications/cancelled" {
					t.Errorf("the server got %q", second.Method)
				}
			})
		})
	}
}

func TestARequestThatMustNotBeCancelledIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen journal
		p := open(t, func(s *transporttest.Server) {
			for {
				text, ok := s.Read()
				if !ok {
					return
				}
				m, _ := jsonrpc.Parse(text)
				seen.add("%s", m.Method)
			}
		}, rpc.Options{})
		defer closePeer(t, p)
		_, err := p.Request(t.Context(), "initialize", nil, rpc.RequestOptions{Timeout: time.Second, NoCancel: true})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		wantLines(t, &seen, "initialize")
	})
}

func TestLateRepeatedAndUnknownAnswersAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults journal
		p := open(t, func(s *transporttest.Server) {
			late := next(t, s)
			next(t, s) // the cancel note
			s.Write(jsonrpc.AppendResult(nil, late.ID, []byte(`"late"`)))
			twice := next(t, s)
			s.Write(jsonrpc.AppendResult(nil, twice.ID, []byte(`"first"`)))
			s.Write(jsonrpc.AppendResult(nil, twice.ID, []byte(`"second"`)))
			s.Write(jsonrpc.AppendResult(nil, jsonrpc.IntID(999), []byte(`"unknown"`)))
			last := next(t, s)
			s.Write(jsonrpc.AppendResult(nil, last.ID, []byte(`"last"`)))
			drain(s)
		}, rpc.Options{OnError: faults.fail})
		defer closePeer(t, p)
		if _, err := p.Request(t.Context(), "a", nil, rpc.RequestOptions{Timeout: time.Second}); err == nil {
			t.Error("the first request did not time out")
		}
		for _, want := range []string{`"first"`, `"last"`} {
			if got, err := p.Request(t.Context(), "b", nil, none); err != nil || string(got) != want {
				t.Errorf("got %s and error %v, want %s", got, err, want)
			}
		}
		synctest.Wait()
		wantLines(t, &faults, "")
	})
}

func TestATimeoutTellsThatTheServerAnsweredAnotherID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, transporttest.Respond(func(jsonrpc.Message) []byte {
			return []byte(`{"jsonrpc":"2.0","id":0,"result":{}}`)
		}), rpc.Options{})
		defer closePeer(t, p)
		_, err := p.Request(t.Context(), "x", nil, none)
		const want = "x: request timeout after 30000ms (meanwhile the server answered id 0; this request was id 1)"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error("it is no deadline any more")
		}
	})
}

func TestABrokenAnswerFailsItsRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(s *transporttest.Server) {
			broken, good := next(t, s), next(t, s)
			if broken.Method != "broken" {
				broken, good = good, broken
			}
			writef(s, `{"jsonrpc":"2.0","id":%s,"result":1,"error":{"code":1,"message":"m"}}`, broken.ID)
			s.Write(jsonrpc.AppendResult(nil, good.ID, nil))
			drain(s)
		}, rpc.Options{})
		defer closePeer(t, p)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := p.Request(t.Context(), "broken", nil, none)
			var broken *rpc.DecodeError
			if !errors.As(err, &broken) || !errors.Is(err, jsonrpc.ErrBoth) {
				t.Errorf("got %v", err)
			}
		})
		wg.Go(func() {
			if _, err := p.Request(t.Context(), "good", nil, none); err != nil {
				t.Errorf("the other request failed: %v", err)
			}
		})
		wg.Wait()
	})
}

func TestAnAnswerAboveTheCapFailsItsRequestAlone(t *testing.T) {
	for _, row := range []struct {
		name, head, tail string
		found            bool
	}{
		{"id first", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"te`, `xt"}]}}`, true},
		{"id last", `{"result":{"content":[{"te`, `xt"}]},"jsonrpc":"2.0","id":1}`, true},
		{"id before the version", `{"result":{"content":[{"te`, `xt"}]},"id":"1" , "jsonrpc":"2.0" }`, true},
		{"an id inside the result", `{"result":{"content":[{"te`, `xt","id":1}]}}`, false},
		{"a request of the server", `{"jsonrpc":"2.0","method":"x","id":1,"params":{"te`, `xt":1}}`, false},
		{"no id", `{"jsonrpc":"2.0","method":"note","params":{"te`, `xt":1}}`, false},
		{"an id that is cut", `{"jsonrpc":"2.0","id":1`, `2,"result":{}}`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var faults journal
				p := open(t, func(s *transporttest.Server) {
					next(t, s)
					s.Oversize([]byte(row.head), []byte(row.tail), 12345)
					drain(s)
				}, rpc.Options{OnError: faults.fail})
				defer closePeer(t, p)
				_, err := p.Request(t.Context(), "x", nil, rpc.RequestOptions{Timeout: time.Second})
				var carriage *transport.Error
				if got := errors.Is(err, transport.ErrTooLarge); got != row.found {
					t.Errorf("got %v", err)
				} else if got && (!errors.As(err, &carriage) || carriage.Delivery != transport.Answered) {
					t.Errorf("got %#v", carriage)
				}
				synctest.Wait()
				if told := faults.String() != ""; told == row.found {
					t.Errorf("OnError was told: %q", faults.String())
				}
			})
		})
	}
}

func TestABatchOfAnswersIsTakenApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(s *transporttest.Server) {
			a, b := next(t, s), next(t, s)
			writef(s, `[{"jsonrpc":"2.0","id":%s,"result":{}},{"jsonrpc":"2.0","id":%s,"result":{}}]`, a.ID, b.ID)
			drain(s)
		}, rpc.Options{})
		defer closePeer(t, p)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := p.Request(t.Context(), "x", nil, none); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

func TestTheEndOfTheLineFailsEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("the cat sat on the switch")
		var told journal
		p := open(t, func(s *transporttest.Server) {
			for range 3 {
				next(t, s)
			}
			s.Fault(errors.New("a spark"))
			s.End(reason)
		}, rpc.Options{OnError: told.fail, OnClose: told.close})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := p.Request(t.Context(), "x", nil, none)
				if !errors.Is(err, transport.ErrClosed) || !errors.Is(err, reason) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		wantLines(t, &told, "error: a spark", "closed: transport closed: the cat sat on the switch")
		_, err := p.Request(t.Context(), "x", nil, none)
		var carriage *transport.Error
		if !errors.As(err, &carriage) || carriage.Delivery != transport.NotDelivered || p.Connected() {
			t.Errorf("after the end: %v", err)
		}
		closePeer(t, p)
		wantLines(t, &told, "error: a spark", "closed: transport closed: the cat sat on the switch")
	})
}

func TestALineOfALogThatHasAnIDIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			writef(s, `{"id":%s,"level":"info","msg":"started"}`, m.ID)
			s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
			drain(s)
		}, rpc.Options{})
		defer closePeer(t, p)
		if _, err := p.Request(t.Context(), "x", nil, none); err != nil {
			t.Error(err)
		}
	})
}
