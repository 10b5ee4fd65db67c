package manager_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/proc"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

func TestServersStartTogetherAndNoneWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick, slow, silent, broken := newFake("quick", "q"), newFake("slow", "s"), newFake("silent"), newFake("broken")
		quick.delay, slow.delay, silent.mute = 50*time.Millisecond, 1500*time.Millisecond, true
		broken.refuse = &transport.Error{Op: "open", Err: &transport.ExitError{Code: 1, Stderr: "no key"}}
		start := time.Now()
		m := run(t, newFleet(quick, slow, silent, broken),
			[]config.Server{process("silent"), process("slow"), process("quick"), process("broken")}, manager.Options{})
		if err := m.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != manager.DefaultWindow {
			t.Errorf("settled after %v", got)
		}
		if got := names(m.Snapshot()); got != "quick__q" {
			t.Errorf("the tools are %q", got)
		}
		if err := m.Settle(t.Context(), "slow"); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 1500*time.Millisecond {
			t.Errorf("slow was ready after %v", got)
		}
		err := m.Settle(t.Context(), "broken", "silent")
		if err == nil || !strings.Contains(err.Error(), "no key") || !strings.Contains(err.Error(), "connect") {
			t.Errorf("the error is %v", err)
		}
		if got := time.Since(start); got != client.DefaultConnectTimeout {
			t.Errorf("the silent one was given up after %v", got)
		}
	})
}

func TestARequiredServerIsWaitedForAndMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, broken := newFake("slow", "s"), newFake("broken")
		slow.delay, broken.refuse = 2*time.Second, errors.New("no")
		a, b := process("slow"), process("broken")
		a.Required, b.Required = true, true
		m := run(t, newFleet(slow, broken), []config.Server{a, b}, manager.Options{})
		start := time.Now()
		err := m.Settle(t.Context())
		failure, ok := errors.AsType[*manager.ServerError](err)
		if !ok || failure.Server != "broken" || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestAStartupWaitIsTheServersOwn(t *testing.T) {
	for _, wait := range []time.Duration{3 * time.Second, 0} {
		testStartupWait(t, wait)
	}
}

func testStartupWait(t *testing.T, wait time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		slow := newFake("slow", "s")
		slow.delay = time.Second
		server := process("slow")
		server.StartupWait = &wait
		m := run(t, newFleet(slow), []config.Server{server}, manager.Options{})
		if err := m.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := names(m.Snapshot()); got != "slow__s" {
			t.Errorf("the tools are %q", got)
		}
	})
}

func TestALostLineComesBackByTheLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		state(t, m, "a", manager.Ready, time.Second)
		time.Sleep(2 * time.Minute)
		f.kill()
		lost := time.Now()
		synctest.Wait()
		s, _ := m.Snapshot().Server("a")
		if s.State != manager.Waiting || s.Err == nil || !strings.Contains(s.Err.Error(), "killed") {
			t.Errorf("it is %v: %v", s.State, s.Err)
		}
		if got := names(m.Snapshot()); got != "a__x(deferred)" {
			t.Errorf("the tools are %q", got)
		}
		state(t, m, "a", manager.Ready, time.Second)
		if d := time.Since(lost); d < 450*time.Millisecond || d > 550*time.Millisecond {
			t.Errorf("it came back after %v", d)
		}
		if n := get(f, func(f *fake) int { return f.most }); n != 1 {
			t.Errorf("%d connections were open at once", n)
		}
	})
}

func TestAServerThatDiesAgainAndAgainIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.dies = true
		var events []string
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{
			OnEvent: func(e manager.Event) { events = append(events, e.To.String()) },
		})
		s := state(t, m, "a", manager.Failed, time.Minute)
		if n := get(f, func(f *fake) int { return len(f.opened) }); n != 5 || s.Starts != 5 {
			t.Errorf("%d starts, %d told", n, s.Starts)
		}
		if got := names(m.Snapshot()); got != "" && got != "a__x(unavailable)" {
			t.Errorf("the tools are %q", got)
		}
		_, err := m.CallTool(t.Context(), "a", "x", nil, nil)
		if failure, ok := errors.AsType[*manager.ServerError](err); !ok || failure.Starts != 5 ||
			!strings.Contains(err.Error(), "given up after 5 starts") {
			t.Errorf("a call gives %v", err)
		}
		time.Sleep(time.Hour)
		if n := get(f, func(f *fake) int { return len(f.opened) }); n != 5 {
			t.Errorf("%d starts an hour later", n)
		}
		f.set(func(f *fake) { f.dies = false })
		if err := m.Reconnect("a"); err != nil {
			t.Fatal(err)
		}
		if err := m.Settle(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	})
}

func TestSuccessDoesNotResetTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		servers := func(i int) []config.Server {
			s := process("a")
			s.Args = []string{fmt.Sprint(i)}
			return []config.Server{s}
		}
		m := run(t, newFleet(f), servers(0), manager.Options{})
		for i := range 200 { // each change of the configuration makes a new connection, and each succeeds
			m.Apply(servers(i))
			time.Sleep(time.Second)
		}
		opened := get(f, func(f *fake) []time.Time { return slices.Clone(f.opened) })
		for i := range opened {
			if i >= 5 && opened[i].Sub(opened[i-5]) < time.Minute {
				t.Errorf("starts %d to %d within %v", i-5, i, opened[i].Sub(opened[i-5]))
			}
		}
		if len(opened) < 10 {
			t.Errorf("%d starts: nothing was applied any more", len(opened))
		}
	})
}

func TestARemoteServerIsTriedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.refuse = &transport.Error{Op: "open", Delivery: transport.NotDelivered, Err: errors.New("connection refused")}
		m := run(t, newFleet(f), []config.Server{remote("a")}, manager.Options{})
		time.Sleep(24 * time.Hour)
		opened := get(f, func(f *fake) []time.Time { return slices.Clone(f.opened) })
		if n := len(opened); n < 24*60/6 || n > 24*60/4 {
			t.Errorf("%d attempts in a day", n)
		}
		if d := opened[len(opened)-1].Sub(opened[len(opened)-2]); d < 4*time.Minute || d > 6*time.Minute {
			t.Errorf("the last wait was %v", d)
		}
		f.set(func(f *fake) { f.refuse = nil })
		state(t, m, "a", manager.Ready, 6*time.Minute)
	})
}

func TestWhatCantBeStartedIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		f.refuse = &transport.Error{Op: "open", Err: &proc.StartError{Command: "nope", Reason: proc.NotFound}}
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		s := state(t, m, "a", manager.Failed, time.Second)
		time.Sleep(time.Hour)
		if n := get(f, func(f *fake) int { return len(f.opened) }); n != 1 || s.Err == nil {
			t.Errorf("%d attempts, %v", n, s.Err)
		}
	})
}

func TestARefusedLoginWaitsForSomebody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		f.refuse = &transport.Error{Op: "open", Err: &transport.StatusError{Status: 401, Text: "Unauthorized"}}
		m := run(t, newFleet(f), []config.Server{remote("a")}, manager.Options{})
		state(t, m, "a", manager.NeedsLogin, time.Second)
		time.Sleep(time.Hour)
		f.set(func(f *fake) { f.refuse = nil })
		if err := m.Reconnect("a"); err != nil {
			t.Fatal(err)
		}
		if err := m.Settle(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAPartOfAListNeverReplacesTheWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "one", "two")
		f.torn = true
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		s := state(t, m, "a", manager.Ready, time.Second)
		if got := names(m.Snapshot()); got != "a__one" || s.ListErr == nil {
			t.Errorf("of a torn list the tools are %q, %v", got, s.ListErr)
		}
		f.set(func(f *fake) { f.torn = false })
		time.Sleep(time.Minute)
		if got := names(m.Snapshot()); got != "a__one a__two" {
			t.Errorf("it was not read again: the tools are %q", got)
		}
		f.set(func(f *fake) { f.torn = true })
		f.kill()
		time.Sleep(time.Minute)
		if got := names(m.Snapshot()); got != "a__one a__two" {
			t.Errorf("after a reconnect and a torn list the tools are %q", got)
		}
	})
}

func TestToolsOfAnotherConfigurationAreNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		state(t, m, "a", manager.Ready, time.Second)
		f.set(func(f *fake) { f.refuse = errors.New("no") })
		other := process("a")
		other.Args = []string{"other"}
		m.Apply([]config.Server{other})
		if got := names(m.Snapshot()); got != "" {
			t.Errorf("the tools are %q", got)
		}
	})
}

func TestAServerThatAsksForPatienceGetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.refuse = &transport.Error{Err: &transport.StatusError{Status: 503, RetryAfter: 2 * time.Minute}}
		m := run(t, newFleet(f), []config.Server{remote("a")}, manager.Options{})
		state(t, m, "a", manager.Waiting, time.Second)
		time.Sleep(119 * time.Second)
		if n := get(f, func(f *fake) int { return len(f.opened) }); n != 1 {
			t.Errorf("%d attempts in two minutes", n)
		}
		time.Sleep(2 * time.Second)
		if n := get(f, func(f *fake) int { return len(f.opened) }); n != 2 {
			t.Errorf("%d attempts after two minutes", n)
		}
	})
}

func TestAnErrorDoesNotGrowWithEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.refuse = errors.New("nobody there")
		m := run(t, newFleet(f), []config.Server{remote("a")}, manager.Options{})
		var err error
		for range 30 {
			time.Sleep(6 * time.Second)
			_, err = m.CallTool(t.Context(), "a", "x", nil, nil)
		}
		if err == nil || strings.Count(err.Error(), "tried") > 1 || !strings.Contains(err.Error(), "nobody there") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestReconnectDoesNotWaitForAnAttemptThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.mute = true
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		time.Sleep(10 * time.Second)
		f.set(func(f *fake) { f.mute = false })
		if err := m.Reconnect("a"); err != nil {
			t.Fatal(err)
		}
		state(t, m, "a", manager.Ready, time.Second)
	})
}

func TestChangesOfToolsAreReadOnceForAStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		state(t, m, "a", manager.Ready, time.Second)
		f.set(func(f *fake) { f.tools = append(f.tools, mcp.Tool{Name: "b"}) })
		for range 100 {
			f.tell("notifications/tools/list_changed", "{}")
		}
		time.Sleep(150 * time.Millisecond)
		if got := names(m.Snapshot()); got != "a__b a__x" {
			t.Errorf("the tools are %q", got)
		}
		if n := get(f, func(f *fake) int { return f.lists }); n > 3 {
			t.Errorf("read %d times", n)
		}
		for range 600 { // ten minutes of words that come to nothing
			f.tell("notifications/tools/list_changed", "{}")
			time.Sleep(time.Second)
		}
		if n := get(f, func(f *fake) int { return f.lists }); n > 35 {
			t.Errorf("read %d times in ten minutes in which nothing changed", n)
		}
		f.set(func(f *fake) { f.listErr = true })
		time.Sleep(2 * time.Minute)
		f.tell("notifications/tools/list_changed", "{}")
		time.Sleep(time.Second)
		s, _ := m.Snapshot().Server("a")
		if got := names(m.Snapshot()); got != "a__b a__x" || s.ListErr == nil {
			t.Errorf("after a list that failed (%v) the tools are %q", s.ListErr, got)
		}
		f.set(func(f *fake) { f.listErr, f.tools = false, f.tools[:1] })
		time.Sleep(time.Minute)
		if got := names(m.Snapshot()); got != "a__x" {
			t.Errorf("it was not tried again: the tools are %q", got)
		}
	})
}

func TestApplyTouchesOnlyWhatHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes := []*fake{newFake("same", "x"), newFake("changed", "x"), newFake("gone", "x"), newFake("new", "x"), newFake("off", "x")}
		all := newFleet(fakes...)
		m := run(t, all, []config.Server{process("same"), process("changed"), process("gone"), process("off")}, manager.Options{})
		if err := m.Settle(t.Context(), "same", "changed", "gone", "off"); err != nil {
			t.Fatal(err)
		}
		same, changed, off := process("same"), process("changed"), process("off")
		same.Tools.Deny = []string{"y*"}
		changed.Args = []string{"-v"}
		off.Disabled = true
		m.Apply([]config.Server{process("new"), off, changed, same, changed})
		if err := m.Settle(t.Context(), "same", "changed", "new"); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int{"same": 1, "changed": 2, "gone": 1, "new": 1, "off": 1} {
			if n := get(all[name], func(f *fake) int { return len(f.opened) }); n != want {
				t.Errorf("%s was started %d times, want %d", name, n, want)
			}
		}
		if got := names(m.Snapshot()); got != "changed__x new__x same__x" {
			t.Errorf("the tools are %q", got)
		}
		if _, err := m.CallTool(t.Context(), "gone", "x", nil, nil); !errors.Is(err, manager.ErrUnknownServer) {
			t.Errorf("a call of the one that is gone gives %v", err)
		}
		if _, err := m.CallTool(t.Context(), "off", "x", nil, nil); err == nil {
			t.Error("a disabled server can be called")
		}
		m.Apply([]config.Server{process("off")})
		if err := m.Settle(t.Context(), "off"); err != nil {
			t.Error(err)
		}
	})
}

func TestAFilterHidesToolsAndForbidsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := process("a")
		server.Tools = config.ToolFilter{Allow: []string{"get*"}, Deny: []string{"*all"}}
		m := run(t, newFleet(newFake("a", "get", "get_all", "put")), []config.Server{server}, manager.Options{})
		if err := m.Settle(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if got := names(m.Snapshot()); got != "a__get" {
			t.Errorf("the tools are %q", got)
		}
		if _, err := m.CallTool(t.Context(), "a", "put", nil, nil); !errors.Is(err, manager.ErrDenied) {
			t.Errorf("the call gives %v", err)
		}
	})
}

func TestWhatAConnectionWasToldIsToldToTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		changes := make(chan client.Change, 10)
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{
			OnChange: func(_ context.Context, _ string, c client.Change) { changes <- c },
		})
		if err := m.SetLogLevel(t.Context(), "a", mcp.LogWarning); err != nil {
			t.Fatal(err)
		}
		for _, uri := range []string{"x:1", "x:2"} {
			if err := m.Subscribe(t.Context(), "a", uri); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Unsubscribe("a", "x:2"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		f.set(func(f *fake) { f.seen = nil })
		f.kill()
		time.Sleep(2 * time.Second)
		seen := get(f, func(f *fake) []string { return slices.Sorted(slices.Values(f.seen)) })
		want := "initialize|logging/setLevel warning|notifications/initialized|resources/subscribe x:1|tools/list"
		if got := strings.Join(seen, "|"); got != want {
			t.Errorf("the new connection was told %q, want %q", got, want)
		}
		f.tell("notifications/resources/updated", `{"uri":"x:1"}`)
		if c := <-changes; c.URI != "x:1" {
			t.Errorf("got %+v", c)
		}
	})
}

func TestToolsComeInTheSameOrderWhoeverConnectsFirst(t *testing.T) {
	var first string
	for i, delays := range [][2]time.Duration{{0, time.Second}, {time.Second, 0}} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newFake("a", "z", "m"), newFake("b", "c", "a")
			a.delay, b.delay = delays[0], delays[1]
			if i == 1 {
				slices.Reverse(a.tools)
			}
			m := run(t, newFleet(a, b), []config.Server{process("b"), process("a")}, manager.Options{})
			if err := m.Settle(t.Context(), "a", "b"); err != nil {
				t.Fatal(err)
			}
			got := names(m.Snapshot())
			if i == 0 {
				first = got
			}
			if got != first || got != "a__m a__z b__a b__c" {
				t.Errorf("got %q, first %q", got, first)
			}
			if tool, ok := m.Snapshot().Tool("b__c"); !ok || tool.Server != "b" || tool.Name != "c" {
				t.Errorf("b__c is %+v", tool)
			}
		})
	}
}

func TestCloseEndsAllAtOnceAndFailsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.onCall = func(*transporttest.Server, jsonrpc.Message) string { return "" }
		m := run(t, newFleet(f, newFake("b")), []config.Server{process("a"), process("b")}, manager.Options{})
		failed := make(chan error)
		go func() {
			_, err := m.CallTool(context.Background(), "a", "x", nil, nil)
			failed <- err
		}()
		time.Sleep(time.Second)
		go func() { _ = m.Close(t.Context()) }()
		if err := <-failed; !errors.Is(err, manager.ErrClosed) {
			t.Errorf("the call gives %v", err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := m.CallTool(t.Context(), "a", "x", nil, nil); !errors.Is(err, manager.ErrClosed) {
			t.Errorf("a later call gives %v", err)
		}
		if got := names(m.Snapshot()); got != "a__x(unavailable)" {
			t.Errorf("the tools are %q", got)
		}
		m.Apply([]config.Server{process("b")})
	})
}
