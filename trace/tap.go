package trace

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

const (
	// DefaultMaxMessage is up to which size a message is recorded, in bytes.
	DefaultMaxMessage = 1 << 20

	textBytes = 4 << 10 // how much is recorded of what is no message
	heldBytes = 1 << 20 // how much is held back of what comes before the line knows its secrets
)

// A Sink is told of events, in their order, one at a time for each line and direction: it may be called from several
// goroutines at once, must be quick, and must not use the line. The event and what it points to are valid during the
// call only, and are not to be changed.
type Sink func(e *Event)

// Options configure a Tap.
type Options struct {
	Server string // the server's name
	Sink   Sink
	// Known masks what is known as secret where no line knows it (nil: nothing is).
	Known func(string) string
	// MaxMessage is above which size only a message's beginning is recorded, as Text; in bytes (0: 1 MiB; negative: no
	// limit).
	MaxMessage int
}

// A Tap listens to the lines of one server.
type Tap struct {
	options Options
	lines   atomic.Int64
	current atomic.Pointer[line] // the newest
}

// New returns a Tap.
func New(o Options) *Tap {
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	return &Tap{options: o}
}

// Around returns a transport that is t, with everything that its connections carry told to the sink.
func (t *Tap) Around(inner transport.Transport) transport.Transport { return &tapped{t, inner} }

type tapped struct {
	tap   *Tap
	inner transport.Transport
}

// Open implements transport.Transport.
func (t *tapped) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	l := &line{tap: t.tap, number: int(t.tap.lines.Add(1)), receiver: r}
	t.tap.current.Store(l)
	start := time.Now()
	l.tell(Event{Time: start, Kind: Opening})
	c, err := t.inner.Open(ctx, l)
	if err != nil {
		l.failed()
		l.tell(Event{Kind: Opened, Took: since(start), Error: err.Error()})
		return nil, err
	}
	masker, _ := c.(transport.Masker)
	traits := c.Traits()
	l.piped = traits.Name == "stdio"
	l.ready(masker)
	l.tell(Event{Kind: Opened, Carrier: traits.Name, Took: since(start)})
	return &conn{Conn: c, line: l}, nil
}

// Stderr is told of each line of the server's standard error, without secrets.
func (t *Tap) Stderr(text []byte) {
	if l := t.current.Load(); l != nil {
		l.tell(Event{Kind: Stderr, Text: string(text)})
	}
}

// Noise is told of each line of the server's standard output that is no message, without secrets. Those that begin like
// JSON have come to the line's receiver, and are told of by it.
func (t *Tap) Noise(text []byte) {
	l := t.current.Load()
	if first := bytes.TrimLeft(text, " \t\r"); l == nil || len(first) > 0 && (first[0] == '{' || first[0] == '[') {
		return
	}
	l.tell(Event{Kind: Noise, Text: string(text), Size: int64(len(text))})
}

// HTTP is told of each exchange over HTTP, without secrets. exchange is what transport.ExchangeOf finds in the context
// of its request, took the time from the request to the headers of the answer.
func (t *Tap) HTTP(exchange int, x HTTPFacts, took time.Duration, err error) {
	e := Event{Kind: HTTP, Exchange: exchange, HTTP: &x, Took: took.Seconds() * 1000}
	if err != nil {
		e.Error = err.Error()
	}
	t.newest().tell(e)
}

// Alone is told of a message, Sent or Received, that is carried without a Transport; with an error, that it has Failed.
func (t *Tap) Alone(kind Kind, message []byte, err error) {
	e := Event{Kind: kind}
	if err != nil {
		e = failure(err)
	}
	e.Message = message
	t.newest().tell(e)
}

// newest returns the line that what comes from elsewhere belongs to. Before the first it is none in particular.
func (t *Tap) newest() *line {
	if l := t.current.Load(); l != nil {
		return l
	}
	return &line{tap: t, open: true, mask: t.options.Known}
}

// Started is told which file was started as the server's process.
func (t *Tap) Started(path string) {
	if l := t.current.Load(); l != nil {
		l.tell(Event{Kind: Started, Text: path})
	}
}

// Exited is told how the server's process ended, and how long that took from the beginning of its shutdown on.
func (t *Tap) Exited(x ExitFacts, took time.Duration) {
	if l := t.current.Load(); l != nil {
		l.tell(Event{Kind: Exited, Exit: &x, Took: took.Seconds() * 1000})
	}
}

// A line is one connection: the receiver that its carrier sees, and what both directions share.
type line struct {
	tap      *Tap
	number   int
	piped    bool // all calls share one channel, and no HTTP is there
	receiver transport.Receiver

	mu        sync.Mutex
	open      bool                    // mask is set
	mask      func(string) string     // of what the line knows as secret; nil: it knows nothing
	held      []*Event                // what came before
	heldBytes int                     // of messages in it
	exchanges map[*transport.Call]int // those that are under way
	last      int                     // the newest exchange
}

// ready ends the time in which it is not known what is secret.
func (l *line) ready(m transport.Masker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m != nil {
		l.mask = m.Mask
	}
	l.open = true
	for _, e := range l.held {
		l.pass(e)
	}
	l.held = nil
}

