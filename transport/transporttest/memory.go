package transporttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// NewMemory returns a carrier whose other end is a Go function. Each Open runs serve on a goroutine of its own; when
// serve returns, the connection ends as after Server.End(nil), and Close waits for it. All waiting is done on
// channels, so that it works inside the bubbles of testing/synctest, where every connection must be closed before the
// bubble ends.
//
// It keeps the whole contract of package transport: the clocks of a Call with the defaults of that package, withdrawal
// of what the server has not read, the Abandon note. Memory that the receiver gives back is overwritten at once, so
// that a receiver that goes on using it fails its test. What waits to be read is not bounded.
func NewMemory(serve func(s *Server)) transport.Transport { return memory(serve) }

// Respond returns a server for NewMemory that answers each request with the message that answer returns; nil is
// silence. Everything else that the client sends is read and ignored. answer runs on the server's one goroutine.
func Respond(answer func(request jsonrpc.Message) []byte) func(s *Server) {
	return func(s *Server) {
		for {
			text, ok := s.Read()
			if !ok {
				return
			}
			if m, err := jsonrpc.Parse(text); err != nil || m.Kind != jsonrpc.Request {
				continue
			} else if reply := answer(m); reply != nil {
				s.Write(reply)
			}
		}
	}
}

type memory func(s *Server)

func (serve memory) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	if ctx.Err() != nil {
		return nil, &transport.Error{Op: "open", Delivery: transport.NotDelivered, Err: context.Cause(ctx)}
	}
	c := &memoryConn{
		receiver: r,
		ready:    make(chan struct{}, 1),
		inbound:  make(chan event),
		done:     make(chan struct{}),
	}
	c.running.Go(c.receive)
	c.running.Go(func() {
		s := &Server{conn: c}
		defer s.End(nil)
		serve(s)
	})
	return c, nil
}

// A Server is the far end of one connection in memory. Its methods may be called from several goroutines, also after
// the connection has ended. The function that serves must return soon after Done is closed.
type Server struct{ conn *memoryConn }

// Read waits for the next message of the client and returns a copy of it; ok is false when the connection has ended.
// Until it is read a message counts as not begun.
func (s *Server) Read() (msg []byte, ok bool) {
	for {
		if msg, ok = s.conn.take(); ok {
			return msg, true
		}
		select {
		case <-s.conn.ready:
		case <-s.conn.done:
			return nil, false
		}
	}
}

// Write sends a copy of msg to the client. It returns when the receiver is about to get it.
func (s *Server) Write(msg []byte) {
	msg = slices.Clone(msg)
	s.tell(func(c *memoryConn) {
		if c.receiver.Receive(nil, msg) != transport.Kept {
			overwrite(msg)
		}
	})
}

// Oversize lets the carrier report a message above its cap.
func (s *Server) Oversize(head, tail []byte, size int64) {
	head, tail = slices.Clone(head), slices.Clone(tail)
	s.tell(func(c *memoryConn) {
		c.receiver.Oversize(nil, head, tail, size)
		overwrite(head)
		overwrite(tail)
	})
}

// Fault lets the carrier report a failure that does not end the connection.
func (s *Server) Fault(err error) {
	s.tell(func(c *memoryConn) { c.receiver.Fault(err) })
}

// End ends the connection from the server's side, after all that was written before. err is the reason behind
// "transport closed"; it may be nil.
func (s *Server) End(err error) {
	cause := transport.ErrClosed
	if err != nil {
		cause = fmt.Errorf("%w: %w", transport.ErrClosed, err)
	}
	s.tell(func(c *memoryConn) {
		c.end(cause, false)
	})
}

// Done is closed when the connection has ended.
func (s *Server) Done() <-chan struct{} { return s.conn.done }

// Negotiated returns what the client last told the carrier of its handshake.
func (s *Server) Negotiated() transport.Wire {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.conn.wire
}

func (s *Server) tell(e event) {
	select {
	case s.conn.inbound <- e:
	case <-s.conn.done:
	}
}

// overwrite makes memory unusable that was given back, or that was lent for the length of a call.
func overwrite(b []byte) {
	for i := range b {
		b[i] = '!'
	}
}

// An event is something that the server does; it is run on the goroutine that receives.
type event func(c *memoryConn)

