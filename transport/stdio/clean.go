package stdio

import (
	"bytes"
	"unicode/utf8"
)

// A cleaner takes control sequences out of what a server prints, so that it can be shown on a terminal: those that
// begin with ESC or with a C1 control character (ECMA-48), and all other control characters but tab and LF. It
// remembers where it is between two pieces of a stream. A sequence never reaches beyond the end of its line.
type cleaner struct{ state cleanerState }

type cleanerState uint8

const (
	plain      cleanerState = iota
	escape                  // after ESC
	nibble                  // after ESC and an intermediate byte
	control                 // in a control sequence: parameters, then a final byte
	text                    // in a string that ends with BEL or ST
	textEscape              // in it, after ESC
	c1                      // after the first byte of a C1 character
	textC1                  // the same in a string
)

// append appends what is left of p to dst.
func (c *cleaner) append(dst, p []byte) []byte {
	for _, b := range p {
		dst = c.step(dst, b)
	}
	return dst
}

func (c *cleaner) step(dst []byte, b byte) []byte {
	if b == '\n' {
		c.state = plain
		return append(dst, b)
	}
	switch c.state {
	case escape:
		c.state = afterEscape(b)
	case nibble:
		if b < 0x20 || b > 0x2f {
			c.state = plain
		}
	case control:
		if b >= 0x40 {
			c.state = plain
		}
	case text, textEscape, textC1:
		c.state = insideText(c.state, b)
	case c1:
		c.state = plain
		if b < 0x80 || b > 0x9f {
			return c.step(append(dst, 0xc2), b)
		}
		c.state = afterEscape(b - 0x40)
	default:
		switch {
		case b == 0x1b:
			c.state = escape
		case b == 0xc2:
			c.state = c1
		case b >= 0x20 && b != 0x7f, b == '\t':
			return append(dst, b)
		}
	}
	return dst
}

// afterEscape returns the state that ESC and b lead to.
func afterEscape(b byte) cleanerState {
	switch {
	case b == '[':
		return control
	case b == ']', b == 'P', b == 'X', b == '^', b == '_':
		return text
	case b == 0x1b:
		return escape
	case b >= 0x20 && b <= 0x2f:
		return nibble
	}
	return plain
}

func insideText(state cleanerState, b byte) cleanerState {
	switch {
	case b == 0x07, state == textEscape && b == '\\', state == textC1 && b == 0x9c:
		return plain
	case b == 0x1b:
		return textEscape
	case b == 0xc2:
		return textC1
	}
	return text
}

// excerpt returns the first bytes of a line, without control sequences, at most limit of them.
func excerpt(line []byte, limit int) []byte {
	var c cleaner
	// Control sequences take room too, so that more than limit is looked at.
	shown := c.append(nil, line[:min(len(line), 4*limit)])
	if len(shown) <= limit {
		return shown
	}
	return append(wholeRunes(shown[:limit-len("…")]), "…"...)
}

// wholeRunes takes an unfinished character off the end.
func wholeRunes(p []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(p)); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// A tail keeps the end of a stream.
type tail struct {
	limit int
	buf   []byte
	cut   bool
}

func (t *tail) add(p []byte) {
	if over := len(p) - t.limit; over > 0 {
		p, t.buf, t.cut = p[over:], t.buf[:0], true
	}
	if t.buf = append(t.buf, p...); len(t.buf) > 2*t.limit {
		t.buf = t.buf[:copy(t.buf, t.buf[len(t.buf)-t.limit:])]
		t.cut = true
	}
}

// String returns the tail, from the beginning of a character on.
func (t *tail) String() string {
	p := t.buf
	if len(p) > t.limit {
		p = p[len(p)-t.limit:]
	}
	if t.cut || len(p) < len(t.buf) {
		for i := 0; i < utf8.UTFMax && len(p) > 0 && !utf8.RuneStart(p[0]); i++ {
			p = p[1:]
		}
	}
	return string(bytes.ToValidUTF8(p, []byte("\uFFFD")))
}
