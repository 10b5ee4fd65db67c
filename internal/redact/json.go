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
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	in := jsontext.NewDecoder(bytes.NewReader(text), lenient...)
	var out bytes.Buffer
	to := jsontext.NewEncoder(&out, lenient...)
	found := false
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && token.Kind() == '"' {
			said := token.String()
			masked := mask(said)
			found = found || masked != said
			token = jsontext.String(masked)
		}
		if err == nil {
			err = to.WriteToken(token)
		}
		if err != nil {
			return nil
		}
	}
	if !found {
		return text
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")) // which the encoder writes behind each text
}
