package recorder

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/trace"
)

// An exchange is one request of the client. Its methods run on the recorder's goroutine.
type exchange struct {
	web     *web
	request *http.Request
	start   time.Time
	number  int
	line    int
	status  int
}

// do has f run by the recorder's goroutine, behind all that has passed before.
func (r *Recorder) do(f func(at time.Time)) { r.put(entry{then: f}) }

// RoundTrip implements http.RoundTripper, below the proxy: what passes here is recorded.
func (w *web) RoundTrip(request *http.Request) (*http.Response, error) {
	r := w.recorder
	x := &exchange{web: w, request: request.Clone(request.Context()), start: time.Now()}
	r.do(func(time.Time) { x.begin() })
	if request.Body != nil && request.Body != http.NoBody {
		body := &tee{
			ReadCloser: request.Body, recorder: r, parser: &whole{done: x.sent}, left: request.ContentLength,
		}
		request = request.Clone(request.Context())
		request.Body = body
		if err := repeatable(request); err != nil {
			return nil, err
		}
	}
	response, err := w.target.Through.RoundTrip(request)
	took := time.Since(x.start)
	if err != nil {
		r.do(func(at time.Time) {
			x.facts(at, 0, nil, took, err)
			x.failed(at, err)
		})
		return nil, err
	}
	status, header, stream := response.StatusCode, response.Header.Clone(), streams(response)
	r.do(func(at time.Time) {
		x.facts(at, status, header, took, nil)
		if stream && x.request.Method == http.MethodGet {
			x.add(at, &trace.Event{Kind: trace.Stream})
		}
	})
	response.Body = &tee{
		ReadCloser: response.Body, recorder: r, parser: x.parser(stream, encoded(response)), left: -1,
		over: func(at time.Time, err error) {
			if stream {
				x.stopped(at, err)
			}
			if err != nil {
				x.failed(at, err)
			}
		},
	}
	return response, nil
}

