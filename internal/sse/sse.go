// Package sse reads streams of type text/event-stream (WHATWG HTML, section 9.2, server-sent events). It copies nothing
// that need not move, hands out an event as soon as its blank line has come, and holds no more than it must.
//
// The standard decides, with three differences: an event with empty data is no message, an event that the end of the
// stream has cut off is offered as such, and an event above a cap is skipped and reported.
package sse

import (
	"io"
	"math"
	"time"
)

// DefaultMaxEvent is the cap of an event's data in bytes: 64 MiB.
const DefaultMaxEvent = 64 << 20

// Message is the type of an event that names none.
const Message = "message"

// Options are the settings of a Reader. The zero value works.
type Options struct {
	MaxEvent int // the cap of an event's data in bytes; <=0: 64 MiB
	// Quiet is set for a stream on which little comes, so that its reader begins with 1 KiB rather than 4.
	Quiet bool
	// Big is what a Reader of a stream of the same server has learnt of the size of events; see Reader.Big.
	Big int
}

// An Event is one event that holds data.
type Event struct {
	Type string // what its event field names; "message" if it names nothing
	// Data are the values of its data fields, joined by LF; it is never empty. The memory is valid until the next call of
	// Next, or for ever if Keep is called before. Bytes that are no valid UTF-8 are left as they came.
	Data []byte
	// Unfinished: the stream ended before the event did. The standard drops such an event (section 9.2.6), and what it
	// holds may be cut off anywhere; it is worth a look only if the data prove to be complete. Its id does not count.
	Unfinished bool
}

// A Reader reads events. Whatever comes, it holds little more than the data of one event. While data grow their buffer
// grows fourfold, from 1 MiB on twofold, and they may end up in one of as many times their size; between events at most
// 128 KiB are held. Data that have reached an eighth of what the last big ones needed get as much, since servers that
// send something big tend to send the like again. A Reader is for one goroutine.
type Reader struct {
	src   io.Reader
	limit int
	err   error // of src, to be returned when all events before it have been

	buf        []byte
	start, end int    // what has been read and not yet parsed is buf[start:end]
	lf, cr     int    // buf[start:lf] is known to hold no LF, buf[start:cr] no CR
	kept       int    // buf[:kept] holds data that somebody keeps: never to be written again
	want       int    // the size of the next buffer
	lastBig    int    // the size of the buffer that the last event above fullBuffer would have fitted; 0: there was none
	spare      []byte // a buffer that was outgrown and that nobody keeps; nil: there is none
	begun      bool
	afterCR    bool // the last line ended with CR: an LF that follows belongs to its end
	rest       rest // what becomes of the line that buf[start:end] goes on with

	// The event that is being read. Its data are buf[from:to], before start, unless they are above the cap.
	hasData  bool
	from, to int
	large    *excerpt
	kind     string
	id       []byte // the standard's last event ID buffer

	lastKind string // the last type named that is not "message"
	lastID   []byte
	retry    time.Duration // <0: none was named
}

// NewReader returns a Reader of src. It reads nothing before Next is called.
func NewReader(src io.Reader, o Options) *Reader {
	if o.MaxEvent <= 0 {
		o.MaxEvent = DefaultMaxEvent
	}
	limit := min(o.MaxEvent, math.MaxInt/4) // so that sums with it stay in range
	r := &Reader{src: src, limit: limit, want: firstBuffer, retry: -1, lastBig: o.Big}
	switch {
	case o.Big > 0:
		r.want = fullBuffer
	case o.Quiet:
		r.want = leastRead
	}
	return r
}

// Reset has r read another stream, with the same options, as a new Reader would. It goes on with its buffers, unless
// somebody keeps their memory, and with what it has learnt of the size of events.
func (r *Reader) Reset(src io.Reader) {
	buf := r.buf
	if r.kept > 0 || len(buf) > fullBuffer {
		r.remember()
		buf, r.spare = r.spare, nil
	}
	*r = Reader{
		src: src, limit: r.limit, want: r.want, retry: -1, buf: buf, lastBig: r.lastBig, spare: r.spare,
		id: r.id[:0], lastID: r.lastID[:0],
	}
}

// Big returns the size in bytes of the buffer that the last event above 64 KiB would have fitted; 0: there was none. It
// counts in an event that has been kept after Reset.
func (r *Reader) Big() int { return r.lastBig }

// remember notes how large a buffer the event would have fitted that has been read to start.
func (r *Reader) remember() {
	if len(r.buf) > fullBuffer && r.start > fullBuffer/2 {
		r.lastBig = r.start + r.start/16 + leastRead
	}
}

// Next returns the next event that holds data. It blocks as long as the underlying reader does.
//
// The error is a *LargeEvent, after which Next may be called again, or the error of the underlying reader, which is
// final: io.EOF at the end. Before a final error the event that it has cut off is returned, if it has data.
//
// Events without data, or with empty ones, are passed over; what their ids and retry fields say is told by LastID and
// Retry, also after an error.
func (r *Reader) Next() (Event, error) {
	r.giveBack(fullBuffer)
	for {
		end, ended := r.lineEnd()
		switch {
		case r.rest != nothing:
			r.takeRest(end)
		case ended && end > r.start:
			r.takeLine(r.buf[r.start:end], true)
		case ended:
			r.endLine(end)
			if ev, err := r.dispatch(false); err != nil || len(ev.Data) > 0 {
				return ev, err
			}
			continue
		case r.err != nil:
			return r.last()
		case r.isLong(end):
			r.beginRest(end)
		}
		switch {
		case ended:
			r.endLine(end)
		case r.err != nil:
			return r.last()
		default:
			r.fill()
			r.skipMark()
		}
	}
}

// Keep leaves the memory of the data that Next has just returned to the caller.
func (r *Reader) Keep() { r.kept = r.start }

// LastID returns the id of the last finished event that named one, or "" if there was none or the last one was empty:
// what a reconnect sends as Last-Event-ID. After Next has returned an event it is that event's id (section 9.2.6). Ids
// that hold NUL, and lines above 8 KiB, don't count.
func (r *Reader) LastID() string { return string(r.lastID) }

// Retry returns how long the server wants clients to wait before they reconnect, and false if it has not said. It holds
// from the end of the line on that says so, also if the event's end never comes (section 9.2.6).
func (r *Reader) Retry() (wait time.Duration, ok bool) { return max(0, r.retry), r.retry >= 0 }

// dispatch ends the event and returns it. One that holds no data is the zero Event.
func (r *Reader) dispatch(unfinished bool) (ev Event, err error) {
	if !unfinished {
		r.lastID = append(r.lastID[:0], r.id...)
	}
	kind := r.kind
	if kind == "" {
		kind = Message
	}
	switch {
	case r.large != nil:
		err = r.large.finish(kind, r.limit, unfinished)
	case r.to > r.from:
		ev = Event{Type: kind, Data: r.buf[r.from:r.to:r.to], Unfinished: unfinished}
	}
	r.hasData, r.from, r.to, r.large, r.kind = false, 0, 0, nil, ""
	return ev, err
}

// last returns what stands before the end of the stream, and after that the stream's error.
func (r *Reader) last() (Event, error) {
	if r.rest == nothing && r.end > r.start {
		r.takeLine(r.buf[r.start:r.end], false)
	}
	r.start, r.rest = r.end, nothing
	if ev, err := r.dispatch(true); err != nil || len(ev.Data) > 0 {
		return ev, err
	}
	return Event{}, r.err
}
