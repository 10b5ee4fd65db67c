package manager_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/transport/transporttest"
)

func TestASilentLineIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		state(t, m, "a", manager.Ready, time.Second)
		f.set(func(f *fake) { f.mute = true })
		start := time.Now()
		s := state(t, m, "a", manager.Waiting, time.Hour)
		if !errors.Is(s.Err, manager.ErrSilent) {
			t.Errorf("lost with %v", s.Err)
		}
		want := manager.DefaultPingInterval + 2*manager.DefaultPingTimeout + time.Second
		if d := time.Since(start); d > want {
			t.Errorf("noticed after %v, want %v", d, want)
		}
		f.set(func(f *fake) { f.mute = false })
		state(t, m, "a", manager.Ready, 10*time.Second)
	})
}

func TestABusyServerIsNotPinged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		f.onCall = func(s *transporttest.Server, m jsonrpc.Message) string { // it does one thing at a time
			select {
			case <-time.After(5 * time.Minute):
			case <-s.Done():
			}
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
		}
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		o := &manager.CallOptions{CallOptions: client.CallOptions{Timeout: -1}}
		if _, err := m.CallTool(t.Context(), "a", "x", nil, o); err != nil {
			t.Fatal(err)
		}
		if n := get(f, func(f *fake) int { return len(f.opened) }); n != 1 {
			t.Errorf("%d connections", n)
		}
		if seen := get(f, func(f *fake) []string { return f.seen }); slices.Contains(seen, "ping") {
			t.Errorf("it was asked %q", seen)
		}
	})
}

func TestAServerThatHasJustAnsweredIsNotPinged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{})
		for range 100 {
			if _, err := m.CallTool(t.Context(), "a", "x", nil, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if seen := get(f, func(f *fake) []string { return f.seen }); slices.Contains(seen, "ping") {
			t.Errorf("it was asked %q", seen)
		}
		time.Sleep(time.Minute)
		if seen := get(f, func(f *fake) []string { return f.seen }); !slices.Contains(seen, "ping") {
			t.Errorf("idle, it was asked only %q", seen)
		}
	})
}

func TestAHostThatBlocksOnAChangeHoldsNothingUpThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "x")
		entered := make(chan struct{})
		m := run(t, newFleet(f), []config.Server{process("a")}, manager.Options{
			OnChange: func(ctx context.Context, _ string, _ client.Change) {
				close(entered)
				<-ctx.Done()
			},
		})
		state(t, m, "a", manager.Ready, time.Second)
		f.tell("notifications/tools/list_changed", "{}")
		<-entered
		start := time.Now()
		if err := m.Close(t.Context()); err != nil || time.Since(start) > time.Second {
			t.Errorf("closed after %v: %v", time.Since(start), err)
		}
	})
}
