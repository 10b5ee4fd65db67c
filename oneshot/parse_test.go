package oneshot_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/oneshot"
)

func TestTheFirstDataOfATextIsTaken(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"an event", "event: message\ndata: {\"a\":1}\n\n", `{"a":1}`},
		{"the first of two", "data: 1\n\ndata: 2\n\n", "1"},
		{"CR LF", "data: {\"a\":1}\r\n\r\n", `{"a":1}`},
		{"CR", "data: {\"a\":1}\r\r", `{"a":1}`},
		{"several lines", "data: {\ndata: \"a\":1}\n\n", "{\n\"a\":1}"},
		{"no end", "data: {\"a\":1}", `{"a":1}`},
		{"a line's end only", "data:{\"a\":1}\n", `{"a":1}`},
		{"comments and fields first", "\ufeff: hi\nid: 7\nretry: 1\n\ndata: {\"a\":1}\n\n", `{"a":1}`},
		{"an empty event first", "id: 7\ndata:\n\ndata: {\"a\":1}\n\n", `{"a":1}`},
		{"plain JSON", " {\"a\":\n1}\n", "{\"a\":\n1}"},
		{"plain JSON with a mark", "\ufeff[1]", "[1]"},
		{"digits", "data: 12345678901234567890.10\n\n", "12345678901234567890.10"},
	} {
		if got, err := oneshot.ParseSSE(row.text); err != nil || string(got) != row.want {
			t.Errorf("%s: got %s and error %v, want %s", row.name, got, err, row.want)
		}
	}
}

func TestATextWithoutJSONIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "the answer is empty",
		"<html>":             "the answer is no JSON-RPC message: <html>",
		"data: {oops\n\n":    "the answer is no JSON-RPC message: {oops",
		"event: message\n\n": "the answer is no JSON-RPC message: event: message",
		"hello":              "the answer is no JSON-RPC message: hello",
		": only\n\n":         "the answer is no JSON-RPC message: : only",
		`{"a":`:              `the answer is no JSON-RPC message: {"a":`,
	} {
		got, err := oneshot.ParseSSE(text)
		wantText(t, err, want)
		if got != nil {
			t.Errorf("%q: got %s", text, got)
		}
	}
}

func FuzzParseSSE(f *testing.F) {
	for _, seed := range []string{
		"", "data: {}\n\n", "data: {\ndata: }\r\n\r\n", " [1] ", ": x\rid: 1\rdata:1\r\r",
		"\ufeffdata: \"x\"", "event: x\n\ndata",
		"\r\rdata:\x00", "id: 1\ndata: [\ndata: 1]\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := oneshot.ParseSSE(text)
		if err != nil {
			if got != nil {
				t.Errorf("%q: got %s beside an error", text, got)
			}
			return
		}
		if strings.Contains(string(got), "\r") {
			return // a CR is the end of a line in an event and white space in JSON
		}
		// What was found is found again, plain or as an event.
		for _, again := range []string{string(got), "data: " + strings.ReplaceAll(string(got), "\n", "\ndata: ") + "\n\n"} {
			if found, err := oneshot.ParseSSE(again); err != nil || string(found) != string(got) {
				t.Errorf("%q: got %q and error %v, want %q", again, found, err, got)
			}
		}
		valid := jsontext.Value(got).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if !valid {
			t.Errorf("%q: got %q, which is no JSON", text, got)
		}
	})
}
