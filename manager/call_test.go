package manager_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// dropping runs a call and ends the connection in place of answering, the first n times.
func dropping(f *fake, n int) func(s *transporttest.Server, m jsonrpc.Message) string {
	return func(s *transporttest.Server, m jsonrpc.Message) string {
		f.ran(m)
		if n--; n >= 0 {
			s.End(nil)
			return ""
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
	}
}

func TestACallThatMayHaveRunIsRepeatedOnlyWhereThatIsAllowed(t *testing.T) {
	yes := true
	for _, row := range []struct {
		name        string
		annotations *mcp.ToolAnnotations
		repeat      bool
		drops       int
		runs        int
		succeeds    bool
	}{
		{"no word on it", nil, false, 1, 1, false},
		{"a title", &mcp.ToolAnnotations{Title: "T"}, false, 1, 1, false},
		{"read-only", &mcp.ToolAnnotations{ReadOnlyHint: &yes}, false, 1, 2, true},
		{"idempotent", &mcp.ToolAnnotations{IdempotentHint: &yes}, false, 1, 2, true},
		{"idempotent, lost twice", &mcp.ToolAnnotations{IdempotentHint: &yes}, false, 2, 2, false},
		{"allowed by the caller", nil, true, 1, 2, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake("a", "x")
				f.tools[0].Annotations = row.annotations
				f.onCall = dropping(f, row.drops)
				m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
				state(t, m, "a", manager.Ready, time.Second)
				_, err := m.CallTool(t.Context(), "a", "x", json.RawMessage(`{"call":"1"}`), &manager.CallOptions{Repeat: row.repeat})
				if n := get(f, func(f *fake) int { return f.runs["1"] }); n != row.runs {
					t.Errorf("it ran %d times, want %d", n, row.runs)
				}
				unknown, isUnknown := errors.AsType[*manager.OutcomeUnknown](err)
				switch {
				case row.succeeds && err != nil, !row.succeeds && !isUnknown:
					t.Errorf("it ended with %v", err)
				case isUnknown && (unknown.Server != "a" || unknown.Tool != "x" || !errors.Is(err, transport.ErrClosed) ||
					!strings.Contains(err.Error(), "may have run")):
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

func TestACallThatHasNotReachedItsServerIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.deaf = true
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		state(t, m, "a", manager.Ready, time.Second)
		f.set(func(f *fake) { f.deaf = false })
		time.AfterFunc(time.Second, f.kill) // when the call is waiting to be read
		if _, err := m.CallTool(t.Context(), "a", "x", json.RawMessage(`{"call":"1"}`), nil); err != nil {
			t.Fatal(err)
		}
		if n := get(f, func(f *fake) int { return f.runs["1"] }); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

func TestACallThatTimesOutMayHaveRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.onCall = func(*transporttest.Server, jsonrpc.Message) string { return "" }
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		state(t, m, "a", manager.Ready, time.Second)
		_, err := m.CallTool(t.Context(), "a", "x", nil, &manager.CallOptions{CallOptions: client.CallOptions{Timeout: time.Second}})
		_, unknown := errors.AsType[*manager.OutcomeUnknown](err)
		if !unknown || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "request timeout after 1000ms") {
			t.Errorf("it ended with %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		mine := errors.New("mine")
		time.AfterFunc(time.Second, func() { cancel(mine) })
		if _, err := m.CallTool(ctx, "a", "x", nil, nil); err != mine { //nolint:errorlint // it is the cause itself
			t.Errorf("cancelled, it ended with %v", err)
		}
	})
}

func TestWhatFollowsFromTheErrorOfACall(t *testing.T) {
	carriage := func(d transport.Delivery, err error) error { return &transport.Error{Delivery: d, Err: err} }
	status := func(code int, err error) error { return &transport.StatusError{Status: code, Err: err} }
	timeout := &transport.TimeoutError{What: "request", After: time.Second}
	refusal := &jsonrpc.Error{Code: -1, Message: "no"}
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"refused", refusal, "finished"},
		{"no line", carriage(transport.NotDelivered, transport.ErrClosed), "unsent"},
		{"lost on the way", carriage(transport.MaybeDelivered, transport.ErrClosed), "unknown"},
		{"a clock, never begun", carriage(transport.NotDelivered, timeout), "finished"},
		{"a clock", carriage(transport.MaybeDelivered, timeout), "unknown"},
		{"too many bytes wait", carriage(transport.NotDelivered, transport.ErrCongested), "finished"},
		{"too large to send", carriage(transport.NotDelivered, transport.ErrTooLarge), "finished"},
		{"too large an answer", carriage(transport.Answered, transport.ErrTooLarge), "finished"},
		{"not found", carriage(transport.Answered, status(404, nil)), "finished"},
		{"the server failed", carriage(transport.Answered, status(500, nil)), "finished"},
		{"a gateway lost the answer", carriage(transport.Answered, status(502, nil)), "unknown"},
		{"a gateway waited in vain", carriage(transport.Answered, status(504, nil)), "unknown"},
		{"a refusal with 502", carriage(transport.Answered, status(502, refusal)), "finished"},
		{
			"a session that was lost before", carriage(transport.NotDelivered,
				fmt.Errorf("%w: %w", transport.ErrSessionLost, status(404, nil))), "unsent",
		},
	} {
		if got := manager.Judge(t.Context(), row.err); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := carriage(transport.MaybeDelivered, errors.New("the caller's own"))
	cancel(mine)
	if got := manager.Judge(ctx, mine); got != "finished" {
		t.Errorf("ended by the caller: %s", got)
	}
}

func TestALoginThatIsRefusedInTheMiddleWaitsForSomebody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		m := run(t, newFleet(f), []config.Server{remote("a")}, manager.Options{})
		state(t, m, "a", manager.Ready, time.Second)
		f.set(func(f *fake) { f.unauthorized = true })
		if _, err := m.CallTool(t.Context(), "a", "x", nil, nil); err == nil {
			t.Fatal("the call succeeds")
		}
		state(t, m, "a", manager.NeedsLogin, time.Second)
	})
}

