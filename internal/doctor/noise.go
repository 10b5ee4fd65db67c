package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mcpwire/internal/jsonscan"
)

// errDeadline is what an expired clock satisfies.
var errDeadline = context.DeadlineExceeded

// A noiseKind tells what lines on standard output are that are no messages.
type noiseKind uint8

const (
	logLines   noiseKind = iota
	lspFrames            // headers with a Content-Length, as the Language Server Protocol has them
	splitJSON            // JSON-RPC messages over several lines
	otherJSON            // JSON that is no JSON-RPC
	brokenJSON           // what begins like a message and is none
	htmlPage
)

// classify tells what lines are, by the most telling of them.
func classify(lines []string) noiseKind {
	kind := logLines
	for i, text := range lines {
		text = strings.TrimSpace(text)
		lower := strings.ToLower(text)
		switch {
		case strings.HasPrefix(lower, "content-length:"):
			return lspFrames
		case strings.HasPrefix(lower, "<!doctype html"), strings.HasPrefix(lower, "<html"):
			return htmlPage
		case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
			switch {
			case jsonscan.Valid([]byte(text)):
				kind = max(kind, otherJSON)
			case joins(lines[i:]):
				return splitJSON
			default:
				kind = max(kind, brokenJSON)
			}
		}
	}
	return kind
}

// joins reports whether lines begin with one JSON-RPC message, or with what looks like the beginning of one.
func joins(lines []string) bool {
	var b strings.Builder
	for i, text := range lines {
		b.WriteString(text + "\n")
		if i > 0 && jsonscan.Valid([]byte(b.String())) {
			return strings.Contains(b.String(), `"jsonrpc"`)
		}
	}
	second := ""
	if len(lines) > 1 {
		second = strings.TrimSpace(lines[1])
	}
	return strings.TrimSpace(lines[0]) == "{" && strings.HasPrefix(second, `"`)
}

// noisy returns the newest line on which there was noise.
func (f *facts) noisy() (found line) {
	for _, l := range f.record.all() {
		if l.early+l.late > 0 {
			found = l
		}
	}
	return found
}

// noise tells of what came on standard output that is no message.
func (f *facts) noise(s *Step) {
	last := f.noisy()
	count := last.early + last.late
	if count == 0 {
		return
	}
	answered := !last.first.IsZero()
	quoted := f.quoteLines(strings.Join(last.noise[:min(len(last.noise), 3)], "\n"))
	grave := Warning
	if f.err != nil && !answered {
		grave = Broken
	}
	switch classify(last.noise) {
	case lspFrames:
		s.find(grave, "content-length-frames", "it frames messages with Content-Length headers, as language servers "+
			"do"+quoted,
			"write one message a line, without headers: that is how MCP's stdio transport frames them")
	case splitJSON:
		s.find(grave, "json-over-lines", "it writes messages over several lines"+quoted,
			"write each message on one line: no indentation, no line feeds in it")
	case htmlPage:
		s.find(grave, "html-on-stdout", "it writes an HTML page on standard output"+quoted,
			"see what is started: that is no MCP server")
	case otherJSON:
		s.find(Warning, "json-no-message", fmt.Sprintf("%s of JSON on standard output %s no JSON-RPC%s",
			lineCount(count), areIs(count), quoted), "send logs to standard error: standard output is for messages")
	case brokenJSON:
		s.find(grave, "message-malformed", fmt.Sprintf("%s on standard output %s broken JSON%s",
			lineCount(count), areIs(count), quoted), "encode messages with a JSON library, one a line, in UTF-8")
	case logLines:
		if last.late == 0 {
			s.find(Warning, "stdout-banner", fmt.Sprintf("%s on standard output before the first message %s no message%s",
				lineCount(count), areIs(count), quoted), "send it to standard error: some hosts give up at the first such line")
			return
		}
		s.find(Warning, "stdout-noise", fmt.Sprintf("%s on standard output %s no messages, and come between messages%s",
			lineCount(count), areIs(count), quoted), "send logs to standard error: standard output is for messages")
	}
}

func lineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

func areIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// duration shows a time as people read it.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "less than 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
