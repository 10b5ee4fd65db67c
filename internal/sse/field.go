package sse

import (
	"bytes"
	"math"
	"time"
)

// maxField is the most that is held of a line that is no data, in bytes. Servers take no longer id in a header.
const maxField = 8 << 10

var (
	dataName = []byte("data")
	newline  = []byte("\n")
)

// A rest is what becomes of the remaining bytes of a line whose beginning has been taken.
type rest uint8

const (
	nothing    rest = iota // no line's beginning has been taken
	restDrops              // the rest is dropped
	restIsData             // the rest belongs to data above the cap
)

// isData reports whether a line's field is data.
func isData(line []byte) bool {
	return bytes.HasPrefix(line, dataName) && (len(line) == len(dataName) || line[len(dataName)] == ':')
}

// valueAt returns where a line's value begins whose field name has n bytes: behind the colon and one blank.
func valueAt(line []byte, n int) int {
	if n++; n < len(line) && line[n] == ' ' {
		n++
	}
	return min(n, len(line))
}

// takeLine takes the line that begins at start. Of a line that the end of the stream has cut off, neither id nor retry
// count.
func (r *Reader) takeLine(line []byte, whole bool) {
	if isData(line) {
		r.addData(r.start+valueAt(line, len(dataName)), r.start+len(line))
		return
	}
	if len(line) > maxField {
		line, whole = line[:maxField], false
	}
	name := bytes.IndexByte(line, ':')
	if name < 0 {
		name = len(line)
	}
	value := line[valueAt(line, name):]
	switch string(line[:name]) {
	case "event":
		r.kind = r.named(value)
	case "id":
		if whole && bytes.IndexByte(value, 0) < 0 {
			r.id = append(r.id[:0], value...)
		}
	case "retry":
		if wait, ok := milliseconds(value); ok && whole {
			r.retry = wait
		}
	}
}

// named returns an event's type. The usual ones cost no memory.
func (r *Reader) named(kind []byte) string {
	switch string(kind) {
	case Message:
		return Message
	case r.lastKind:
	default:
		r.lastKind = string(kind)
	}
	return r.lastKind
}

// milliseconds reads a number of nothing but ASCII digits. One that is too great is the greatest.
func milliseconds(digits []byte) (time.Duration, bool) {
	const most = math.MaxInt64 / int64(time.Millisecond)
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		if digit := int64(c - '0'); n > (most-digit)/10 {
			n = most
		} else {
			n = n*10 + digit
		}
	}
	return time.Duration(n) * time.Millisecond, len(digits) > 0
}

// addData adds the value buf[from:to] to the event's data. What lies between them is of no use any more, so that they
// are joined in place.
func (r *Reader) addData(from, to int) {
	size := to - from
	if r.hasData {
		size += r.to - r.from + 1
	}
	switch {
	case r.large != nil || size > r.limit:
		r.addLarge(r.buf[from:to])
	case !r.hasData:
		r.from, r.to = from, to
	default:
		r.buf[r.to] = '\n'
		r.to += 1 + copy(r.buf[r.to+1:], r.buf[from:to])
	}
	r.hasData = true
}

// addLarge adds a value to data above the cap, of which only an excerpt is held.
func (r *Reader) addLarge(value []byte) {
	if r.large == nil {
		r.large = &excerpt{}
		r.large.add(r.buf[r.from:r.to])
		r.from, r.to = 0, 0
	}
	if r.hasData {
		r.large.add(newline)
	}
	r.large.add(value)
}

// isLong reports whether the unfinished line buf[start:end] is more than is held.
func (r *Reader) isLong(end int) bool {
	line := r.buf[r.start:end]
	if !isData(line) {
		return len(line) > maxField
	}
	size := len(line) - valueAt(line, len(dataName))
	if r.hasData {
		size += r.to - r.from + 1
	}
	// Before a byte behind the colon has come, it is not clear where the value begins.
	return size > r.limit && len(line) > len(dataName)+1
}

// beginRest takes the beginning of a long line.
func (r *Reader) beginRest(end int) {
	line := r.buf[r.start:end]
	r.rest = restDrops
	if isData(line) {
		r.rest = restIsData
	}
	r.takeLine(line, false)
	r.start = end
}

// takeRest takes more of a long line.
func (r *Reader) takeRest(end int) {
	if r.rest == restIsData {
		r.large.add(r.buf[r.start:end])
	}
	r.start = end
}
