package stdio //nolint:testpackage // what is tested is nothing to the outside

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/transport"
)

// A narrow pipe takes what it likes at once, and anything of who waits.
type narrow struct {
	mu     sync.Mutex
	taken  strings.Builder
	random *rand.Rand
	inside bool
}

// Write implements io.Writer.
func (p *narrow) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken.Write(b)
}

// atOnce takes a part of b, which may be all or nothing of it.
func (p *narrow) atOnce(b []byte) int {
	p.mu.Lock()
	if p.inside {
		panic("two are writing")
	}
	p.inside = true
	n := min(p.random.IntN(len(b)+len(b)/2+1), len(b))
	p.taken.Write(b[:n])
	p.mu.Unlock()
	p.mu.Lock()
	p.inside = false
	p.mu.Unlock()
	return n
}

func TestMessagesOfManyAreWrittenWholeAndInTheOrderOfEach(t *testing.T) {
	const senders, messages = 8, 200
	pipe := &narrow{random: rand.New(rand.NewPCG(1, 2))}
	o := newOutbox(1<<30, pipe, pipe.atOnce)
	var sending sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for i := range messages {
				f := newFrame(fmt.Appendf(nil, "%d:%d:%s", s, i, strings.Repeat("x", i*s%70)))
				f.written = make(chan struct{})
				if err := o.push(f); err != nil {
					t.Error(err)
					return
				}
				if i%7 == 0 {
					<-f.written
					if state := o.withdraw(f); state != sent {
						t.Errorf("a frame that is written is in state %d", state)
					}
					f.retire()
					continue
				}
				if i == messages-1 {
					<-f.written
				}
			}
		})
	}
	sending.Wait()
	o.wait()
	if o.bytes != 0 || len(o.frames) != 0 || o.partial != nil {
		t.Errorf("left are %d bytes, %d frames, %v", o.bytes, len(o.frames), o.partial)
	}
	next := make([]int, senders)
	for line := range strings.Lines(pipe.taken.String()) {
		var s, i int
		var rest string
		if _, err := fmt.Sscanf(line, "%d:%d:%s", &s, &i, &rest); err != nil && !strings.HasSuffix(line, ":\n") ||
			i != next[s] || len(rest) != i*s%70 || strings.Trim(rest, "x") != "" {
			t.Fatalf("message %d of %d came as %q", next[s], s, line)
		}
		next[s]++
	}
	for s, n := range next {
		if n != messages {
			t.Errorf("of sender %d came %d messages", s, n)
		}
	}
}

func TestWhatThePipeDoesNotTakeAtOnceIsBegunOrNot(t *testing.T) {
	for taken, want := range map[int]frameState{0: queued, 3: begun, 6: sent} {
		o := newOutbox(100, nil, nil)
		f := newFrame([]byte("hello"))
		o.frames, o.bytes = []*frame{f}, f.size()
		o.settle(o.batch(), taken)
		if got := o.withdraw(f); got != want {
			t.Errorf("of %d bytes: %v, want %v", taken, got, want)
		}
		if held := map[frameState]int{queued: 0, begun: 6, sent: 0}[want]; o.bytes != held {
			t.Errorf("of %d bytes: %d count as waiting", taken, o.bytes)
		}
	}
}

func TestWhatThePipeDoesNotTakeAtOnceIsWrittenLater(t *testing.T) {
	for _, taken := range []int{0, 3, 5} {
		synctest.Test(t, func(t *testing.T) {
			var pipe bytes.Buffer
			o := newOutbox(100, &pipe, func(p []byte) int {
				pipe.Write(p[:taken])
				return taken
			})
			f := newFrame([]byte("hello"))
			f.written = make(chan struct{})
			if err := o.push(f); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case <-f.written:
			default:
				t.Errorf("of %d bytes: nobody writes the rest", taken)
			}
			if got := pipe.String(); got != "hello\n" {
				t.Errorf("of %d bytes: written is %q", taken, got)
			}
		})
	}
}

func TestABrokenPipeIsTold(t *testing.T) {
	o := newOutbox(100, brokenPipe{}, func([]byte) int { return 0 })
	told := 0
	o.onFail = func() { told++ }
	for range 2 {
		if err := o.push(newFrame([]byte("hello"))); err != nil {
			t.Fatal(err)
		}
		<-o.failed
	}
	o.close()
	o.wait()
	if o.err != io.ErrClosedPipe || told != 1 { //nolint:errorlint // it comes as it is
		t.Errorf("got %v, told %d times", o.err, told)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Who sees a connection's end, as one whose call has failed does, must not be able to have another message written: the
// server may still read, and the message's outcome would be unknown.
func TestNothingIsQueuedOnceTheEndIsSeen(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	c := &conn{options: &Options{}, out: newOutbox(1<<20, nil, nil), done: make(chan struct{})}
	c.reader = newReader(newSource(in), 0, nil, nil, c.done)
	c.out.mu.Lock()
	go c.end(io.EOF)
	select {
	case <-c.done:
		t.Error("the end is seen while the outbox is open")
	case <-time.After(20 * time.Millisecond):
	}
	c.out.mu.Unlock()
	<-c.done
	if err := c.out.push(newFrame([]byte("{}"))); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
