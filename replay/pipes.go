package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"mcpwire/internal/ndjson"
	"mcpwire/jsonrpc"
)

// ServeStdio answers the messages that come on in, one a line, on out, until in ends or ctx is done. A read that blocks
// when ctx is done must be ended by whoever owns in. The error is that of reading or writing; the end of in is none.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := ndjson.NewReader(in, 0)
	read := func() ([]byte, error) {
		for {
			line, err := lines.Next()
			if long, ok := errors.AsType[*ndjson.LongLine](err); ok {
				s.mismatch(fmt.Sprintf("a message of %d bytes is too large to be matched", long.Size))
				continue
			}
			return line, err
		}
	}
	return s.Serve(ctx, read, func(message []byte) error {
		_, err := out.Write(append(message, '\n'))
		return err
	})
}

// Serve is ServeStdio over anything that carries messages one by one: read returns the next one, whose memory is used
// until read is called again, and io.EOF at the end; write sends one, and is called by one goroutine at a time.
func (s *Server) Serve(ctx context.Context, read func() ([]byte, error), write func(message []byte) error) error {
	o := newOutbox(write)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	c := s.converse(ctx, o.put)
	err := c.serve(read)
	c.close()
	if wrote := o.close(); err == nil {
		err = wrote
	}
	return err
}

func (c *conversation) serve(read func() ([]byte, error)) error {
	for {
		text, err := read()
		over := c.ctx.Err() != nil || errors.Is(err, io.EOF)
		switch {
		case over:
			return nil
		case err != nil:
			return err
		case !jsonrpc.IsBatch(text):
			c.take(text)
		case jsonrpc.SplitBatch(text, c.take) != nil:
			c.alone(jsonrpc.AppendError(nil, jsonrpc.NullID, notJSON))
		}
	}
}

var notJSON = &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "this is no message of JSON-RPC 2.0"}

// take takes one message of a host that has one channel for all.
func (c *conversation) take(text []byte) {
	m, err := jsonrpc.Parse(text)
	switch {
	case err != nil && m.ID.IsAbsent():
		c.alone(jsonrpc.AppendError(nil, jsonrpc.NullID, notJSON))
	case err != nil:
		c.alone(jsonrpc.AppendError(nil, m.ID, notJSON))
	case m.Kind != jsonrpc.Request:
		c.heard(m)
	default:
		p, refusal := c.begin(c.ctx, m)
		if refusal != nil {
			c.alone(jsonrpc.AppendError(nil, m.ID, refusal))
			return
		}
		p.opens(c.alone)
		if p.waits() {
			c.start(func() { p.run(c.alone) })
			return
		}
		p.prelude(c.alone)
		if !p.request.hasAnswer() {
			c.start(func() { p.finish(c.alone) })
			return
		}
		p.finish(c.alone)
	}
}

// mismatch counts what can't be answered.
func (s *Server) mismatch(text string) {
	s.mu.Lock()
	s.mismatches++
	s.mu.Unlock()
	if s.options.OnMismatch != nil {
		s.options.OnMismatch(text)
	}
}

// outboxBytes is from when on whoever has something to say waits until the host has read some of it.
const outboxBytes = 64 << 20

// An outbox writes messages in their order, so that who reads need not wait for who writes.
type outbox struct {
	write func([]byte) error
	done  sync.WaitGroup

	mu     sync.Mutex
	change *sync.Cond
	queue  [][]byte
	bytes  int
	closed bool
	err    error
}

func newOutbox(write func([]byte) error) *outbox {
	o := &outbox{write: write}
	o.change = sync.NewCond(&o.mu)
	o.done.Go(o.run)
	return o
}

func (o *outbox) put(message []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes > outboxBytes && o.err == nil {
		o.change.Wait()
	}
	if o.err == nil {
		o.queue = append(o.queue, message)
		o.bytes += len(message)
		o.change.Broadcast()
	}
}

func (o *outbox) run() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.queue) == 0 && !o.closed {
			o.change.Wait()
		}
		if len(o.queue) == 0 {
			return
		}
		batch := o.queue
		o.queue = nil
		o.mu.Unlock()
		var err error
		for _, message := range batch {
			if err = o.write(message); err != nil {
				break
			}
		}
		o.mu.Lock()
		for _, message := range batch {
			o.bytes -= len(message)
		}
		if err != nil && o.err == nil {
			o.err, o.queue, o.closed = err, nil, true
		}
		o.change.Broadcast()
	}
}

// close writes the rest, and returns what went wrong.
func (o *outbox) close() error {
	o.mu.Lock()
	o.closed = true
	o.change.Broadcast()
	o.mu.Unlock()
	o.done.Wait()
	return o.err
}
