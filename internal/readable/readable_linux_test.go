package readable_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcpwire/internal/leaks"
	"mcpwire/internal/readable"
)

func TestMain(m *testing.M) {
	before := leaks.Note()
	status := m.Run()
	if left := before.Left(5 * time.Second); left != nil {
		fmt.Fprintf(os.Stderr, "left behind: %q\n", left)
		status = 1
	}
	os.Exit(status)
}

// A pipe is one that is watched.
type pipe struct {
	in, out int
	watch   *readable.Watch
	told    chan struct{} // gets a value for each call of run
}

func newPipe(t *testing.T) *pipe {
	t.Helper()
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	p := &pipe{in: ends[0], out: ends[1], told: make(chan struct{}, 100)}
	p.watch = readable.New(p.in, func() { p.told <- struct{}{} })
	if p.watch == nil {
		t.Fatal("it can't be watched")
	}
	t.Cleanup(func() {
		p.watch.Close()
		unix.Close(p.in)
		unix.Close(p.out)
	})
	return p
}

func (p *pipe) arm(t *testing.T) {
	t.Helper()
	if !p.watch.Arm() {
		t.Fatal("it can't be armed")
	}
}

func (p *pipe) write(t *testing.T) {
	t.Helper()
	if _, err := unix.Write(p.out, []byte("x")); err != nil {
		t.Fatal(err)
	}
}

func (p *pipe) read(t *testing.T) {
	t.Helper()
	if _, err := unix.Read(p.in, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
}

func (p *pipe) isTold(t *testing.T) {
	t.Helper()
	select {
	case <-p.told:
	case <-time.After(10 * time.Second):
		t.Fatal("run is not called")
	}
}

func (p *pipe) isNotTold(t *testing.T) {
	t.Helper()
	other := newPipe(t) // what is told of it comes later
	other.arm(t)
	other.write(t)
	other.isTold(t)
	select {
	case <-p.told:
		t.Error("run is called")
	default:
	}
}

func TestAWatchTellsOnceEachTimeThatItIsArmed(t *testing.T) {
	p := newPipe(t)
	for range 100 {
		p.arm(t)
		p.write(t)
		p.isTold(t)
		p.read(t)
	}
	p.write(t)
	p.isNotTold(t)
	p.arm(t) // there is something already
	p.isTold(t)
}

func TestAWatchTellsOfTheEnd(t *testing.T) {
	p := newPipe(t)
	p.arm(t)
	unix.Close(p.out)
	p.out = -1
	p.isTold(t)
}

func TestAClosedWatchTellsNothing(t *testing.T) {
	p := newPipe(t)
	if p.watch.Close() {
		t.Error("a call is due before it is armed")
	}
	q := newPipe(t)
	q.arm(t)
	if !q.watch.Close() {
		t.Error("no call was due")
	}
	if q.watch.Close() || q.watch.Arm() {
		t.Error("there is something left of it")
	}
	q.write(t)
	q.isNotTold(t)
	r := newPipe(t)
	r.arm(t)
	r.write(t)
	r.isTold(t)
	if r.watch.Close() {
		t.Error("a call is due that has come")
	}
}

func TestAWatchOfNoFileCanNotBeArmed(t *testing.T) {
	w := readable.New(1<<20, func() {})
	if w.Arm() {
		t.Error("it is armed")
	}
	w.Close()
}

func TestNoWatchDoesNothing(t *testing.T) {
	var w *readable.Watch
	if w.Arm() || w.Close() {
		t.Error("it does something")
	}
}

func TestAllWatchesTakeOneGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		newPipe(t).arm(t)
	}
	if got := runtime.NumGoroutine() - before; got > 1 {
		t.Errorf("they take %d", got)
	}
}

// The last that is closed ends what the first has begun; another may come at that very moment.
func TestWatchesComeAndGo(t *testing.T) {
	done := make(chan struct{})
	const together = 8
	for range together {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 200 {
				var ends [2]int
				if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
					t.Error(err)
					return
				}
				told := make(chan struct{})
				w := readable.New(ends[0], func() { close(told) })
				if w.Arm() {
					unix.Close(ends[1])
					<-told
				} else {
					t.Error("it can't be armed")
					unix.Close(ends[1])
				}
				w.Close()
				unix.Close(ends[0])
			}
		}()
	}
	for range together {
		<-done
	}
}
