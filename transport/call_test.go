package transport_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/transport"
)

// outcome waits for the end of a call that has been started, and returns how and when it ended.
func outcome(call *transport.Call) (after time.Duration, err error) {
	start := time.Now()
	<-call.Ended()
	return time.Since(start), call.Err()
}

func TestTheClocksOfACall(t *testing.T) {
	const s = time.Second
	every := func(pause time.Duration, f func(*transport.Call)) func(*transport.Call) {
		return func(c *transport.Call) {
			for range 20 {
				time.Sleep(pause)
				f(c)
			}
		}
	}
	for _, row := range []struct {
		name           string
		timeout, limit time.Duration
		during         func(*transport.Call)
		after          time.Duration
		text           string
	}{
		{"the default", 0, 0, nil, 7 * s, "request timeout after 7000ms"},
		{"its own", 2 * s, 0, nil, 2 * s, "request timeout after 2000ms"},
		{"touched until the limit", 2 * s, 5 * s, every(s, (*transport.Call).Touch), 5 * s, "request timeout after 5000ms"},
		{"touched for a while", 30 * s, -1, every(s, (*transport.Call).Touch), 50 * s, "request timeout after 30000ms"},
		{"no timeout but a limit", -1, 3 * s, nil, 3 * s, "request timeout after 3000ms"},
		{"the default limit", -1, 0, nil, 10 * time.Minute, "request timeout after 600000ms"},
		{"held for a while", 2 * s, 0, func(c *transport.Call) {
			time.Sleep(s)
			c.Hold()
			time.Sleep(10 * s)
			c.Release()
		}, 13 * s, "request timeout after 2000ms"},
		{"held twice", 2 * s, 0, func(c *transport.Call) {
			c.Hold()
			c.Hold()
			time.Sleep(10 * s)
			c.Release()
			time.Sleep(10 * s)
			c.Release()
		}, 22 * s, "request timeout after 2000ms"},
		{"held beyond the limit", 2 * s, 5 * s, (*transport.Call).Hold, 5 * s, "request timeout after 5000ms"},
		{
			"renamed", 2 * s, 0, func(c *transport.Call) { c.Rename("SSE response") },
			2 * s, "SSE response timeout after 2000ms",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				call := &transport.Call{Timeout: row.timeout, Limit: row.limit}
				call.Start("request", 7*s)
				var during sync.WaitGroup
				defer during.Wait()
				if row.during != nil {
					during.Go(func() { row.during(call) })
				}
				after, err := outcome(call)
				if after != row.after || err == nil || err.Error() != row.text || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %v: %v, want after %v: %s", after, err, row.after, row.text)
				}
				if call.Settle() || call.Settled() || call.Stop() {
					t.Error("an answer after the end was taken")
				}
			})
		})
	}
}

func TestAnAnswerEndsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := &transport.Call{}
		if call.Settle() {
			t.Error("a call that has not begun was settled")
		}
		call.Start("request", time.Second)
		ended := 0
		call.OnEnd(func() { ended++ })
		if !call.Settle() || call.Settle() {
			t.Error("a call is settled once")
		}
		if after, err := outcome(call); after != 0 || err != nil || !call.Settled() || !call.Stop() || ended != 1 {
			t.Errorf("after %v: %v; OnEnd ran %d times", after, err, ended)
		}
		time.Sleep(time.Minute) // no clock runs out on it
		if call.Err() != nil {
			t.Errorf("got %v", call.Err())
		}
	})
}

func TestACallWithoutClocksWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := &transport.Call{Timeout: -1, Limit: -1}
		call.Start("request", time.Second)
		time.Sleep(24 * time.Hour)
		select {
		case <-call.Ended():
			t.Error("it ended")
		default:
		}
		if call.Stop() {
			t.Error("it was settled")
		}
		ended := false
		call.OnEnd(func() { ended = true })
		if !ended {
			t.Error("OnEnd did not run for a call that had ended")
		}
	})
}

func TestOnlyACallThatNobodyElseMayUseIsRenewed(t *testing.T) {
	var shared transport.Clocks
	defer shared.Close()
	for _, row := range []struct {
		name string
		use  func(*transport.Call)
		want bool
	}{
		{"settled", func(c *transport.Call) { c.Settle() }, true},
		{"settled and stopped", func(c *transport.Call) { c.Settle(); c.Stop() }, true},
		{"open", func(*transport.Call) {}, false},
		{"stopped", func(c *transport.Call) { c.Stop() }, false},
		{"held", func(c *transport.Call) { c.Hold(); c.Settle() }, false},
		{"held once", func(c *transport.Call) { c.Hold(); c.Release(); c.Settle() }, false},
		{"held at last", func(c *transport.Call) { c.Settle(); c.Hold() }, false},
		{"in a context", func(c *transport.Call) { transport.WithCall(t.Context(), c); c.Settle() }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := &transport.Call{Body: []byte("a"), Timeout: time.Minute, Clocks: &shared}
			c.Start("request", 0)
			c.Touch()
			row.use(c)
			if got := c.Renew(); got != row.want {
				t.Fatalf("Renew returned %v", got)
			}
			if !row.want {
				return
			}
			fields := reflect.ValueOf(c).Elem()
			for i := range fields.NumField() {
				if !fields.Field(i).IsZero() {
					t.Errorf("a renewed call still has its %s", fields.Type().Field(i).Name)
				}
			}
		})
	}
}

func TestARenewedCallKnowsNothingOfTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared transport.Clocks
		defer shared.Close()
		c := &transport.Call{Timeout: time.Second, Limit: 2 * time.Second, Clocks: &shared}
		ended := 0
		c.Start("request", 0)
		c.OnEnd(func() { ended++ })
		late := c.Alarm() // whose clock has been asked whom it is for, and then came to stand still
		before := c.Ended()
		time.Sleep(900 * time.Millisecond)
		c.Settle()
		if !c.Renew() {
			t.Fatal("it could not be renewed")
		}
		late()
		if c.Settle() || c.Over() || c.Ended() != nil {
			t.Error("it has begun before Start")
		}
		<-before

		c.Timeout, c.Clocks = 5*time.Second, &shared
		c.Start("notify", 0)
		time.Sleep(4 * time.Second) // past both ends of the call before
		late()
		if c.Over() {
			t.Fatalf("it has ended with %v", c.Err())
		}
		start := time.Now()
		<-c.Ended()
		if got, err := time.Since(start), c.Err(); got != time.Second || err.Error() != "notify timeout after 5000ms" {
			t.Errorf("after 4s and %v it ended with %v", got, err)
		}
		if ended != 1 {
			t.Errorf("the end was told %d times", ended)
		}
	})
}
