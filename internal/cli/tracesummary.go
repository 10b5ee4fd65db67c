package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"mcpwire/internal/tracing"
)

// A summaryView counts.
type summaryView struct {
	*traceRun
	counter *tracing.Counter
}

func (v *summaryView) item(i *tracing.Item) error {
	v.counter.Add(i, v.book.Start)
	return nil
}

func (v *summaryView) end() error {
	s := v.counter.Summary(v.book)
	if v.output.json {
		text, err := jsonv2.Marshal(s)
		if err != nil {
			return err
		}
		return v.printJSON(json.RawMessage(text))
	}
	if s.Events == 0 {
		return nil
	}
	if err := v.out.printf("%d events in %s, from %s\n", s.Events, shortMS(s.Took),
		s.Start.UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	for _, t := range s.Lines {
		if err := v.out.write("\n" + v.line(t)); err != nil {
			return err
		}
	}
	return nil
}

// line shows one connection.
func (v *summaryView) line(t *tracing.Tally) string {
	name := t.Server
	if name == "" {
		name = "(no name)"
	}
	if t.Line > 1 {
		name = fmt.Sprintf("%s#%d", name, t.Line)
	}
	facts := []string{v.out.heading(flat(name))}
	revision := t.Revision
	if t.Era != "" {
		revision += " (" + t.Era + ")"
	}
	for _, fact := range []string{t.Carrier, revision, t.About} {
		if fact != "" {
			facts = append(facts, flat(fact))
		}
	}
	var b strings.Builder
	b.WriteString(strings.Join(facts, " · ") + "\n")
	b.WriteString("  " + lifeText(t) + "\n")
	fmt.Fprintf(&b, "  → %s   ← %s\n", trafficText(t.Out), trafficText(t.In))
	if len(t.Methods) > 0 {
		b.WriteString("\n" + v.methods(t.Methods) + "\n")
	}
	if trouble := troubleText(t); trouble != "" {
		b.WriteString("  " + v.out.alarm(trouble) + "\n")
	}
	return b.String()
}

// lifeText tells how long a connection lasted and how it ended.
func lifeText(t *tracing.Tally) string {
	var words []string
	if t.Opened != nil {
		words = append(words, "opened in "+shortMS(*t.Opened))
	}
	words = append(words, "lasted "+shortMS(t.Took))
	if t.End != "" {
		words = append(words, flat(t.End))
	} else if t.Opened != nil {
		words = append(words, "not closed when the trace ends")
	}
	if x := t.Exit; x != nil && !strings.Contains(t.End, "exit status") {
		words = append(words, exitText(*x))
	}
	return strings.Join(words, ", ")
}

func trafficText(t tracing.Traffic) string {
	return fmt.Sprintf("%s, %s", plural(t.Messages, "message"), byteSize(float64(t.Bytes)))
}

// methods is a table of methods, in which those of several names are followed by each of these.
func (v *summaryView) methods(all []*tracing.Method) string {
	rows := [][]string{{"METHOD", "CALLS", "ERRORS", "P50", "P90", "P99", "MAX", "<1 ms … ≥10 s"}}
	for _, m := range all {
		rows = append(rows, methodCells(m, direction(m.Out)+" "+m.Method))
		for _, one := range m.Names {
			rows = append(rows, methodCells(one, "    "+one.Name))
		}
	}
	lines := aligned(rows)
	lines[0] = v.out.heading(lines[0])
	return "  " + strings.Join(lines, "\n  ")
}

func methodCells(m *tracing.Method, title string) []string {
	indent := title[:len(title)-len(strings.TrimLeft(title, " "))]
	cells := []string{indent + flat(title), fmt.Sprint(m.Calls), fmt.Sprint(m.Errors + m.Failed)}
	for _, p := range []*float64{m.P50, m.P90, m.P99, m.Max} {
		if p == nil {
			cells = append(cells, "-")
			continue
		}
		cells = append(cells, shortMS(*p))
	}
	return append(cells, "|"+histogram(m.Histogram)+"|")
}

// histogram draws a column for each count, a blank for none.
func histogram(counts []int) string {
	most := 1
	for _, n := range counts {
		most = max(most, n)
	}
	heights := []rune(" ▁▂▃▄▅▆▇█")
	text := make([]rune, len(counts))
	for i, n := range counts {
		text[i] = heights[(n*8+most-1)/most]
	}
	return string(text)
}

// troubleText counts what is not as it should be.
func troubleText(t *tracing.Tally) string {
	var words []string
	for _, one := range []struct {
		n    int
		what string
	}{
		{t.Errors, "error"},
		{t.HTTPErrors, "failed HTTP exchange"},
		{t.Faults, "fault"},
		{t.Oversize, "oversize message"},
		{t.Noise, "line of noise"},
		{t.Orphans, "answer to nothing"},
		{t.Unanswered, "unanswered request"},
		{t.Stderr, "line on standard error"},
	} {
		if one.n > 0 {
			words = append(words, plural(one.n, one.what))
		}
	}
	return strings.Join(words, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if first, rest, ok := strings.Cut(what, " "); ok && (first == "line" || first == "answer") {
		return fmt.Sprintf("%d %ss %s", n, first, rest)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