func TestAServerIsSuspectedAtOnceAfterACallWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.onCall = func(*transporttest.Server, jsonrpc.Message) string { return "" }
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		state(t, m, "a", manager.Ready, time.Second)
		o := &manager.CallOptions{CallOptions: client.CallOptions{Timeout: time.Second}}
		if _, err := m.CallTool(t.Context(), "a", "x", nil, o); err == nil {
			t.Fatal("the call succeeds")
		}
		time.Sleep(time.Millisecond)
		if seen := get(f, func(f *fake) []string { return f.seen }); !slices.Contains(seen, "ping") {
			t.Errorf("it was asked %q", seen)
		}
	})
}

func TestToolErrorsAndRefusalsNeverCauseAReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		replies := []string{
			`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"isError":true}}`,
			`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad"}}`,
		}
		n := 0
		f.onCall = func(_ *transporttest.Server, m jsonrpc.Message) string {
			n++
			return fmt.Sprintf(replies[n-1], m.ID)
		}
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		if result, err := m.CallTool(t.Context(), "a", "x", nil, nil); err != nil || !result.IsError {
			t.Errorf("got %v, %v", result, err)
		}
		_, err := m.CallTool(t.Context(), "a", "x", nil, nil)
		if _, refused := errors.AsType[*jsonrpc.Error](err); !refused {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
		if opened := get(f, func(f *fake) int { return len(f.opened) }); opened != 1 || n != 2 {
			t.Errorf("%d connections, %d calls", opened, n)
		}
	})
}

func TestACallWaitsForItsServerUntilThatServersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, silent := newFake("slow", "x"), newFake("silent", "x")
		slow.delay, silent.mute = 20*time.Second, true
		limit := 5 * time.Second
		impatient := process("silent")
		impatient.ConnectTimeout = &limit
		m := run(t, newFleet(slow, silent), []config.Server{process("slow"), impatient}, manager.Options{})
		start := time.Now()
		_, err := m.CallTool(t.Context(), "silent", "x", nil, nil)
		if failure, ok := errors.AsType[*manager.ServerError](err); !ok || failure.Err == nil || time.Since(start) != limit {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if _, err := m.CallTool(t.Context(), "slow", "x", nil, nil); err != nil || time.Since(start) != 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		state(t, m, "slow", manager.Ready, time.Second)
		if _, err := m.Call(t.Context(), "slow__x", nil, nil); err != nil {
			t.Error(err)
		}
		if _, err := m.Call(t.Context(), "slow__y", nil, nil); !errors.Is(err, manager.ErrUnknownTool) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheConnectionToAServerIsLentOnceItStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, off := newFake("a", "x"), process("off")
		f.delay, off.Disabled = time.Second, true
		m := run(t, newFleet(f), []config.Server{process("a"), off}, manager.Options{})
		start := time.Now()
		c, err := m.Client(t.Context(), "a")
		if err != nil || time.Since(start) != time.Second {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		_, err = m.Client(t.Context(), "off")
		if failure, ok := errors.AsType[*manager.ServerError](err); !ok || failure.State != manager.Disabled {
			t.Errorf("a disabled server gives %v", err)
		}
		if _, err := m.Client(t.Context(), "nobody"); !errors.Is(err, manager.ErrUnknownServer) {
			t.Errorf("an unknown server gives %v", err)
		}
	})
}

func TestToolsOfAnEarlierRunAreThereAtOnce(t *testing.T) {
	folder := t.TempDir()
	for _, warm := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, broken := newFake("a", "x"), newFake("b", "y")
			f.delay, broken.delay = time.Second, time.Second
			if warm {
				broken.refuse = errors.New("no")
			}
			m := run(t, newFleet(f, broken), []config.Server{process("a"), process("b")}, manager.Options{CacheDir: folder})
			if got := names(m.Snapshot()); warm && got != "a__x(deferred) b__y(deferred)" || !warm && got != "" {
				t.Errorf("warm %v: at once the tools are %q", warm, got)
			}
			if _, err := m.CallTool(t.Context(), "a", "x", nil, nil); err != nil {
				t.Error(err)
			}
			if !warm {
				if err := m.Settle(t.Context(), "a", "b"); err != nil {
					t.Error(err)
				}
				return
			}
			state(t, m, "b", manager.Failed, time.Minute)
			if got := names(m.Snapshot()); got != "a__x b__y(unavailable)" {
				t.Errorf("in the end the tools are %q", got)
			}
		})
	}
}
