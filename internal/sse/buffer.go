package sse

import (
	"bytes"
	"io"
)

const (
	firstBuffer = 4 << 10  // the size that a stream starts with
	fullBuffer  = 64 << 10 // the size up to which a busy stream's buffer grows and which is held between events
	leastRead   = 1 << 10  // less room than this is not worth a read
	fastGrowth  = 1 << 20  // up to this size an event's buffer grows fourfold, then it doubles
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
	case r.kept == 0 && len(r.buf) >= max(r.want, min(2*live, r.grown(live))):
		r.move(r.buf)
	default:
		r.move(make([]byte, max(r.want, r.grown(live))))
	}
}

// grown returns the size of the next buffer of an event that has outgrown one: no larger than an event at the cap
// needs, and at once as large as that where it comes near, so that two of them are never held.
func (r *Reader) grown(size int) int {
	next := 2 * size
	switch {
	case size < fullBuffer/2:
	case r.lastBig >= size+size/2 && r.lastBig/8 <= size:
		next = r.lastBig
	case r.lastBig >= size+size/2 && r.lastBig/8 <= 2*size: // the next time it gets as much
		next = 2*size + leastRead
	case size < fastGrowth:
		next = 4 * size
	}
	if most := r.limit + 2*maxField + fullBuffer; next > most-most/8 {
		return most
	}
	return next
}

// live returns how many bytes of the buffer are still needed.
func (r *Reader) live() int { return r.to - r.from + r.end - r.start }

// giveBack lets go of a buffer that had to grow, once no more than most bytes of it are needed.
func (r *Reader) giveBack(most int) {
	if len(r.buf) > fullBuffer && r.live() <= most {
		if r.large == nil {
			r.remember()
		}
		r.move(r.small())
	}
}

// small returns a buffer of the size that is held between events.
func (r *Reader) small() []byte {
	if b := r.spare; len(b) == fullBuffer {
		r.spare = nil
		return b
	}
	return make([]byte, fullBuffer)
}

// move moves what is still needed to the front of a buffer, the data first.
func (r *Reader) move(to []byte) {
	data := copy(to, r.buf[r.from:r.to])
	n := copy(to[data:], r.buf[r.start:r.end])
	shift := r.start - data
	if len(to) > fullBuffer && len(r.buf) <= fullBuffer && r.kept == 0 {
		r.spare = r.buf
	}
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
