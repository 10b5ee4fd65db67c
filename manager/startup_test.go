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
	"mcpwire/manager"
	"mcpwire/transport"
)

// The fifty servers: 48 that answer after delays from 20 ms to 3 s, one that never does, one that exits.
const (
	goodServers   = 48
	firstAnswer   = 20 * time.Millisecond
	lastAnswer    = 3 * time.Second
	silentServer  = "silent"
	exitingServer = "exiting"
	exitsBecause  = "the key is missing"
)

// answersAfter is the delay of the good server with that number.
func answersAfter(i int) time.Duration {
	return firstAnswer + time.Duration(i)*(lastAnswer-firstAnswer)/(goodServers-1)
}

func goodServer(i int) string { return fmt.Sprintf("good%02d", i) }

// fifty returns the servers in memory, and their configuration.
func fifty() (fleet, []config.Server) {
	silent, exiting := newFake(silentServer, "x"), newFake(exitingServer, "x")
	silent.mute = true
	exiting.refuse = &transport.Error{Op: "initialize", Err: &transport.ExitError{Code: 1, Stderr: exitsBecause}}
	all := newFleet(silent, exiting)
	servers := []config.Server{process(silentServer), process(exitingServer)}
	for i := range goodServers {
		f := newFake(goodServer(i), "x", "y")
		f.delay = answersAfter(i)
		all[f.name] = f
		servers = append(servers, process(f.name))
	}
	return all, servers
}

// live lists the servers whose tools are live.
func live(s *manager.Snapshot) (all []string) {
	for _, t := range s.Tools {
		if t.Now == manager.Live && t.Name == "x" {
			all = append(all, t.Server)
		}
	}
	return all
}

// deadAreNamed checks that the two that can't be used are told with the reasons.
func deadAreNamed(t *testing.T, m *manager.Manager) {
	t.Helper()
	for name, reason := range map[string]string{
		silentServer: "connect timeout after 60000ms", exitingServer: "exit status 1; stderr: " + exitsBecause,
	} {
		s := state(t, m, name, manager.Failed, 10*time.Minute)
		if s.Err == nil || !strings.Contains(s.Err.Error(), reason) {
			t.Errorf("%s failed with %v", name, s.Err)
		}
	}
}

func TestFiftyServersAreThereAsSoonAsEachAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, servers := fifty()
		start := time.Now()
		m := run(t, all, servers, manager.Options{})
		if n := len(m.Snapshot().Tools); n != 0 {
			t.Errorf("at once there are %d tools", n)
		}
		settled := make(chan time.Duration, 1)
		go func() {
			if err := m.Settle(t.Context()); err != nil {
				t.Error(err)
			}
			settled <- time.Since(start)
		}()
		for i := range goodServers {
			for _, row := range []struct {
				at   time.Duration
				want int
			}{{answersAfter(i) - 1, i}, {answersAfter(i), i + 1}} {
				time.Sleep(row.at - time.Since(start))
				synctest.Wait()
				if n := len(live(m.Snapshot())); n != row.want {
					t.Errorf("after %v the tools of %d servers are there, want %d", row.at, n, row.want)
				}
			}
			if s, _ := m.Snapshot().Server(goodServer(i)); s.State != manager.Ready || s.TimeToReady != answersAfter(i) {
				t.Errorf("%s is %v after %v, want %v", goodServer(i), s.State, s.TimeToReady, answersAfter(i))
			}
		}
		if d := <-settled; d != manager.DefaultWindow {
			t.Errorf("settled after %v", d)
		}
		if n := len(m.Snapshot().Tools); n != 2*goodServers {
			t.Errorf("there are %d tools", n)
		}
		deadAreNamed(t, m)
	})
}

func TestFiftyServersWithACacheAreThereAtOnce(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) { // the run before, in which all of them worked
		all, servers := fifty()
		all[silentServer].mute, all[exitingServer].refuse = false, nil
		m := run(t, all, servers, manager.Options{CacheDir: folder})
		for _, s := range servers {
			if err := m.Settle(t.Context(), s.Name); err != nil {
				t.Fatal(err)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		all, servers := fifty()
		start := time.Now()
		m := run(t, all, servers, manager.Options{CacheDir: folder})
		snapshot := m.Snapshot()
		if d := time.Since(start); d != 0 || len(snapshot.Tools) != 2*goodServers+2 || len(live(snapshot)) != 0 {
			t.Errorf("after %v there are %d tools, of which %d live", d, len(snapshot.Tools), len(live(snapshot)))
		}
		for _, tool := range snapshot.Tools {
			if tool.Now != manager.Deferred {
				t.Errorf("%s is %v", tool.SafeName, tool.Now)
			}
		}
		if err := m.Settle(t.Context()); err != nil || time.Since(start) != manager.DefaultWindow {
			t.Errorf("settled after %v: %v", time.Since(start), err)
		}
		last := goodServers - 1
		if _, err := m.Call(t.Context(), goodServer(last)+"__x", nil, nil); err != nil || time.Since(start) != answersAfter(last) {
			t.Errorf("a deferred tool gave %v after %v", err, time.Since(start))
		}
		synctest.Wait()
		if n := len(live(m.Snapshot())); n != goodServers {
			t.Errorf("in the end %d servers are live", n)
		}
		deadAreNamed(t, m)
		for _, name := range []string{silentServer, exitingServer} {
			if tool, ok := m.Snapshot().Tool(name + "__x"); !ok || tool.Now != manager.Unavailable {
				t.Errorf("%s is %v", tool.SafeName, tool.Now)
			}
		}
	})
}

