// Package jsonscan walks JSON text without reflection and without allocating. What it passes over is fully checked
// against the grammar of RFC 8259, with one exception: bytes that are no valid UTF-8 are let through inside strings, so
// that one broken character in a tool's output does not cost the whole message.
package jsonscan

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 10_000

var (
	errEnd   = errors.New("unexpected end of JSON text")
	errDepth = fmt.Errorf("nested deeper than %d levels", MaxDepth)
)

func unexpected(b []byte, i int, want string) error {
	if i >= len(b) {
		return errEnd
	}
	r, _ := utf8.DecodeRune(b[i:])
	return fmt.Errorf("unexpected character %q at byte %d, want %s", r, i, want)
}

// Space returns the first index at or after i that holds no white space.
func Space(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// Valid reports whether b is exactly one JSON value, with white space around it allowed.
func Valid(b []byte) bool {
	end, err := Value(b, Space(b, 0))
	return err == nil && Space(b, end) == len(b)
}

// Value passes over the value that begins at i and returns the index behind it.
func Value(b []byte, i int) (int, error) { return value(b, i, 0) }

func value(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return i, errEnd
	}
	switch c := b[i]; {
	case c == '"':
		return String(b, i)
	case c == '{' || c == '[':
		if depth >= MaxDepth {
			return i, errDepth
		}
		if c == '[' {
			return array(b, i, depth+1)
		}
		return object(b, i, depth+1)
	case c == '-' || '0' <= c && c <= '9':
		return Number(b, i)
	case c == 't':
		return literal(b, i, "true")
	case c == 'f':
		return literal(b, i, "false")
	case c == 'n':
		return literal(b, i, "null")
	}
	return i, unexpected(b, i, "a value")
}

func literal(b []byte, i int, word string) (int, error) {
	if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
		return i + len(word), nil
	}
	return i, unexpected(b, i, word)
}

func array(b []byte, i, depth int) (int, error) {
	i = Space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = value(b, i, depth); err != nil {
			return i, err
		}
		i = Space(b, i)
		switch {
		case i < len(b) && b[i] == ',':
			i = Space(b, i+1)
		case i < len(b) && b[i] == ']':
			return i + 1, nil
		default:
			return i, unexpected(b, i, "',' or ']'")
		}
	}
}

func object(b []byte, i, depth int) (int, error) {
	i = Space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		var err error
		if _, i, err = name(b, i); err != nil {
			return i, err
		}
		if i, err = value(b, i, depth); err != nil {
			return i, err
		}
		i = Space(b, i)
		switch {
		case i < len(b) && b[i] == ',':
			i = Space(b, i+1)
		case i < len(b) && b[i] == '}':
			return i + 1, nil
		default:
			return i, unexpected(b, i, "',' or '}'")
		}
	}
}

// name passes over a member's name and its colon. It returns the index behind the name and that of the value.
func name(b []byte, i int) (closing, start int, err error) {
	if i >= len(b) || b[i] != '"' {
		return i, i, unexpected(b, i, "a member's name")
	}
	closing, err = String(b, i)
	if err != nil {
		return closing, closing, err
	}
	start = Space(b, closing)
	if start >= len(b) || b[start] != ':' {
		return closing, start, unexpected(b, start, "':'")
	}
	return closing, Space(b, start+1), nil
}

// plain tells the bytes of a string that need no look: everything but the quote, the backslash and control characters.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// String passes over the string whose opening quote is at i and returns the index behind its closing quote.
func String(b []byte, i int) (int, error) {
	for i++; ; {
		for i+8 <= len(b) {
			word := load(b[i:])
			if found := ofNote(word) &^ word & highBits; found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
			i += 8
		}
		for i < len(b) && plain[b[i]] {
			i++
		}
		if i >= len(b) {
			return i, errEnd
		}
		switch b[i] {
		case '"':
			return i + 1, nil
		case '\\':
			n, err := escape(b, i)
			if err != nil {
				return i, err
			}
			i = n
		default:
			return i, unexpected(b, i, "no control character in a string")
		}
	}
}

func escape(b []byte, i int) (int, error) {
	if i+1 >= len(b) {
		return i, errEnd
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, nil
	case 'u':
		if i+6 > len(b) {
			return i, errEnd
		}
		for _, c := range b[i+2 : i+6] {
			if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
				return i, unexpected(b, i, "four hexadecimal digits after \\u")
			}
		}
		return i + 6, nil
	}
	return i, unexpected(b, i+1, "an escape sequence")
}

// Number passes over the number that begins at i.
func Number(b []byte, i int) (int, error) {
	digits := func() bool {
		start := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return i, unexpected(b, i, "a digit")
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return i, unexpected(b, i, "a digit")
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, unexpected(b, i, "a digit")
		}
	}
	return i, nil
}

// Members calls f for each member of the object that is the whole of b, in order, with the name unquoted and the value
// as it stands in b. It stops at f's first error and returns it; text that is no object is an error too.
func Members(b []byte, f func(name, value []byte) error) error {
	i := Space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return unexpected(b, i, "'{'")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return trailing(b, i+1)
	}
	for {
		closing, start, err := name(b, i)
		if err != nil {
			return err
		}
		end, err := value(b, start, 1)
		if err != nil {
			return err
		}
		if err := f(Unquote(b[i:closing]), b[start:end]); err != nil {
			return err
		}
		end = Space(b, end)
		switch {
		case end < len(b) && b[end] == ',':
			i = Space(b, end+1)
		case end < len(b) && b[end] == '}':
			return trailing(b, end+1)
		default:
			return unexpected(b, end, "',' or '}'")
		}
	}
}

func trailing(b []byte, i int) error {
	if i = Space(b, i); i < len(b) {
		return unexpected(b, i, "the end")
	}
	return nil
}

// Elements calls f for each element of the array that is the whole of b, in order. It stops at f's first error.
func Elements(b []byte, f func(value []byte) error) error {
	i := Space(b, 0)
	if i >= len(b) || b[i] != '[' {
		return unexpected(b, i, "'['")
	}
	i = Space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return trailing(b, i+1)
	}
	for {
		end, err := value(b, i, 1)
		if err != nil {
			return err
		}
		if err := f(b[i:end]); err != nil {
			return err
		}
		i = Space(b, end)
		switch {
		case i < len(b) && b[i] == ',':
			i = Space(b, i+1)
		case i < len(b) && b[i] == ']':
			return trailing(b, i+1)
		default:
			return unexpected(b, i, "',' or ']'")
		}
	}
}

// Unquote returns the value of a string that String has passed over, quotes included. It shares memory with quoted
// unless there is something to unescape.
func Unquote(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	// Broken UTF-8 and lone surrogates become U+FFFD, and the error only says so.
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return text
}
