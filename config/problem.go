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
	text := Place{p.Path, p.Line, p.Column}.String()
	if p.Server != "" {
		text += fmt.Sprintf(": server %q", p.Server)
	}
	return text + ": " + p.Text
}

// Unwrap returns the cause, so that errors.Is(err, fs.ErrNotExist) tells a missing file.
func (p *Problem) Unwrap() error { return p.Err }

// A Place is where something stands in a file. The zero value is nowhere.
type Place struct {
	Path   string // the file
	Line   int    // from 1; 0 if the whole file is meant
	Column int    // from 1, in characters
}

// String returns "<path>:<line>:<column>", or the path alone for a whole file.
func (p Place) String() string {
	if p.Line == 0 {
		return p.Path
	}
	return fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
}

// A cursor finds lines and columns. Going forward it counts only what lies between, so that a walk through a whole file
// takes no more than one pass. It is for one text.
type cursor struct{ offset, lines, columns int } // what lies before the offset, and of its line before it

// to returns the line and column of the byte at offset.
func (c *cursor) to(text []byte, offset int) (line, column int) {
	offset = min(offset, len(text))
	if offset < c.offset {
		*c = cursor{}
	}
	between := text[c.offset:offset]
	if newline := bytes.LastIndexByte(between, '\n'); newline >= 0 {
		c.lines += bytes.Count(between, []byte("\n"))
		c.columns = 0
		between = between[newline+1:]
	}
	c.columns += utf8.RuneCount(between)
	c.offset = offset
	return c.lines + 1, c.columns + 1
}