func TestSlowServersJoinLaterAndDeadOnesDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exiting := newFake("exiting")
		exiting.refuse = &transport.Error{Op: "initialize", Err: &transport.ExitError{Code: 1, Stderr: exitsBecause}}
		silent := newFake("silent")
		silent.mute = true
		all := newFleet(exiting, silent)
		servers := []config.Server{process("exiting"), process("silent")}
		for name, delay := range map[string]time.Duration{
			"quick1": 50 * time.Millisecond, "quick2": 50 * time.Millisecond,
			"slow1": 1500 * time.Millisecond, "slow2": 1500 * time.Millisecond,
		} {
			f := newFake(name, "x")
			f.delay = delay
			all[name] = f
			servers = append(servers, process(name))
		}
		limit := 10 * time.Second
		for i := range servers {
			if servers[i].Name == "slow1" {
				servers[i].Timeout = &limit
			}
		}
		start := time.Now()
		m := run(t, all, servers, manager.Options{})
		if err := m.Settle(t.Context()); err != nil || time.Since(start) != manager.DefaultWindow {
			t.Errorf("settled after %v: %v", time.Since(start), err)
		}
		if got := live(m.Snapshot()); !slices.Equal(got, []string{"quick1", "quick2"}) {
			t.Errorf("first there are %q", got)
		}
		if s, _ := m.Snapshot().Server("slow1"); s.State != manager.Connecting {
			t.Errorf("slow1 is %v", s.State)
		}
		if err := m.Settle(t.Context(), "slow1", "slow2"); err != nil || time.Since(start) != 1500*time.Millisecond {
			t.Errorf("the slow ones were there after %v: %v", time.Since(start), err)
		}
		if got := live(m.Snapshot()); len(got) != 4 {
			t.Errorf("then there are %q", got)
		}
		deadAreNamed(t, m)
	})
}

func TestAQuietlyTriedServerThatACallBringsBackIsNotConnectedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.refuse = &transport.Error{Op: "open", Delivery: transport.NotDelivered, Err: errors.New("connection refused")}
		m := run(t, newFleet(f), []config.Server{remote("a")}, manager.Options{})
		time.Sleep(time.Hour) // it is tried every five minutes by now
		s, _ := m.Snapshot().Server("a")
		time.Sleep(time.Until(s.Next) - time.Minute)
		f.set(func(f *fake) { f.refuse = nil })
		before := get(f, func(f *fake) int { return len(f.opened) })
		if _, err := m.CallTool(t.Context(), "a", "x", nil, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := get(f, func(f *fake) int { return len(f.opened) }) - before; n != 1 {
			t.Errorf("%d connections were made", n)
		}
	})
}

func TestAServerThatIsConfiguredAgainWaitsForAllThatHadItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := newChaotic("a")
		slow.slow = 3 * time.Second
		m := run(t, newFleet(slow.fake), []config.Server{process("a")}, manager.Options{})
		state(t, m, "a", manager.Ready, time.Second)
		go func() { _, _ = m.CallTool(context.Background(), "a", "write", nil, nil) }()
		synctest.Wait()
		off := process("a")
		off.Disabled = true
		for _, next := range []config.Server{process("a"), off, process("a")} { // while it closes
			m.Apply(nil)
			m.Apply([]config.Server{next})
		}
		if err := m.Settle(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		if n := get(slow.fake, func(f *fake) int { return f.most }); n != 1 {
			t.Errorf("%d connections were open at once", n)
		}
	})
}

func TestAVariableThatIsNotSetIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a")
		f.refuse = &config.ExpandError{Server: "a", Field: "env.KEY", Variable: "DEMO_UNSET", Reason: "it is not set"}
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		state(t, m, "a", manager.Failed, client.DefaultProbeTimeout)
		time.Sleep(time.Hour)
		if n := get(f, func(f *fake) int { return len(f.opened) }); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}
