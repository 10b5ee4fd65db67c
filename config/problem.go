package config

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Severity tells what a Problem costs.
type Severity uint8

// The severities. The zero value is the graver one.
const (
	Error   Severity = iota // the entry, or the whole file, is not used
	Warning                 // nothing but the member that it names
)

// String returns "error" or "warning".
func (s Severity) String() string { return [...]string{"error", "warning"}[s] }

// A Problem is something wrong at one place of a file. It is an error value.
type Problem struct {
	Path     string   // the file
	Line     int      // from 1; 0 if the whole file is meant
	Column   int      // from 1, in characters
	Server   string   // the name of the entry; empty if the file is meant
	Severity Severity // what it costs
	Text     string   // what is wrong, and what is accepted
	Err      error    // the cause; may be nil
}

// Error returns "<path>:<line>:<column>: server "<name>": <text>", without what is not known.
func (p *Problem) Error() string {
	text := p.Path
	if p.Line > 0 {
		text += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	if p.Server != "" {
		text += fmt.Sprintf(": server %q", p.Server)
	}
	return text + ": " + p.Text
}

// Unwrap returns the cause, so that errors.Is(err, fs.ErrNotExist) tells a missing file.
func (p *Problem) Unwrap() error { return p.Err }

// place returns the line and column of the byte at offset.
func place(text []byte, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}
