package cli

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"mcpwire/internal/tracing"
)

// chosen returns the calls that are to be shown.
func (t *traceRun) chosen() (calls []*tracing.Call) {
	for _, c := range t.book.Calls {
		if t.filter.Call(c, t.book.Start) {
			calls = append(calls, c)
		}
	}
	return calls
}

// A callsView shows requests with their answers.
type callsView struct{ *traceRun }

func (v *callsView) item(*tracing.Item) error { return nil }

func (v *callsView) end() error {
	calls := v.chosen()
	if v.output.json {
		return v.json(calls)
	}
	if len(calls) == 0 {
		return nil
	}
	rows := [][]string{{"TIME", "SERVER", "ID", "", "METHOD", "TOOK", "OUTCOME"}}
	for _, c := range calls {
		took := ""
		if d, ok := c.Took(); ok {
			took = shortTime(d)
		}
		rows = append(rows, []string{
			v.offset(c.Start), flat(c.Line.Label()), flat(c.ID.String()), direction(c.Out), flat(c.Title()), took,
			outcomeText(c),
		})
	}
	width, fits := v.out.terminalWidth()
	for i, line := range aligned(rows) {
		if fits {
			line = shortened(line, width)
		}
		switch {
		case i == 0:
			line = v.out.heading(line)
		case calls[i-1].Bad():
			line = v.out.alarm(line)
		}
		if err := v.out.write(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// outcomeText tells what became of a call.
func outcomeText(c *tracing.Call) string {
	words := []string{string(c.Outcome)}
	if c.Detail != "" {
		words[0] += ":"
		words = append(words, flat(c.Detail))
	}
	status := "HTTP " + strconv.Itoa(c.Status)
	if c.Status != 0 && c.Status != http.StatusOK && !strings.Contains(c.Detail, status) {
		words = append(words, "("+status+")")
	}
	if c.Progress > 0 {
		words = append(words, "("+strconv.Itoa(c.Progress)+"× progress)")
	}
	if c.Late {
		words = append(words, "(answered too late)")
	}
	return strings.Join(words, " ")
}

// A callRow is a call in JSON. Its members stay as they are from version to version.
type callRow struct {
	Time     time.Time       `json:"time"`
	Offset   float64         `json:"offsetMs"` // since the first event
	Server   string          `json:"server"`
	Line     int             `json:"line"`
	Out      bool            `json:"out"` // we have asked; else the server has
	ID       json.RawMessage `json:"id"`
	Method   string          `json:"method"`
	Name     string          `json:"name"`
	MS       *float64        `json:"ms"` // nil while it is not answered
	Outcome  tracing.Outcome `json:"outcome"`
	Detail   string          `json:"detail"`
	Status   int             `json:"httpStatus"` // 0 where there is none
	Progress int             `json:"progress"`
	Sent     int64           `json:"sentBytes"`
	Got      int64           `json:"receivedBytes"`
	Late     bool            `json:"late"`
}

func (v *callsView) json(calls []*tracing.Call) error {
	all := struct {
		Calls []callRow `json:"calls"`
	}{[]callRow{}}
	for _, c := range calls {
		r := callRow{
			Time: c.Start, Offset: rounded(c.Start.Sub(v.book.Start)), Server: c.Line.Server, Line: c.Line.Number, Out: c.Out,
			ID: c.ID.Append(nil), Method: c.Method, Name: c.Name, Outcome: c.Outcome, Detail: c.Detail, Status: c.Status,
			Progress: c.Progress, Sent: c.Sent, Got: c.Got, Late: c.Late,
		}
		if d, ok := c.Took(); ok {
			took := rounded(d)
			r.MS = &took
		}
		all.Calls = append(all.Calls, r)
	}
	text, err := jsonv2.Marshal(all)
	if err != nil {
		return err
	}
	return v.printJSON(json.RawMessage(text))
}

// rounded returns milliseconds with three digits behind the point.
func rounded(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// A waterfallView shows calls as bars over time.
type waterfallView struct{ *traceRun }

func (v *waterfallView) item(*tracing.Item) error { return nil }

func (v *waterfallView) end() error {
	calls := v.chosen()
	if len(calls) == 0 {
		return nil
	}
	for i, line := range waterfall(calls, v.out.width()) {
		switch {
		case i == 0:
			line = v.out.heading(line)
		case calls[i-1].Bad():
			line = v.out.alarm(line)
		}
		if err := v.out.write(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// waterfall draws a bar for each call, under a line that tells the time. The bars of calls that were not answered go on
// until the end of their lines. The lines are at most width characters long, if that is not less than 40.
func waterfall(calls []*tracing.Call, width int) []string {
	const tookWidth, least = 9, 40
	width = max(width, least)
	labels, widest, several := make([]string, len(calls)), 0, false
	first, last := calls[0].Start, calls[0].Start
	for i, c := range calls {
		labels[i] = direction(c.Out) + " " + flat(c.Title())
		several = several || c.Line != calls[0].Line
		last = latest(last, end(c))
	}
	for i, c := range calls {
		if several {
			labels[i] = flat(c.Line.Label()) + " " + labels[i]
		}
		widest = max(widest, utf8.RuneCountInString(labels[i]))
	}
	widest = min(widest, width*2/5)
	cells := width - widest - tookWidth - 2
	total := max(last.Sub(first), time.Microsecond)
	lines := []string{strings.Repeat(" ", widest+1) + ruler(cells, total)}
	for i, c := range calls {
		from := float64(c.Start.Sub(first)) / float64(total) * float64(cells)
		to := float64(end(c).Sub(first)) / float64(total) * float64(cells)
		took := "open"
		if d, ok := c.Took(); ok {
			took = shortTime(d)
		}
		if c.Bad() && took != "open" {
			took += " !"
		}
		line := padded(shortened(labels[i], widest), widest) + " " + padded(bar(from, to, cells, c.End.IsZero()), cells)
		lines = append(lines, strings.TrimRight(line+" "+took, " "))
	}
	return lines
}

func end(c *tracing.Call) time.Time {
	if c.End.IsZero() {
		return c.Line.Last
	}
	return c.End
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ruler tells the time at the beginning, the middle and the end.
func ruler(cells int, total time.Duration) string {
	middle, end := shortTime(total/2), shortTime(total)
	line := padded("0", cells/2) + middle
	return padded(line, cells-utf8.RuneCountInString(end)) + end
}

// eighths are blocks that fill a cell from its left, by eighths.
var eighths = []rune(" ▏▎▍▌▋▊▉█")

// bar draws from one cell to another, with parts of the last one. What is shorter is an eighth long.
func bar(from, to float64, cells int, open bool) string {
	start := min(int(from), cells-1)
	n := max(int((to-float64(start))*8+0.5), 1)
	n = min(n, (cells-start)*8)
	text := strings.Repeat(" ", start)
	if open {
		return text + strings.Repeat("░", (n+7)/8)
	}
	text += strings.Repeat("█", n/8)
	if n%8 > 0 {
		text += string(eighths[n%8])
	}
	return text
}
