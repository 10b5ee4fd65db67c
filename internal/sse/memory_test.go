package sse_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"mcpwire/internal/sse"
)

func TestAnEventAboveTheCapIsSkippedAndTheNextOneIsRead(t *testing.T) {
	long := "{" + strings.Repeat("x", 5<<20) + "}"
	half := strings.Repeat("y", 700_000)
	want := []string{
		show("message", "1", false),
		showLarge(&sse.LargeEvent{
			Type: "big", Head: []byte(long[:4096]), Tail: []byte(long[len(long)-4096:]), Size: int64(len(long)), Limit: 1 << 20,
		}),
		showLarge(&sse.LargeEvent{
			Type: "message", Head: []byte(half[:4096]), Tail: []byte(half[:4093] + "\nz\n"), Size: 1_400_004, Limit: 1 << 20,
		}),
		show("message", "2", false),
	}
	for _, end := range []string{"\n", "\r\n", "\r"} {
		in := strings.ReplaceAll("data: 1\n\nevent: big\nid: a\ndata: "+long+"\n: c\nretry: 3\n\n"+
			"data: "+half+"\ndata: "+half+"\ndata:z\ndata\nid: b\n\ndata: 2\n\n", "\n", end)
		got, err := readAll(sse.NewReader(strings.NewReader(in), sse.Options{MaxEvent: 1 << 20}), all)
		if !errors.Is(err, io.EOF) || fmt.Sprint(got.whats()) != fmt.Sprint(want) {
			t.Errorf("%q: wrong events, or %v", end, err)
		}
		if got.events[1].id != "a" || got.events[2].id != "b" || got.retry.Milliseconds() != 3 {
			t.Errorf("%q: wrong ids or retry: %q, %q, %v", end, got.events[1].id, got.events[2].id, got.retry)
		}
	}
}

func TestAnEventAtTheCapIsTaken(t *testing.T) {
	at := strings.Repeat("x", 100)
	large := func(text string, unfinished bool) string {
		return showLarge(&sse.LargeEvent{
			Type: "message", Head: []byte(text), Tail: []byte(text), Size: int64(len(text)), Limit: 100, Unfinished: unfinished,
		})
	}
	in := "data: " + at + "\r\n\r\ndata:" + at + "y\n\ndata:" + at[1:] + "\ndata\n\n" +
		"data:" + at[1:] + "\ndata:y\n\ndata:" + at + "\ndata"
	want := []string{
		show("message", at, false), large(at+"y", false), show("message", at[1:]+"\n", false),
		large(at[1:]+"\ny", false), large(at+"\n", true),
	}
	for _, split := range splits {
		got, err := readAll(sse.NewReader(split.wrap(strings.NewReader(in)), sse.Options{MaxEvent: 100}), all)
		if !errors.Is(err, io.EOF) || fmt.Sprint(got.whats()) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, %v, want %v", split.name, got.whats(), err, want)
		}
	}
}

func TestTheErrorOfALargeEventTellsSizeAndCap(t *testing.T) {
	_, err := sse.NewReader(strings.NewReader("data: 12345\n\n"), sse.Options{MaxEvent: 4}).Next()
	if got := fmt.Sprint(err); got != "an event of 5 bytes is above the cap of 4" {
		t.Errorf("got %s", got)
	}
}

// endless is a stream that begins with head, repeats one piece until left bytes are gone, and goes on with after.
func endless(head, piece string, left int, after string) io.Reader {
	block := strings.Repeat(piece, max(1, 32<<10/len(piece)))
	blocks := make([]io.Reader, 0, left/len(block)+3)
	blocks = append(blocks, strings.NewReader(head))
	for range left / len(block) {
		blocks = append(blocks, strings.NewReader(block))
	}
	return io.MultiReader(append(blocks, strings.NewReader(after))...)
}

func TestMemoryIsBoundedWhateverComes(t *testing.T) {
	const size, limit = 4 << 20, 64 << 10
	for _, row := range []struct {
		name, head, piece, after string
		large                    bool
	}{
		{"an endless line", "", "x", "\n", false},
		{"an endless comment", ":", "x", "\n\n", false},
		{"endless comments", "", ": keep alive\n", "", false},
		{"endless comments with blank lines", "", ": keep alive\r\n\r\n", "", false},
		{"endless comments inside an event", "data: 1\n", ":\n", "\ndata: 2\n\n", false},
		{"an endless id", "id: ", "x", "\n\n", false},
		{"an endless name", "event: ", "x", "\n\n", false},
		{"an endless retry", "retry: ", "0", "\n\n", false},
		{"endless empty events", "", "id: 1\ndata:\n\n", "", false},
		{"endless blank lines", "", "\r", "", false},
		{"endless data", "data: ", "x", "\n\n", true},
		{"endless data after data", "data: 1\ndata:", "x", "\n\n", true},
		{"endless data lines", "", "data: x\n", "\n", true},
		{"endless empty data lines", "", "data\n", "\n", true},
		{"endless data, then endless comments", "data: " + strings.Repeat("x", 1<<20) + "\n", ":", "\n\n", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := sse.NewReader(endless(row.head, row.piece, size, row.after+"data: last\n\n"), sse.Options{MaxEvent: limit})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			sawLarge, last := false, ""
			for {
				ev, err := r.Next()
				if _, ok := errors.AsType[*sse.LargeEvent](err); ok {
					sawLarge = true
				} else if err != nil {
					break
				}
				last = string(ev.Data)
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
				t.Errorf("%d bytes were allocated", got)
			}
			if last != "last" || sawLarge != row.large {
				t.Errorf("the last event is %q, a large one was reported: %t", last, sawLarge)
			}
		})
	}
}

