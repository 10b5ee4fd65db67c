package transporttest

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrCut tells that a stream was cut by its Faults.
var ErrCut = errors.New("the stream was cut")

// Faults say what happens to a stream of bytes on its way. What is written, or read, at once is divided into chunks of
// random sizes, and each chunk meets a fate, but for what comes in less than 16 bytes at once. The same Faults do the
// same to the same writes. The zero value changes nothing but the sizes of chunks.
type Faults struct {
	Seed uint64
	// Spare is how many bytes at the beginning of the stream pass untouched, so that a handshake may succeed.
	Spare int

	// So many of a thousand chunks meet each fate; the others pass as they are.
	Cut       int // the stream ends before the chunk
	Truncate  int // the second half of the chunk is lost
	Duplicate int // the chunk comes twice
	Reorder   int // the chunk comes after its neighbour, if it has one
	Delay     int // the chunk comes Pause later

	Pause time.Duration // of a delay (0: 10 ms)

	// Told is told of each fault, "cut" to "delay", before it shows; may be nil. It is called from the goroutine that
	// reads or writes.
	Told func(fault string)
}

// Sizes of chunks in bytes. One that meets a fate is never so small that a fault could turn an id into another one and
// leave the message whole.
const (
	leastChunk = 16
	mostChunk  = 64
)

// Writer returns a writer that passes what is written on to w, with the faults. After a cut its error is ErrCut.
func (f Faults) Writer(w io.Writer) io.Writer { return &faultyWriter{w: w, fates: newFates(f)} }

// Reader returns a reader of what comes from r, with the faults. After a cut its error is ErrCut.
func (f Faults) Reader(r io.Reader) io.Reader { return &faultyReader{r: r, fates: newFates(f)} }

type faultyWriter struct {
	w     io.Writer
	fates *fates
	err   error
}

func (f *faultyWriter) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	var pieces []piece
	pieces, f.err = f.fates.meet(b)
	for _, p := range pieces {
		time.Sleep(p.pause)
		if _, err := f.w.Write(p.data); err != nil {
			f.err = err
		}
	}
	if f.err != nil {
		return 0, f.err
	}
	return len(b), nil
}

type faultyReader struct {
	r      io.Reader
	fates  *fates
	pieces []piece
	err    error
}

func (f *faultyReader) Read(b []byte) (int, error) {
	for len(f.pieces) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		buf := make([]byte, 4<<10)
		n, err := f.r.Read(buf)
		f.pieces, f.err = f.fates.meet(buf[:n])
		if f.err == nil {
			f.err = err
		}
	}
	p := &f.pieces[0]
	time.Sleep(p.pause)
	n := copy(b, p.data)
	if p.data, p.pause = p.data[n:], 0; len(p.data) == 0 {
		f.pieces = f.pieces[1:]
	}
	return n, nil
}

// A piece is what comes of a chunk: data, some time after the one before.
type piece struct {
	data  []byte
	pause time.Duration
}

// fates is a stream's random numbers, and how many bytes of it are still spared.
type fates struct {
	Faults
	random *rand.Rand
}

func newFates(f Faults) *fates {
	if f.Pause == 0 {
		f.Pause = 10 * time.Millisecond
	}
	if f.Told == nil {
		f.Told = func(string) {}
	}
	return &fates{f, rand.New(rand.NewPCG(f.Seed, 0))}
}

// meet returns what comes of the bytes b, which it shares; the error is ErrCut if the stream ends with that.
func (f *fates) meet(b []byte) (pieces []piece, err error) {
	if spared := min(f.Spare, len(b)); spared > 0 {
		f.Spare -= spared
		pieces, b = append(pieces, piece{data: b[:spared]}), b[spared:]
	}
	swap := -1 // the piece that is to change places with the one behind it
	for chunk := range f.chunks(b) {
		met := []piece{{data: chunk}}
		fate := f.fate(len(chunk))
		if fate != "" && fate != "reorder" {
			f.Told(fate)
		}
		switch fate {
		case "cut":
			return pieces, ErrCut
		case "truncate":
			met[0].data = chunk[:len(chunk)/2]
		case "duplicate":
			met = append(met, met[0])
		case "delay":
			met[0].pause = f.Pause
		case "reorder":
			if swap < 0 {
				swap = len(pieces)
				pieces = append(pieces, met...)
				continue
			}
		}
		pieces = append(pieces, met...)
		if swap >= 0 {
			f.Told("reorder")
			pieces[swap], pieces[swap+1] = pieces[swap+1], pieces[swap]
			swap = -1
		}
	}
	return slices.DeleteFunc(pieces, func(p piece) bool { return len(p.data) == 0 }), nil
}

// chunks divides b.
func (f *fates) chunks(b []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			n := leastChunk + f.random.IntN(mostChunk-leastChunk+1)
			if len(b)-n < leastChunk {
				n = len(b)
			}
			if !yield(b[:n]) {
				return
			}
			b = b[n:]
		}
	}
}

// fate draws the fate of a chunk of that size; empty: it passes.
func (f *fates) fate(size int) string {
	if size < leastChunk {
		return ""
	}
	n := f.random.IntN(1000)
	for _, row := range []struct {
		name string
		odds int
	}{
		{"cut", f.Cut},
		{"truncate", f.Truncate},
		{"duplicate", f.Duplicate},
		{"reorder", f.Reorder},
		{"delay", f.Delay},
	} {
		if n -= row.odds; n < 0 {
			return row.name
		}
	}
	return ""
}
