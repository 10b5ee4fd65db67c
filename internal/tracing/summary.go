package tracing

import (
	"cmp"
	"math"
	"slices"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/trace"
)

// A Summary is what a trace tells at a glance. Its members in JSON stay as they are from version to version.
type Summary struct {
	Start  time.Time `json:"start"`
	Took   float64   `json:"ms"` // from the first event to the last, in milliseconds
	Events int       `json:"events"`
	Lines  []*Tally  `json:"lines"`
}

// A Tally is what is counted of one line. Durations are in milliseconds.
type Tally struct {
	Server     string    `json:"server"`
	Line       int       `json:"line"`
	Carrier    string    `json:"carrier"`  // empty where the trace does not tell
	Revision   string    `json:"revision"` // empty where none was settled
	Era        string    `json:"era"`      // "session" or "stateless"; empty where no revision was settled
	About      string    `json:"about"`    // what the server calls itself
	Start      time.Time `json:"start"`
	Took       float64   `json:"ms"`
	Opened     *float64  `json:"openedMs"` // nil if it was not opened
	End        string    `json:"end"`      // how it ended; empty if it has not
	Exit       *Exit     `json:"exit"`     // of the server's process; nil where that is not known
	Out        Traffic   `json:"out"`
	In         Traffic   `json:"in"`
	Methods    []*Method `json:"methods"`
	Errors     int       `json:"errors"` // JSON-RPC errors, results that are errors, and calls that failed
	HTTPErrors int       `json:"httpErrors"`
	Faults     int       `json:"faults"`
	Noise      int       `json:"noise"`
	Oversize   int       `json:"oversize"`
	Stderr     int       `json:"stderr"` // lines
	Unanswered int       `json:"unanswered"`
	Orphans    int       `json:"orphans"` // answers to no request of this trace

	line *Line
}

// Exit is how a process ended, as trace.ExitFacts.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal"`
	After  string `json:"after"`
	Left   bool   `json:"left"`
}

// Traffic is what went in one direction.
type Traffic struct {
	Messages      int   `json:"messages"`
	Bytes         int64 `json:"bytes"`
	Requests      int   `json:"requests"`
	Notifications int   `json:"notifications"`
	Responses     int   `json:"responses"`
}

// A Method is what is counted of the calls of one method in one direction. Percentiles are of those that were answered,
// by nearest rank; nil if none was.
type Method struct {
	Out        bool      `json:"out"` // we have asked; else the server has
	Method     string    `json:"method"`
	Name       string    `json:"name,omitzero"` // of one tool among several, in Names
	Calls      int       `json:"calls"`
	Errors     int       `json:"errors"` // JSON-RPC errors and results that are errors
	Failed     int       `json:"failed"` // of carriage
	Cancelled  int       `json:"cancelled"`
	Unanswered int       `json:"unanswered"`
	Progress   int       `json:"progress"` // notifications
	P50        *float64  `json:"p50"`
	P90        *float64  `json:"p90"`
	P99        *float64  `json:"p99"`
	Max        *float64  `json:"max"`
	Histogram  []int     `json:"histogram"` // calls by duration: below Edges[0], ..., below the last, and from there on
	Names      []*Method `json:"names,omitzero"`

	took []float64
}

// Edges are where the fields of a histogram end, in milliseconds.
var Edges = []float64{1, 3, 10, 30, 100, 300, 1000, 3000, 10_000}

// A Counter makes a Summary of those events and calls of a Book that a filter chooses.
type Counter struct {
	filter  Filter
	tallies map[*Line]*Tally
	events  int
}

// NewCounter returns a Counter.
func NewCounter(f Filter) *Counter { return &Counter{filter: f, tallies: map[*Line]*Tally{}} }

// Add counts an event. start is when the trace begins.
func (c *Counter) Add(i *Item, start time.Time) {
	if !c.filter.Event(i, start) {
		return
	}
	c.events++
	t := c.tally(i.Line)
	switch i.Kind {
	case trace.Sent:
		t.Out.add(i, &c.filter)
	case trace.Received:
		t.In.add(i, &c.filter)
		for _, n := range i.Notes {
			if n.Kind == jsonrpc.Response && n.Call == nil {
				t.Orphans++
			}
		}
	case trace.HTTP:
		if i.Bad() {
			t.HTTPErrors++
		}
	case trace.Fault:
		t.Faults++
	case trace.Noise:
		t.Noise++
	case trace.Oversize:
		t.Oversize++
	case trace.Stderr:
		t.Stderr++
	default: // the line's own, which it tells itself
	}
}

