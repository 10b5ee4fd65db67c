package stdio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mcpwire/internal/proc"
	"mcpwire/internal/readable"
	"mcpwire/transport"
)

const (
	drainIdle   = 250 * time.Millisecond // what is still in the pipes is read until nothing came for so long
	drainTotal  = 3 * time.Second        // or for so long in all
	runningWait = 750 * time.Millisecond // how long an end of output waits for the exit that explains it
	stderrWait  = 100 * time.Millisecond // how long an exit waits for the end of standard error
)

// A conn is one running server. One goroutine belongs to it, which reads its output until the process has gone. Another
// reads what comes on standard error, one writes while the server takes its time to read, and supervise sees to the
// end, from when it begins.
type conn struct {
	options *Options
	proc    *proc.Process
	recv    transport.Receiver
	out     *outbox

	stdout, stderr *source
	reader         *reader
	log            log
	spoken         *readable.Watch // of standard error; nil: hear waits for it

	ending    sync.Once     // supervise was started
	closing   chan struct{} // Close was called
	closeOnce sync.Once
	hurry     context.Context // done when a Close has no time
	rush      context.CancelFunc

	readDone, stderrDone chan struct{}

	done     chan struct{}
	err      *transport.Error // set before done is closed
	finished chan struct{}    // nothing is left
	stuck    error            // set before finished is closed
}

func newConn(o *Options, p *proc.Process, r transport.Receiver) *conn {
	c := &conn{
		options: o, proc: p, recv: r, out: newOutbox(o.MaxQueued, p.Stdin, atOnce(p.Stdin)),
		stdout: newSource(p.Stdout), stderr: newSource(p.Stderr),
		log:     log{tail: tail{limit: o.StderrTail}, onStderr: o.OnStderr, onNoise: o.OnNoise},
		closing: make(chan struct{}), readDone: make(chan struct{}), stderrDone: make(chan struct{}),
		done: make(chan struct{}), finished: make(chan struct{}),
	}
	if len(o.Secrets) > 0 {
		c.log.keepSecret(o.Secrets)
	}
	c.out.onFail = c.begin
	c.reader = newReader(c.stdout, o.MaxMessage, r, c.log.addNoise, c.done)
	c.hurry, c.rush = context.WithCancel(context.Background())
	c.spoken = c.stderr.watch(c.hear)
	if !c.spoken.Arm() {
		go c.hear()
	}
	go c.read()
	p.OnExit(c.begin)
	return c
}

// hear reads standard error to its end, or until it is quiet: then it is called again when there is more.
func (c *conn) hear() {
	for {
		if c.stderr.awaits() {
			c.stderr.await()
		}
		more, end := c.log.read(c.stderr)
		switch {
		case end:
			c.spoken.Close()
			close(c.stderrDone)
			return
		case !more && c.spoken.Arm():
			return
		}
	}
}

// read reads until the stream ends. When callers have read, it leaves the rest to a fresh goroutine: that will wait for
// long, and handling messages may have made the stack large.
func (c *conn) read() {
	if c.reader.run() {
		go c.read()
		return
	}
	c.out.close() // what is sent now can't be answered
	close(c.readDone)
	c.begin()
}

// begin begins the end: the server has exited or closed its output, a pipe has failed, or Close was called.
func (c *conn) begin() { c.ending.Do(func() { go c.supervise() }) }

// Exchange sends call.Body as one line and waits until the receiver settles the call. See transport.Conn. A message
// that would pass the cap of what waits to be sent fails at once with transport.ErrCongested.
func (c *conn) Exchange(ctx context.Context, call *transport.Call) error {
	return c.carry(ctx, call, "request", newFrame(call.Body))
}

// Send writes call.Body as one line. See transport.Conn.
func (c *conn) Send(ctx context.Context, call *transport.Call) error {
	f := newFrame(call.Body)
	f.written = make(chan struct{})
	return c.carry(ctx, call, "notify", f)
}

func (c *conn) carry(ctx context.Context, call *transport.Call, what string, f *frame) error {
	if ctx.Err() != nil {
		return c.failure(call, transport.NotDelivered, context.Cause(ctx))
	}
	call.Start(what, c.options.Timeout)
	if err := c.out.push(f); errors.Is(err, transport.ErrCongested) {
		call.Stop()
		return c.failure(call, transport.NotDelivered, err)
	} // an outbox is closed when the end is near, which the call waits for
	c.wait(ctx, call, f.written)
	settled := call.Stop()
	state := c.out.withdraw(f)
	done := settled || f.written != nil && state == sent
	if state == sent {
		f.retire()
	}
	if done {
		return nil
	}
	delivery := transport.MaybeDelivered
	if state == queued {
		delivery = transport.NotDelivered
	} else if call.Abandon != nil {
		_ = c.out.push(newFrame(call.Abandon)) // best effort: there may be no room, or nobody to tell
	}
	return c.failure(call, delivery, c.cause(ctx, call))
}

// wait waits until the call has ended or the message has been written, if that is what is waited for. For the end of a
// call it reads what comes, if nobody else does.
func (c *conn) wait(ctx context.Context, call *transport.Call, written <-chan struct{}) {
	turn := c.reader.turn
	if written != nil {
		turn = nil
	} else {
		c.reader.waits.Add(1)
		select {
		case <-turn:
			c.reader.lead(ctx, call)
		default:
		}
	}
	for !call.Over() {
		select {
		case <-written:
			return
		case <-call.Ended():
		case <-ctx.Done():
			return
		case <-c.done:
			return
		case <-turn:
			c.reader.lead(ctx, call)
		}
	}
}

