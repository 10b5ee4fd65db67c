package ndjson_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"mcpwire/internal/ndjson"
)

// readAll returns every line of r, a long one as "<size> head..tail".
func readAll(r *ndjson.Reader, keep bool) (lines []string, err error) {
	var keptLines [][]byte
	for {
		line, err := r.Next()
		var long *ndjson.LongLine
		switch {
		case errors.Is(err, ndjson.ErrPaused):
		case errors.As(err, &long):
			lines = append(lines, showLong(long.Size, long.Head, long.Tail))
			keptLines = append(keptLines, nil)
		case err != nil:
			for i, line := range keptLines { // what was kept must not have changed since
				if line != nil && string(line) != lines[i] {
					return lines, fmt.Errorf("kept line %d has become %q", i, line)
				}
			}
			return lines, err
		default:
			lines = append(lines, string(line))
			keptLines = append(keptLines, nil)
			if keep || len(lines)%3 == 0 {
				r.Keep()
				keptLines[len(lines)-1] = line
			}
		}
		if len(lines)%2 == 0 && r.Release() {
			spoil()
		}
	}
}

// spoil overwrites buffers that readers have released.
func spoil() {
	r := ndjson.NewReader(strings.NewReader(strings.Repeat("!", 64<<10)), 0)
	if _, err := r.Next(); err != nil {
		panic(err)
	}
	r.Release()
}

func TestAReaderThatHasReadEverythingHoldsNoBuffer(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	r := ndjson.NewReader(in, 0)
	if !r.Release() {
		t.Error("it holds a buffer before it has read")
	}
	go out.Write([]byte("{1}\n{2}\n")) //nolint:errcheck // it would not be read
	for _, want := range []struct {
		line     string
		released bool
	}{{"{1}", false}, {"{2}", true}} {
		line, err := r.Next()
		if string(line) != want.line || err != nil {
			t.Errorf("%q, %v", line, err)
		}
		if got := r.Release(); got != want.released {
			t.Errorf("after %s it is released: %v", want.line, got)
		}
	}
	go out.Write([]byte("{3}\n")) //nolint:errcheck // as above
	if line, err := r.Next(); string(line) != "{3}" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}

func showLong(size int64, head, tail []byte) string {
	return fmt.Sprintf("<%d> %q..%q", size, head, tail)
}

func TestLinesAreCutOnLFAndLoseOneCR(t *testing.T) {
	for _, row := range []struct {
		name, in string
		want     []string
	}{
		{"two in one read", "{1}\n{2}\n", []string{"{1}", "{2}"}},
		{"CR LF", "{1}\r\n{2}\r\n", []string{"{1}", "{2}"}},
		{"one CR only", "{1}\r\r\n", []string{"{1}\r"}},
		{"the last line needs no LF", "{1}\n{2}", []string{"{1}", "{2}"}},
		{"CR at the end of the stream", "{1}\r", []string{"{1}"}},
		{"blank lines", "\n\r\n \t \n{1}\n\n", []string{"{1}"}},
		{"byte order mark", "\xef\xbb\xbf{1}\n", []string{"{1}"}},
		{"byte order mark later on", "{1}\n\xef\xbb\xbf{2}\n", []string{"{1}", "\xef\xbb\xbf{2}"}},
		{"half a byte order mark", "\xef\xbb", []string{"\xef\xbb"}},
		{"half a byte order mark and a whole one", "\xef\n\xef\xbb\xbf{1}", []string{"\xef", "\xef\xbb\xbf{1}"}},
		{"a byte order mark alone", "\xef\xbb\xbf", nil},
		{"wide characters", "读取 — ✅\n", []string{"读取 — ✅"}},
		{"nothing", "", nil},
	} {
		for _, split := range []struct {
			name string
			wrap func(io.Reader) io.Reader
		}{
			{"whole", func(r io.Reader) io.Reader { return r }},
			{"single bytes", iotest.OneByteReader},
			{"end with the data", iotest.DataErrReader},
		} {
			t.Run(row.name+"/"+split.name, func(t *testing.T) {
				got, err := readAll(ndjson.NewReader(split.wrap(strings.NewReader(row.in)), 0), true)
				if !errors.Is(err, io.EOF) || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", row.want) {
					t.Errorf("got %q, %v, want %q", got, err, row.want)
				}
			})
		}
	}
}

