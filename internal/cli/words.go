package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shellWords writes words so that a shell reads them back. Words with characters that can't be seen are written in the
// form $'...', which shows these.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		switch {
		case strings.ContainsFunc(w, hidden) || !utf8.ValidString(w):
			quoted[i] = "$'" + visible(strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(w)) + "'"
		case w == "" || strings.ContainsFunc(w, needsQuotes):
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		default:
			quoted[i] = w
		}
	}
	return strings.Join(quoted, " ")
}

func needsQuotes(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("\"'`$&|;<>()*?[]{}~#!\\", r)
}

// hidden reports whether a character can't be seen, or changes how others are seen.
func hidden(r rune) bool { return !unicode.IsPrint(r) }

// visible writes characters that can't be seen as escapes.
func visible(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case hidden(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}
