package transport

import (
	"sync"
	"time"
)

// Defaults of a Call's clocks.
const (
	DefaultTimeout = 30 * time.Second
	DefaultLimit   = 10 * time.Minute
)

// A Call is one message on its way and, for a request, the wait for its answer. It is used for one Exchange or Send,
// and for another only after Renew.
//
// The fields are set by the caller before and not changed afterwards. The methods may be called from any goroutine at
// any time; they have no effect once the call has ended.
type Call struct {
	Body     []byte        // one JSON-RPC message
	Abandon  []byte        // sent best-effort after an unsettled Exchange whose Body had begun (a cancel note); may be nil
	Timeout  time.Duration // idle clock; 0: the transport's default (30 s unless configured); <0: none
	Limit    time.Duration // total, whatever Touch and Hold do; 0: 10 min; <0: none
	Envelope Envelope      // facts of Body that a carrier may show outside it
	Clocks   *Clocks       // lends the timer; nil: the call makes its own

	mu      sync.Mutex
	begun   bool
	over    bool
	ended   chan struct{} // closed at the end; nil until somebody wants it
	err     error         // of the clock that ended the call
	what    string
	idle    time.Duration // <= 0: none
	idleAt  time.Time
	limit   time.Duration // <= 0: none
	limitAt time.Time
	held    int
	lent    bool   // somebody may use the call after its end
	clock   *clock // nil: none is wanted
	onEnd   func()
}

// Start starts the clocks. Carriers call it first, with what a timeout error is to name ("request") and the default of
// Timeout, and Stop last.
func (c *Call) Start(what string, timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.begun = true
	c.what = what
	if c.idle = c.Timeout; c.idle == 0 {
		c.idle = timeout
	}
	if c.limit = c.Limit; c.limit == 0 {
		c.limit = DefaultLimit
	}
	c.idleAt, c.limitAt = now.Add(c.idle), now.Add(c.limit)
	c.rearm(now)
}

// wait returns how long neither clock can run out.
func (c *Call) wait(now time.Time) (time.Duration, bool) {
	idle, limit := c.idleAt.Sub(now), c.limitAt.Sub(now)
	switch ticking := c.idle > 0 && c.held == 0; {
	case ticking && c.limit > 0:
		return min(idle, limit), true
	case ticking:
		return idle, true
	}
	return limit, c.limit > 0
}

// tick is run by the clock, which may come too early: Touch only moves idleAt.
func (c *Call) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch {
	case c.over:
	case c.limit > 0 && !now.Before(c.limitAt):
		c.end(&TimeoutError{What: c.what, After: c.limit})
	case c.idle > 0 && c.held == 0 && !now.Before(c.idleAt):
		c.end(&TimeoutError{What: c.what, After: c.idle})
	default:
		c.rearm(now)
	}
}

func (c *Call) rearm(now time.Time) {
	wait, ok := c.wait(now)
	switch {
	case !ok:
	case c.clock == nil:
		c.clock = c.Clocks.take(c)
		fallthrough
	default:
		c.clock.arm(now, wait)
	}
}

func (c *Call) end(err error) bool {
	if c.over || !c.begun {
		return false
	}
	c.over, c.err = true, err
	if c.ended != nil {
		close(c.ended)
	}
	if c.clock != nil {
		c.Clocks.put(c.clock)
		c.clock = nil
	}
	if c.onEnd != nil {
		c.onEnd()
	}
	return true
}

// Settle ends the call: its answer has come. It reports whether the call was still open; if not, the answer is late and
// must be ignored. What belongs to the answer must be stored before.
func (c *Call) Settle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end(nil)
}

// Stop ends the call if it is still open, and reports whether it had been settled. Carriers call it last.
func (c *Call) Stop() (settled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return c.err == nil
	}
	c.end(ErrClosed)
	return false
}

// Ended is closed when the call has been settled or a clock has run out. It is nil before Start.
func (c *Call) Ended() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended != nil || !c.begun:
	case c.over:
		c.ended = closed
	default:
		c.ended = make(chan struct{})
	}
	return c.ended
}

// closed is for calls that have ended before anybody waited.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Over reports whether the call has been settled or a clock has run out.
func (c *Call) Over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// OnEnd has f run when the call ends, at once if it has ended. f must be quick and must not use the call. It replaces
// an f that was set before.
func (c *Call) OnEnd(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onEnd = f
	if c.over {
		f()
	}
}

// Settled reports whether the call has ended with its answer.
func (c *Call) Settled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over && c.err == nil
}

// Err returns nil for a call that is open or settled, and the *TimeoutError of the clock that ended it otherwise.
func (c *Call) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Touch restarts the idle clock: the server has shown that it works on the call.
func (c *Call) Touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idleAt = time.Now().Add(c.idle)
}

// Rename changes what a timeout error names, as when an event stream has begun.
func (c *Call) Rename(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.what = what
}

// Hold stops the idle clock while the client serves the server on the call's behalf, as when a person is asked. Each
// Hold needs a Release, which restarts the clock.
func (c *Call) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++
	c.lent = true
}

// lend notes that somebody holds on to the call whose end nobody knows.
func (c *Call) lend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lent = true
}

// Renew makes a call that was settled one that has not begun, with no field set, once its Exchange has returned and
// whoever has settled it is done. It reports false, and leaves it as it is, if it was not settled or others may still
// use it, who serve the server or know it from a context: then it must not be used again.
func (c *Call) Renew() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over || c.err != nil || c.lent {
		return false
	}
	c.Body, c.Abandon, c.Timeout, c.Limit, c.Envelope, c.Clocks = nil, nil, 0, 0, Envelope{}, nil
	c.begun, c.over, c.ended, c.what, c.onEnd = false, false, nil, "", nil
	c.idle, c.idleAt, c.limit, c.limitAt = 0, time.Time{}, 0, time.Time{}
	return true // a clock that comes now finds a call that has none
}

// Release takes a Hold back.
func (c *Call) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held--; c.held > 0 || c.over || !c.begun {
		return
	}
	now := time.Now()
	c.idleAt = now.Add(c.idle)
	c.rearm(now)
}
