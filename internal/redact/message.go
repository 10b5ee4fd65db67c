package redact

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Message returns a JSON text for a record of what went over a wire: without what known masks in its strings, however
// they are escaped, without what has the shape of a token, as Tokens finds it, and without the strings whose members'
// names look secret, such as password, api_key, access_token or cookie. Where there is nothing of that it is the same
// text, in the same memory. Nil for known means that nothing is known. A text that is no JSON is masked to the end, as
// Tokens does.
func Message(text []byte, known func(string) string) []byte {
	escaped := bytes.IndexByte(text, '\\') >= 0
	suspected := suspicious(text)
	if !escaped && !suspected {
		if known == nil {
			return text
		}
		if said := string(text); known(said) == said {
			return text
		}
	}
	if known == nil {
		known = func(s string) string { return s }
	}
	masked, ok := maskMembers(text, known)
	if !ok {
		return []byte(Tokens(known(string(text))))
	}
	return masked
}

// maskMembers walks a JSON text; false if it can't be read to the end.
func maskMembers(text []byte, known func(string) string) ([]byte, bool) {
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	in := jsontext.NewDecoder(bytes.NewReader(text), lenient...)
	var out bytes.Buffer
	to := jsontext.NewEncoder(&out, lenient...)
	changed, secret := false, false // secret: the value behind a name is
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false
		}
		if token.Kind() == '"' {
			said := token.String()
			kind, n := in.StackIndex(in.StackDepth())
			named := kind == '{' && n%2 == 1
			masked := known(said)
			switch {
			case secret && said != "":
				masked = Mask
			case !named && suspicious(masked):
				masked = hideTokens(masked)
			}
			if masked != said {
				changed, token = true, jsontext.String(masked)
			}
			secret = named && secretMember(said)
		} else {
			secret = false
		}
		if err := to.WriteToken(token); err != nil {
			return nil, false
		}
	}
	if !changed {
		return text, true
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), true // which the encoder writes behind each text
}
