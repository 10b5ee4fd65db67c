package transport

import (
	"sync"
	"time"
)

// freeClocks is how many timers are kept for later calls.
const freeClocks = 64

// Clocks are the timers of calls that come one after the other. A timer goes on running when its call has ended, for
// the next one: to arm one costs more than all else that has to do with a call's clocks. The zero value works, and may
// be used from several goroutines. Whoever owns it calls Close.
type Clocks struct {
	mu     sync.Mutex
	free   []*clock
	closed bool
}

// Close stops the timers that no call has, and lets those of calls end with them. Calls may still begin.
func (s *Clocks) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, k := range s.free {
		k.stop()
	}
	s.free = nil
}

// take returns a clock for a call; that of nil Clocks is its own.
func (s *Clocks) take(c *Call) *clock {
	var k *clock
	if s != nil {
		s.mu.Lock()
		if last := len(s.free) - 1; last >= 0 {
			k, s.free = s.free[last], s.free[:last]
		}
		s.mu.Unlock()
	}
	if k == nil {
		k = &clock{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.call = c
	return k
}

// put takes a clock back when its call has ended.
func (s *Clocks) put(k *clock) {
	k.mu.Lock()
	k.call = nil
	k.mu.Unlock()
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed && len(s.free) < freeClocks {
			s.free = append(s.free, k)
			return
		}
	}
	k.stop()
}

// A clock is a timer that may come too early, but never too late.
type clock struct {
	mu    sync.Mutex
	timer *time.Timer
	at    time.Time // when the timer comes; zero: it does not run
	call  *Call     // nil: none
}

// arm sees that the call is told when wait is over.
func (k *clock) arm(now time.Time, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := now.Add(wait)
	if !k.at.IsZero() && !at.Before(k.at) {
		return
	}
	k.at = at
	if k.timer == nil {
		k.timer = time.AfterFunc(wait, k.come)
		return
	}
	k.timer.Reset(wait)
}

// come is run by the timer.
func (k *clock) come() {
	k.mu.Lock()
	call := k.call
	k.at = time.Time{} // if it has been armed anew meanwhile, it is armed once more than needed
	k.mu.Unlock()
	if call != nil {
		call.tick()
	}
}

func (k *clock) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timer != nil {
		k.timer.Stop()
	}
}
