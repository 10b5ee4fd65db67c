package httpwire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpwire/transport"
)

// Bounds of what is read of a body that is not an answer.
const (
	errorBody    = 64 << 10 // of a failure
	excerptBytes = 200
	dropBytes    = 64 << 10 // of a body that nobody wants
)

// A Media is the kind of a body.
type Media uint8

// The kinds of bodies that messages come in, and all others.
const (
	Other Media = iota
	JSON
	EventStream
)

// MediaOf returns the kind of an answer's body. Content types are compared as media types: parameters and case don't
// count. Where the type is missing the first bytes decide, which are left in the body.
func MediaOf(resp *http.Response) Media {
	kind := resp.Header.Get("Content-Type")
	if kind == "" {
		return sniff(resp)
	}
	switch kind { // as nearly every server writes it
	case "application/json":
		return JSON
	case "text/event-stream":
		return EventStream
	}
	parsed, _, err := mime.ParseMediaType(kind)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		parsed, _, _ = strings.Cut(strings.ToLower(kind), ";")
	}
	switch strings.TrimSpace(parsed) {
	case "application/json":
		return JSON
	case "text/event-stream":
		return EventStream
	}
	return Other
}

func sniff(resp *http.Response) Media {
	body := bufio.NewReader(resp.Body)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	// One byte brings as many as have come; an error is found again by whoever reads the body.
	_, _ = body.Peek(1)
	head, _ := body.Peek(min(body.Buffered(), 64))
	start := string(bytes.TrimLeft(head, " \t\r\n\ufeff"))
	if strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") {
		return JSON
	}
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if strings.HasPrefix(start, field) {
			return EventStream
		}
	}
	return Other
}

// fastGrowth is the size up to which the buffer of a body of unknown length grows fourfold, then it doubles.
const fastGrowth = 1 << 20

// smallBody is the size in bytes up to which bodies are read into buffers that are used again.
const smallBody = 4 << 10

// smallBodies are such buffers that are not in use.
var smallBodies = sync.Pool{New: func() any { return new([smallBody]byte) }}

// Read reads a whole body as ReadAll does, and hands it to take, which reports whether it keeps its memory.
func Read(resp *http.Response, limit int, take func(text []byte) (keeps bool)) error {
	small := smallBodies.Get().(*[smallBody]byte) //nolint:errcheck,forcetypeassert // nothing else is in it
	text, err := readAll(resp, limit, small[:0])
	if err == nil && take(text) && len(text) <= smallBody {
		return nil // it may be the buffer that is kept
	}
	smallBodies.Put(small)
	return err
}

// ReadAll reads a whole body of at most limit bytes, and leaves out a byte order mark (RFC 8259, section 8.1). Of a
// larger one it returns the beginning and transport.ErrTooLarge.
func ReadAll(resp *http.Response, limit int) ([]byte, error) {
	return readAll(resp, limit, nil)
}

// readAll reads into buf if it is large enough.
func readAll(resp *http.Response, limit int, buf []byte) ([]byte, error) {
	size := 512
	if n := resp.ContentLength; n >= 0 && n <= int64(limit) {
		size = int(n) + 1 // one more, to see the end without growing
	}
	if size > cap(buf) {
		buf = make([]byte, 0, size)
	}
	for {
		if len(buf) == cap(buf) {
			larger := 2 * cap(buf)
			if larger < fastGrowth {
				larger *= 2
			}
			if larger > limit-limit/8 { // so that two of about the limit are never held
				larger = limit + 1
			}
			grown := make([]byte, len(buf), larger)
			copy(grown, buf)
			buf = grown
		}
		n, err := resp.Body.Read(buf[len(buf):min(cap(buf), limit+1)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			return buf[:limit], fmt.Errorf("%w: more than %d bytes", transport.ErrTooLarge, limit)
		case errors.Is(err, io.EOF):
			return bytes.TrimPrefix(buf, mark), nil
		case err != nil:
			return buf, err
		}
	}
}

// mark is the byte order mark in UTF-8.
var mark = []byte("\ufeff")

// Succeeded reports whether an answer's status is 2xx.
func Succeeded(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }

// retryAfter reads both forms of Retry-After (RFC 9110, section 10.2.3).
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at).Round(time.Second))
	}
	return 0
}

// A dropper reads what nobody wants.
type dropper struct {
	timer *time.Timer // nil: not made yet
	end   func()      // what the timer runs
	into  [1 << 10]byte
}

// Drop is the function of that name, and cheaper where it is used often.
func (e *Endpoint) Drop(resp *http.Response, wait time.Duration, cancel context.CancelFunc) bool {
	d, ok := e.droppers.Get().(*dropper)
	if !ok {
		d = &dropper{}
	}
	ended, early := d.drop(resp, wait, cancel)
	if early {
		d.end = nil
		e.droppers.Put(d)
	}
	return ended && early
}

// Drop reads the rest of a body that nobody wants, so that its connection can be used again, and closes it. It takes no
// more than a moment: cancel, which must end the exchange, is called after wait. It reports whether it came to the end
// and cancel will not be called.
func Drop(resp *http.Response, wait time.Duration, cancel context.CancelFunc) bool {
	ended, early := (&dropper{}).drop(resp, wait, cancel)
	return ended && early
}

// drop also reports whether the timer has been stopped before it came.
func (d *dropper) drop(resp *http.Response, wait time.Duration, cancel context.CancelFunc) (ended, early bool) {
	d.end = cancel
	if d.timer == nil {
		d.timer = time.AfterFunc(wait, func() { d.end() })
	} else {
		d.timer.Reset(wait)
	}
	size := 0
	var err error
	for size < dropBytes && err == nil {
		var n int
		n, err = resp.Body.Read(d.into[:])
		size += n
	}
	early = d.timer.Stop()
	_ = resp.Body.Close()
	return errors.Is(err, io.EOF) && size < dropBytes, early
}