// repeatable reads the body of a request, unless it is large, so that a login can send it again with a newer token.
func repeatable(r *http.Request) error {
	if r.ContentLength <= 0 || r.ContentLength > repeatedBytes {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close() // it has been read
	if err != nil {
		return err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, err = r.GetBody()
	return err
}

// repeatedBytes is up to which size a request can be sent again.
const repeatedBytes = 1 << 20

// parser returns what reads the answer.
func (x *exchange) parser(stream, zipped bool) parser {
	switch {
	case stream && zipped:
		return &whole{zipped: true, done: func(r *Recorder, at time.Time, text []byte, _ int64) {
			e := &events{done: x.event}
			e.take(r, at, text)
			e.end(r, at)
		}}
	case stream:
		return &events{done: x.event}
	}
	return &whole{zipped: zipped, done: x.received}
}

// begin numbers the exchange.
func (x *exchange) begin() {
	w := x.web
	w.exchanges++
	x.number = w.exchanges
	x.line = w.lineOf(x.request)
}

// lineOf returns the line that a request belongs to, 0 for one that may begin one.
func (w *web) lineOf(r *http.Request) int {
	if n := w.sessions[r.Header.Get(sessionHeader)]; n != 0 {
		return n
	}
	return w.endpoints[r.URL.RequestURI()]
}

// opens begins a line, unless the newest is one that has only been probed.
func (x *exchange) opens(at time.Time, carrier string) {
	w := x.web
	if w.begun || w.line == 0 {
		w.line++
		w.recorder.add(at, &trace.Event{Kind: trace.Opening, Line: w.line})
		w.recorder.add(at, &trace.Event{Kind: trace.Opened, Line: w.line, Carrier: carrier})
		w.begun = false
	}
	x.line = w.line
}

// sent records the body of a request.
func (x *exchange) sent(r *Recorder, at time.Time, text []byte, size int64) {
	m, _ := jsonrpc.Parse(text)
	switch {
	case x.line != 0:
	case m.Method == mcp.MethodInitialize:
		x.opens(at, "http")
		x.web.begun = true
	case x.web.line == 0:
		x.opens(at, "http")
	default:
		x.line = x.web.line
	}
	if e := said(trace.Sent, text, size, r.options.MaxMessage); len(text) > 0 {
		x.add(at, e)
	}
}

func (x *exchange) add(at time.Time, e *trace.Event) {
	e.Line, e.Exchange = x.line, x.number
	if x.request.Method == http.MethodGet && (e.Kind == trace.Received || e.Kind == trace.Noise) {
		e.Exchange = 0 // of the standing stream
	}
	x.web.recorder.add(at, e)
}

// facts records that the headers have come.
func (x *exchange) facts(at time.Time, status int, header http.Header, took time.Duration, err error) {
	r := x.web.recorder
	x.status = status
	if x.line == 0 {
		x.line = x.web.line
	}
	if session := header.Get(sessionHeader); session != "" {
		x.web.sessions[session] = x.line
	}
	e := &trace.Event{
		Kind: trace.HTTP, Took: took.Seconds() * 1000,
		HTTP: &trace.HTTPFacts{
			Method: x.request.Method, URL: redact.URL(r.known(x.request.URL.String())), Status: status,
			Request: r.headers(x.request.Header), Response: r.headers(header),
		},
	}
	if err != nil {
		e.Error = err.Error()
	}
	x.add(at, e)
	if x.request.Method == http.MethodDelete && status/100 == 2 {
		x.add(at, &trace.Event{Kind: trace.Closed})
	}
}

// failed records that there will be no answer.
func (x *exchange) failed(at time.Time, err error) {
	if x.request.Method == http.MethodPost {
		x.add(at, &trace.Event{Kind: trace.Failed, Error: err.Error(), Took: milliseconds(x.start)})
	}
}

// stopped records that a standing stream has ended.
func (x *exchange) stopped(at time.Time, err error) {
	if x.request.Method != http.MethodGet {
		return
	}
	e := &trace.Event{Kind: trace.Stream, Took: milliseconds(x.start)}
	if err != nil {
		e.Error = err.Error()
	}
	x.add(at, e)
}

// received records an answer that is no stream.
func (x *exchange) received(r *Recorder, at time.Time, text []byte, size int64) {
	e := said(trace.Received, text, size, r.options.MaxMessage)
	if len(bytes.TrimSpace(text)) > 0 && x.status != http.StatusAccepted {
		x.add(at, e)
	}
	if e.Kind != trace.Received && x.status >= http.StatusBadRequest {
		x.failed(at, fmt.Errorf("HTTP %d: %s", x.status, http.StatusText(x.status)))
	}
}

// event records what came on a stream.
func (x *exchange) event(r *Recorder, at time.Time, kind string, data []byte, size int64) {
	if kind == "endpoint" && x.request.Method == http.MethodGet {
		if u, err := url.Parse(string(data)); err == nil {
			x.opens(at, "sse")
			x.web.begun = true
			x.web.endpoints[x.request.URL.ResolveReference(u).RequestURI()] = x.line
		}
		return
	}
	x.received(r, at, data, size)
}

func (r *Recorder) known(text string) string {
	if r.options.Known == nil {
		return text
	}
	return r.options.Known(text)
}

// headers returns headers without secrets, each of them bounded.
func (r *Recorder) headers(all http.Header) http.Header {
	shown := make(http.Header, len(all))
	for name, values := range all {
		for _, value := range values {
			switch {
			case redact.SecretName(name):
				value = redact.Mask
			case name == "Location" || name == "Referer":
				value = redact.URL(r.known(value))
			default:
				value = redact.Excerpt([]byte(r.known(value)), headerBytes)
			}
			shown[name] = append(shown[name], value)
		}
	}
	return shown
}

// A tee is a body whose bytes are recorded as they pass.
type tee struct {
	io.ReadCloser
	recorder *Recorder
	parser   parser
	left     int64                         // of a body whose length is known; negative: it is not
	over     func(at time.Time, err error) // may be nil; the error tells why the body was broken off
	ended    bool
}

func (t *tee) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	if n > 0 {
		t.recorder.passed(t.parser, b[:n])
	}
	if t.left >= 0 {
		if t.left -= int64(n); t.left <= 0 {
			t.end(nil)
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		t.end(nil)
	case err != nil:
		t.end(err)
	}
	return n, err
}

var errBrokenOff = errors.New("the host has ended the exchange")

func (t *tee) Close() error {
	t.end(errBrokenOff)
	return t.ReadCloser.Close()
}

func (t *tee) end(err error) {
	if t.ended {
		return
	}
	t.ended = true
	t.recorder.ended(t.parser)
	if t.over != nil {
		t.recorder.do(func(at time.Time) { t.over(at, err) })
	}
}

// A whole is a parser of a body that is one message.
type whole struct {
	zipped bool
	done   func(r *Recorder, at time.Time, text []byte, size int64)

	text []byte
	size int64
	hole bool
}

func (w *whole) take(r *Recorder, _ time.Time, chunk []byte) {
	w.size += int64(len(chunk))
	w.text = append(w.text, chunk[:min(len(chunk), max(0, r.options.MaxMessage+1-len(w.text)))]...)
}

func (w *whole) gap(int) { w.hole = true }

func (w *whole) end(r *Recorder, at time.Time) {
	if w.hole {
		return
	}
	if w.zipped {
		z, err := gzip.NewReader(bytes.NewReader(w.text))
		if err != nil {
			return // in another way: it can't be recorded
		}
		text, err := io.ReadAll(io.LimitReader(z, int64(r.options.MaxMessage)+1))
		if err != nil && len(text) == 0 {
			return
		}
		w.text, w.size = text, int64(len(text))
	}
	w.done(r, at, w.text, w.size)
}
