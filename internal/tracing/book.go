// Package tracing makes sense of a trace: which answer belongs to which request, what each line was and how it ended,
// and how long the calls of a method take. It does no I/O.
package tracing

import (
	"strconv"
	"strings"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/trace"
)

// An Outcome is what became of a call.
type Outcome string

// The outcomes.
const (
	OK         Outcome = "ok"
	Refused    Outcome = "error"      // a JSON-RPC error came
	ToolError  Outcome = "tool error" // the result of a tool that itself calls it an error
	Cancelled  Outcome = "cancelled"  // by who asked; also what was under way when our side ended the line
	Failed     Outcome = "failed"     // no answer could be had
	Unanswered Outcome = "unanswered" // up to the end of the trace
)

// A Line is one connection to a server.
type Line struct {
	Server   string
	Number   int    // 1, 2, ... among those of this server
	Carrier  string // "stdio", "http" or "sse"; empty where that is not in the trace
	Revision string // of the protocol; empty until it is settled
	About    string // what the server calls itself, with its version
	First    time.Time
	Last     time.Time     // of what the trace has of it
	Opening  time.Duration // how long opening it took
	Opened   bool
	Ended    bool
	End      string // how it ended, in words
	Exit     *trace.ExitFacts

	calls     map[askKey]*Call // those that an answer may come to
	tokens    map[askKey]*Call // by their progress tokens
	exchanges map[int][]*Call
	closing   bool
	settled   bool // Revision is what initialize has settled
}

// Label returns the server's name, with a number from the second line on.
func (l *Line) Label() string {
	name := l.Server
	if name == "" {
		name = "(no name)"
	}
	if l.Number > 1 {
		name += "#" + strconv.Itoa(l.Number)
	}
	return name
}

// An askKey is an id or a progress token, and who has asked.
type askKey struct {
	out bool
	id  jsonrpc.ID
}

// keyOf takes ids that denote the same integer for the same, as servers do.
func keyOf(out bool, id jsonrpc.ID) askKey {
	if n, ok := id.Integer(); ok {
		id = jsonrpc.IntID(n)
	}
	return askKey{out, id}
}

// A Call is a request and what became of it.
type Call struct {
	Line     *Line
	Out      bool // we have asked; else the server has
	ID       jsonrpc.ID
	Method   string
	Name     string // what it is about: a tool, a prompt, a resource
	Start    time.Time
	End      time.Time // zero while it is open
	Outcome  Outcome
	Detail   string // why it has no good result
	Asked    int    // the event of the request, counted from 0
	Answered int    // that of the answer or the failure; -1: none
	HTTP     int    // that of its HTTP exchange; -1: none
	Status   int    // of HTTP; 0: none
	Sent     int64  // bytes of the request
	Got      int64  // bytes of the answer
	Progress int    // notifications of progress
	Late     bool   // an answer came when the call had been given up

	revision string // that the request names
}

// Took returns how long a call took; false for one that is open.
func (c *Call) Took() (time.Duration, bool) {
	if c.End.IsZero() {
		return 0, false
	}
	return c.End.Sub(c.Start), true
}

// Title returns the method and what it is about.
func (c *Call) Title() string { return strings.TrimSpace(c.Method + " " + c.Name) }

// Bad reports whether a call has failed in any way.
func (c *Call) Bad() bool { return c.Outcome != OK && c.Outcome != Cancelled }

// why returns an error's text without what the call says itself.
func (c *Call) why(text string) string {
	text = strings.TrimPrefix(text, c.Line.Server+": ")
	for _, said := range []string{c.Title(), c.Method} {
		if rest, ok := strings.CutPrefix(text, said+": "); ok {
			return rest
		}
	}
	return text
}

func (c *Call) settle(at time.Time, index int, outcome Outcome, detail string) {
	c.End, c.Answered, c.Outcome, c.Detail = at, index, outcome, detail
}

// A Note tells what one message is.
type Note struct {
	Kind   jsonrpc.Kind
	ID     jsonrpc.ID
	Method string // of an answer: of its request
	Name   string // what it is about: a tool, a prompt, a resource
	Error  string // of an answer that refuses
	Tool   bool   // the error is one that a tool has reported in its result
	Call   *Call  // that it asks, answers, tells progress of or cancels; may be nil
	Size   int64  // in bytes
}

// An Item is an event and what it is about.
type Item struct {
	*trace.Event
	Index int // 0, 1, ...
	Line  *Line
	Notes []Note  // of its messages
	Calls []*Call // that it belongs to; of a message those of its notes
}

