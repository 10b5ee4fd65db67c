// Package ndjson cuts a stream of bytes into lines, one JSON text each. It has no fixed limit on a line, copies nothing
// that need not move, and holds no more than it must.
package ndjson

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/bits"
	"sync"
)

// DefaultLimit is the cap of a line in bytes: 64 MiB.
const DefaultLimit = 64 << 20

const (
	firstBuffer = 4 << 10  // the size that a stream starts with
	fullBuffer  = 64 << 10 // the size up to which a busy stream's buffer grows and which is held between lines
	leastRead   = 1 << 10  // less room than this is not worth a read
	fastGrowth  = 1 << 20  // up to this size a line's buffer grows fourfold, then it doubles
	idleReads   = 100      // so many empty reads in a row are an error
)

// ErrPaused is what the underlying reader returns, with nothing read, to have Next return it at once. It ends nothing:
// the next call of Next goes on where this one stood.
var ErrPaused = errors.New("reading is paused")

var bom = []byte("\xef\xbb\xbf")

// A Reader reads lines. Lines end with LF; one CR before it is taken off, and a byte order mark at the very start of
// the stream is skipped. The last line needs no LF. Lines that hold nothing but JSON's white space are left out.
//
// While a line grows its buffer grows fourfold, from 1 MiB on twofold, and the line may end up in a buffer of as many
// times its size; between lines at most 64 KiB are held. A line that has reached an eighth of what the last big one
// needed gets as much, since servers that send something big tend to send the like again.
//
// A Reader is for one goroutine.
type Reader struct {
	src   io.Reader
	limit int
	err   error // of src, to be returned when all lines before it have been

	buf        []byte
	start, end int // what has been read and not yet handed out is buf[start:end]
	searched   int // buf[start:searched] is known to hold no LF
	kept       int // buf[:kept] holds a line that somebody keeps: never to be written again
	want       int // the size of the next buffer
	lastBig    int // the size of the buffer that the last line above fullBuffer would have fitted; 0: there was none
	begun      bool
	long       *excerpt // of a line above the cap that is being skipped; nil: none is
}

// NewReader returns a Reader of src. limit is the cap of a line in bytes, without its end; 0 or less means
// DefaultLimit.
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, math.MaxInt/2) // so that sums with it stay in range
	return &Reader{src: src, limit: limit, want: firstBuffer}
}

// Next returns the next line, which is never empty. Its memory is valid until the next call, or for ever if Keep is
// called before. The error is a *LongLine or ErrPaused, after which Next may be called again, or the error of the
// underlying reader, which is final: io.EOF at the end. What stands before another error than io.EOF, without an end of
// line, is left out.
func (r *Reader) Next() ([]byte, error) {
	r.giveBack()
	if r.long != nil {
		return nil, r.skip()
	}
	for {
		if i := bytes.IndexByte(r.buf[r.searched:r.end], '\n'); i >= 0 {
			line := r.cut(r.searched + i)
			r.start = r.searched + i + 1
			r.searched = r.start
			switch {
			case len(line) > r.limit:
				return nil, tooLong(line, r.limit)
			case !blank(line):
				return line, nil
			}
			continue
		}
		r.searched = r.end
		if r.err != nil {
			return r.rest()
		}
		if r.end-r.start > r.limit+1 { // one more, because a CR may yet turn out to belong to the line's end
			r.long = new(excerpt)
			return nil, r.skip()
		}
		r.fill()
		if r.paused() {
			return nil, ErrPaused
		}
		r.skipMark()
	}
}

// spare holds buffers that nobody uses, of firstBuffer bytes, of twice as many, and so on.
var spare [5]sync.Pool // up to fullBuffer

// pool returns where buffers of a size are kept; nil if they are not.
func pool(size int) *sync.Pool {
	if i := bits.Len(uint(size/firstBuffer)) - 1; i >= 0 && i < len(spare) && size == firstBuffer<<i {
		return &spare[i]
	}
	return nil
}

// buffer returns a buffer of a size.
func buffer(size int) []byte {
	if p := pool(size); p != nil {
		if b, ok := p.Get().(*[]byte); ok {
			return *b
		}
	}
	return make([]byte, size)
}

// Release gives the buffer to others, unless there is something in it, and reports whether it has: then it is time to
// wait until there is something to read. The memory of the line that Next has returned last is no longer valid, unless
// it is kept.
func (r *Reader) Release() bool {
	switch {
	case r.buf == nil:
		return true
	case r.start != r.end || r.err != nil:
		return false
	}
	r.learn()
	r.drop()
	return true
}

// drop gives the buffer to others, unless somebody keeps some of it.
func (r *Reader) drop() {
	if p := pool(len(r.buf)); p != nil && r.kept == 0 {
		buf := r.buf
		p.Put(&buf)
	}
	r.buf, r.start, r.end, r.searched, r.kept = nil, 0, 0, 0, 0
}