// A frame is a message that waits for the server to read it.
type frame struct {
	body  []byte
	taken chan struct{} // closed when the server has read it
}

type memoryConn struct {
	receiver transport.Receiver
	ready    chan struct{} // has room for one: the queue may have something
	inbound  chan event
	done     chan struct{}
	running  sync.WaitGroup // the goroutines that serve and receive

	mu     sync.Mutex
	queue  []*frame
	wire   transport.Wire
	cause  error // why done is closed
	closed bool  // by Close; not changed after done is closed
}

// receive owns the receiver from Open to Closed.
func (c *memoryConn) receive() {
	for c.Err() == nil {
		select {
		case e := <-c.inbound:
			e(c)
		case <-c.done:
		}
	}
	if c.closed {
		c.receiver.Closed(nil)
	} else {
		c.receiver.Closed(c.Err())
	}
}

func (c *memoryConn) end(cause error, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause, c.closed = cause, closed
		close(c.done)
	}
}

func (c *memoryConn) Exchange(ctx context.Context, call *transport.Call) error {
	call.Start("request", transport.DefaultTimeout)
	if err := c.refuse(ctx, call); err != nil {
		return err
	}
	f := c.enqueue(call.Body)
	select {
	case <-call.Ended():
	case <-ctx.Done():
	case <-c.done:
	}
	begun := !c.withdraw(f)
	if call.Stop() {
		return nil
	}
	if begun && call.Abandon != nil {
		c.enqueue(call.Abandon)
	}
	return c.failure(ctx, call, begun)
}

func (c *memoryConn) Send(ctx context.Context, call *transport.Call) error {
	call.Start("notify", transport.DefaultTimeout)
	if err := c.refuse(ctx, call); err != nil {
		return err
	}
	f := c.enqueue(call.Body)
	select {
	case <-f.taken:
	case <-call.Ended():
	case <-ctx.Done():
	case <-c.done:
	}
	sent := !c.withdraw(f)
	if settled := call.Stop(); sent || settled {
		return nil
	}
	return c.failure(ctx, call, false)
}

// refuse fails a call that has ended before it begins.
func (c *memoryConn) refuse(ctx context.Context, call *transport.Call) error {
	if ctx.Err() == nil && c.Err() == nil {
		return nil
	}
	call.Stop()
	return c.failure(ctx, call, false)
}

// failure tells why a call ended that was not settled.
func (c *memoryConn) failure(ctx context.Context, call *transport.Call, begun bool) error {
	e := &transport.Error{Op: call.Envelope.String(), Delivery: transport.NotDelivered}
	if begun {
		e.Delivery = transport.MaybeDelivered
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		e.Err = context.Cause(ctx)
	case errors.Is(call.Err(), context.DeadlineExceeded):
		e.Err = call.Err()
	default:
		e.Err = c.cause
	}
	return e
}

func (c *memoryConn) enqueue(body []byte) *frame {
	f := &frame{body: body, taken: make(chan struct{})}
	c.mu.Lock()
	c.queue = append(c.queue, f)
	c.mu.Unlock()
	c.wake()
	return f
}

// wake makes one Read look at the queue.
func (c *memoryConn) wake() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

func (c *memoryConn) take() ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 || c.cause != nil {
		return nil, false
	}
	f := c.queue[0]
	c.queue = slices.Delete(c.queue, 0, 1)
	if len(c.queue) > 0 {
		c.wake()
	}
	close(f.taken)
	return slices.Clone(f.body), true
}

// withdraw takes a frame back that the server has not read, and reports whether it could.
func (c *memoryConn) withdraw(f *frame) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, f)
	if i < 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	return true
}

func (c *memoryConn) Listen(context.Context, func()) error { return transport.ErrNoStream }

func (c *memoryConn) Negotiated(w transport.Wire) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = w
}

func (c *memoryConn) Traits() transport.Traits { return transport.Traits{Name: "memory"} }

func (c *memoryConn) Done() <-chan struct{} { return c.done }

func (c *memoryConn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		return nil
	}
	return &transport.Error{Err: c.cause}
}

func (c *memoryConn) Close(context.Context) error {
	c.end(transport.ErrClosed, true)
	c.running.Wait()
	return nil
}
