package soak_test

import (
	"sync/atomic"
	"testing"
	"time"
)

// A stallWatch adds up how long this process was kept from running, so that a busy machine is not taken for a slow
// client.
type stallWatch struct {
	total atomic.Int64 // nanoseconds
	last  atomic.Int64 // when it last ran, in nanoseconds
}

const (
	stallBeat = 5 * time.Millisecond
	stallFrom = 15 * time.Millisecond // what counts as a stall beyond the beat
)

var stalls stallWatch

// watchStalls watches until the end of the test.
func watchStalls(t *testing.T) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	stalls.last.Store(time.Now().UnixNano())
	go func() {
		defer close(done)
		stalls.watch(stop)
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
	})
}

// watch runs until stop is closed.
func (w *stallWatch) watch(stop <-chan struct{}) {
	beat := time.NewTicker(stallBeat)
	defer beat.Stop()
	for {
		select {
		case <-stop:
			return
		case <-beat.C:
			now := time.Now().UnixNano()
			w.total.Add(excess(now - w.last.Swap(now)))
		}
	}
}

func excess(gap int64) int64 { return max(0, gap-int64(stallBeat+stallFrom)) }

// sum returns how long this process was kept from running since the watch began.
func (w *stallWatch) sum() time.Duration {
	total := w.total.Load()
	return time.Duration(total + excess(time.Now().UnixNano()-w.last.Load()))
}
