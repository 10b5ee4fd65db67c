package manager

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// How often a server is started. Process means a server that we start ourselves; others are remote.
const (
	startLimit  = 5                // starts of one server within startWindow, whether or not they succeed
	startWindow = 60 * time.Second // slides
	steadyAfter = 60 * time.Second // a connection that has lived so long begins the ladder anew when it is lost
	quietFirst  = 15 * time.Second // the first wait of a remote server after the ladder; doubled each time
	quietLast   = 5 * time.Minute  // the longest one
)

// ladder holds the waits before the first attempts after a failure, before jitter.
var ladder = [...]time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// A breaker counts the starts of the servers of one name. It outlives its supervisor, so that an entry that comes and
// goes starts no storm. It may be used from several goroutines.
type breaker struct {
	mu     sync.Mutex
	starts []time.Time // within the window, the oldest first; success does not clear them
}

// start counts a start, unless there have been too many: then it returns when the next one is allowed.
func (b *breaker) start(now time.Time) (allowed bool, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts = slices.DeleteFunc(b.starts, func(t time.Time) bool { return now.Sub(t) >= startWindow })
	if len(b.starts) >= startLimit {
		return false, b.starts[0].Add(startWindow)
	}
	b.starts = append(b.starts, now)
	return true, now
}

// reset forgets all starts, as somebody has asked for another one.
func (b *breaker) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts = nil
}

// A retry decides when a server is tried again.
type retry struct {
	step int // how many waits there have been since the last steady connection
}

// wait returns how long to wait before the next attempt, after a connection that has lived for a while (0: none was
// made); again is false when there is to be none. quiet says that the ladder is behind us.
func (r *retry) wait(process bool, lived time.Duration) (d time.Duration, quiet, again bool) {
	if lived >= steadyAfter {
		r.step = 0
	}
	r.step++
	if r.step <= len(ladder) {
		return jitter(ladder[r.step-1]), false, true
	}
	if process {
		return 0, false, false
	}
	return jitter(min(quietFirst<<min(r.step-len(ladder)-1, 10), quietLast)), true, true
}

// jitter returns d, a tenth more or less, so that what was lost together is not tried together.
func jitter(d time.Duration) time.Duration {
	tenth := int64(d) / 10
	return d + time.Duration(rand.Int64N(2*tenth+1)-tenth)
}