// Buffered reports whether Next can return something without reading.
func (r *Reader) Buffered() bool {
	for {
		i := bytes.IndexByte(r.buf[r.searched:r.end], '\n')
		if i < 0 {
			return r.err != nil
		}
		if r.long != nil || !blank(r.cut(r.searched+i)) {
			return true
		}
		r.start = r.searched + i + 1
		r.searched = r.start
	}
}

// paused reports whether reading is paused, once for each time.
func (r *Reader) paused() bool {
	if !errors.Is(r.err, ErrPaused) {
		return false
	}
	r.err = nil
	return true
}

// Keep leaves the memory of the line that Next has just returned to the caller.
func (r *Reader) Keep() { r.kept = r.start }

// cut returns buf[start:end] as a line. Its capacity ends with it, so that appending to it cannot reach what follows.
func (r *Reader) cut(end int) []byte {
	if end > r.start && r.buf[end-1] == '\r' {
		end--
	}
	return r.buf[r.start:end:end]
}

// rest returns what stands before the end of the stream.
func (r *Reader) rest() ([]byte, error) {
	line := r.cut(r.end)
	r.start = r.end
	switch {
	case errors.Is(r.err, io.EOF) && len(line) > r.limit:
		return nil, tooLong(line, r.limit)
	case errors.Is(r.err, io.EOF) && !blank(line):
		return line, nil
	}
	r.drop()
	return nil, r.err
}

// fill reads once, behind what the buffer holds. It never reads more than fullBuffer at once, so that little has to be
// moved when a big buffer is given back.
func (r *Reader) fill() {
	r.room()
	into := r.buf[r.end:min(len(r.buf), r.end+fullBuffer)]
	for range idleReads {
		n, err := r.src.Read(into)
		r.end += n
		r.err = err
		if n == len(into) { // more is waiting
			r.want = min(2*r.want, fullBuffer)
		}
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// room makes room to read. Writing behind end never touches kept memory; whatever moves to the front would.
func (r *Reader) room() {
	unread, free := r.end-r.start, len(r.buf)-r.end
	switch {
	case unread == 0 && r.kept == 0 && len(r.buf) >= r.want:
		r.move(r.buf)
	case free >= leastRead:
	case r.kept == 0 && unread <= len(r.buf)/2 && len(r.buf) >= r.want:
		r.move(r.buf)
	default:
		r.move(buffer(max(r.want, r.grown(unread))))
	}
}

// grown returns the size of the next buffer of a line that has outgrown one. A last step that would gain little is
// taken together with the one before, since two buffers near the limit would be held for it.
func (r *Reader) grown(size int) int {
	most := r.limit + 2 + fullBuffer
	next := 2 * size
	switch {
	case size < fullBuffer/2:
	case r.lastBig >= size+size/2 && r.lastBig/8 <= size:
		next = r.lastBig
	case size < fastGrowth:
		next = 4 * size
	}
	if next < most-most/8 {
		return next
	}
	return most
}

// giveBack lets go of a buffer that had to grow, once its line has been handed out.
func (r *Reader) giveBack() {
	if len(r.buf) > fullBuffer && r.start > 0 && r.end-r.start <= fullBuffer {
		r.learn()
		r.move(make([]byte, fullBuffer))
	}
}

// learn remembers the size of a big line that has been handed out.
func (r *Reader) learn() {
	if len(r.buf) > fullBuffer && r.start > 0 && r.long == nil {
		r.lastBig = r.start + r.start/16 + leastRead
	}
}

func (r *Reader) move(to []byte) {
	n := copy(to, r.buf[r.start:r.end])
	r.searched -= r.start
	r.buf, r.start, r.end, r.kept = to, 0, n, 0
}

// skip reads to the end of a line that is above the cap.
func (r *Reader) skip() error {
	for {
		got := r.buf[r.start:r.end]
		i := bytes.IndexByte(got, '\n')
		if i >= 0 {
			got = got[:i]
		}
		r.long.add(got)
		r.start += len(got)
		if i >= 0 {
			r.start++ // the LF
		}
		r.searched = r.start
		if i >= 0 || r.err != nil {
			long := r.long.finish(r.limit)
			r.long = nil
			return long
		}
		r.giveBack()
		r.fill()
		if r.paused() {
			return ErrPaused
		}
	}
}

// skipMark skips a byte order mark at the very start of the stream, once it is clear whether there is one.
func (r *Reader) skipMark() {
	if r.begun {
		return
	}
	got := r.buf[r.start:r.end]
	switch {
	case bytes.HasPrefix(got, bom):
		r.start += len(bom)
		r.searched = max(r.searched, r.start)
	case r.err == nil && bytes.HasPrefix(bom, got):
		return
	}
	r.begun = true
}

// blank reports whether a line holds nothing but JSON's white space.
func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
