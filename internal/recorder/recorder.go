// Package recorder sits between a host and a server and records what passes, without a change to it and without having
// it wait: what is to be recorded is queued, and one goroutine cuts, masks and writes it.
package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mcpwire/trace"
)

const (
	// DefaultMaxMessage is up to which size a message is recorded, in bytes: 64 MiB.
	DefaultMaxMessage = 64 << 20

	queueBytes = 128 << 20 // how much may wait to be recorded
	batchBytes = 256 << 10 // from which on events are written, though there are more to come
)

// Options configure a Recorder.
type Options struct {
	Server     string              // its name in the recording
	Known      func(string) string // masks what is known as secret; nil: nothing is
	MaxMessage int                 // above it only a message's beginning is recorded; in bytes; 0: 64 MiB
	OnTrouble  func(error)         // is told, once, why the recording is not whole; may be nil
}

// A Recorder writes the events of what passes as JSON lines, as package trace reads them. What passes never waits for
// it: when 128 MiB wait, because what it writes to is slow, what comes then is left out. Its methods may be called from
// several goroutines.
type Recorder struct {
	to      io.Writer
	options Options
	done    chan struct{}

	mu      sync.Mutex
	change  *sync.Cond
	queue   []entry
	bytes   int
	closed  bool
	writing time.Time // since when something is being written; zero: nothing is

	trouble sync.Once
	failed  error // guarded by mu

	written []byte // the goroutine's: events that are not yet written
}

// An entry is something that has passed, or an event that is ready.
type entry struct {
	at    time.Time
	to    parser
	chunk []byte
	end   bool // of what goes to the parser
	gap   int  // how many bytes are missing here; negative: among them is an end of line
	event *trace.Event
	then  func(at time.Time)
}

// A parser makes events of the bytes of one direction. It is used by the recorder's goroutine alone. gap is told how
// many bytes are missing, as an entry has it.
type parser interface {
	take(r *Recorder, at time.Time, chunk []byte)
	gap(missing int)
	end(r *Recorder, at time.Time)
}

// New returns a Recorder, whose Close must be called.
func New(to io.Writer, o Options) *Recorder {
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	r := &Recorder{to: to, options: o, done: make(chan struct{})}
	r.change = sync.NewCond(&r.mu)
	go r.run()
	return r
}

// passed takes a copy of what passes in one direction.
func (r *Recorder) passed(to parser, chunk []byte) {
	r.put(entry{to: to, chunk: append([]byte(nil), chunk...)})
}

// ended tells that nothing comes any more in one direction.
func (r *Recorder) ended(to parser) { r.put(entry{to: to, end: true}) }

// tell records an event, which the caller doesn't use any more.
func (r *Recorder) tell(e *trace.Event) { r.put(entry{event: e}) }

func (r *Recorder) put(e entry) {
	e.at = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.failed != nil {
		return
	}
	if r.bytes+len(e.chunk) > queueBytes {
		e.gap = len(e.chunk)
		if bytes.IndexByte(e.chunk, '\n') >= 0 {
			e.gap = -e.gap
		}
		e.chunk = nil
	}
	r.queue = append(r.queue, e)
	r.bytes += len(e.chunk)
	r.change.Signal()
}

// report tells of trouble, the first time.
func (r *Recorder) report(err error) {
	r.trouble.Do(func() {
		if r.options.OnTrouble != nil {
			r.options.OnTrouble(err)
		}
	})
}

func (r *Recorder) run() {
	defer close(r.done)
	for {
		batch := r.next()
		if batch == nil {
			return
		}
		for _, e := range batch {
			r.handle(e)
			if len(r.written) >= batchBytes {
				r.write()
			}
			r.mu.Lock()
			r.bytes -= len(e.chunk)
			r.mu.Unlock()
		}
		r.write()
	}
}

// next waits for entries; nil at the end.
func (r *Recorder) next() []entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) == 0 && !r.closed {
		r.change.Wait()
	}
	batch := r.queue
	r.queue = nil
	return batch
}

func (r *Recorder) handle(e entry) {
	switch {
	case e.event != nil:
		r.add(e.at, e.event)
	case e.then != nil:
		e.then(e.at)
	case e.gap != 0:
		r.report(errors.New("what it is written to was too slow: some messages are missing"))
		e.to.gap(e.gap)
	case e.end:
		e.to.end(r, e.at)
	default:
		e.to.take(r, e.at, e.chunk)
	}
}

// add masks an event and has it written. Only the recorder's goroutine calls it.
func (r *Recorder) add(at time.Time, e *trace.Event) {
	if e.Time.IsZero() {
		e.Time = at
	}
	e.Server = r.options.Server
	trace.Mask(e, r.options.Known, r.options.MaxMessage)
	r.written = trace.Append(r.written, e)
}

func (r *Recorder) write() {
	if len(r.written) == 0 {
		return
	}
	r.mu.Lock()
	failed := r.failed != nil
	r.writing = time.Now()
	r.mu.Unlock()
	var err error
	if !failed {
		_, err = r.to.Write(r.written)
	}
	r.mu.Lock()
	r.writing = time.Time{}
	if err != nil {
		r.failed = err
	}
	r.mu.Unlock()
	if err != nil {
		r.report(fmt.Errorf("it ends early: %w", err))
	}
	if r.written = r.written[:0]; cap(r.written) > 4*batchBytes {
		r.written = nil
	}
}

// closeWait is how long Close waits for one write.
var closeWait = 5 * time.Second

// Close writes the rest. When a write takes 5 s it gives up, and OnTrouble is told.
func (r *Recorder) Close() {
	r.mu.Lock()
	r.closed = true
	r.change.Signal()
	r.mu.Unlock()
	ticker := time.NewTicker(closeWait / 10)
	defer ticker.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-ticker.C:
		}
		r.mu.Lock()
		since := r.writing
		r.mu.Unlock()
		if !since.IsZero() && time.Since(since) >= closeWait {
			r.report(errors.New("what it is written to takes nothing any more"))
			return
		}
	}
}
