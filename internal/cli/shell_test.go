package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"

	"mcpwire/internal/cli"
)

func TestTheShellReadsWordsAsAShellDoes(t *testing.T) {
	for _, row := range []struct {
		line  string
		words []string
		open  bool
	}{
		{"", nil, false},
		{" \t\r\n", nil, false},
		{"# all", nil, false},
		{"a b#c #d", []string{"a", "b#c"}, false},
		{`a='x y'z b="it's \"\$\` + "`" + `\\\n"`, []string{"a=x yz", `b=it's "$` + "`" + `\\n`}, false},
		{`'' "" a`, []string{"", "", "a"}, false},
		{`a\ b \'c\\ \#d é\ü`, []string{"a b", "'c\\", "#d", "éü"}, false},
		{`$'a\tb\'\\\x41\xff\u00e9\U0001F600\q' $x`, []string{"a\tb'\\A\xffé😀\\q", "$x"}, false},
		{"a | b > c; $d *", []string{"a", "|", "b", ">", "c;", "$d", "*"}, false},
		{`a 'b c`, []string{"a", "b c"}, true},
		{`a "b\"`, []string{"a", `b"`}, true},
		{`$'x\'`, []string{"x'"}, true},
		{`a\`, []string{"a"}, true},
	} {
		words, err := cli.SplitLine(row.line)
		if !slices.Equal(words, row.words) || (err != nil) != row.open {
			t.Errorf("%q: %q, %v; want %q", row.line, words, err, row.words)
		}
	}
}

func TestTheShellReadsBackWhatIsQuoted(t *testing.T) {
	quoted := func(words []string) bool {
		read, err := cli.SplitLine(cli.ShellWords(words))
		return err == nil && slices.Equal(read, words)
	}
	escaped := func(word string) bool {
		read, err := cli.SplitLine(cli.EscapedWord(word))
		return err == nil && (word == "" || slices.Equal(read, []string{word}))
	}
	for _, property := range []any{quoted, escaped} {
		if err := quick.Check(property, nil); err != nil {
			t.Error(err)
		}
	}
	for _, word := range []string{"", " ", `'"\`, "#", "a#b", "\x00\x7f\xff", "$'", "\u202e", "{[*?~"} {
		if !quoted([]string{word}) || utf8.ValidString(word) && !strings.ContainsAny(word, "\x00") && !escaped(word) {
			t.Errorf("%q is not read back", word)
		}
	}
}

func TestTheHistoryIsBoundedPrivateAndWithoutSecrets(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_STATE_HOME", folder)
	t.Setenv("LocalAppData", folder)
	path := filepath.Join(folder, "mcpwire", "shell-history")
	open := func() cli.ShellHistory {
		t.Helper()
		h, err := cli.OpenHistory("kn0wn")
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := open()
	for _, line := range []string{
		"ping", "ping", "", " ping secretly", "call t token=abc", `call t auth:='"x"'`, "t 'api_key=1'", "x y=kn0wn",
		"t a=" + bearer, `t b:='{"password": "p"}'`, "t 'open=" + bearer, "tools",
	} {
		h.Add(line)
	}
	if again := open(); again.Len() != 2 || again.At(0) != "tools" || again.At(1) != "ping" {
		t.Errorf("%d lines are kept, the last is %q", again.Len(), again.At(0))
	}
	other := open()
	for n := range 1500 {
		h.Add(fmt.Sprint("one ", n))
		other.Add(fmt.Sprint("two ", n))
	}
	if h.Len() != 1000 || h.At(999) != "one 500" {
		t.Errorf("it has %d lines, and begins with %q", h.Len(), h.At(h.Len()-1))
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	h = open()
	if h.Len() != 1000 || h.At(0) != "two 1499" || h.At(999) != "one 1000" {
		t.Errorf("of both shells it has %d lines, from %q to %q", h.Len(), h.At(999), h.At(0))
	}
	info, err := os.Stat(path)
	if err != nil || os.PathSeparator == '/' && info.Mode().Perm() != 0o600 || info.Size() > 20_000 {
		t.Errorf("its file: %v, %v", info, err)
	}
}
