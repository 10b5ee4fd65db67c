package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// standardize blanks out comments and trailing commas of the text. All else keeps its place.
func (r *reader) standardize() error {
	value, err := r.parseComments()
	if err != nil {
		return err
	}
	value.Standardize()
	r.text = value.Pack()[:len(r.text)]
	return nil
}

// parseComments parses the text as JSON in which comments and trailing commas are allowed. The error is a *Problem.
func (r *reader) parseComments() (hujson.Value, error) {
	if err := r.refuseDeep(); err != nil {
		return hujson.Value{}, err
	}
	// A line comment needs a line's end, and may be the last thing in the file.
	value, err := hujson.Parse(append(bytes.Clone(r.text), '\n'))
	if err != nil {
		return hujson.Value{}, r.malformed(err)
	}
	return value, nil
}

// refuseDeep refuses a text that a parser may not survive.
func (r *reader) refuseDeep() error {
	if bytes.HasPrefix(r.text, []byte("\xff\xfe")) || bytes.HasPrefix(r.text, []byte("\xfe\xff")) {
		return r.problem(0, "", "it is written in UTF-16; save it as UTF-8")
	}
	if bytes.Count(r.text, []byte("["))+bytes.Count(r.text, []byte("{")) > mostNested {
		return r.problem(0, "", "it has more than %d brackets", mostNested)
	}
	return nil
}

// malformed makes a *Problem of an error of the parser, which tells line and column, in bytes, in its text only.
func (r *reader) malformed(err error) error {
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		return r.problem(0, "", "not valid JSON")
	}
	at := column - 1
	for rest := r.text; line > 1; line-- {
		end := bytes.IndexByte(rest, '\n') + 1
		at += end
		rest = rest[end:]
	}
	at = min(at, len(r.text))
	reason := errors.Unwrap(err)
	switch text := reason.Error(); {
	case errors.Is(err, io.ErrUnexpectedEOF) && strings.Contains(text, "comment"):
		return r.problem(at, "", "not valid JSON: a comment that begins here has no end")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return r.broken(err, at)
	case strings.HasSuffix(text, "after top-level value"):
		return r.problem(at, "", "more text behind the end of the JSON value")
	case strings.HasPrefix(text, "invalid literal"):
		return r.badLiteral(at)
	default:
		return r.problem(at, "", "not valid JSON: %s", text)
	}
}

// badLiteral tells what is wrong with the literal at an offset. Its text may be a secret and is not shown.
func (r *reader) badLiteral(at int) error {
	dec := jsontext.NewDecoder(bytes.NewReader(r.text[at:]))
	_, err := dec.ReadToken()
	if where, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return r.problem(at+int(where.ByteOffset), "", "not valid JSON: %v", where.Err)
	}
	return r.problem(at, "", "not valid JSON: it is no valid value")
}
