package sse_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpwire/internal/sse"
)

func FuzzAnyInputInAnySplitGivesTheEventsOfTheStandard(f *testing.F) {
	for _, in := range []string{
		"\xef\xbb\xbf: hi\r\nevent: e\rid: 7\ndata: {\"a\":\r\ndata:  1}\r\n\r\nretry: 200\ndata\n\n",
		"\xef\n\xef\xbb\xbfdata: 1\n\n",
		"data:\r\r\ndata\n\ndata: \n\n:\ndata: x\n\ndata: y\ndata: y\rdata: y",
		"id: a\x00b\nid: c\n\nid\n\nretry: 18446744073709551617\nretry: 1x\nretry:\n",
		"data : 1\n data: 2\nDATA: 3\ndatas: 4\ndata4\n:data: 5\n\n",
		"event: a\nevent:\ndata: rather long\n: c\nid: 9\ndata: rather long\n\nevent: b\ndata: 1\n",
		"id: 1\nda",
		strings.Repeat("data: abc\n\r\n", 3000),
		"id: " + strings.Repeat("x", 8188) + "\n\nid: " + strings.Repeat("y", 8189) + "\n\n",
		"event: " + strings.Repeat("z", 9000) + "\ndata: 1\n\n",
		"data:" + strings.Repeat("x", 9000) + "\ndata:" + strings.Repeat("y", 5000) + "\r\r",
		strings.Repeat("d", 9000) + "\rdata: 1\n\n" + strings.Repeat("retry: 1\n:\n", 900),
	} {
		f.Add([]byte(in), []byte{1}, uint16(9))
		f.Add([]byte(in), []byte{255}, uint16(60000))
		f.Add([]byte(in), []byte{250, 3, 0, 1, 255}, uint16(8000))
	}
	f.Fuzz(func(t *testing.T, in, splits []byte, limit uint16) {
		limit = max(1, limit)
		want := reference(string(in), int(limit))
		r := sse.NewReader(&splitReader{in: in, splits: splits}, sse.Options{MaxEvent: int(limit)})
		got, err := readAll(r, func(i int) bool { return (i+len(splits))%3 == 0 })
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	})
}

// longest is the length of the longest line that counts whole, unless it is data.
const longest = 8 << 10

var (
	lineEnds = regexp.MustCompile(`\r\n|\r|\n`)
	digits   = regexp.MustCompile(`^[0-9]+$`)
)

// reference follows section 9.2.6 step by step, with what this package adds: caps, and the event that is cut off.
func reference(stream string, limit int) outcome {
	stream = strings.TrimPrefix(stream, "\ufeff")
	lines := lineEnds.Split(stream, -1)
	last := lines[len(lines)-1] // no line of the standard: its end is missing
	p := parser{out: outcome{retry: -1}, limit: limit}
	for _, line := range lines[:len(lines)-1] {
		p.line(line)
	}
	out := p.out
	p.cutOff(last)
	out.events = p.out.events
	return out
}

type parser struct {
	data, eventType, lastEventID string
	out                          outcome
	limit                        int
}

func (p *parser) line(line string) {
	name, value, colon := strings.Cut(line, ":")
	switch {
	case line == "":
		p.dispatch()
	case strings.HasPrefix(line, ":"):
	case colon:
		p.field(name, strings.TrimPrefix(value, " "), len(line))
	default:
		p.field(line, "", len(line))
	}
}

func (p *parser) field(name, value string, size int) {
	switch {
	case name == "data":
		p.data += value + "\n"
	case name == "event":
		p.eventType = value[:len(value)-max(0, min(size-longest, len(value)))]
	case size > longest:
	case name == "id" && !strings.Contains(value, "\x00"):
		p.lastEventID = value
	case name == "retry" && digits.MatchString(value):
		n, err := strconv.ParseInt(value, 10, 64)
		const most = int64(1<<63-1) / int64(time.Millisecond)
		if err != nil || n > most {
			n = most
		}
		p.out.retry = time.Duration(n) * time.Millisecond
	}
}

func (p *parser) dispatch() {
	p.out.id = p.lastEventID
	p.emit(false)
	p.data, p.eventType = "", ""
}

// cutOff takes the beginning of a line that is not whole.
func (p *parser) cutOff(line string) {
	if line != "" { // an empty one would end the event
		p.line(line)
	}
	p.emit(true)
}

func (p *parser) emit(unfinished bool) {
	data := strings.TrimSuffix(p.data, "\n")
	kind := p.eventType
	if kind == "" {
		kind = "message"
	}
	if len(data) > p.limit {
		e := &sse.LargeEvent{
			Type: kind, Head: []byte(data[:min(4096, len(data))]), Tail: []byte(data[max(0, len(data)-4096):]),
			Size: int64(len(data)), Limit: p.limit, Unfinished: unfinished,
		}
		p.out.events = append(p.out.events, seen{showLarge(e), p.out.id})
	} else if data != "" {
		p.out.events = append(p.out.events, seen{show(kind, data, unfinished), p.out.id})
	}
}

// splitReader reads in the given sizes, in turn; 0 stands for a read of nothing, 255 for all that there is room for.
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
	if size == 0 && !r.idle {
		r.idle = true
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
