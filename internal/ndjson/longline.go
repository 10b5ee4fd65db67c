package ndjson

import (
	"bytes"
	"fmt"
)

// Excerpt is the most that a LongLine quotes of each end of a line, in bytes.
const Excerpt = 4 << 10

// A LongLine is the error that stands for a line above the cap. The line was skipped; reading can go on.
type LongLine struct {
	Head, Tail []byte // the line's first and last bytes, at most Excerpt each
	Size       int64  // the length of the line in bytes, without its end
	Limit      int    // the cap
}

// Error tells the size and the cap.
func (e *LongLine) Error() string {
	return fmt.Sprintf("a line of %d bytes is above the cap of %d", e.Size, e.Limit)
}

// An excerpt keeps both ends of a line that passes through add.
type excerpt struct {
	head, tail []byte
	size       int64
}

// tailKept is one more than is quoted, for a CR that belongs to the line's end.
const tailKept = Excerpt + 1

func (x *excerpt) add(p []byte) {
	x.size += int64(len(p))
	if more := Excerpt - len(x.head); more > 0 {
		x.head = append(x.head, p[:min(more, len(p))]...)
	}
	x.tail = append(x.tail, p[max(0, len(p)-tailKept):]...)
	if len(x.tail) > 4*tailKept {
		x.tail = x.tail[:copy(x.tail, x.tail[len(x.tail)-tailKept:])]
	}
}

// finish takes a CR off the end.
func (x *excerpt) finish(limit int) *LongLine {
	if n := len(x.tail); n > 0 && x.tail[n-1] == '\r' {
		x.tail = x.tail[:n-1]
		x.size--
	}
	return &LongLine{
		Head:  x.head[:min(int64(len(x.head)), x.size)],
		Tail:  x.tail[max(0, len(x.tail)-Excerpt):],
		Size:  x.size,
		Limit: limit,
	}
}

// tooLong is the LongLine of a line that was read whole; its CR is off already.
func tooLong(line []byte, limit int) *LongLine {
	head, tail := line[:min(len(line), Excerpt)], line[max(0, len(line)-Excerpt):]
	return &LongLine{Head: bytes.Clone(head), Tail: bytes.Clone(tail), Size: int64(len(line)), Limit: limit}
}