// Out reports whether a message or an exchange goes out.
func (i *Item) Out() bool { return i.Kind == trace.Sent }

// A Book is a trace as far as it has been read. The zero Book is empty. It must not be used from several goroutines at
// once.
type Book struct {
	Lines  []*Line // in the order of their first events
	Calls  []*Call // in the order of their requests
	Events int
	Start  time.Time // of the first event
	End    time.Time // of the last

	current map[place]*Line
	numbers map[string]int // of lines by server
}

// A place is what an event says of where it belongs.
type place struct {
	server string
	line   int
}

// Add enters an event. The Item is valid from then on; what it points to changes as answers come.
func (b *Book) Add(e *trace.Event) *Item {
	i := &Item{Event: e, Index: b.Events, Line: b.line(e)}
	b.Events++
	if b.Start.IsZero() || e.Time.Before(b.Start) {
		b.Start = e.Time
	}
	if e.Time.After(b.End) {
		b.End = e.Time
	}
	if e.Time.After(i.Line.Last) {
		i.Line.Last = e.Time
	}
	switch e.Kind {
	case trace.Sent, trace.Received:
		b.messages(i)
	case trace.HTTP:
		b.exchange(i)
	case trace.Failed:
		b.failed(i)
	default:
		i.Line.fact(e)
	}
	return i
}

// line finds the line of an event. One that is opened is another than one of that number before.
func (b *Book) line(e *trace.Event) *Line {
	at := place{e.Server, e.Line}
	l := b.current[at]
	if l != nil && e.Kind != trace.Opening {
		return l
	}
	if b.current == nil {
		b.current, b.numbers = map[place]*Line{}, map[string]int{}
	}
	b.numbers[e.Server]++
	l = &Line{
		Server: e.Server, Number: b.numbers[e.Server], First: e.Time, Last: e.Time,
		calls: map[askKey]*Call{}, tokens: map[askKey]*Call{}, exchanges: map[int][]*Call{},
	}
	b.current[at] = l
	b.Lines = append(b.Lines, l)
	return l
}

// fact takes what an event tells of the line itself.
func (l *Line) fact(e *trace.Event) {
	switch e.Kind {
	case trace.Opened:
		if e.Error != "" {
			l.Ended, l.End = true, "not opened: "+strings.TrimPrefix(e.Error, l.Server+": ")
			return
		}
		l.Opened, l.Carrier, l.Opening = true, e.Carrier, milliseconds(e.Took)
	case trace.Closing:
		l.closing = true
	case trace.Exited:
		l.Exit = e.Exit
	case trace.Closed:
		l.Ended, l.End = true, "closed by us"
		if e.Error != "" {
			l.End = "lost: " + strings.TrimPrefix(e.Error, l.Server+": ")
		}
	default: // tells nothing of the line as a whole
	}
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// exchange joins the facts of HTTP with their call. What has no number belongs to the newest call of a line that is no
// connection: there is one request at a time.
func (b *Book) exchange(i *Item) {
	calls := i.Line.exchanges[i.Exchange]
	if i.Exchange == 0 {
		calls = nil
		if n := len(b.Calls); i.Event.Line == 0 && n > 0 && b.Calls[n-1].Line == i.Line {
			calls = b.Calls[n-1:]
		}
	}
	i.Calls = calls
	for _, c := range calls {
		c.HTTP = i.Index
		if i.Event.HTTP != nil {
			c.Status = i.Event.HTTP.Status
		}
		if i.Exchange == 0 && c.Outcome == Unanswered && (i.Error != "" || c.Status >= 400) {
			c.settle(i.Time, i.Index, Failed, failure(i.Event))
		}
	}
}

func failure(e *trace.Event) string {
	if e.Error != "" || e.HTTP == nil {
		return e.Error
	}
	return "HTTP " + strconv.Itoa(e.HTTP.Status)
}

// failed ends the calls of an exchange.
func (b *Book) failed(i *Item) {
	i.Calls = i.Line.exchanges[i.Exchange]
	outcome := Failed
	if i.Line.closing || i.GivenUp {
		outcome = Cancelled
	}
	for _, c := range i.Calls {
		switch c.Outcome {
		case Unanswered:
			c.settle(i.Time, i.Index, outcome, c.why(i.Error))
		case Cancelled:
			c.Detail = c.why(i.Error)
		default: // it has been answered
		}
	}
}
