package rpc

import "sync"

// A lane runs functions one at a time, in order, on a goroutine that exists only while there is something to run. It
// is bounded: when it is full, the oldest functions that may be dropped make room.
type lane struct {
	limit, byteLimit int
	dropped          func(n int) // told on the lane, in order, how many were dropped

	mu      sync.Mutex
	queue   []job
	bytes   int
	lost    int // dropped and not yet told
	running bool
	sealed  bool
	idle    sync.Cond // signalled when running becomes false
}

// A job is one function of a lane.
type job struct {
	run  func()
	size int  // bytes that it holds on to
	keep bool // must not be dropped
}

func newLane(limit, byteLimit int, dropped func(n int)) *lane {
	l := &lane{limit: limit, byteLimit: byteLimit, dropped: dropped}
	l.idle.L = &l.mu
	return l
}

// push adds a job and never waits. After seal only jobs that must be kept are taken.
func (l *lane) push(j job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed && !j.keep {
		return
	}
	l.queue = append(l.queue, j)
	l.bytes += j.size
	l.trim()
	if !l.running {
		l.running = true
		go l.work()
	}
}

// trim drops the oldest jobs while there are too many, or too many bytes; the newest job always stays.
func (l *lane) trim() {
	told := l.lost > 0
	for i := 0; i < len(l.queue)-1 && (len(l.queue) > l.limit || l.bytes > l.byteLimit); {
		if l.queue[i].keep {
			i++
			continue
		}
		l.bytes -= l.queue[i].size
		// The oldest is nearly always the first, which makes this a step of the slice's start.
		copy(l.queue[1:i+1], l.queue[:i])
		l.queue[0] = job{}
		l.queue = l.queue[1:]
		l.lost++
	}
	if l.lost > 0 && !told {
		l.queue = append(l.queue, job{run: l.tell, keep: true})
	}
}

// tell reports what was dropped since it last did.
func (l *lane) tell() {
	l.mu.Lock()
	lost := l.lost
	l.lost = 0
	l.mu.Unlock()
	l.dropped(lost)
}

func (l *lane) work() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 {
		j := l.queue[0]
		l.queue[0] = job{}
		l.queue = l.queue[1:]
		l.bytes -= j.size
		l.mu.Unlock()
		j.run()
		l.mu.Lock()
	}
	l.queue = nil
	l.running = false
	l.idle.Broadcast()
}

// seal refuses more jobs; what waits is still run.
func (l *lane) seal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sealed = true
}

// discard seals the lane and drops what waits, but for the jobs that must be kept.
func (l *lane) discard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sealed = true
	kept := make([]job, 0, len(l.queue))
	l.bytes = 0
	for _, j := range l.queue {
		if j.keep {
			kept = append(kept, j)
			l.bytes += j.size
		}
	}
	l.queue = kept
}

// wait returns when nothing runs or waits.
func (l *lane) wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.running {
		l.idle.Wait()
	}
}
