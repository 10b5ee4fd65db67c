package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"mcpwire/internal/cli"
	"mcpwire/mcp"
)

func TestPlainLeavesNothingThatATerminalActsUpon(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä → 語 🚀\tand\nlines":             "plain ä → 語 🚀\tand\nlines",
		"\x1b[31mred\x1b[0m":                    "red",
		"\x1b[1;38;5;200mx\x1b[?25l":            "x",
		"\x1b]0;title\x07a\x1b]8;;u\x1b\\b":     "ab",
		"\x1bPq#0\x1b\\c\x1b_apc\u009cd":        "cd",
		"\u009b31mred\u009d0;title\u009cend":    "redend",
		"\x1b(Ba\x1b#8b\x1bcd\x1b=e":            "abde",
		"over\rwrite\b\a\x00\x7f\v\f":           "overwrite",
		"\xff\x9b31mx":                          "\ufffd\ufffd31mx",
		"end\x1b":                               "end",
		"end\x1b[12;":                           "end",
		"cut\x1b[3\nline":                       "cut\nline",
		"\x1b]0;never ended, and then the rest": "0;never ended, and then the rest",
		"\x1bäb":                                "äb",
		"\x1b\x1b[31mx":                         "x",
		"crlf\r\n":                              "crlf\n",
	} {
		if got := cli.Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("\x1b[31m\x1b]0;x\x07\u009b1m\xff\x1b(B")
	f.Fuzz(func(t *testing.T, text string) {
		got := cli.Plain(text)
		for _, r := range got {
			if r < ' ' && r != '\t' && r != '\n' || 0x7f <= r && r < 0xa0 {
				t.Errorf("%q: got %q", text, got)
			}
		}
		if again := cli.Plain(got); again != got {
			t.Errorf("%q: %q is not left as it is: %q", text, got, again)
		}
	})
}

func TestTheNearestNamesAreOffered(t *testing.T) {
	known := []string{"echo", "add", "get_file", "get_files", "list_files", "Search"}
	for name, want := range map[string]string{
		"ecko": "echo", "ehco": "echo", "ECHO": "echo", "ad": "add", "files": "get_files list_files",
		"getfile": "get_file get_files", "serach": "Search", "zzz": "", "": "", "x": "",
	} {
		if got := strings.Join(cli.Nearest(name, known), " "); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if got := cli.Nearest("aaaa", []string{"aaab", "aaac", "aaad", "aaaa_"}); len(got) != 3 {
		t.Errorf("got %q, want three", got)
	}
}

func TestJSONIsTheSameWhateverItsWriting(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1.0 } `, true},
		{`"ä\/"`, `"\u00e4/"`, true},
		{`100`, `1e2`, true},
		{`0.10`, `1E-1`, true},
		{`-0`, `0.0e5`, true},
		{`1e999999999999999999999`, `10e999999999999999999998`, true},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1`, `-1`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[[1],2]`, `[[1,2]]`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`"1"`, `1`, false},
		{`text`, `text`, false},
		{``, ``, false},
	} {
		if got := cli.SameJSON([]byte(row.a), []byte(row.b)); got != row.want {
			t.Errorf("%s, %s: got %t", row.a, row.b, got)
		}
	}
}

func TestStructuredContentIsShownOnce(t *testing.T) {
	for _, row := range []struct{ name, text, structured, want string }{
		{"only structured", "", `{"a":1}`, "{\n  \"a\": 1\n}\n"},
		{"beside another text", "ok", `[1.50]`, "ok\n[\n  1.50\n]\n"},
		{"the same as the text", `{"a": 1}`, `{"a":1}`, "{\"a\": 1}\n"},
		{"null beside a text", "ok", "null", "ok\n"},
		{"only null", "", "null", "null\n"},
		{"nothing", "", "", ""},
	} {
		result := &mcp.CallToolResult{StructuredContent: []byte(row.structured)}
		if row.text != "" {
			result.Content = []mcp.Content{mcp.Text(row.text)}
		}
		if got := cli.ResultText(result); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestShellWordsCanBePastedBack(t *testing.T) {
	words := []string{"npx", "-y", "@scope/x", "a b", "it's", "", "$HOME", "k=v"}
	want := `npx -y @scope/x 'a b' 'it'\''s' '' '$HOME' k=v`
	if got := cli.ShellWords(words); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAMessageOfManyLinesStaysOneItem(t *testing.T) {
	if got := cli.Indented("first\nsecond\n  third\n"); got != "first\n  second\n  third" {
		t.Errorf("got %q", got)
	}
}

func TestThereIsNoSpinnerInAPipe(t *testing.T) {
	var b bytes.Buffer
	done := cli.Wait(&b, "waiting")
	done()
	done()
	if b.Len() > 0 {
		t.Errorf("got %q", b.String())
	}
}
