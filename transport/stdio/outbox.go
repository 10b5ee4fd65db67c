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
	return &frame{body: body}
}

func (f *frame) size() int { return len(f.body) + 1 }

// An outbox is the queue of frames and their only writer.
type outbox struct {
	limit int

	mu     sync.Mutex
	some   sync.Cond // something was queued, or the outbox was closed
	frames []*frame
	bytes  int // of frames that are not written whole
	closed bool
}

func newOutbox(limit int) *outbox {
	o := &outbox{limit: limit}
	o.some.L = &o.mu
	return o
}

// push queues a frame.
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
	o.some.Signal()
	return nil
}

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

// close drops what is queued and lets run return as soon as it is not writing any more.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.some.Signal()
}

// run writes frames until the outbox is closed or a write fails, whose error it returns.
func (o *outbox) run(w io.Writer) error {
	buf := make([]byte, 0, 512)
	for {
		batch := o.take()
		if len(batch) == 0 {
			return nil
		}
		var n int
		var err error
		if batch[0].size() > batchSize { // then it is alone
			n, err = writeLine(w, batch[0].body)
		} else {
			buf = buf[:0]
			for _, f := range batch {
				buf = append(append(buf, f.body...), '\n')
			}
			n, err = w.Write(buf)
		}
		o.settle(batch, n)
		if err != nil {
			return err
		}
	}
}

// writeLine writes a big message without copying it.
func writeLine(w io.Writer, body []byte) (int, error) {
	n, err := w.Write(body)
	if err != nil {
		return n, err
	}
	m, err := w.Write([]byte{'\n'})
	return n + m, err
}

// take waits for frames, and takes one of any size, or as many as fit into a batch. It returns none when the outbox was
// closed.
func (o *outbox) take() []*frame {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.frames) == 0 && !o.closed {
		o.some.Wait()
	}
	if o.closed {
		return nil
	}
	n := 1
	for total := o.frames[0].size(); n < len(o.frames) && total+o.frames[n].size() <= batchSize; n++ {
		total += o.frames[n].size()
	}
	batch := slices.Clone(o.frames[:n])
	o.frames = slices.Delete(o.frames, 0, n)
	for _, f := range batch {
		f.state = begun
	}
	return batch
}

// settle notes what became of a batch of which n bytes were written. A frame of which none were is as if never begun.
func (o *outbox) settle(batch []*frame, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range batch {
		o.bytes -= f.size()
		switch {
		case n >= f.size():
			f.state = sent
			if f.written != nil {
				close(f.written)
			}
		case n <= 0:
			f.state = queued
		}
		n -= f.size()
	}
}
