package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mcpwire/mcp"
)

// How lines of a batch end: with a result, with one that the tool calls an error, or with an error of a kind.
const (
	resultDone      = "done"
	resultToolError = "tool_error"

	kindInvalidLine      = "invalid_line"      // it is no JSON object
	kindInvalidArguments = "invalid_arguments" // they don't fit the tool's schema, and were not sent
	kindRefused          = "refused"           // the server has answered with an error
	kindNotSent          = "not_sent"          // the call has not reached the server
	kindUnknown          = "outcome_unknown"   // nobody knows whether the tool has run
	kindFailed           = "failed"            // anything else, such as an answer that can't be read
)

// An outcome is how the call for one line has ended.
type outcome struct {
	result *mcp.CallToolResult // nil for an error
	kind   string              // of the error
	err    error
	code   *int64 // of a refusal
}

func failed(kind string, err error) outcome { return outcome{kind: kind, err: err} }

// name is what the outcome is counted as.
func (o outcome) name() string {
	switch {
	case o.result == nil:
		return o.kind
	case o.result.IsError:
		return resultToolError
	}
	return resultDone
}

// object is the outcome of a line as JSON, on one line.
func (o outcome) object(line int) (json.RawMessage, error) {
	var all object
	all.add("line", strconv.AppendInt(nil, int64(line), 10))
	if o.result != nil {
		result, err := encodedResult(o.result)
		if err != nil {
			return nil, err
		}
		all.add("result", result)
		return onOneLine(all.text()), nil
	}
	var failure object
	failure.addText("kind", o.kind)
	failure.addText("message", errorText(o.err))
	if o.code != nil {
		failure.add("code", strconv.AppendInt(nil, *o.code, 10))
	}
	all.add("error", failure.text())
	return all.text(), nil
}

// text is the outcome of a line as text, on one line.
func (o outcome) text(line int) string {
	var text string
	switch o.name() {
	case resultDone:
		text = resultText(o.result)
	case resultToolError:
		text = "the tool reported an error: " + resultText(o.result)
	default:
		text = o.kind + ": " + errorText(o.err)
	}
	return fmt.Sprintf("%d: %s", line, strings.Join(strings.Fields(text), " "))
}

// encodedResult returns a result as the server sent it.
func encodedResult(r *mcp.CallToolResult) (json.RawMessage, error) {
	encoded, err := mcp.Encode(r)
	if err != nil {
		return nil, err
	}
	return exact(encoded, map[string]json.RawMessage{"structuredContent": r.StructuredContent, "_meta": r.Meta}), nil
}

// told tells how a line has ended: in the file of results, else on standard output. If that can't be done, no more
// calls are begun.
func (b *batch) told(line int, o outcome, earlier bool) {
	if err := b.write(line, o); err != nil {
		b.halt(err)
		return
	}
	b.count(o.name(), earlier)
	if o.name() != resultDone && b.each.stop && !earlier {
		b.halt(errStopped)
	}
}

func (b *batch) write(line int, o outcome) error {
	if b.record == nil && !b.flags.output.json {
		text := o.text(line)
		if o.name() != resultDone {
			return b.out.write(b.out.alarm(text) + "\n")
		}
		return b.out.show(text + "\n")
	}
	text, err := o.object(line)
	switch {
	case err != nil:
		return err
	case b.record != nil:
		return b.record.add(text)
	}
	return b.printJSON(text)
}

// counts are how the lines have ended up to now.
type counts struct {
	all     int // that have ended
	earlier int // of all, in an earlier run
	named   map[string]int
}

func (b *batch) count(name string, earlier bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counts.named == nil {
		b.counts.named = map[string]int{}
	}
	b.counts.all++
	if earlier {
		b.counts.earlier++
	}
	b.counts.named[name]++
	b.bar.show(b.counts)
}

func (c counts) failed() int { return c.all - c.named[resultDone] - c.named[resultToolError] }

// lines is "1 line" or "5 lines".
func (c counts) lines() string {
	if c.all == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", c.all)
}

// text is "3 done, 1 outcome_unknown, 1 tool_error".
func (c counts) text() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.named)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.named[name], name))
	}
	if c.earlier > 0 {
		parts = append(parts, fmt.Sprintf("%d of these in an earlier run", c.earlier))
	}
	if len(parts) == 0 {
		return "nothing was called"
	}
	return strings.Join(parts, ", ")
}

// A batchError tells that lines of a batch have not gone well. Each was told.
type batchError struct {
	text string
	code int
}

func (e *batchError) Error() string { return e.text }

// conclude tells how the batch has gone, and returns its error. cause is why no more calls were begun.
func (b *batch) conclude(ctx context.Context, cause error) error {
	name, c := b.target.Name+": "+b.tool, b.counts
	all, stopped := errors.Is(cause, errNoMore), errors.Is(cause, errStopped)
	if !all && !stopped {
		b.console.line("mcpwire: " + name + ": " + c.text() + b.goesOn())
	}
	bad := func(code int, format string, args ...any) error {
		return &batchError{name + ": " + fmt.Sprintf(format, args...) + ": " + c.text() + b.goesOn(), code}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !all && !stopped:
		return cause
	case c.failed() == c.all && c.all > 0:
		return bad(exitFailed, "all of %s failed", c.lines())
	case c.failed() > 0:
		return bad(exitSome, "%d of %s failed", c.failed(), c.lines())
	case c.named[resultToolError] > 0:
		return bad(exitToolError, "the tool reported an error for %d of %s", c.named[resultToolError], c.lines())
	case c.all == 0:
		b.console.linef("mcpwire: warning: there are no lines in %s", b.input.name)
	case b.record != nil:
		b.console.line(name + ": " + c.lines() + ": " + c.text())
	}
	return nil
}

// goesOn tells where a batch that has ended early goes on.
func (b *batch) goesOn() string {
	switch {
	case b.next == 0:
		return ""
	case b.record != nil:
		return fmt.Sprintf("; the same command goes on with line %d", b.next)
	}
	return fmt.Sprintf("; line %d and those behind it were not called", b.next)
}
