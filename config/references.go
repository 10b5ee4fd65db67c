package config

import (
	"errors"
	"fmt"
	"strings"
)

// A piece is a part of a value: literal text, or a reference to a variable.
type piece struct {
	raw      string // as it is written
	text     string // of literal text: without escapes
	variable string // of a reference: the variable's name, or "file:" and a path; empty for literal text
	fallback string // its default as written, which may hold references itself
	defaults bool   // it has a default, which may be empty
}

// A syntaxError is a reference that can't be read. Its text shows nothing of the value.
type syntaxError string

// Error returns the text.
func (e syntaxError) Error() string { return string(e) }

const howTo = "; write ${NAME}, ${NAME:-default} or ${file:PATH}, and $$ for a dollar sign"

// filePrefix begins a reference to what a file holds.
const filePrefix = "file:"

// split cuts a value into its pieces. A dollar sign that begins neither "${" nor "$$" is literal text.
func split(value string) ([]piece, error) {
	var pieces []piece
	var text strings.Builder
	begin := 0 // of the literal text
	flush := func(end int) {
		if end > begin {
			pieces = append(pieces, piece{raw: value[begin:end], text: text.String()})
			text.Reset()
		}
	}
	for i := 0; i < len(value); {
		escaped, width := escape(value[i:])
		switch {
		case width > 0:
			text.WriteString(escaped)
			i += width
		case strings.HasPrefix(value[i:], "${"):
			flush(i)
			length := reach(value[i:])
			if length < 0 {
				return nil, syntaxError(`a reference that begins with "${" has no end` + howTo)
			}
			ref, err := reference(value[i : i+length])
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, ref)
			i += length
			begin = i
		default:
			text.WriteByte(value[i])
			i++
		}
	}
	flush(len(value))
	return pieces, nil
}

// escape returns the text of the escape that s begins with, and its width; 0 if it begins with none.
func escape(s string) (text string, width int) {
	switch {
	case strings.HasPrefix(s, "$$"):
		return "$", 2
	case strings.HasPrefix(s, `\${`):
		return "${", 3
	}
	return "", 0
}

// reach returns the length of the reference that s begins with, with those in its default; -1 if it has no end.
func reach(s string) int {
	depth := 0
	for i := 0; i < len(s); {
		_, width := escape(s[i:])
		switch {
		case width > 0:
			i += width
			continue
		case strings.HasPrefix(s[i:], "${"):
			depth++
			i++
		case s[i] == '}':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
	return -1
}

func reference(raw string) (piece, error) {
	inner := strings.TrimSuffix(strings.TrimPrefix(raw, "${"), "}")
	p := piece{raw: raw}
	if written, ok := strings.CutPrefix(inner, filePrefix); ok {
		path, err := split(written)
		if err != nil || len(path) != 1 || path[0].variable != "" {
			return piece{}, syntaxError("a reference to a file has no valid path" + howTo)
		}
		p.variable = filePrefix + path[0].text
		return p, nil
	}
	p.variable, p.fallback, p.defaults = strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	if !isVariable(p.variable) {
		return piece{}, syntaxError("a reference has no valid name of a variable" + howTo)
	}
	return p, nil
}

// isVariable reports whether a variable can have this name. Parentheses stand in names that Windows sets.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789()", rune(c))) {
			return false
		}
	}
	return name != ""
}

// deepest is how deep defaults may stand in each other.
const deepest = 8

// A lookup finds the value of a variable or of a file, under the name that a piece has for it.
type lookup = func(name string) (value string, err error)

// errUnset tells that there is no variable of that name.
var errUnset = errors.New("not set")

// expand returns the value with its references replaced. used is told of each variable and of what is put in for it,
// its value or its default. What is put in is not looked at again.
func expand(value string, lookup lookup, used func(name, value string), depth int) (string, error) {
	if !strings.Contains(value, "$") {
		return value, nil
	}
	if depth > deepest {
		return "", syntaxError(fmt.Sprintf("more than %d defaults stand in each other", deepest))
	}
	pieces, err := split(value)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, p := range pieces {
		text := p.text
		if p.variable != "" {
			if text, err = p.resolve(lookup, used, depth); err != nil {
				return "", err
			}
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// resolve returns the text that stands for a reference.
func (p piece) resolve(lookup lookup, used func(name, value string), depth int) (string, error) {
	value, err := lookup(p.variable)
	switch {
	case p.defaults && value == "":
		text, err := expand(p.fallback, lookup, used, depth+1)
		if err == nil {
			used(p.variable, text)
		}
		return text, err
	case errors.Is(err, errUnset):
		return "", unsetError(p.variable)
	case err != nil:
		return "", err
	}
	used(p.variable, value)
	return value, nil
}

// An unsetError is the name of a variable that is not set.
type unsetError string

// Error says what to do.
func (e unsetError) Error() string {
	return fmt.Sprintf("the variable %s is not set; set it, or give a default: ${%[1]s:-default}", string(e))
}