// cause tells what ended a call that was not settled.
func (c *conn) cause(ctx context.Context, call *transport.Call) error {
	if err := call.Err(); !errors.Is(err, transport.ErrClosed) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.err.Err
}

func (c *conn) failure(call *transport.Call, delivery transport.Delivery, err error) error {
	return &transport.Error{Op: call.Envelope.String(), Server: c.options.Name, Delivery: delivery, Err: err}
}

// Listen returns transport.ErrNoStream: what the server sends unasked comes on the channel that all calls share.
func (c *conn) Listen(context.Context, func()) error { return transport.ErrNoStream }

// Negotiated does nothing: a line is a line in every revision.
func (c *conn) Negotiated(transport.Wire) {}

// Traits returns the name "stdio".
func (c *conn) Traits() transport.Traits { return transport.Traits{Name: "stdio"} }

// Done is closed when the connection has ended: the server has exited or closed its output, a pipe has failed, or Close
// was called.
func (c *conn) Done() <-chan struct{} { return c.done }

// Err returns nil before Done is closed, then a *transport.Error around transport.ErrClosed and, unless Close was
// called, a *transport.ExitError.
func (c *conn) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Output returns the end of what the server has written to standard error so far, and the last lines of its standard
// output that were no messages. It may be called at any time, from any goroutine.
func (c *conn) Output() (stderr string, noise []string) { return c.log.output() }

// Mask implements transport.Masker.
func (c *conn) Mask(text string) string { return c.log.secrets.Text(text) }

// Close ends all calls, closes the server's input, and asks, then forces the server and what it has started to end; see
// proc.Process.Shutdown for the steps, which take 5 s at most unless configured. It must not be called from a method of
// the Receiver or from a callback of Options, because it waits for them. The error is nil unless a process cannot be
// killed.
func (c *conn) Close(ctx context.Context) error {
	c.closeOnce.Do(func() { close(c.closing) })
	c.begin()
	select {
	case <-c.finished:
	case <-ctx.Done():
		c.rush()
		<-c.finished
	}
	if c.stuck != nil {
		return &transport.Error{Op: "close", Server: c.options.Name, Err: c.stuck}
	}
	return nil
}

// supervise waits for the end, whatever brings it about, and clears up. It is the one place that ends a connection.
func (c *conn) supervise() {
	defer close(c.finished)
	defer c.rush()
	exit := c.awaitEnd()
	if exit == nil {
		c.end(transport.ErrClosed)
	} else {
		c.end(fmt.Errorf("%w: %w", transport.ErrClosed, exit))
		c.recv.Closed(c.err)
	}
	c.stuck = c.proc.Shutdown(c.hurry)
	c.stdout.stop()
	select { // the last words, unless somebody outside of the group holds the pipe
	case <-c.stderrDone:
	case <-time.After(drainIdle):
	}
	c.stderr.stop()
	if c.spoken.Close() {
		c.hear()
	}
	<-c.readDone
	<-c.stderrDone
	c.out.wait()
	c.stdout.file.Close()
	c.stderr.file.Close()
	if end, ok := c.proc.End(); ok && c.options.OnExit != nil {
		c.options.OnExit(end)
	}
	if exit == nil {
		c.recv.Closed(nil)
	}
}

// end lets every call fail with cause, and later ones too. Whoever has seen a call fail can't have another one begun.
func (c *conn) end(cause error) {
	c.err = &transport.Error{Server: c.options.Name, Err: cause}
	c.out.close()
	close(c.done)
	c.reader.recall()
}

// awaitEnd returns nil when Close is called, or tells how the server ended, when reading has come to its end.
func (c *conn) awaitEnd() *transport.ExitError {
	select {
	case <-c.closing:
		return nil
	case <-c.readDone:
	case <-c.out.failed:
	case <-c.proc.Exited():
	}
	running := time.NewTimer(runningWait)
	defer running.Stop()
	if !c.drained() {
		return nil
	}
	select {
	case <-c.closing:
		return nil
	case <-c.proc.Exited():
	case <-running.C:
	}
	exit := c.exitError()
	if !exit.Running && !c.within(c.stderrDone, stderrWait) {
		return nil
	}
	select {
	case <-c.out.failed:
		c.recv.Fault(c.out.err) // reading has ended, so this comes in order
		exit.Input = exit.Running
	default:
	}
	exit.Stderr, exit.Noise = c.log.output()
	return exit
}

// exitError tells how the process has ended, or that it runs.
func (c *conn) exitError() *transport.ExitError {
	exit := &transport.ExitError{Command: c.options.Command, Code: -1}
	select {
	case <-c.proc.Exited():
		state := c.proc.State()
		exit.Code, exit.Signal = state.Code, state.Signal
	default:
		exit.Running = true
	}
	return exit
}

// drained reads what is still in the pipe. A process of the group that holds the other end open gets little time. It
// reports false if Close was called.
func (c *conn) drained() bool {
	c.stdout.drain()
	if !c.within(c.readDone, drainTotal) {
		return false
	}
	c.stdout.stop()
	select {
	case <-c.closing:
		return false
	case <-c.readDone:
		return true
	}
}

// within waits for done, for d at most. It reports false if Close was called.
func (c *conn) within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.closing:
		return false
	case <-done:
	case <-timer.C:
	}
	return true
}
