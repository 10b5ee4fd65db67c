package rpc_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport/transporttest"
)

func TestIDsOfAnotherTypeAreWarnedOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		p := open(t, transporttest.Respond(func(m jsonrpc.Message) []byte {
			return jsonrpc.AppendResult(nil, jsonrpc.StringID(m.ID.String()), nil)
		}), rpc.Options{Server: "demo", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer closePeer(t, p)
		for range 3 {
			if _, err := p.Request(t.Context(), "x", nil, none); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(log.String(), "level=WARN"); got != 1 || !strings.Contains(log.String(), "server=demo") {
			t.Errorf("%d warnings:\n%s", got, log.String())
		}
	})
}

func TestEveryAnswerThatIsIgnoredIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
		p := open(t, func(s *transporttest.Server) {
			m := next(t, s)
			next(t, s) // the cancel note
			s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
			s.Write(jsonrpc.AppendResult(nil, jsonrpc.IntID(999), nil))
			drain(s)
		}, rpc.Options{Logger: slog.New(handler)})
		defer closePeer(t, p)
		if _, err := p.Request(t.Context(), "x", nil, rpc.RequestOptions{Timeout: time.Second}); err == nil {
			t.Error("the request did not time out")
		}
		synctest.Wait()
		if got := strings.Count(log.String(), "\n"); got != 2 || strings.Count(log.String(), "is ignored") != 2 {
			t.Errorf("logged %s", log.String())
		}
	})
}

func TestATimeoutTellsOfNoAnswerThatIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, func(s *transporttest.Server) {
			s.Write(jsonrpc.AppendResult(nil, jsonrpc.IntID(999), nil)) // before there is any request
			late := next(t, s)
			next(t, s) // the cancel note
			next(t, s)
			s.Write(jsonrpc.AppendResult(nil, late.ID, nil))
			drain(s)
		}, rpc.Options{})
		defer closePeer(t, p)
		synctest.Wait()
		for range 2 {
			_, err := p.Request(t.Context(), "x", nil, none)
			if err == nil || err.Error() != "x: request timeout after 30000ms" {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestIDsAreNeverUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[jsonrpc.ID]int{}
		p := open(t, transporttest.Respond(func(m jsonrpc.Message) []byte {
			if seen[m.ID]++; m.Method == "silent" {
				return nil
			}
			return jsonrpc.AppendResult(nil, m.ID, nil)
		}), rpc.Options{})
		defer closePeer(t, p)
		for range 5 {
			for _, method := range []string{"silent", "x"} {
				_, err := p.Request(t.Context(), method, nil, rpc.RequestOptions{Timeout: time.Second})
				if (err == nil) != (method == "x") {
					t.Errorf("%s: got error %v", method, err)
				}
			}
		}
		if len(seen) != 10 {
			t.Errorf("10 requests had the ids %v", seen)
		}
	})
}

func TestProgressTokensAreMatchedLikeIDs(t *testing.T) {
	for _, row := range []struct {
		token string
		told  bool
	}{{`1`, true}, {`"1"`, true}, {`1.0`, true}, {`"01"`, false}, {`2`, false}, {`null`, false}, {`{}`, false}} {
		t.Run(row.token, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, func(s *transporttest.Server) {
					m := next(t, s)
					writef(s, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, row.token)
					s.Write(jsonrpc.AppendResult(nil, m.ID, nil))
					drain(s)
				}, rpc.Options{})
				defer closePeer(t, p)
				told := false
				_, err := p.Request(t.Context(), "x", nil, rpc.RequestOptions{OnProgress: func(json.RawMessage) { told = true }})
				if err != nil || told != row.told {
					t.Errorf("it was told: %t; error %v", told, err)
				}
			})
		})
	}
}
