package jsonscan_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
)

// long is longer than what a Cursor looks at before it takes a string for most of the text.
var long = strings.Repeat(`{\"a\":\t1} → `, 6000)

func FuzzTextsAreReadAsByTheGeneralDecoder(f *testing.F) {
	for _, inner := range []string{
		"", "plain", `\"quoted\"\n→ \\ \/ \b\f\r\t`, `\u00e9\u00E9\ud83d\ude00`, `\ud83d`, `\ud83dx`, `\udc00`, `\ud83d\u0041`,
		"\xff", "seven b\xc3", "→→→→→→→→", strings.Repeat("x", 63) + `\n`, `\u000`, `\x`, "\x1f", `\`, strings.Repeat(`\u0041`, 9),
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\x7f\x80",
	} {
		f.Add([]byte(`"` + inner + `"`))
		f.Add([]byte(`"` + long + inner + `"`))
		f.Add([]byte(`"` + inner + long))
	}
	f.Fuzz(func(t *testing.T, quoted []byte) {
		want, wantErr := jsontext.AppendUnquote(nil, quoted)
		text := bytes.Clone(quoted)
		c := jsonscan.NewCursor(text)
		if len(quoted) == 0 || quoted[0] != '"' {
			return
		}
		got := c.Text()
		ok := c.Ended()
		for i := range text { // the next use of the buffer
			text[i] = '#'
		}
		if spaced := bytes.TrimRight(quoted, " \t\r\n"); len(spaced) < len(quoted) {
			want, wantErr = jsontext.AppendUnquote(nil, spaced)
		}
		if ok != (wantErr == nil) || ok && got != string(want) {
			t.Errorf("%q: got %q, %t, want %q, %v", quoted, got, ok, want, wantErr)
		}
	})
}

func FuzzStringsEndWhereTheyDoByteForByte(f *testing.F) {
	f.Add([]byte(`"plain and longer than a word"`), 0)
	f.Add([]byte("\"\x1f\""), 0)
	f.Add([]byte(`"\\\"`+"\x80\xff\x01"), 0)
	f.Add([]byte("\"!\"#[]\x7f\x80\x9f\xa0\xa2\xdc\""), 3)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		if at < 0 || at >= len(b) || b[at] != '"' {
			return
		}
		end, err := jsonscan.String(b, at)
		i, ok := at+1, false
	walk:
		for i < len(b) {
			switch {
			case b[i] == '"':
				i, ok = i+1, true
				break walk
			case b[i] < ' ':
				break walk
			case b[i] == '\\':
				if _, err := jsontext.AppendUnquote(nil, []byte(`"`+string(b[i:min(len(b), i+2)])+`"`)); err != nil &&
					(i+1 >= len(b) || b[i+1] != 'u') {
					break walk
				}
				if b[i+1] == 'u' {
					if i+6 > len(b) || strings.Trim(string(b[i+2:i+6]), "0123456789abcdefABCDEF") != "" {
						break walk
					}
					i += 4
				}
				i += 2
			default:
				i++
			}
		}
		if ok != (err == nil) || ok && end != i {
			t.Errorf("%q from %d: got %d, %v, want %d, %t", b, at, end, err, i, ok)
		}
	})
}

func TestSeveralLongTextsAreReadOneAfterTheOther(t *testing.T) {
	quoted := `"` + long + `"`
	c := jsonscan.NewCursor([]byte(`[` + strings.Repeat(quoted+`,`, 9) + quoted + `]`))
	want := string(jsonscan.Unquote([]byte(quoted)))
	c.Array()
	for i := 0; c.Next(); i++ {
		if got := c.Text(); got != want {
			t.Errorf("text %d has %d bytes, want %d", i, len(got), len(want))
		}
	}
	if !c.Ended() {
		t.Error("it was not read to the end")
	}
}

func BenchmarkText(b *testing.B) {
	const line = `2026-07-28T12:00:00Z INFO worker-07 handled \"GET /v1/items?id=42\" in 3ms → ok\n`
	text := []byte(`"` + strings.Repeat(line, 1<<20/len(line)) + `"`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		c := jsonscan.NewCursor(text)
		if s := c.Text(); !c.Ended() || !utf8.ValidString(s) {
			b.Fatal("not read")
		}
	}
}

func BenchmarkValid(b *testing.B) {
	const line = `2026-07-28T12:00:00Z INFO worker-07 handled \"GET /v1/items?id=42\" in 3ms → ok\n`
	text := []byte(`"` + strings.Repeat(line, 1<<20/len(line)) + `"`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if !jsonscan.Valid(text) {
			b.Fatal("not valid")
		}
	}
}
