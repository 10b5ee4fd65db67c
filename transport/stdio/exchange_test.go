package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/internal/proc"
	"mcpwire/internal/proc/proctest"
	"mcpwire/transport"
	"mcpwire/transport/stdio"
)

func TestARequestIsAnswered(t *testing.T) {
	s := open(t, "echo")
	s.mustAnswer(1, "")
	s.mustAnswer(2, `,"text":"读取 — ✅"`)
	if err := s.Send(context.Background(), &transport.Call{Body: []byte(`{"note":1}`)}); err != nil {
		t.Error(err)
	}
	if got := <-s.received; got != `{"note":1}` {
		t.Errorf("got %q", got)
	}
	if err := s.Listen(context.Background(), func() {}); !errors.Is(err, transport.ErrNoStream) {
		t.Errorf("Listen gave %v", err)
	}
	s.Negotiated(transport.Wire{})
	if s.Traits() != (transport.Traits{Name: "stdio"}) || s.Err() != nil {
		t.Errorf("traits %+v, err %v", s.Traits(), s.Err())
	}
}

func TestLineBreaksInABodyBecomeBlanks(t *testing.T) {
	s := open(t, "echo")
	call := s.request(1, ",\n\t\"a\":\r\n2")
	want := string(call.Body)
	if err := s.Exchange(context.Background(), call); err != nil {
		t.Fatal(err)
	}
	if got := string(s.answer(1)); got != `{"id":1, `+"\t"+`"a":  2}` || string(call.Body) != want {
		t.Errorf("got %q, and the body is %q", got, call.Body)
	}
}

func TestSingleBytesCRLFAndAMarkMakeNoDifference(t *testing.T) {
	s := open(t, "bytes")
	s.mustAnswer(1, `,"text":"读取 — ✅"`)
	s.mustAnswer(2, `,"text":"读取 — ✅"`)
}

func TestTheLastLineNeedsNoEnd(t *testing.T) {
	s := open(t, "last")
	s.mustAnswer(1, "")
	if exit := exited(t, s.waitClosed()); exit.Code != 0 {
		t.Errorf("got %+v", exit)
	}
}

func TestLongLinesArriveInOrder(t *testing.T) {
	s := open(t, "sizes")
	for id, size := range []int{65535, 65536, 1 << 20, 11 << 20, 16 << 20, 10} {
		if err := s.Exchange(context.Background(), s.request(id, "")); err != nil {
			t.Fatal(err)
		}
		if got, want := len(s.answer(id)), len(`{"id":0,"text":""}`)+size; got != want {
			t.Errorf("got %d bytes, want %d", got, want)
		}
	}
}

func TestALineAboveTheCapIsReportedAndTheConnectionLives(t *testing.T) {
	s := open(t, "sizes", func(o *stdio.Options) { o.MaxMessage = 1 << 20 })
	for id := range 6 {
		if err := s.Exchange(context.Background(), s.request(id, "")); err != nil {
			t.Fatal(err)
		}
		if got, want := s.answer(id) != nil, id < 2 || id == 5; got != want {
			t.Errorf("call %d was answered: %t", id, got)
		}
	}
	if len(s.sizes) != 3 || s.sizes[1] != int64(len(`{"id":3,"text":""}`)+11<<20) {
		t.Errorf("got %d", s.sizes)
	}
}

func TestNoiseIsDroppedAndKeptForDiagnosis(t *testing.T) {
	var heard collector
	s := open(t, "noise", func(o *stdio.Options) { o.OnNoise = heard.add })
	s.mustAnswer(1, "")
	s.mustAnswer(2, "")
	long := strings.Repeat("é", 254) + "…"
	want := []string{"Demo server v1.2 ready", "[info] {not json", "42", long, "Calling tool...", "Calling tool..."}
	if got := heard.all(); !slices.Equal(got, want) {
		t.Errorf("heard %q", got)
	}
	if noise := s.noise(); !slices.Equal(noise, want) {
		t.Errorf("kept %q", noise)
	}
}

