package stdio

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"mcpwire/transport"
)

// batchSize is how many bytes of small messages are put together into one write. It is kept low, because all of a batch
// counts as begun as soon as it is written.
const batchSize = 16 << 10

// A frame is a message on its way out.
type frame struct {
	body    []byte
	written chan struct{} // closed when the message has been written whole; nil if nobody waits for that
	state   frameState    // guarded by the outbox's mu
}

// spareFrames are frames of any outbox that have been sent, for later messages.
var spareFrames sync.Pool

// retire takes a frame back that its outbox has sent: nobody but whoever pushed it knows of it then.
func (f *frame) retire() {
	*f = frame{}
	spareFrames.Put(f)
}

type frameState uint8

const (
	queued frameState = iota // not a byte of it is written
	begun                    // some of it may be
	sent                     // all of it is
)

// newFrame makes a frame of a message, which must be one line: line breaks, which JSON knows as white space only,
// become blanks.
func newFrame(body []byte) *frame {
	if bytes.IndexByte(body, '\n') >= 0 || bytes.IndexByte(body, '\r') >= 0 {
		body = bytes.Clone(body)
		for i, c := range body {
			if c == '\n' || c == '\r' {
				body[i] = ' '
			}
		}
	}
	f, ok := spareFrames.Get().(*frame)
	if !ok {
		f = &frame{}
	}
	f.body = body
	return f
}

func (f *frame) size() int { return len(f.body) + 1 }

// An outbox is the queue of frames. One writes at a time: whoever has found the pipe free, and what the pipe does not
// take at once a goroutine that lives while there is something to write.
type outbox struct {
	limit  int
	pipe   io.Writer
	try    func(p []byte) int // writes what the pipe takes at once, and returns how much; nil: everything is left to run
	onFail func()             // is told once failed is closed
	failed chan struct{}      // closed when writing to the pipe has failed
	err    error              // set before failed is closed
	runs   sync.WaitGroup

	mu      sync.Mutex
	frames  []*frame
	bytes   int    // of frames that are not written whole
	writing bool   // somebody is, or run is there
	partial *frame // that is to be written before all others, from done on
	done    int
	closed  bool

	// What follows belongs to whoever is writing.
	taken []*frame
	line  []byte
}

func newOutbox(limit int, pipe io.Writer, try func(p []byte) int) *outbox {
	return &outbox{limit: limit, pipe: pipe, try: try, failed: make(chan struct{})}
}

// push writes a frame, or queues it. It does not wait for the pipe.
func (o *outbox) push(f *frame) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return transport.ErrClosed
	}
	if o.bytes+f.size() > o.limit {
		return fmt.Errorf("%w: %d bytes and this message's %d, the cap is %d", transport.ErrCongested, o.bytes, f.size(),
			o.limit)
	}
	o.bytes += f.size()
	o.frames = append(o.frames, f)
	if o.writing {
		return nil
	}
	o.writing = true
	if o.try != nil && f.size() <= batchSize {
		batch := o.batch()
		o.mu.Unlock()
		o.join(batch)
		n := o.try(o.line)
		o.mu.Lock()
		o.settle(batch, n)
	}
	if o.empty() {
		o.writing = false
	} else {
		o.runs.Go(o.run)
	}
	return nil
}

// empty reports whether there is nothing to write. The lock is held.
func (o *outbox) empty() bool { return o.closed || o.partial == nil && len(o.frames) == 0 }

// withdraw takes a frame back, unless it was begun, and tells what became of it.
func (o *outbox) withdraw(f *frame) frameState {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.frames, f); i >= 0 {
		o.frames = slices.Delete(o.frames, i, i+1)
		o.bytes -= f.size()
	}
	return f.state
}

// close drops what is queued.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// wait waits until nobody writes. The outbox must be closed, and so must be the pipe where it may block.
func (o *outbox) wait() { o.runs.Wait() }

// run writes until there is nothing left or a write fails.
func (o *outbox) run() {
	w := o.pipe
	for {
		batch, from := o.take()
		if len(batch) == 0 {
			return
		}
		var n int
		var err error
		if from > 0 || batch[0].size() > batchSize { // then it is alone
			n, err = writeLine(w, batch[0].body, from)
		} else {
			o.join(batch)
			n, err = w.Write(o.line)
		}
		o.mu.Lock()
		o.settle(batch, n)
		o.mu.Unlock()
		if err != nil {
			o.err = err
			close(o.failed)
			o.onFail()
			return // as if it wrote for ever: nobody else tries
		}
	}
}

// writeLine writes a big message from an offset on without copying it, and returns how much of it is written then.
func writeLine(w io.Writer, body []byte, from int) (int, error) {
	if from < len(body) {
		n, err := w.Write(body[from:])
		if from += n; err != nil {
			return from, err
		}
	}
	n, err := w.Write([]byte{'\n'})
	return from + n, err
}

// join puts the lines of a batch together.
func (o *outbox) join(batch []*frame) {
	o.line = o.line[:0]
	for _, f := range batch {
		o.line = append(append(o.line, f.body...), '\n')
	}
}

// take takes the rest of a frame, or a batch, or none at the end of run.
func (o *outbox) take() (batch []*frame, from int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.empty() {
		o.writing = false
		return nil, 0
	}
	if f := o.partial; f != nil {
		o.partial = nil
		o.taken = append(o.taken[:0], f)
		return o.taken, o.done
	}
	return o.batch(), 0
}

// batch takes one frame of any size, or as many as fit into a batch. The lock is held, and nobody else is writing.
func (o *outbox) batch() []*frame {
	n := 1
	for total := o.frames[0].size(); n < len(o.frames) && total+o.frames[n].size() <= batchSize; n++ {
		total += o.frames[n].size()
	}
	o.taken = append(o.taken[:0], o.frames[:n]...)
	o.frames = slices.Delete(o.frames, 0, n)
	for _, f := range o.taken {
		f.state = begun
	}
	return o.taken
}

// settle notes what became of a batch of which n bytes are written. A frame of which none are is as if never begun, and
// comes again. The lock is held.
func (o *outbox) settle(batch []*frame, n int) {
	defer clear(batch)
	for i, f := range batch {
		switch {
		case n >= f.size():
			o.bytes -= f.size()
			f.state = sent
			if f.written != nil {
				close(f.written)
			}
		case n > 0:
			o.partial, o.done = f, n
		default:
			for _, f := range batch[i:] {
				f.state = queued
			}
			o.frames = slices.Insert(o.frames, 0, batch[i:]...)
			return
		}
		n -= f.size()
	}
}
