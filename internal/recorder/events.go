package recorder

import (
	"bytes"
	"io"
	"time"
)

// events are a parser of an event stream (WHATWG HTML, section 9.2).
type events struct {
	done func(r *Recorder, at time.Time, kind string, data []byte, size int64)

	line     []byte
	size     int64 // of the line, where it is larger than what is kept
	cr       bool  // the last byte was a CR
	kind     string
	data     []byte
	dataSize int64
	fields   int  // data fields of the event
	skip     bool // a part of the event is missing
	begun    bool // the first line has been seen
}

func (e *events) take(r *Recorder, at time.Time, chunk []byte) {
	for len(chunk) > 0 {
		if e.cr && chunk[0] == '\n' {
			chunk = chunk[1:]
			e.cr = false
			continue
		}
		e.cr = false
		i := bytes.IndexAny(chunk, "\r\n")
		if i < 0 {
			e.grow(r, chunk)
			return
		}
		e.grow(r, chunk[:i])
		e.cr = chunk[i] == '\r'
		chunk = chunk[i+1:]
		e.finish(r, at)
	}
}

func (e *events) grow(r *Recorder, part []byte) {
	e.size += int64(len(part))
	e.line = append(e.line, part[:min(len(part), max(0, r.options.MaxMessage+len("data: ")+1-len(e.line)))]...)
}

// finish takes a line.
func (e *events) finish(r *Recorder, at time.Time) {
	line, size := e.line, e.size
	e.line, e.size = nil, 0
	if !e.begun {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
		e.begun = true
	}
	if len(line) == 0 {
		e.event(r, at)
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.kind = string(value[:min(len(value), excerptBytes)])
	case "data":
		if e.fields > 0 {
			e.data, e.dataSize = append(e.data, '\n'), e.dataSize+1
		}
		e.fields++
		e.dataSize += size - int64(len(line)-len(value))
		e.data = append(e.data, value[:min(len(value), max(0, r.options.MaxMessage+1-len(e.data)))]...)
	}
}

func (e *events) event(r *Recorder, at time.Time) {
	if e.dataSize > 0 && !e.skip {
		e.done(r, at, e.kind, e.data, e.dataSize)
	}
	e.kind, e.data, e.dataSize, e.fields, e.skip = "", nil, 0, 0, false
}

func (e *events) gap(int) { e.line, e.size, e.skip = nil, 0, true }

// end takes an event whose blank line is missing: clients may too.
func (e *events) end(r *Recorder, at time.Time) {
	if e.size > 0 {
		e.finish(r, at)
	}
	e.event(r, at)
}

// A firstEvent is an event stream on which the address is changed that its first event holds, if that is the endpoint
// of HTTP+SSE. Of other streams nothing is held back but the beginning of the first line.
type firstEvent struct {
	io.ReadCloser
	change func(address string) string

	held     []byte // what can't be passed on before more has come
	ready    []byte // what can
	endpoint bool
	settled  bool
	err      error
}

func (f *firstEvent) Read(b []byte) (int, error) {
	for len(f.ready) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		if f.settled {
			return f.ReadCloser.Read(b)
		}
		chunk := make([]byte, len(b))
		n, err := f.ReadCloser.Read(chunk)
		f.held, f.err = append(f.held, chunk[:n]...), err
		f.settle()
	}
	n := copy(b, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

// settle looks at the lines that have come whole.
func (f *firstEvent) settle() {
	for !f.settled {
		i := bytes.IndexAny(f.held, "\r\n")
		if i < 0 {
			break
		}
		line, end := f.held[:i], f.held[i:i+1]
		f.held = f.held[i+1:]
		name, value, _ := bytes.Cut(bytes.TrimPrefix(line, []byte("\ufeff")), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			f.endpoint = string(value) == "endpoint"
			f.settled = !f.endpoint
		case "data":
			f.settled = true
			if f.endpoint {
				line = append([]byte("data: "), f.change(string(value))...)
			}
		}
		f.ready = append(append(f.ready, line...), end...)
	}
	if f.settled || f.err != nil || len(f.held) > excerptBytes {
		f.settled = true
		f.ready, f.held = append(f.ready, f.held...), nil
	}
}