// final is a reader that measures the heap when it is read, which is when all before it has been.
type final struct{ heap uint64 }

func (f *final) Read([]byte) (int, error) {
	f.heap = heap()
	return 0, io.EOF
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestABigBufferIsGivenBack(t *testing.T) {
	for _, row := range []struct {
		name, after string
		limit       int
		events      int // after which the heap is measured; 0: while the reader waits for more
	}{
		{"when the next event is handed out", "\n\ndata: 1\n\ndata: 2\n\n", 0, 2},
		{"when more must be read", "\n\n", 0, 0},
		{"when the rest of the event is skipped", "\ndata: 1\n:", 24 << 20, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			end := &final{}
			in := io.MultiReader(endless("data: ", "x", 24<<20, row.after), end)
			r := sse.NewReader(in, sse.Options{MaxEvent: row.limit})
			for n := 0; n != row.events || n == 0; n++ {
				if _, err := r.Next(); errors.Is(err, io.EOF) {
					break
				}
			}
			held := end.heap
			if row.events > 0 {
				held = heap()
			}
			if held > 8<<20 {
				t.Errorf("%d bytes are still held", held)
			}
			runtime.KeepAlive(r)
		})
	}
}

func TestKeptDataNeverChange(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "data: %d\ndata: %s\n\n", i, strings.Repeat("x", i*7919%101))
	}
	for every := 1; every <= 3; every++ {
		r := sse.NewReader(strings.NewReader(b.String()), sse.Options{})
		got, err := readAll(r, func(i int) bool { return i%every == 0 })
		if !errors.Is(err, io.EOF) || len(got.events) != 20_000 {
			t.Errorf("every %d: %d events, %v", every, len(got.events), err)
		}
	}
}

// whole is a reader that remembers where it was told to write.
type whole struct {
	in   string
	into []byte
}

func (w *whole) Read(p []byte) (int, error) {
	if w.in == "" {
		return 0, io.EOF
	}
	w.into = p
	n := copy(p, w.in)
	w.in = w.in[n:]
	return n, nil
}

func TestDataAreHandedOutWithoutACopy(t *testing.T) {
	src := &whole{in: "data: " + strings.Repeat("x", 1000) + "\n\n"}
	ev, err := sse.NewReader(src, sse.Options{}).Next()
	if err != nil {
		t.Fatal(err)
	}
	if unsafe.SliceData(ev.Data) != unsafe.SliceData(src.into[len("data: "):]) {
		t.Error("the data are not where they were read")
	}
	if cap(ev.Data) != len(ev.Data) {
		t.Error("appending to the data reaches what follows them")
	}
}

func TestSmallEventsCostNoMemory(t *testing.T) {
	const text = "event: ping\nid: 12\ndata: 1\n\nevent: message\ndata: 2\ndata: 3\n\n"
	r := sse.NewReader(&repeat{text: text}, sse.Options{})
	for range 20_000 { // until the buffer has its size
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(20_000, func() { _, _ = r.Next() }); n > 0 {
		t.Errorf("%v allocations an event", n)
	}
}

// repeat gives the same text for ever, in reads of at most 64 KiB.
type repeat struct {
	text string
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	p = p[:min(len(p), 64<<10)]
	n := 0
	for n < len(p) {
		k := copy(p[n:], r.text[r.at:])
		r.at = (r.at + k) % len(r.text)
		n += k
	}
	return n, nil
}

func BenchmarkEvents(b *testing.B) {
	for _, row := range []struct {
		name, head, end string
		size, lines     int
	}{
		{"64 bytes", "data: ", "\n", 64, 1},
		{"64 bytes with id and name", "event: message\nid: 4711\ndata: ", "\n", 64, 1},
		{"64 bytes CR LF", "data: ", "\r\n", 64, 1},
		{"64 bytes CR", "data: ", "\r", 64, 1},
		{"64 KiB", "data: ", "\n", 64 << 10, 1},
		{"1 MiB", "data: ", "\n", 1 << 20, 1},
		{"1 MiB in 1024 lines", "data: ", "\n", 1 << 20, 1024},
		{"16 MiB", "data: ", "\n", 16 << 20, 1},
	} {
		for _, keep := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/keep=%t", row.name, keep), func(b *testing.B) {
				line := row.head + strings.Repeat("x", row.size/row.lines) + row.end
				r := sse.NewReader(&repeat{text: strings.Repeat(line, row.lines) + row.end}, sse.Options{})
				b.SetBytes(int64(row.size))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := r.Next(); err != nil {
						b.Fatal(err)
					}
					if keep {
						r.Keep()
					}
				}
			})
		}
	}
}
