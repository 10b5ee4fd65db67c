package mcp

import (
	"encoding/json"
	"errors"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var decodeOptions = jsonv2.JoinOptions(
	jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true),
	jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(
		jsonv2.UnmarshalFromFunc(decodeRaw),
		jsonv2.UnmarshalFromFunc(decodeObject),
	)),
)

var encodeOptions = jsonv2.JoinOptions(
	jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.PreserveRawStrings(true),
	jsonv2.Deterministic(true),
)

// Decode reads the JSON value that is the whole of data into v, a pointer to a zero value of a type of this package. It
// is as lenient as real servers need: null counts as absent for every member except structuredContent and the data of a
// log message, where it is a value; of members that occur twice the last counts; bytes that are no valid UTF-8 become
// U+FFFD in strings; an array, and true, count as an empty object for capabilities, annotations and other types whose
// members are all optional. Any other member of a wrong type is an error that says where. v shares no memory with data.
func Decode(data []byte, v any) error { return jsonv2.Unmarshal(data, v, decodeOptions) }

// Encode returns v, a type of this package, as JSON on one line. Raw payloads keep their names, strings, digits and
// order; white space between them is dropped. It fails only if a raw payload is not JSON.
func Encode(v any) (json.RawMessage, error) { return jsonv2.Marshal(v, encodeOptions) }

// decodeRaw makes null absent, except where it is a value.
func decodeRaw(dec *jsontext.Decoder, raw *json.RawMessage) error {
	if dec.PeekKind() != 'n' {
		return errors.ErrUnsupported
	}
	path := string(dec.StackPointer())
	if strings.HasSuffix(path, "/structuredContent") || strings.HasSuffix(path, "/data") {
		return errors.ErrUnsupported
	}
	*raw = nil
	return dec.SkipValue()
}

// An object is a type whose members are all optional. Servers written in PHP send [] for an empty one, and some by hand
// send true where its presence is all that counts.
type object interface{ optionalMembers() }

func decodeObject(dec *jsontext.Decoder, _ object) error {
	switch dec.PeekKind() {
	case '[', 't':
		return dec.SkipValue()
	}
	return errors.ErrUnsupported
}

// decodeOneOrMany reads an array of values, or one value alone.
func decodeOneOrMany[T any](dec *jsontext.Decoder, list *[]T) error {
	switch dec.PeekKind() {
	case '[', 'n':
		return jsonv2.UnmarshalDecode(dec, list)
	}
	var one T
	if err := jsonv2.UnmarshalDecode(dec, &one); err != nil {
		return err
	}
	*list = []T{one}
	return nil
}