// failed is ready for a line that never knew its secrets: what came on it is left out.
func (l *line) failed() {
	l.mu.Lock()
	for _, e := range l.held {
		e.Message, e.Text = nil, ""
	}
	l.mu.Unlock()
	l.ready(nil)
}

// events are those that are not in use: a sink keeps none.
var events = sync.Pool{New: func() any { return new(Event) }}

// tell completes an event and hands it to the sink.
func (l *line) tell(told Event) {
	e := events.Get().(*Event) //nolint:errcheck,forcetypeassert // the pool has nothing else
	*e = told
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Server, e.Line = l.tap.options.Server, l.number
	if !l.hold(e) {
		l.pass(e)
	}
	*e = Event{}
	events.Put(e)
}

// hold keeps a copy of an event until the line knows its secrets. It reports false when it does.
func (l *line) hold(e *Event) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open {
		return false
	}
	kept := *e
	if l.heldBytes += len(kept.Message) + len(kept.Text); l.heldBytes > heldBytes {
		kept.Message, kept.Text = nil, ""
	}
	kept.Message = bytes.Clone(kept.Message)
	l.held = append(l.held, &kept)
	return true
}

// pass masks what an event holds. What it shares with others is not changed.
func (l *line) pass(e *Event) {
	Mask(e, l.mask, l.tap.options.MaxMessage)
	l.tap.options.Sink(e)
}

// Mask makes an event fit for a file, as a Tap does before it tells one: it sets the Size of a message, takes only the
// beginning of one above limit (in bytes; 0 or less: none), as Text, and masks what known masks, which may be nil, and
// what looks secret.
func Mask(e *Event, known func(string) string, limit int) {
	if len(e.Message) > 0 {
		e.Size = int64(len(e.Message))
	}
	switch {
	case limit > 0 && len(e.Message) > limit:
		e.Text, e.Cut, e.Message = excerpt(e.Message, known), cut(e.Message, known), nil
	case len(e.Message) > 0:
		e.Message = redact.Message(e.Message, known)
	case e.Text != "":
		e.Text = excerpt([]byte(e.Text), known)
	}
	if e.Error != "" && known != nil {
		e.Error = known(e.Error)
	}
}

// excerpt returns the beginning of a text, without secrets. What stands behind it is masked too, so that no beginning
// of a secret is left.
func excerpt(text []byte, known func(string) string) string {
	said := string(text[:min(len(text), 2*textBytes)])
	if known != nil {
		said = known(said)
	}
	said = redact.Tokens(said)
	if len(said) > textBytes {
		cut := textBytes
		for cut > 0 && !utf8.RuneStart(said[cut]) {
			cut--
		}
		said = said[:cut]
	}
	return said
}

// cut tells which message it is that is too large; nil if it is none, or a batch.
func cut(text []byte, known func(string) string) *CutFacts {
	m, err := jsonrpc.Parse(text)
	if err != nil {
		return nil
	}
	facts := &CutFacts{Method: m.Method, Error: m.Error != nil}
	if !m.ID.IsAbsent() {
		facts.ID = redact.Message(m.ID.Append(nil), known)
	}
	return facts
}

// begin gives an exchange its number, by which finish takes it back. On a channel that all share nothing comes that
// would ask for it.
func (l *line) begin(call *transport.Call) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	if !l.piped {
		if l.exchanges == nil {
			l.exchanges = map[*transport.Call]int{}
		}
		l.exchanges[call] = l.last
	}
	return l.last
}

func (l *line) finish(call *transport.Call) {
	if l.piped {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.exchanges, call)
}

func (l *line) exchange(call *transport.Call) int {
	if call == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.exchanges[call]
}

// Receive implements transport.Receiver. The event comes before the message is handled, so that what comes of it is
// told after it.
func (l *line) Receive(call *transport.Call, msg []byte) transport.Verdict {
	e := Event{Kind: Received, Exchange: l.exchange(call), Message: msg}
	if m, _ := jsonrpc.Parse(msg); m.Kind == jsonrpc.Invalid && !jsonrpc.IsBatch(msg) {
		e.Kind, e.Message, e.Size = Noise, nil, int64(len(msg))
		e.Text = string(msg[:min(len(msg), 2*textBytes)])
	}
	l.tell(e)
	return l.receiver.Receive(call, msg)
}

// Oversize implements transport.Receiver.
func (l *line) Oversize(call *transport.Call, head, tail []byte, size int64) {
	l.tell(Event{Kind: Oversize, Exchange: l.exchange(call), Text: string(head), Size: size})
	l.receiver.Oversize(call, head, tail, size)
}

// Fault implements transport.Receiver.
func (l *line) Fault(err error) {
	l.tell(Event{Kind: Fault, Error: err.Error()})
	l.receiver.Fault(err)
}

// Closed implements transport.Receiver.
func (l *line) Closed(err error) {
	e := Event{Kind: Closed}
	if err != nil {
		e.Error = err.Error()
	}
	l.tell(e)
	l.receiver.Closed(err)
}

// since returns milliseconds.
func since(start time.Time) float64 { return time.Since(start).Seconds() * 1000 }

// failure tells how an exchange failed.
func failure(err error) Event {
	e := Event{Kind: Failed, Error: err.Error()}
	if carriage, ok := errors.AsType[*transport.Error](err); ok {
		e.Delivery = carriage.Delivery.String()
	}
	return e
}
