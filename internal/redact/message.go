package redact

import "bytes"

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
	masked, ok := maskStrings(text, func(said, under string) string {
		if said != "" && secretMember(under) {
			return Mask
		}
		return hideTokens(known(said))
	})
	if !ok {
		return []byte(Tokens(known(string(text))))
	}
	return masked
}
