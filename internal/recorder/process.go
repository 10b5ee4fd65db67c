package recorder

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"mcpwire/internal/proc"
	"mcpwire/trace"
)

const (
	chunkBytes = 64 << 10
	// hostWait is how long a server may be silent that has not ended although the host has closed its input: then the
	// host may have gone, and nobody else would end the server.
	hostWait = 10 * time.Second
	// restWait is how long something may still hold the server's output when all that we know of has ended.
	restWait = time.Second
)

// Streams are those of the host. In and Out are closed, if they can be, when the server closes its own.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Process starts a server, passes everything on between it and the host, and waits for its end. The end of the host's
// input is passed on. When ctx is done the server is asked to end; when hurry is, it is killed. It is also ended where
// the host reads no more, or has closed its input and the server says nothing for 10 s. Nothing of it is left then. The
// error is that of starting it, or proc.ErrStuck.
func (r *Recorder) Process(ctx, hurry context.Context, spec proc.Spec, host Streams) (proc.State, error) {
	spec.StdinWait = -1 // when it is to end, its input has been closed, or there is no time
	start := time.Now()
	r.tell(&trace.Event{Kind: trace.Opening, Line: 1})
	p, err := proc.Start(spec)
	opened := &trace.Event{Kind: trace.Opened, Line: 1, Carrier: "stdio", Took: milliseconds(start)}
	if err != nil {
		opened.Carrier, opened.Error = "", err.Error()
		r.tell(opened)
		return proc.State{}, err
	}
	r.tell(opened)
	b := &between{recorder: r, process: p, host: host, gone: make(chan struct{})}
	return b.run(ctx, hurry)
}

// between is what stands between a host and a process.
type between struct {
	recorder *Recorder
	process  *proc.Process
	host     Streams
	last     atomic.Int64  // when the server last said something
	writing  atomic.Int32  // how many wait for the host to read
	gone     chan struct{} // closed when the host reads no more
	leaving  sync.Once
}

func (b *between) run(ctx, hurry context.Context) (proc.State, error) {
	r, p := b.recorder, b.process
	start := time.Now()
	eof := make(chan struct{})
	go func() { // it may go on reading what the host sends: nobody can end that
		defer close(eof)
		b.pass(b.host.In, p.Stdin, &lines{kind: trace.Sent, line: 1})
		_ = p.Stdin.Close()
		closeIt(b.host.In)
	}()
	var passing sync.WaitGroup
	passing.Go(func() {
		if !b.pass(p.Stdout, b.host.Out, &lines{kind: trace.Received, line: 1}) {
			b.leaving.Do(func() { close(b.gone) })
		}
		closeIt(b.host.Out)
	})
	passing.Go(func() { b.pass(p.Stderr, b.host.Err, &lines{kind: trace.Stderr, line: 1}) })
	after := b.wait(ctx, eof)
	err := p.Shutdown(hurry)
	b.rest(ctx, &passing)
	<-p.Exited()
	state := p.State()
	if after == "term" && state.Signal == "SIGKILL" {
		after = "kill"
	}
	r.tell(&trace.Event{
		Kind: trace.Exited, Line: 1, Took: milliseconds(start),
		Exit: &trace.ExitFacts{Code: state.Code, Signal: state.Signal, After: after},
	})
	closed := &trace.Event{Kind: trace.Closed, Line: 1}
	if after == "" {
		closed.Error = "the server has ended"
	}
	r.tell(closed)
	return state, err
}

// wait waits until the server has ended or is to be ended, and returns what was done to end it.
func (b *between) wait(ctx context.Context, eof <-chan struct{}) (after string) {
	timer := time.NewTimer(hostWait)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-b.process.Exited():
			return after
		case <-ctx.Done():
			return "term"
		case <-b.gone:
			return "term"
		case <-eof:
			after, eof = "eof", nil
			timer.Reset(hostWait)
		case <-timer.C:
			silent := time.Since(time.Unix(0, b.last.Load()))
			if silent >= hostWait {
				return "term"
			}
			timer.Reset(hostWait - silent)
		}
	}
}

// rest waits until all has been passed on that the server has said. What has escaped from its group, and holds its
// output, is not waited for long, nor is a host that reads nothing when we are to end.
func (b *between) rest(ctx context.Context, passing *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		passing.Wait()
		close(done)
	}()
	for {
		begun := b.last.Load()
		timer := time.NewTimer(restWait)
		select {
		case <-done:
			timer.Stop()
			return
		case <-timer.C:
		}
		if busy := b.writing.Load() > 0 || b.last.Load() != begun; !busy || ctx.Err() != nil {
			break
		}
	}
	_ = b.process.Stdout.Close()
	_ = b.process.Stderr.Close()
	if b.writing.Load() == 0 {
		<-done
	}
}

// pass passes on what comes, as it comes. It reports false if it could not be written.
func (b *between) pass(from io.Reader, to io.Writer, p *lines) bool {
	defer b.recorder.ended(p)
	chunk := make([]byte, chunkBytes)
	for {
		n, err := from.Read(chunk)
		if p.kind != trace.Sent {
			b.last.Store(time.Now().UnixNano())
		}
		if n > 0 {
			b.recorder.passed(p, chunk[:n])
			if !b.write(to, chunk[:n], p.kind) {
				return false
			}
		}
		if err != nil {
			return true
		}
	}
}

func (b *between) write(to io.Writer, chunk []byte, kind trace.Kind) bool {
	if kind != trace.Sent {
		b.writing.Add(1)
		defer b.writing.Add(-1)
	}
	_, err := to.Write(chunk)
	return err == nil
}

func closeIt(stream any) {
	if c, ok := stream.(io.Closer); ok {
		_ = c.Close() // it may be closed
	}
}

func milliseconds(since time.Time) float64 { return time.Since(since).Seconds() * 1000 }
