package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"mcpwire/internal/jsonscan"
)

const (
	maxSchemaDepth = 16   // of references, and of nested unions
	maxSchemaParts = 2000 // that are looked at, so that references that branch can't keep us for ever
	maxEnumText    = 60   // bytes of an enum that is shown by its values
)

// A schema is a JSON Schema, read as far as command lines and lists need it. Anything odd in it reads as absent.
type schema struct {
	root    json.RawMessage // what references point into
	parts   *int            // how many parts may still be looked at
	members map[string]json.RawMessage
}

func newSchema(text json.RawMessage) schema {
	parts := maxSchemaParts
	return schema{root: text, parts: &parts}.at(text, 0)
}

// at reads the schema text, and follows references.
func (s schema) at(text json.RawMessage, depth int) schema {
	if *s.parts--; *s.parts < 0 {
		return schema{root: s.root, parts: s.parts}
	}
	read := schema{s.root, s.parts, members(text)}
	ref := scalar(read.members["$ref"])
	if ref == "" || depth == maxSchemaDepth {
		return read
	}
	return s.at(s.pointer(ref), depth+1)
}

// pointer resolves a reference within the root, such as "#/$defs/x"; nothing else is followed.
func (s schema) pointer(ref string) json.RawMessage {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	here := s.root
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step != "" {
			here = members(here)[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		}
	}
	return here
}

// A property is one argument of a tool.
type property struct {
	name        string
	schema      schema
	required    bool
	description string
}

// properties returns a tool's arguments in the schema's order.
func (s schema) properties() []property {
	required := texts(s.members["required"])
	var out []property
	_ = jsonscan.Members(s.members["properties"], func(name, value []byte) error {
		// A reference may have a description beside it.
		p := property{name: string(name), schema: s.at(value, 0), required: slices.Contains(required, string(name))}
		if p.description = scalar(members(value)["description"]); p.description == "" {
			p.description = scalar(p.schema.members["description"])
		}
		out = append(out, p)
		return nil
	})
	return out
}

// types returns the JSON types that fit, in the schema's order; none if it doesn't say.
func (s schema) types() []string { return s.typesAt(0) }

func (s schema) typesAt(depth int) []string {
	if depth == maxSchemaDepth {
		return nil
	}
	if one := scalar(s.members["type"]); one != "" {
		return []string{one}
	}
	if several := texts(s.members["type"]); len(several) > 0 {
		return several
	}
	var types []string
	add := func(t string) {
		if t != "" && !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	add(typeOf(s.members["const"]))
	for _, v := range elements(s.members["enum"]) {
		add(typeOf(v))
	}
	for _, union := range []string{"anyOf", "oneOf", "allOf"} {
		if len(types) > 0 {
			break
		}
		for _, v := range elements(s.members[union]) {
			for _, t := range s.at(v, 0).typesAt(depth + 1) {
				add(t)
			}
		}
	}
	return types
}

// choices returns the values that fit, where they are few; none otherwise.
func (s schema) choices() []json.RawMessage { return s.choicesAt(0) }

func (s schema) choicesAt(depth int) []json.RawMessage {
	if depth == maxSchemaDepth {
		return nil
	}
	if one := s.members["const"]; one != nil {
		return []json.RawMessage{one}
	}
	if several := elements(s.members["enum"]); len(several) > 0 {
		return several
	}
	if slices.Contains(append(texts(s.members["type"]), scalar(s.members["type"])), "boolean") {
		return []json.RawMessage{[]byte("true"), []byte("false")}
	}
	var all []json.RawMessage
	for _, union := range []string{"anyOf", "oneOf"} {
		for _, v := range elements(s.members[union]) {
			all = append(all, s.at(v, 0).choicesAt(depth+1)...)
		}
	}
	return all
}

// typeName describes what fits, for a list: "string", "array of integer", "a | b".
func (s schema) typeName() string {
	if values := elements(s.members["enum"]); len(values) > 0 {
		var shown []string
		for _, v := range values {
			shown = append(shown, jsonText(v))
		}
		if text := strings.Join(shown, " | "); len(text) <= maxEnumText {
			return text
		}
	}
	types := s.types()
	if len(types) == 0 {
		return "any"
	}
	for i, t := range types {
		if t != "array" {
			continue
		}
		if of := s.at(s.members["items"], 0).types(); len(of) > 0 {
			types[i] = "array of " + strings.Join(of, " | ")
		}
	}
	return strings.Join(types, " | ")
}

// typeOf returns the JSON type of a value; "" for none.
func typeOf(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	switch value[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if bytes.ContainsAny(value, ".eE") {
		return "number"
	}
	return "integer"
}

func members(object json.RawMessage) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	_ = jsonscan.Members(object, func(name, value []byte) error {
		m[string(name)] = value
		return nil
	})
	return m
}

func elements(array json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	_ = jsonscan.Elements(array, func(value []byte) error {
		out = append(out, value)
		return nil
	})
	return out
}

// texts returns the strings of an array.
func texts(array json.RawMessage) []string {
	var out []string
	for _, v := range elements(array) {
		if text := scalar(v); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// scalar returns a string's value; "" for anything else.
func scalar(value json.RawMessage) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	return string(jsonscan.Unquote(value))
}

// jsonText returns a string's value and any other value's JSON text.
func jsonText(value json.RawMessage) string {
	if len(value) > 1 && value[0] == '"' {
		return scalar(value)
	}
	return string(value)
}
