package recorder

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"time"

	"mcpwire/trace"
)

// CloseWait sets how long Close waits, and returns what sets it back.
func CloseWait(d time.Duration) (reset func()) {
	before := closeWait
	closeWait = d
	return func() { closeWait = before }
}

var times = regexp.MustCompile(`"time":"[^"]*",`)

// Lines returns the recording of a text that comes in pieces of a size.
func Lines(text []byte, size int) string {
	var file bytes.Buffer
	r := New(&file, Options{})
	l := &lines{kind: trace.Received}
	for ; len(text) > 0; text = text[min(max(size, 1), len(text)):] {
		r.passed(l, text[:min(max(size, 1), len(text))])
	}
	r.ended(l)
	r.Close()
	return times.ReplaceAllString(file.String(), "")
}

// Events returns the events of a stream that comes in pieces of a size, and the stream with its first event changed.
func Events(text []byte, size int) (all, passed string) {
	size = max(size, 1)
	r := New(io.Discard, Options{})
	defer r.Close()
	e := &events{done: func(_ *Recorder, _ time.Time, kind string, data []byte, size int64) {
		all += fmt.Sprintf("%q %q %d\n", kind, data, size)
	}}
	for rest := text; len(rest) > 0; rest = rest[min(size, len(rest)):] {
		e.take(r, time.Time{}, rest[:min(size, len(rest))])
	}
	e.end(r, time.Time{})
	f := &firstEvent{ReadCloser: io.NopCloser(&pieces{text, size}), change: func(string) string { return "/changed" }}
	out, _ := io.ReadAll(f)
	return all, string(out)
}

// pieces are read one by one.
type pieces struct {
	text []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}
