package trace

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	flushAfter = 50 * time.Millisecond // how long an event waits at most to be written
	queueBytes = 64 << 20              // how much may wait
	batchBytes = 256 << 10             // from which on it is written at once
)

// A Writer writes events as JSON lines. Its Sink never waits for what it writes to, unless that is so slow that 64 MiB
// wait, in which case events are dropped, and told of by Close. Its methods may be called from several goroutines.
type Writer struct {
	to io.Writer

	mu      sync.Mutex
	queue   []byte
	dropped int
	timer   *time.Timer // runs write; nil before the first event
	armed   bool
	closed  bool

	writing sync.Mutex // held while something is written; taken before mu
	spare   []byte
	err     error
}

// NewWriter returns a Writer. Close must be called at the end.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Sink writes an event, soon. It is a Sink. After Close it does nothing.
func (w *Writer) Sink(e *Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return
	case len(w.queue)+len(e.Message) > queueBytes:
		w.dropped++
		return
	}
	w.queue = Append(w.queue, e)
	switch {
	case w.armed && len(w.queue) < batchBytes:
	case w.timer == nil:
		w.timer = time.AfterFunc(flushAfter, w.write)
	case !w.armed:
		w.timer.Reset(flushAfter)
	default:
		w.timer.Reset(0)
	}
	w.armed = true
}

// write writes what waits.
func (w *Writer) write() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	batch := w.queue
	w.queue, w.armed = w.spare[:0], false
	w.mu.Unlock()
	if len(batch) > 0 && w.err == nil {
		_, w.err = w.to.Write(batch)
	}
	if w.spare = nil; cap(batch) <= 4*batchBytes {
		w.spare = batch
	}
}

// Close writes the rest. It returns the first error of writing, or one that tells how many events were dropped. What is
// written to is not closed.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.write()
	w.writing.Lock()
	defer w.writing.Unlock()
	if w.err == nil && w.dropped > 0 {
		return &DroppedError{w.dropped}
	}
	return w.err
}

// A DroppedError tells that events were not written, since what they are written to was too slow.
type DroppedError struct{ Events int }

// Error returns how many it were.
func (e *DroppedError) Error() string {
	return strconv.Itoa(e.Events) + " events are missing: they came faster than they could be written"
}

// Append appends an event to b as a Writer writes it: one line, with its end. What every message has is written without
// reflection.
func Append(b []byte, e *Event) []byte {
	b = append(b, `{"time":"`...)
	b = appendTime(b, e.Time.UTC())
	b = append(b, '"')
	if e.Server != "" {
		b = append(b, `,"server":`...)
		b = appendString(b, e.Server)
	}
	if e.Line != 0 {
		b = append(b, `,"line":`...)
		b = strconv.AppendInt(b, int64(e.Line), 10)
	}
	b = append(append(append(b, `,"event":"`...), e.Kind...), '"')
	if e.Exchange != 0 {
		b = append(b, `,"exchange":`...)
		b = strconv.AppendInt(b, int64(e.Exchange), 10)
	}
	if e.Size != 0 {
		b = append(b, `,"size":`...)
		b = strconv.AppendInt(b, e.Size, 10)
	}
	if e.Took != 0 {
		b = append(b, `,"ms":`...)
		b = strconv.AppendFloat(b, e.Took, 'f', 3, 64)
	}
	for _, text := range [...]struct{ name, value string }{
		{`,"carrier":`, e.Carrier}, {`,"delivery":`, e.Delivery}, {`,"error":`, e.Error}, {`,"text":`, e.Text},
	} {
		if text.value != "" {
			b = appendString(append(b, text.name...), text.value)
		}
	}
	if e.GivenUp {
		b = append(b, `,"givenUp":true`...)
	}
	if e.Cut != nil {
		b = appendValue(append(b, `,"cut":`...), e.Cut)
	}
	if e.HTTP != nil {
		b = appendHTTP(append(b, `,"http":`...), e.HTTP)
	}
	if e.Exit != nil {
		b = appendValue(append(b, `,"exit":`...), e.Exit)
	}
	if len(e.Message) > 0 {
		b = appendMessage(append(b, `,"message":`...), e.Message)
	}
	return append(b, '}', '\n')
}

// appendTime writes a time of UTC with microseconds. The seconds are written as the package time does quickest.
func appendTime(b []byte, t time.Time) []byte {
	b = t.AppendFormat(b, time.RFC3339)
	b = append(b[:len(b)-len("Z")], '.')
	for n, unit := t.Nanosecond(), 100_000_000; unit >= 1000; unit /= 10 {
		b = append(b, '0'+byte(n/unit%10))
	}
	return append(b, 'Z')
}

func appendHTTP(b []byte, x *HTTPFacts) []byte {
	b = appendString(append(b, `{"method":`...), x.Method)
	b = appendString(append(b, `,"url":`...), x.URL)
	if x.Status != 0 {
		b = strconv.AppendInt(append(b, `,"status":`...), int64(x.Status), 10)
	}
	b = appendHeaders(b, `,"request":`, x.Request)
	b = appendHeaders(b, `,"response":`, x.Response)
	return append(b, '}')
}

func appendHeaders(b []byte, member string, all http.Header) []byte {
	names := make([]string, 0, 16)
	for name, values := range all {
		if len(values) > 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return b
	}
	slices.Sort(names)
	b = append(append(b, member...), '{')
	for _, name := range names {
		b = append(appendString(b, name), ':', '[')
		for _, value := range all[name] {
			b = append(appendString(b, value), ',')
		}
		b = append(b[:len(b)-1], ']', ',')
	}
	return append(b[:len(b)-1], '}')
}

// appendMessage keeps a message on its line: where it stands over several, that is between its values.
func appendMessage(b []byte, message []byte) []byte {
	start := len(b)
	b = append(b, message...)
	for i, c := range b[start:] {
		if c == '\n' || c == '\r' {
			b[start+i] = ' '
		}
	}
	return b
}

func appendString(b []byte, text string) []byte {
	b, err := jsontext.AppendQuote(b, text)
	_ = err // of invalid UTF-8, which is replaced
	return b
}

func appendValue(b []byte, value any) []byte {
	text, err := json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return appendString(b, err.Error())
	}
	return append(b, text...)
}
