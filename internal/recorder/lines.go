package recorder

import (
	"bytes"
	"slices"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/trace"
)

const excerptBytes = 8 << 10 // of what is no message, before it is masked and cut

// lines are a parser of messages, one a line, or of lines of text.
type lines struct {
	kind  trace.Kind // Sent, Received or Stderr
	line  int
	begun []byte // a line whose end has not come
	size  int64  // of it, where it is larger than what is kept
	hole  bool   // a part of the line is missing
	skip  bool   // its beginning is
}

func (l *lines) take(r *Recorder, at time.Time, chunk []byte) {
	for len(chunk) > 0 {
		part, rest, whole := bytes.Cut(chunk, []byte("\n"))
		chunk = rest
		l.grow(r, part)
		if whole {
			l.finish(r, at)
		}
	}
}

// grow takes more of a line, up to the cap.
func (l *lines) grow(r *Recorder, part []byte) {
	l.size += int64(len(part))
	most := r.options.MaxMessage + 1 // one more: a CR
	if l.kind == trace.Stderr || l.hole || l.size > int64(most) {
		most = excerptBytes
	}
	if len(l.begun) > most {
		l.begun = slices.Clone(l.begun[:most]) // the rest is memory that nobody needs
	}
	part = part[:min(len(part), most-len(l.begun))]
	if need := len(l.begun) + len(part); need > cap(l.begun) {
		l.begun = slices.Grow(l.begun, min(max(need, 2*cap(l.begun)), most)-len(l.begun))
	}
	l.begun = append(l.begun, part...)
}

func (l *lines) finish(r *Recorder, at time.Time) {
	text, size := l.begun, l.size
	lost := l.skip || l.hole && size <= int64(r.options.MaxMessage)+1
	l.begun, l.size, l.skip, l.hole = nil, 0, false, false
	if lost {
		return
	}
	text = bytes.TrimSuffix(text, []byte("\r"))
	if len(bytes.TrimSpace(text)) > 0 {
		e := said(l.kind, text, size, r.options.MaxMessage)
		e.Line = l.line
		r.add(at, e)
	}
}

// said makes an event of what came in one direction, of which text is all that was kept.
func said(kind trace.Kind, text []byte, size int64, limit int) *trace.Event {
	if kind == trace.Stderr {
		return &trace.Event{Kind: kind, Text: string(text)}
	}
	excerpt := string(text[:min(len(text), excerptBytes)])
	switch {
	case size > int64(limit)+1 && kind == trace.Received:
		return &trace.Event{Kind: trace.Oversize, Text: excerpt, Size: size}
	case size > int64(limit)+1:
		return &trace.Event{Kind: kind, Text: excerpt, Size: size}
	}
	if m, _ := jsonrpc.Parse(text); m.Kind != jsonrpc.Invalid || jsonrpc.IsBatch(text) {
		return &trace.Event{Kind: kind, Message: text}
	}
	if kind == trace.Received {
		return &trace.Event{Kind: trace.Noise, Text: excerpt, Size: size}
	}
	return &trace.Event{Kind: trace.Fault, Text: excerpt, Size: size, Error: "the host sent what is no message"}
}

func (l *lines) gap(missing int) {
	if missing < 0 {
		l.begun, l.size, l.skip, l.hole = nil, 0, true, false
		return
	}
	l.size += int64(missing)
	l.hole = true
}

func (l *lines) end(r *Recorder, at time.Time) {
	if len(l.begun) > 0 {
		l.finish(r, at)
	}
}
