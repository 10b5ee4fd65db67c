package httpwire_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"mcpwire/internal/httpwire"
)

// FuzzFailure checks that whatever a server refuses with becomes an error of bounded length that is fit for a terminal.
// A JSON-RPC error in the body is left as it is: it is for who unwraps it to show.
func FuzzFailure(f *testing.F) {
	f.Add(401, "Bearer realm=\"x\", resource_metadata=\"https://a/b\"", "https://a", "", []byte("log in first"))
	f.Add(401, "Bearer \x1b]0;x\x07, Basic", "\x9b31m\xff", "", []byte("\x1b[2J<html>\xff"))
	f.Add(403, strings.Repeat("a", 4000), strings.Repeat("é", 300), "x", []byte(strings.Repeat("\xf0\x9f", 1000)))
	f.Add(429, "", "", "120", []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"slow"}}`))
	f.Add(503, "", "", "Fri, 31 Dec 9999 23:59:59 GMT", []byte(`{"access_token":"secret"}`))
	f.Add(503, "", "", "-99999999999999999999", []byte{})
	f.Add(-1, "\u202e", "\u2028", "1e9", []byte("Authorization: Bearer abc.def.ghi"))
	f.Fuzz(func(t *testing.T, status int, challenge, server, after string, body []byte) {
		resp := &http.Response{
			StatusCode: status, Body: io.NopCloser(strings.NewReader(string(body))),
			Header: http.Header{"Www-Authenticate": {challenge, challenge}, "Mcp-Auth-Server": {server}, "Retry-After": {after}},
		}
		e := httpwire.Quotes{}.Failure(resp)
		for what, text := range map[string]string{"challenge": e.Challenge, "server": e.AuthServer, "excerpt": e.Excerpt} {
			if len(text) > 1000 || !utf8.ValidString(text) || strings.ContainsFunc(text, unfit) {
				t.Errorf("%s of %d bytes: %q", what, len(text), text)
			}
		}
		if e.RetryAfter < 0 {
			t.Errorf("try again after %v", e.RetryAfter)
		}
		if e.Err == nil && strings.ContainsFunc(e.Error(), unfit) {
			t.Errorf("%q", e.Error())
		}
	})
}

// unfit reports whether a character does something to a terminal, or makes text look like what it is not.
func unfit(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
