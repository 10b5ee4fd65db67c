package cli

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpwire/internal/tracing"
	"mcpwire/trace"
)

// An eventLines shows events, one line each.
type eventLines struct {
	*traceRun
	width  int
	labels int // width of the servers' names up to now
}

// print shows a line, in red if it is bad, and with -v the whole message below it.
func (l *eventLines) print(i *tracing.Item, arrow, text string, bad bool) error {
	label := flat(i.Line.Label())
	l.labels = max(l.labels, utf8.RuneCountInString(label))
	line := shortened(l.offset(i.Time)+"  "+padded(label, l.labels)+" "+arrow+" "+flat(text), l.width)
	if bad {
		line = l.out.alarm(line)
	}
	if l.verbose {
		line += below(i)
	}
	return l.out.write(line + "\n")
}

// flat makes text fit for a line. Of long text only the beginning is looked at.
func flat(text string) string {
	const enough = 4 << 10
	if len(text) > enough {
		text = text[:enough]
	}
	return strings.Join(strings.Fields(plain(text)), " ")
}

// shortened cuts a line to a width.
func shortened(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	runes := []rune(line)
	return strings.TrimRight(string(runes[:max(width-1, 0)]), " ") + "…"
}

// below is what -v shows of an event.
func below(i *tracing.Item) string {
	text := i.Text
	if len(i.Message) > 0 {
		text = pretty(i.Message)
	}
	text += headerLines("\n> ", i.HTTP().Request) + headerLines("\n< ", i.HTTP().Response)
	text = strings.Trim(plain(text), "\n")
	if text == "" {
		return ""
	}
	return "\n    " + strings.ReplaceAll(text, "\n", "\n    ")
}

func headerLines(before string, headers http.Header) (lines string) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			lines += before + name + ": " + value
		}
	}
	return lines
}

// arrowOf tells which way an event went.
func arrowOf(kind trace.Kind) string {
	switch kind {
	case trace.Sent:
		return "→"
	case trace.Received, trace.Noise, trace.Oversize, trace.Stderr:
		return "←"
	default:
		return "·"
	}
}

// A messagesView shows every event.
type messagesView struct{ *eventLines }

func (v *messagesView) end() error { return nil }

func (v *messagesView) item(i *tracing.Item) error {
	if !v.filter.Event(i, v.book.Start) {
		return nil
	}
	arrow := arrowOf(i.Kind)
	if len(i.Notes) == 0 {
		return v.print(i, arrow, eventText(i), i.Bad())
	}
	var parts []string
	for _, n := range i.Notes {
		parts = append(parts, noteText(i, n, len(i.Notes) == 1))
	}
	return v.print(i, arrow, strings.Join(parts, " | "), i.Bad())
}

// An errorsView shows what failed.
type errorsView struct{ *eventLines }

func (v *errorsView) item(i *tracing.Item) error {
	if !v.filter.Event(i, v.book.Start) {
		return nil
	}
	arrow := arrowOf(i.Kind)
	for _, n := range i.Notes {
		if n.Error == "" {
			continue
		}
		if err := v.print(i, arrow, noteText(i, n, false), true); err != nil {
			return err
		}
	}
	if len(i.Notes) == 0 && i.Bad() {
		return v.print(i, arrow, eventText(i), true)
	}
	return nil
}

// end shows what was never answered.
func (v *errorsView) end() error {
	for _, c := range v.book.Calls {
		if c.Outcome != tracing.Unanswered || !v.filter.Call(c, v.book.Start) {
			continue
		}
		text := fmt.Sprintf("%s  %s %s %s", v.offset(c.Start), padded(flat(c.Line.Label()), v.labels), direction(c.Out),
			flat("#"+c.ID.String()+" "+c.Title()+" unanswered"))
		if err := v.out.write(v.out.alarm(shortened(text, v.width)) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

func direction(out bool) string {
	if out {
		return "→"
	}
	return "←"
}
