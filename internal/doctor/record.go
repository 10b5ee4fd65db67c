package doctor

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/trace"
)

// Bounds of what is kept of a trace.
const (
	keptLines = 50       // of noise and of standard error, each
	keptBytes = 16 << 20 // of answers
	keptCalls = 5000     // exchanges, and as many exchanges over HTTP
)

// An exchange is one request of ours and what came of it.
type exchange struct {
	line     int
	number   int
	id       string
	method   string
	version  string // that the request asks for, in a handshake
	sent     time.Time
	ended    time.Time // zero: it has not
	bytes    int64     // of the answer
	result   json.RawMessage
	refusal  *jsonrpc.Error
	failure  string
	answered bool
}

func (x exchange) took() time.Duration {
	if x.ended.IsZero() {
		return 0
	}
	return x.ended.Sub(x.sent)
}

// A web is one exchange over HTTP.
type web struct {
	line     int
	exchange int
	facts    trace.HTTPFacts
	took     time.Duration
	failure  string
}

// A line is what a trace tells of one connection.
type line struct {
	number  int
	carrier string
	opening time.Time
	opened  time.Duration
	path    string // of the program
	first   time.Time
	noise   []string // the first lines of it
	early   int      // how many lines came before the first message
	late    int      // and after it
	stderr  []string // the last lines of it
	closed  string   // why it has ended, unless we ended it
	closing bool     // we began its end
	exit    *trace.ExitFacts
	leaving time.Duration // how long the exit took
}

// A record is what a trace has told.
type record struct {
	mu        sync.Mutex
	lines     []*line
	exchanges []*exchange
	web       []web
	kept      int
}

// sink takes an event in.
func (r *record) sink(e *trace.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	took := time.Duration(e.Took * float64(time.Millisecond))
	l := r.line(e.Line)
	switch e.Kind {
	case trace.Opening:
		l.opening = e.Time
	case trace.Started:
		l.path = e.Text
	case trace.Opened:
		l.carrier, l.opened = e.Carrier, took
	case trace.Sent:
		r.sent(e)
	case trace.Received:
		r.received(l, e)
	case trace.Failed:
		r.failed(e)
	case trace.Noise:
		r.noise(l, e.Text)
	case trace.Stderr:
		l.stderr = append(l.stderr, e.Text)
		if len(l.stderr) > keptLines {
			l.stderr = slices.Delete(l.stderr, 0, 1)
		}
	case trace.HTTP:
		if len(r.web) < keptCalls {
			r.web = append(r.web, web{e.Line, e.Exchange, *e.HTTP, took, e.Error})
		}
	case trace.Closing:
		l.closing = true
	case trace.Closed:
		l.closed = e.Error
	case trace.Exited:
		facts := *e.Exit
		l.exit, l.leaving = &facts, took
	case trace.Oversize, trace.Stream, trace.Fault:
	}
}

func (r *record) line(number int) *line {
	for _, l := range r.lines {
		if l.number == number {
			return l
		}
	}
	l := &line{number: number}
	r.lines = append(r.lines, l)
	return l
}

// noise of a line that is kept is told early or late.
func (*record) noise(l *line, text string) {
	if l.first.IsZero() {
		l.early++
	} else {
		l.late++
	}
	if len(l.noise) < keptLines {
		l.noise = append(l.noise, text)
	}
}

func (r *record) sent(e *trace.Event) {
	m, err := jsonrpc.Parse(e.Message)
	if err != nil || m.Kind != jsonrpc.Request || len(r.exchanges) >= keptCalls {
		return
	}
	r.exchanges = append(r.exchanges, &exchange{
		line: e.Line, number: e.Exchange, id: m.ID.String(), method: m.Method, version: versionOf(m.Params), sent: e.Time,
	})
}

func (r *record) received(l *line, e *trace.Event) {
	if l.first.IsZero() {
		l.first = e.Time
	}
	if len(e.Message) == 0 { // it was too large to be kept
		if x := r.open(e.Line, func(*exchange) bool { return true }); x != nil {
			x.ended, x.answered, x.bytes = e.Time, true, e.Size
		}
		return
	}
	m, err := jsonrpc.Parse(e.Message)
	if err != nil || m.Kind != jsonrpc.Response {
		return
	}
	x := r.open(e.Line, func(x *exchange) bool { return x.id == m.ID.String() })
	if x == nil {
		x = r.open(e.Line, func(x *exchange) bool { return e.Exchange > 0 && x.number == e.Exchange })
	}
	if x == nil {
		return
	}
	x.ended, x.answered, x.bytes = e.Time, true, e.Size
	if m.Error != nil {
		x.refusal = jsonrpc.ParseError(slices.Clone(m.Error))
	}
	if r.kept += len(m.Result); r.kept <= keptBytes {
		x.result = slices.Clone(m.Result)
	}
}

func (r *record) failed(e *trace.Event) {
	x := r.open(e.Line, func(x *exchange) bool { return x.number == e.Exchange })
	if x != nil {
		x.ended, x.failure = e.Time, e.Error
	}
}

// open returns the newest exchange of a line that has not ended and fits.
func (r *record) open(line int, fits func(*exchange) bool) *exchange {
	for _, x := range slices.Backward(r.exchanges) {
		if x.line == line && x.ended.IsZero() && fits(x) {
			return x
		}
	}
	return nil
}

// last returns the newest line; an empty one where there is none.
func (r *record) last() line {
	all := r.all()
	if len(all) == 0 {
		return line{}
	}
	return all[len(all)-1]
}

// all returns the lines, oldest first.
func (r *record) all() (lines []line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if l.number > 0 {
			one := *l
			one.noise, one.stderr = slices.Clone(l.noise), slices.Clone(l.stderr)
			lines = append(lines, one)
		}
	}
	return lines
}

// of returns the exchanges of a method, from the one that has that index on.
func (r *record) of(method string, from int) (found []exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.exchanges[min(from, len(r.exchanges)):] {
		if x.method == method {
			found = append(found, *x)
		}
	}
	return found
}

// mark returns the index of the next exchange.
func (r *record) mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.exchanges)
}

// visits returns the exchanges over HTTP.
func (r *record) visits() []web {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.web)
}