func TestALineAboveTheCapIsSkippedAndTheNextOneIsRead(t *testing.T) {
	long := "{" + strings.Repeat("x", 11<<20) + "}"
	for _, end := range []string{"\n", "\r\n"} {
		r := ndjson.NewReader(strings.NewReader("{1}"+end+long+end+"{2}"+end), 1<<20)
		want := []string{"{1}", showLong(int64(len(long)), []byte(long[:4096]), []byte(long[len(long)-4096:])), "{2}"}
		got, err := readAll(r, false)
		if !errors.Is(err, io.EOF) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: wrong lines, or %v", end, err)
		}
	}
}

func TestALineAtTheCapIsTaken(t *testing.T) {
	at := strings.Repeat("x", 100)
	got, _ := readAll(ndjson.NewReader(strings.NewReader(at+"\r\n"+at+"y\n"+at), 100), false)
	want := []string{at, showLong(101, []byte(at+"y"), []byte(at+"y")), at}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnUnfinishedLineBeforeAFailureIsLeftOut(t *testing.T) {
	broken := errors.New("broken")
	got, err := readAll(ndjson.NewReader(io.MultiReader(strings.NewReader("{1}\n{2"), iotest.ErrReader(broken)), 0), false)
	if len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWhatIsBufferedNeedsNoRead(t *testing.T) {
	for in, want := range map[string]int{
		"{1}\n":               0,
		"{1}\n{2":             0,
		"{1}\n\n":             0,
		"{1}\n \r\n\t\n":      0,
		"{1}\n{2}\n":          1,
		"{1}\n\n\n{2}\n\r\n":  1,
		"{1}\n{2}\n\n{3}\n{4": 2,
	} {
		reads := 0
		r := ndjson.NewReader(readerFunc(func(p []byte) (int, error) {
			if reads++; reads > 1 {
				return 0, ndjson.ErrPaused
			}
			return copy(p, in), nil
		}), 0)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		got := 0
		for r.Buffered() {
			if _, err := r.Next(); err != nil {
				t.Errorf("%q: %v", in, err)
			}
			got++
		}
		if got != want || reads != 1 {
			t.Errorf("%q: got %d more lines with %d reads", in, got, reads)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAReaderThatNeverReadsIsAnError(t *testing.T) {
	if _, err := ndjson.NewReader(nothing{}, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

func TestABigBufferIsGivenBack(t *testing.T) {
	r := ndjson.NewReader(io.MultiReader(&endless{left: 32 << 20}, strings.NewReader("\n{1}\n{2}\n")), 0)
	for range 3 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 8<<20 {
		t.Errorf("%d bytes are still held", m.HeapAlloc)
	}
	runtime.KeepAlive(r)
}

func TestTheLastStepToTheCapIsNotTakenByItself(t *testing.T) {
	const limit = 8 << 20
	line := strings.Repeat("x", limit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := ndjson.NewReader(strings.NewReader(line), limit).Next(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	// All buffers of a line that has doubled them to its size add up to two of it.
	if got := after.TotalAlloc - before.TotalAlloc; got > limit*5/2 {
		t.Errorf("%d bytes were allocated for a line of %d", got, limit)
	}
}

func TestALineIsReadIntoWhatTheOneBeforeNeeded(t *testing.T) {
	const mib = 1 << 20
	stream := func(release bool, sizes ...int) (allocated []uint64) {
		var lines []io.Reader
		for _, size := range sizes {
			lines = append(lines, strings.NewReader(strings.Repeat("x", size)+"\n"))
		}
		r := ndjson.NewReader(io.MultiReader(lines...), 0)
		for range sizes {
			if release && !r.Release() {
				t.Fatal("there is something in the buffer")
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			allocated = append(allocated, (after.TotalAlloc-before.TotalAlloc)/1024)
		}
		return allocated
	}
	for _, release := range []bool{false, true} {
		if got := stream(release, mib, mib, mib); got[0] > 6*1024 || got[1] > 1600 || got[2] > 1600 {
			t.Errorf("lines of 1 MiB took %d KiB; released: %v", got, release)
		}
	}
	if got := stream(false, 16*mib, mib, 100, 100); got[1] > 6*1024 || got[2] > 200 || got[3] > 1 {
		t.Errorf("a line of 16 MiB, one of 1 MiB and short ones took %d KiB", got)
	}
}

func TestMemoryIsBoundedWhileALongLineIsSkipped(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := ndjson.NewReader(io.MultiReader(&endless{left: 200 << 20}, strings.NewReader("\n{1}\n")), 1<<20)
	var long *ndjson.LongLine
	if _, err := r.Next(); !errors.As(err, &long) || long.Size != 200<<20 {
		t.Fatalf("got %v", err)
	}
	if line, err := r.Next(); string(line) != "{1}" {
		t.Fatalf("got %q, %v", line, err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
}

var manyX = strings.Repeat("x", 64<<10)

// endless is a stream of x without an end of line.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(e.left, len(p), len(manyX))
	e.left -= n
	return copy(p[:n], manyX), nil
}

func FuzzAnyInputInAnySplitGivesTheSameLines(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbf{\"a\":1}\r\n\n{}\r\r\n[1]"), []byte{1, 3, 200}, uint16(6))
	f.Add([]byte("\xef\n\xef\xbb\xbf\n"), []byte{1}, uint16(1))
	f.Add([]byte("long line\r\nlong line\rx\r"), []byte{2, 5}, uint16(8))
	f.Add([]byte("\xef\xbb\xbfa long line that is skipped\r\n{}\n"), []byte{254, 1, 254, 7}, uint16(8))
	f.Add(bytes.Repeat([]byte("abc\n"), 3000), []byte{255, 255, 1}, uint16(70))
	f.Add([]byte(strings.Repeat("x", 9000)+"\n"+strings.Repeat("y", 5000)), []byte{250, 250}, uint16(8000))
	f.Fuzz(func(t *testing.T, in, splits []byte, limit uint16) {
		if limit == 0 {
			limit = 1
		}
		want := reference(in, int(limit))
		got, err := readAll(ndjson.NewReader(&splitReader{in: in, splits: splits}, int(limit)), false)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// reference cuts the slow way.
func reference(in []byte, limit int) (lines []string) {
	in = bytes.TrimPrefix(in, []byte("\xef\xbb\xbf"))
	for line := range bytes.SplitSeq(in, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		switch {
		case len(line) > limit:
			head, tail := line[:min(4096, len(line))], line[max(0, len(line)-4096):]
			lines = append(lines, showLong(int64(len(line)), head, tail))
		case len(bytes.Trim(line, " \t\r")) > 0:
			lines = append(lines, string(line))
		}
	}
	return lines
}

// splitReader reads in the given sizes, in turn; 0 stands for a read of nothing, 254 for a pause, 255 for all that there
// is room for.
type splitReader struct {
	in, splits []byte
	turn       int
	idle       bool
}

func (r *splitReader) Read(p []byte) (int, error) {
	size := 255
	if len(r.splits) > 0 {
		size = int(r.splits[r.turn%len(r.splits)])
		r.turn++
	}
	if pause := size == 254; (size == 0 || pause) && !r.idle {
		r.idle = true
		if pause {
			return 0, ndjson.ErrPaused
		}
		return 0, nil
	}
	r.idle = false
	if len(r.in) == 0 {
		return 0, io.EOF
	}
	if size = max(1, size); size == 255 {
		size = len(p)
	}
	n := copy(p[:min(size, len(p))], r.in)
	r.in = r.in[n:]
	return n, nil
}

func BenchmarkLines(b *testing.B) {
	for _, size := range []int{100, 64 << 10, 1 << 20, 16 << 20} {
		for _, keep := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/keep=%t", size, keep), func(b *testing.B) {
				line := append(bytes.Repeat([]byte("x"), size), '\n')
				r := ndjson.NewReader(&repeat{line: line}, 0)
				b.SetBytes(int64(size))
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

func TestAStreamThatHasEndedLeavesItsBufferToTheNext(t *testing.T) {
	const streams = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range streams {
		r := ndjson.NewReader(strings.NewReader("a\n\n"), 0)
		if line, err := r.Next(); string(line) != "a" || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		for range 2 {
			if line, err := r.Next(); line != nil || !errors.Is(err, io.EOF) {
				t.Fatalf("at the end it is %q, %v", line, err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	const most = 3 << 10 // on average: a pool may lose something, and does with the race detector
	if got := (after.TotalAlloc - before.TotalAlloc) / streams; got > most {
		t.Errorf("a stream allocates %d bytes", got)
	}
}

// repeat gives the same line for ever, in reads of at most what a pipe holds.
type repeat struct {
	line []byte
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), 64<<10)], r.line[r.at:])
	r.at = (r.at + n) % len(r.line)
	return n, nil
}
