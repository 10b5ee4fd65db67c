package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
)

// An argument of a tool, as the command line gives it.
type argument struct {
	name string
	text string
	raw  bool // text is JSON: name:=text
}

// parseArguments reads key=value and key:=JSON.
func parseArguments(words []string) ([]argument, error) {
	var out []argument
	for _, word := range words {
		name, text, found := strings.Cut(word, "=")
		name, raw := strings.CutSuffix(name, ":")
		switch {
		case !found || name == "":
			return nil, usagef("argument %q: write key=value, or key:=JSON", word)
		case slices.ContainsFunc(out, func(a argument) bool { return a.name == name }):
			return nil, usagef("argument %q is given twice; write %s:=JSON for a list", name, name)
		}
		if raw {
			if err := checkJSON([]byte(text)); err != nil {
				return nil, usagef("argument %q: %s is not valid JSON: %w", name, abridged(text), err)
			}
		}
		out = append(out, argument{name, text, raw})
	}
	return out, nil
}

// value returns the argument as JSON of the first of the types that its text fits. Without types it is a string.
func (a argument) value(types []string) (json.RawMessage, error) {
	if a.raw {
		return json.RawMessage(a.text), nil
	}
	if len(types) == 0 {
		types = []string{"string"}
	}
	for _, t := range types {
		if value, ok := typed(a.text, t); ok {
			return value, nil
		}
	}
	return nil, usagef("argument %q: %s is not %s", a.name, abridged(a.text), eitherType(types))
}

// typed returns text as JSON of one type. Numbers keep their digits.
func typed(text, jsonType string) (json.RawMessage, bool) {
	value := json.RawMessage(strings.TrimSpace(text))
	valid := checkJSON(value) == nil
	switch jsonType {
	case "integer", "number", "boolean", "array", "object", "null":
		have := ""
		if valid {
			have = typeOf(value)
		}
		return value, have == jsonType || jsonType == "number" && have == "integer"
	}
	quoted, err := jsontext.AppendQuote(nil, text)
	return quoted, err == nil
}

func eitherType(types []string) string {
	var shown []string
	for _, t := range types {
		switch t {
		case "integer", "array", "object":
			t = "an " + t
		case "null":
		default:
			t = "a " + t
		}
		if t == "a boolean" {
			t = "true or false"
		}
		shown = append(shown, t)
	}
	return either(shown)
}

const abridgedTo = 40 // characters of a value that an error quotes

func abridged(text string) string {
	if runes := []rune(text); len(runes) > abridgedTo {
		text = string(runes[:abridgedTo]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

func checkJSON(text []byte) error {
	v := jsontext.Value(text).Clone()
	if v.IsValid() {
		return nil
	}
	err := v.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		err = at.Err
	}
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("it ends in the middle")
	}
	return err
}

// readBase returns the object that --args gives: JSON itself, @FILE, or - for standard input.
func readBase(given string, stdin io.Reader) (json.RawMessage, error) {
	text, from := []byte(given), "--args"
	var err error
	if path, isFile := strings.CutPrefix(given, "@"); isFile {
		from = "--args: " + path
		text, err = os.ReadFile(path)
	} else if given == "-" {
		from = "--args: standard input"
		text, err = io.ReadAll(stdin)
	}
	if err != nil {
		return nil, usagef("--args: %w", err)
	}
	if err := checkJSON(text); err != nil {
		return nil, usagef("%s: not valid JSON: %w", from, err)
	}
	if typeOf(json.RawMessage(strings.TrimSpace(string(text)))) != "object" {
		return nil, usagef("%s: a JSON object is wanted", from)
	}
	return text, nil
}

// mergeArguments returns the arguments object: the base's members, replaced and followed by the single ones.
func mergeArguments(base json.RawMessage, single []argument, input json.RawMessage) (json.RawMessage, error) {
	properties := newSchema(input).properties()
	values := map[string]json.RawMessage{}
	for _, a := range single {
		var types []string
		if i := slices.IndexFunc(properties, func(p property) bool { return p.name == a.name }); i >= 0 {
			types = properties[i].schema.types()
		}
		value, err := a.value(types)
		if err != nil {
			return nil, err
		}
		values[a.name] = value
	}
	var merged object
	if base != nil {
		_ = jsonscan.Members(base, func(name, value []byte) error { // it has been checked
			if single, ok := values[string(name)]; ok {
				value = single
				delete(values, string(name))
			}
			merged.add(string(name), value)
			return nil
		})
	}
	for _, a := range single {
		if value, ok := values[a.name]; ok {
			merged.add(a.name, value)
		}
	}
	return merged.text(), nil
}

// An object is JSON text that is put together from members; their values stay as they are, byte for byte.
type object struct{ members []byte }

func (o *object) add(name string, value []byte) {
	if len(o.members) > 0 {
		o.members = append(o.members, ',')
	}
	// Broken UTF-8 becomes U+FFFD, and the error only says so.
	o.members, _ = jsontext.AppendQuote(o.members, name)
	o.members = append(o.members, ':')
	o.members = append(o.members, value...)
}

func (o *object) text() json.RawMessage {
	return slices.Concat([]byte("{"), o.members, []byte("}"))
}