func (t *Traffic) add(i *Item, f *Filter) {
	for _, n := range i.Notes {
		if f.Method+f.ID != "" && !f.Note(&n) {
			continue
		}
		t.Messages++
		t.Bytes += n.Size
		switch n.Kind {
		case jsonrpc.Request:
			t.Requests++
		case jsonrpc.Notification:
			t.Notifications++
		case jsonrpc.Response:
			t.Responses++
		case jsonrpc.Invalid:
		}
	}
}

func (c *Counter) tally(l *Line) *Tally {
	t := c.tallies[l]
	if t == nil {
		t = &Tally{Server: l.Server, Line: l.Number, Methods: []*Method{}, line: l}
		c.tallies[l] = t
	}
	return t
}

// Summary returns what was counted, with the calls of the book. The Counter must not be used after it.
func (c *Counter) Summary(b *Book) *Summary {
	for _, call := range b.Calls {
		if c.filter.Call(call, b.Start) {
			c.tally(call.Line).count(call)
		}
	}
	s := &Summary{Start: b.Start, Took: ms(b.End.Sub(b.Start)), Events: c.events, Lines: []*Tally{}}
	for _, l := range b.Lines {
		if t := c.tallies[l]; t != nil {
			t.finish()
			s.Lines = append(s.Lines, t)
		}
	}
	return s
}

func (t *Tally) count(c *Call) {
	m := method(&t.Methods, c, "")
	m.count(c)
	if c.Method == mcp.MethodCallTool {
		method(&m.Names, c, c.Name).count(c)
	}
	switch c.Outcome {
	case Refused, ToolError, Failed:
		t.Errors++
	case Unanswered:
		t.Unanswered++
	case OK, Cancelled:
	}
}

// method finds the one that a call is of.
func method(among *[]*Method, c *Call, name string) *Method {
	for _, m := range *among {
		if m.Out == c.Out && m.Method == c.Method && m.Name == name {
			return m
		}
	}
	m := &Method{Out: c.Out, Method: c.Method, Name: name, Histogram: make([]int, len(Edges)+1)}
	*among = append(*among, m)
	return m
}

func (m *Method) count(c *Call) {
	m.Calls++
	m.Progress += c.Progress
	switch c.Outcome {
	case Refused, ToolError:
		m.Errors++
	case Failed:
		m.Failed++
	case Cancelled:
		m.Cancelled++
	case Unanswered:
		m.Unanswered++
	case OK:
	}
	if c.Outcome == OK || c.Outcome == Refused || c.Outcome == ToolError {
		took := ms(c.End.Sub(c.Start))
		m.took = append(m.took, took)
		field, found := slices.BinarySearch(Edges, took)
		if found {
			field++
		}
		m.Histogram[field]++
	}
}

func (m *Method) finish() {
	if len(m.Names) < 2 {
		m.Names = nil
	}
	slices.SortFunc(m.Names, func(a, b *Method) int { return cmp.Compare(a.Name, b.Name) })
	for _, one := range m.Names {
		one.finish()
	}
	if len(m.took) == 0 {
		return
	}
	slices.Sort(m.took)
	m.P50, m.P90, m.P99, m.Max = m.rank(0.5), m.rank(0.9), m.rank(0.99), m.rank(1)
}

// rank returns a percentile by nearest rank.
func (m *Method) rank(part float64) *float64 {
	n := int(math.Ceil(part * float64(len(m.took))))
	return &m.took[max(n, 1)-1]
}

func (t *Tally) finish() {
	l := t.line
	t.Carrier, t.Revision, t.About, t.Start, t.End = l.Carrier, l.Revision, l.About, l.First, l.End
	t.Took = ms(l.Last.Sub(l.First))
	switch {
	case mcp.IsStateless(l.Revision):
		t.Era = "stateless"
	case mcp.IsSession(l.Revision):
		t.Era = "session"
	}
	if l.Opened {
		took := ms(l.Opening)
		t.Opened = &took
	}
	if x := l.Exit; x != nil {
		e := Exit(*x)
		t.Exit = &e
	}
	slices.SortStableFunc(t.Methods, func(a, b *Method) int {
		if a.Out != b.Out {
			if a.Out {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Method, b.Method)
	})
	for _, m := range t.Methods {
		m.finish()
	}
}

func ms(d time.Duration) float64 { return math.Round(float64(d)/float64(time.Microsecond)) / 1000 }
