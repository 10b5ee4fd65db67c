package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON returns a JSON text with mask applied to the strings in it, however they are escaped. What mask leaves as it is
// comes back byte by byte, what can't be read to the end is left out.
func JSON(text json.RawMessage, mask func(string) string) json.RawMessage {
	if text == nil {
		return nil
	}
	masked, _ := maskStrings(text, func(said, _ string) string { return mask(said) })
	return masked
}

// maskStrings applies mask to the strings in a JSON text, names too. mask is told under which name a string is the
// value of a member; empty: under none. What mask leaves as it is comes back in the same memory. It reports false, and
// returns nothing, if the text can't be read to the end.
func maskStrings(text []byte, mask func(said, under string) string) ([]byte, bool) {
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	in := jsontext.NewDecoder(bytes.NewReader(text), lenient...)
	var out bytes.Buffer
	to := jsontext.NewEncoder(&out, lenient...)
	changed, under := false, ""
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false
		}
		next := ""
		if token.Kind() == '"' {
			said := token.String()
			if kind, n := in.StackIndex(in.StackDepth()); kind == '{' && n%2 == 1 {
				next = said
			}
			if masked := mask(said, under); masked != said {
				changed, token = true, jsontext.String(masked)
			}
		}
		under = next
		if err := to.WriteToken(token); err != nil {
			return nil, false
		}
	}
	if !changed {
		return text, true
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), true // which the encoder writes behind each text
}
