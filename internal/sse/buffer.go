package sse

import (
	"bytes"
	"io"
)

const (
	firstBuffer = 4 << 10  // the size that a stream starts with
	fullBuffer  = 64 << 10 // the size up to which a busy stream's buffer grows and which is held between events
	leastRead   = 1 << 10  // less room than this is not worth a read
	idleReads   = 100      // so many empty reads in a row are an error
)

var bom = []byte("\xef\xbb\xbf")

// lineEnd returns where the line that begins at start ends, and whether that is known; if not, it goes on at end. No
// byte is searched twice for the same character.
func (r *Reader) lineEnd() (end int, ended bool) {
	if r.afterCR && r.start < r.end {
		r.afterCR = false
		if r.buf[r.start] == '\n' {
			r.start++
		}
	}
	if r.lf = max(r.lf, r.start); r.lf < r.end && r.buf[r.lf] != '\n' {
		r.lf = next(r.buf, r.lf, r.end, '\n')
	}
	if r.cr = max(r.cr, r.start); r.cr < r.lf && r.buf[r.cr] != '\r' {
		r.cr = next(r.buf, r.cr, r.lf, '\r')
	}
	end = min(r.lf, r.cr)
	return end, end < r.end
}

// next returns the index of the first c in b[from:to], or to if there is none.
func next(b []byte, from, to int, c byte) int {
	if i := bytes.IndexByte(b[from:to], c); i >= 0 {
		return from + i
	}
	return to
}

// endLine goes to the next line. An LF after a CR is skipped later, since it may not have been read yet.
func (r *Reader) endLine(end int) {
	r.afterCR = r.buf[end] == '\r'
	r.start = end + 1
	r.rest = nothing
}

// fill reads once, behind what the buffer holds. It never reads more than fullBuffer at once, so that little is left in
// a big buffer when its data have been handed out.
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
	r.giveBack(fullBuffer / 2)
	live, free := r.live(), len(r.buf)-r.end
	switch {
	case live == 0 && r.kept == 0 && len(r.buf) >= r.want:
		r.move(r.buf)
	case free >= leastRead:
	case r.kept == 0 && len(r.buf) >= max(r.want, r.grown(2*live)):
		r.move(r.buf)
	default:
		r.move(make([]byte, max(r.want, r.grown(2*live))))
	}
}

// grown returns the size of a buffer that is to have at least that size: no larger than an event at the cap needs, and
// at once as large as that where it comes near, so that two of them are never held.
func (r *Reader) grown(size int) int {
	if most := r.limit + 2*maxField + fullBuffer; size > most-most/8 {
		return most
	}
	return size
}

// live returns how many bytes of the buffer are still needed.
func (r *Reader) live() int { return r.to - r.from + r.end - r.start }

// giveBack lets go of a buffer that had to grow, once no more than most bytes of it are needed.
func (r *Reader) giveBack(most int) {
	if len(r.buf) > fullBuffer && r.live() <= most {
		r.move(make([]byte, fullBuffer))
	}
}

// move moves what is still needed to the front of a buffer, the data first.
func (r *Reader) move(to []byte) {
	data := copy(to, r.buf[r.from:r.to])
	n := copy(to[data:], r.buf[r.start:r.end])
	shift := r.start - data
	r.lf -= shift
	r.cr -= shift
	r.buf, r.start, r.end, r.kept = to, data, data+n, 0
	r.from, r.to = 0, data
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
	case r.err == nil && bytes.HasPrefix(bom, got):
		return
	}
	r.begun = true
}
