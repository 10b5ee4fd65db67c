package sse

import "fmt"

// Excerpt is the most that a LargeEvent quotes of each end of the data, in bytes.
const Excerpt = 4 << 10

// A LargeEvent is the error that stands for an event whose data are above the cap. It was skipped, its id and retry
// fields count, and reading can go on.
type LargeEvent struct {
	Type       string // as of an Event
	Head, Tail []byte // the data's first and last bytes, at most Excerpt each
	Size       int64  // the length of the data in bytes
	Limit      int    // the cap
	Unfinished bool   // the stream ended before the event did
}

// Error tells the size and the cap.
func (e *LargeEvent) Error() string {
	return fmt.Sprintf("an event of %d bytes is above the cap of %d", e.Size, e.Limit)
}

// An excerpt keeps both ends of data that pass through add.
type excerpt struct {
	head, tail []byte
	size       int64
}

func (x *excerpt) add(p []byte) {
	x.size += int64(len(p))
	if more := Excerpt - len(x.head); more > 0 {
		x.head = append(x.head, p[:min(more, len(p))]...)
	}
	x.tail = append(x.tail, p[max(0, len(p)-Excerpt):]...)
	if len(x.tail) > 4*Excerpt {
		x.tail = x.tail[:copy(x.tail, x.tail[len(x.tail)-Excerpt:])]
	}
}

func (x *excerpt) finish(kind string, limit int, unfinished bool) *LargeEvent {
	tail := x.tail[max(0, len(x.tail)-Excerpt):]
	return &LargeEvent{Type: kind, Head: x.head, Tail: tail, Size: x.size, Limit: limit, Unfinished: unfinished}
}
