package cli

import (
	"strings"
	"unicode/utf8"
)

// plain removes what a terminal would act upon: escape sequences (ECMA-48) and all control characters but tab and line
// feed. Bytes that are no valid UTF-8 become U+FFFD, since some terminals act upon those too.
func plain(text string) string {
	if isPlain(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\x1b' || 0x80 <= r && r < 0xa0:
			n = sequence(text[i:], r, n)
		case r == '\t' || r == '\n' || r >= ' ' && r != 0x7f:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func isPlain(text string) bool {
	for _, r := range text {
		if r < ' ' && r != '\t' && r != '\n' || 0x7f <= r && r < 0xa0 || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// sequence returns the length of the escape sequence that r, the first character of text and n bytes long, begins.
func sequence(text string, r rune, n int) int {
	kind := r - 0x40 // of a C1 control, the character that follows ESC in its longer form
	if r == '\x1b' {
		if len(text) == n {
			return n
		}
		kind = rune(text[n])
		n++
	}
	switch {
	case kind == '[':
		return n + controlSequence(text[n:])
	case strings.ContainsRune("]PX^_", kind):
		return n + controlString(text[n:])
	case ' ' <= kind && kind <= '/': // further intermediate bytes, then a final one
		rest := strings.TrimLeft(text[n:], " !\"#$%&'()*+,-./")
		return len(text) - len(rest) + min(1, len(rest))
	case kind >= 0x80 || kind < ' ': // ESC before something that is no part of a sequence
		return n - 1
	}
	return n
}

// controlSequence returns the length of the parameters, intermediate bytes and final byte behind a CSI.
func controlSequence(text string) int {
	for i := range len(text) {
		switch c := text[i]; {
		case 0x40 <= c && c <= 0x7e:
			return i + 1
		case c < ' ' || c > '?':
			return i
		}
	}
	return len(text)
}

// controlString returns the length of the string behind an OSC or the like, with its terminator: BEL or ST. A string
// without one has no length, so that it can't hide the rest of a text.
func controlString(text string) int {
	for i := range len(text) {
		switch {
		case text[i] == '\a':
			return i + 1
		case strings.HasPrefix(text[i:], "\x1b\\"), strings.HasPrefix(text[i:], "\u009c"):
			return i + 2
		}
	}
	return 0
}
