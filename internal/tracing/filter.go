package tracing

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/trace"
)

// A Filter chooses events and calls. What it does not name is not asked for.
type Filter struct {
	Server string // a pattern of names, as Match has it
	Method string // a pattern of methods; with a blank in it of methods and what they are about
	ID     string // of a request, as it stands in the message; a string's quotes may be left out
	Since  Moment
	Until  Moment
}

// A Moment is a point in time: an offset from the first event, or a time. The zero Moment is none.
type Moment struct {
	set    bool
	offset time.Duration
	clock  bool // of the day of the first event, in UTC: offset is since midnight
	at     time.Time
}

var errMoment = errors.New("an offset from the beginning such as 1.5s or 2m, or a time such as 15:04:05 (UTC) or " +
	"2006-01-02T15:04:05Z is wanted")

// ParseMoment reads an offset, a time of the day in UTC, or a whole time (RFC 3339).
func ParseMoment(text string) (Moment, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return Moment{set: true, offset: d}, nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			y, m, d := t.Date()
			return Moment{set: true, clock: true, offset: t.Sub(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))}, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return Moment{set: true, at: t}, nil
	}
	return Moment{}, errMoment
}

// in returns the time that is meant in a trace which begins at start.
func (m Moment) in(start time.Time) time.Time {
	switch {
	case m.clock:
		y, month, d := start.UTC().Date()
		return time.Date(y, month, d, 0, 0, 0, 0, time.UTC).Add(m.offset)
	case !m.at.IsZero():
		return m.at
	}
	return start.Add(m.offset)
}

// Check tells of a pattern that is none.
func (f *Filter) Check() error {
	for _, pattern := range []string{f.Server, f.Method} {
		if _, err := path.Match(strings.ReplaceAll(pattern, "/", " "), ""); err != nil {
			return fmt.Errorf("the pattern %q: %w", pattern, err)
		}
	}
	return nil
}

// Match reports whether a pattern fits the whole of a text: * stands for any characters, ? for one, [a-z] for one of
// those. No pattern fits everything, a broken one nothing.
func Match(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	// What path takes for a separator is none here.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(text, "/", "\x00"))
	return err == nil && ok
}

func (f *Filter) when(t, start time.Time) bool {
	return (!f.Since.set || !t.Before(f.Since.in(start))) && (!f.Until.set || !t.After(f.Until.in(start)))
}

func (f *Filter) server(l *Line) bool {
	return Match(f.Server, l.Server) || f.Server != "" && Match(f.Server, l.Label())
}

func (f *Filter) names(method, name string) bool {
	if strings.Contains(f.Method, " ") {
		return Match(f.Method, method+" "+name)
	}
	return Match(f.Method, method)
}

func (f *Filter) id(id jsonrpc.ID) bool {
	return f.ID == "" || id.String() == f.ID || id.String() == `"`+f.ID+`"`
}

// Call reports whether a call is chosen. start is when the trace begins.
func (f *Filter) Call(c *Call, start time.Time) bool {
	return f.server(c.Line) && f.names(c.Method, c.Name) && f.id(c.ID) && f.when(c.Start, start)
}

// Event reports whether an event is chosen: by its message, or by the call that it belongs to.
func (f *Filter) Event(i *Item, start time.Time) bool {
	if !f.server(i.Line) || !f.when(i.Time, start) {
		return false
	}
	if f.Method == "" && f.ID == "" {
		return true
	}
	for _, n := range i.Notes {
		if f.Note(&n) {
			return true
		}
	}
	if i.Kind == trace.Sent || i.Kind == trace.Received {
		return false
	}
	for _, c := range i.Calls {
		if f.names(c.Method, c.Name) && f.id(c.ID) {
			return true
		}
	}
	return false
}

// Note reports whether a message is chosen by its method and its id, or by those of the call that it belongs to.
func (f *Filter) Note(n *Note) bool {
	if n.Call != nil && f.names(n.Call.Method, n.Call.Name) && f.id(n.Call.ID) {
		return true
	}
	return f.names(n.Method, n.Name) && f.id(n.ID)
}
