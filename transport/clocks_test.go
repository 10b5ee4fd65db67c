package transport_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/transport"
)

// lasts returns how long a call lasts that nobody settles.
func lasts(t *testing.T, c *transport.Call) time.Duration {
	t.Helper()
	start := time.Now()
	c.Start("request", time.Minute)
	<-c.Ended()
	if _, ok := errors.AsType[*transport.TimeoutError](c.Err()); !ok {
		t.Errorf("it ended with %v", c.Err())
	}
	return time.Since(start)
}

func TestCallsThatShareATimerEndEachInItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared transport.Clocks
		call := func(timeout time.Duration) *transport.Call {
			return &transport.Call{Timeout: timeout, Clocks: &shared}
		}
		for range 100 { // each leaves the timer as the first has set it
			c := call(30 * time.Second)
			c.Start("request", 0)
			time.Sleep(100 * time.Millisecond)
			if !c.Settle() || !c.Stop() {
				t.Fatal("it could not be settled")
			}
		}
		for _, timeout := range []time.Duration{30 * time.Second, time.Second, time.Minute, 2 * time.Second} {
			if got := lasts(t, call(timeout)); got != timeout {
				t.Errorf("a call of %v lasted %v", timeout, got)
			}
		}
		limited := call(time.Minute)
		limited.Limit = 3 * time.Second
		if got := lasts(t, limited); got != 3*time.Second {
			t.Errorf("a call of 3s in all lasted %v", got)
		}

		// A call that is held when the timer comes that its forerunner has left.
		before := call(5 * time.Second)
		before.Start("request", 0)
		before.Settle()
		held := call(20 * time.Second)
		start := time.Now()
		held.Start("request", 0)
		held.Hold()
		time.Sleep(time.Minute)
		held.Release()
		<-held.Ended()
		if got := time.Since(start); got != 80*time.Second {
			t.Errorf("a call of 20s that was held for 60s lasted %v", got)
		}
	})
}

func TestManyCallsAtOnceHaveATimerEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared transport.Clocks
		for range 3 {
			took := make(chan bool)
			for i := range 200 {
				timeout := time.Duration(200-i) * time.Second
				go func() { took <- lasts(t, &transport.Call{Timeout: timeout, Clocks: &shared}) == timeout }()
			}
			for range 200 {
				if !<-took {
					t.Error("a call ended at another time than its own")
				}
			}
		}
	})
}

func TestClosedClocksLeaveNoTimerBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared transport.Clocks
		calls := []*transport.Call{{Clocks: &shared}, {Clocks: &shared}}
		for _, c := range calls {
			c.Start("request", time.Minute)
		}
		calls[0].Settle()
		free := shared.Timers()
		shared.Close()
		if free() {
			t.Error("the timer that no call has goes on")
		}
		calls[1].Settle()
		if shared.Timers()() {
			t.Error("the timer of the other call is kept")
		}
		if late := (&transport.Call{Timeout: time.Second, Clocks: &shared}); lasts(t, late) != time.Second {
			t.Error("a call that begins late has no clock")
		}
	})
}
