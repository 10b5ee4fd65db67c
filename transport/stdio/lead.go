package stdio

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"mcpwire/internal/ndjson"
	"mcpwire/transport"
)

// patience is how long nobody need have the lead before the reader's own goroutine takes it, and how long a caller may
// have it at least.
const patience = 5 * time.Millisecond

// After a line of so many bytes the pipe is made to hold as many, four times what is usual, so that server and client
// wait for each other less often: who has sent something big tends to send the like again. It is no more since a user
// has 64 MiB for all pipes, behind which new ones become very small.
const (
	wideLine = 256 << 10
	widePipe = 256 << 10
)

// A reader hands what the server writes to the receiver. One goroutine reads at a time, which has the lead: a caller
// that waits for its answer, so that nobody need be woken between the server and it, or run, where no calls are made or
// one takes long. A caller looks at nothing but its own call while it reads, so run takes the lead from one that has it
// for more than patience, and it waits like all others then. Where reading can't be interrupted, run keeps the lead.
type reader struct {
	source  *source
	lines   *ndjson.Reader
	recv    transport.Receiver
	onNoise func(line []byte)
	over    <-chan struct{} // closed when the connection has ended: nothing is handed over any more

	turn     chan struct{} // holds the lead while nobody has it
	back     chan struct{} // holds the lead while it is for run alone
	recalled atomic.Bool   // whoever has the lead is to give it to run
	waits    atomic.Uint64 // how many calls have begun to wait
	turns    atomic.Uint64 // how often a caller has taken the lead
	ended    bool          // the stream has ended; belongs to who has the lead
	wide     bool          // the pipe has been widened; belongs to who has the lead
}

func newReader(s *source, limit int, r transport.Receiver, onNoise func([]byte), over <-chan struct{}) *reader {
	return &reader{
		source: s, lines: ndjson.NewReader(s, limit), recv: r, onNoise: onNoise, over: over,
		turn: make(chan struct{}, 1), back: make(chan struct{}, 1),
	}
}

// lead reads until the call has ended or the lead is recalled. The caller has taken the lead from turn.
func (r *reader) lead(ctx context.Context, call *transport.Call) {
	r.turns.Add(1)
	defer func() { // even if a callback of the host has panicked
		if r.ended {
			r.recalled.Store(true)
		}
		r.pass()
	}()
	for !call.Over() && ctx.Err() == nil && r.next() == nil {
		continue
	}
	for !r.ended && r.lines.Buffered() && r.next() == nil { // what has come already is not left to the next one
		continue
	}
}

// pass gives the lead away.
func (r *reader) pass() {
	if r.recalled.Load() {
		r.back <- struct{}{}
	} else {
		r.turn <- struct{}{}
	}
}

// recall has whoever has the lead give it to run, soon.
func (r *reader) recall() {
	r.recalled.Store(true)
	r.source.pause()
}

// run reads until callers want to, lets them, and has the lead again when it returns. It reports false when the stream
// has ended. Once the connection has ended it keeps the pipe empty, so that the server can't hang in a write while it
// shuts down.
func (r *reader) run() bool {
	if !r.readUntilWanted() {
		return false
	}
	r.pass()
	r.regain()
	r.lines.Release()
	return true
}

// readUntilWanted reads with the lead, until a message has come after a call has begun to wait, and all that came with
// it: then callers are likely to come, if there are none. It reports false at the end of the stream. While nothing
// comes it holds no memory to read into.
func (r *reader) readUntilWanted() bool {
	waits := r.waits.Load()
	for !r.ended {
		select {
		case <-r.over:
			r.discard()
			return false
		default:
		}
		if r.source.awaits() && r.lines.Release() {
			r.source.await()
		}
		switch err := r.next(); {
		case errors.Is(err, ndjson.ErrPaused):
			r.resume()
		case err == nil && r.source.pausable && r.waits.Load() != waits && !r.lines.Buffered():
			return true
		}
	}
	return false
}

// regain waits until nobody wants the lead, or one has had it for long, and takes it.
func (r *reader) regain() {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	defer r.resume()
	for turns := r.turns.Load(); ; {
		timer.Reset(patience)
		select {
		case <-r.back:
			return
		case <-timer.C:
		}
		if now := r.turns.Load(); now != turns {
			turns = now
			continue
		}
		select {
		case <-r.turn:
			return
		default:
		}
		r.recall()
		select {
		case <-r.turn:
		case <-r.back:
		}
		return
	}
}

// resume takes a recall back when run has the lead.
func (r *reader) resume() {
	r.recalled.Store(false)
	r.source.resume()
}

// discard reads what nobody wants any more.
func (r *reader) discard() {
	for {
		if _, err := io.Copy(io.Discard, r.source); !errors.Is(err, ndjson.ErrPaused) {
			return
		}
		r.resume()
	}
}

// next reads one line and hands it over. The error is ndjson.ErrPaused, or any other when the stream has ended.
func (r *reader) next() error {
	line, err := r.lines.Next()
	select {
	case <-r.over:
		return ndjson.ErrPaused
	default:
	}
	if err == nil {
		if len(line) >= wideLine && !r.wide {
			r.wide = true
			widen(r.source.file)
		}
		if r.take(line) {
			r.lines.Keep()
		}
		return nil
	}
	if long, ok := errors.AsType[*ndjson.LongLine](err); ok {
		r.recv.Oversize(nil, long.Head, long.Tail, long.Size)
		return nil
	}
	if errors.Is(err, ndjson.ErrPaused) {
		return err
	}
	r.ended = true
	if !errors.Is(err, io.EOF) {
		r.recv.Fault(err)
	}
	return err
}
