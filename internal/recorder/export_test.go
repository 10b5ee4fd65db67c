package recorder

import (
	"bytes"
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
