package replay

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
)

// withMember returns an object with the value of a member replaced, or added. What is no object is left as it is.
func withMember(object json.RawMessage, name string, value []byte) json.RawMessage {
	out := []byte{'{'}
	found := false
	add := func(n, v []byte) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if string(n) == name {
			v, found = value, true
		}
		out, _ = jsontext.AppendQuote(out, n) // of broken UTF-8, which is replaced
		out = append(append(out, ':'), v...)
		return nil
	}
	if len(object) > 0 && jsonscan.Members(object, add) != nil {
		return object
	}
	if !found {
		_ = add([]byte(name), value) // it never fails
	}
	return append(out, '}')
}

// withMeta is withMember for a member of the member _meta.
func withMeta(object json.RawMessage, name string, value []byte) json.RawMessage {
	return withMember(object, "_meta", withMember(memberOf(object, "_meta"), name, value))
}