func TestTheLastLinesOfNoiseAreKept(t *testing.T) {
	s := open(t, "echo")
	for i := range 30 {
		if err := s.Send(context.Background(), &transport.Call{Body: fmt.Append(nil, "noise ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	s.mustAnswer(1, "")
	if noise := s.noise(); len(noise) != 20 || noise[0] != "noise 10" {
		t.Errorf("kept %q", noise)
	}
}

func TestStandardErrorIsDrainedWhateverItsShape(t *testing.T) {
	var heard collector
	s := open(t, "stderr", func(o *stdio.Options) { o.OnStderr = heard.add })
	s.mustAnswer(1, "")
	s.closeNow()
	total := 0
	for _, line := range heard.all() {
		if total += len(line); len(line) > 8<<10 {
			t.Errorf("a piece of %d bytes", len(line))
		}
	}
	if total != 256<<10 {
		t.Errorf("heard %d bytes", total)
	}
}

func TestStandardErrorIsReadAgainAfterItWasQuiet(t *testing.T) {
	var heard collector
	s := open(t, "stderr aside", func(o *stdio.Options) { o.OnStderr = heard.add })
	const times = 30
	for i := range times {
		s.mustAnswer(i+1, "")
		if !proctest.Within(5*time.Second, func() bool { return len(heard.all()) == i+1 }) {
			t.Fatalf("heard %q after %d calls", heard.all(), i+1)
		}
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if all := heard.all(); len(all) != times+1 || all[0] != "aside" || all[times] != "at last" {
		t.Errorf("heard %q", all)
	}
}

func TestAFloodOnStandardErrorTakesBoundedMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := open(t, "stderr flood")
	err := s.Exchange(context.Background(), s.request(1, ""))
	runtime.ReadMemStats(&after)
	exit := exited(t, err)
	if len(exit.Stderr) != 32<<10 || !strings.HasSuffix(exit.Stderr, "x\nthe last line") {
		t.Errorf("kept %d bytes, %q at the end", len(exit.Stderr), exit.Stderr[max(0, len(exit.Stderr)-20):])
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
}

func TestTheClockEndsACall(t *testing.T) {
	s := open(t, "deaf", func(o *stdio.Options) { o.Timeout = 30 * time.Millisecond })
	s.waitReady()
	err := s.Exchange(context.Background(), s.request(1, ""))
	failed(t, err, transport.MaybeDelivered, context.DeadlineExceeded)
	if want := "demo: tools/call demo: request timeout after 30ms"; err.Error() != want {
		t.Errorf("got %q", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.closed) > 0 {
		t.Error("the connection has ended")
	}
}

func TestTheCallersOwnEndIsTheCallersError(t *testing.T) {
	s := open(t, "deaf")
	s.waitReady()
	mine := errors.New("mine")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(20*time.Millisecond, func() { cancel(mine) })
	failed(t, s.Exchange(ctx, s.request(1, "")), transport.MaybeDelivered, mine)
	failed(t, s.Exchange(ctx, s.request(2, "")), transport.NotDelivered, mine)
	failed(t, s.Send(ctx, s.request(3, "")), transport.NotDelivered, mine)
}

func TestAnAbandonedCallIsAnnounced(t *testing.T) {
	s := open(t, "echo")
	call := &transport.Call{Body: []byte(`{"unanswered":1}`), Abandon: []byte(`{"cancel":1}`), Timeout: 50 * time.Millisecond}
	failed(t, s.Exchange(context.Background(), call), transport.MaybeDelivered, context.DeadlineExceeded)
	for _, want := range []string{`{"unanswered":1}`, `{"cancel":1}`} {
		if got := <-s.received; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAServerThatDoesNotReadBlocksNobody(t *testing.T) {
	s := open(t, "deaf", func(o *stdio.Options) { o.MaxQueued = 5 << 20 })
	s.waitReady()
	begin := time.Now()
	big := s.request(1, `,"text":"`+strings.Repeat("x", 4<<20)+`"`)
	big.Timeout = 100 * time.Millisecond
	failed(t, s.Exchange(context.Background(), big), transport.MaybeDelivered, context.DeadlineExceeded)

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	failed(t, s.Exchange(ctx, s.request(2, "")), transport.NotDelivered, context.DeadlineExceeded)
	note := s.request(3, "")
	note.Timeout = 50 * time.Millisecond
	err := s.Send(context.Background(), note)
	failed(t, err, transport.NotDelivered, context.DeadlineExceeded)
	if !strings.Contains(err.Error(), "notify timeout after 50ms") {
		t.Errorf("got %q", err)
	}
	failed(t, s.Exchange(context.Background(), s.request(4, strings.Repeat(" ", 2<<20))), transport.NotDelivered,
		transport.ErrCongested)
	soon(t, begin, 10*time.Second)

	pending := make(chan error)
	go func() { pending <- s.Send(context.Background(), s.request(5, "")) }()
	s.closeNow()
	failed(t, <-pending, transport.NotDelivered, transport.ErrClosed)
	soon(t, begin, 20*time.Second)
}

func TestAWithdrawnMessageIsNeverSent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go")
	s := open(t, "late", func(o *stdio.Options) { o.Env[goFile] = file })
	s.waitReady()
	big := s.request(1, `,"text":"`+strings.Repeat("x", 4<<20)+`"`)
	big.Timeout = 50 * time.Millisecond
	failed(t, s.Exchange(context.Background(), big), transport.MaybeDelivered, context.DeadlineExceeded)
	withdrawn := &transport.Call{Body: []byte(`{"withdrawn":1}`), Timeout: 20 * time.Millisecond}
	failed(t, s.Exchange(context.Background(), withdrawn), transport.NotDelivered, context.DeadlineExceeded)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.mustAnswer(2, "")
	select {
	case got := <-s.received:
		t.Errorf("%q was sent", got)
	default:
	}
	if s.answer(1) == nil {
		t.Error("the message that had begun was not finished")
	}
}

func TestManyBigMessagesArriveWhole(t *testing.T) {
	s := open(t, "slow")
	var all sync.WaitGroup
	for id := range 50 {
		all.Go(func() {
			text := strings.Repeat(string(rune('a'+id%26)), 100<<10)
			if err := s.Exchange(context.Background(), s.request(id, `,"text":"`+text+`"`)); err != nil {
				t.Error(err)
			} else if got, want := string(s.answer(id)), fmt.Sprintf(`{"id":%d,"whole":true}`, id); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	all.Wait()
}

func TestManyCallersAreAnsweredAtOnce(t *testing.T) {
	s := open(t, "echo")
	var all sync.WaitGroup
	for caller := range 64 {
		all.Go(func() {
			for i := range 20 {
				s.mustAnswer(caller*100+i, `,"text":"`+strings.Repeat("x", 100*i)+`"`)
			}
		})
	}
	all.Wait()
}

func TestAFailedStartIsExplained(t *testing.T) {
	proctest.NoLeaks(t)
	r := newReceiver()
	_, err := stdio.New(stdio.Options{Name: "demo", Command: "no-such-cmd"}).Open(context.Background(), r)
	failed(t, err, transport.NotDelivered, err)
	var start *proc.StartError
	if !errors.As(err, &start) || start.Reason != proc.NotFound || !strings.HasPrefix(err.Error(), "demo: open: command") {
		t.Errorf("got %v", err)
	}
	_, err = stdio.New(stdio.Options{Name: "demo", Command: "sh"}).Open(done(), r)
	failed(t, err, transport.NotDelivered, context.Canceled)
	if len(r.closed) > 0 {
		t.Error("the receiver was called")
	}
}
