package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A shellLine is a line of the shell, split into words as a POSIX shell does it, but nothing in it stands for anything
// else: no variables, no patterns, no pipes.
type shellLine struct {
	words  []string
	start  int  // where the last word begins, in bytes
	inWord bool // the line ends within the last word
	open   rune // the quote or backslash that the line ends in; 0 for none
}

// splitLine reads words, 'quotes', "quotes", $'quotes' with escapes, backslashes, and # for comments.
func splitLine(line string) (shellLine, error) {
	p := lineParser{rest: line, size: len(line)}
	for p.rest != "" && p.open == 0 {
		p.step()
	}
	p.end()
	if p.open != 0 {
		return p.shellLine, fmt.Errorf("the line ends behind a backslash or within quotes: %c is not closed", p.open)
	}
	return p.shellLine, nil
}

// A lineParser is one run of splitLine.
type lineParser struct {
	shellLine
	rest string
	size int
	word strings.Builder
}

func (p *lineParser) step() {
	r, n := utf8.DecodeRuneInString(p.rest)
	switch {
	case r == ' ' || r == '\t' || r == '\r' || r == '\n':
		p.end()
		p.inWord = false
		p.rest = p.rest[n:]
		return
	case r == '#' && !p.inWord:
		p.rest = ""
		return
	}
	if !p.inWord {
		p.inWord, p.start = true, p.size-len(p.rest)
	}
	switch {
	case r == '\'', r == '"':
		p.quoted(r)
	case strings.HasPrefix(p.rest, "$'"):
		p.escaped()
	case r == '\\':
		p.backslash()
	default:
		p.word.WriteString(p.rest[:n])
		p.rest = p.rest[n:]
	}
}

// end takes the word that has been read, if there is one.
func (p *lineParser) end() {
	if p.inWord {
		p.words = append(p.words, p.word.String())
		p.word.Reset()
	}
}

// quoted reads what is quoted. Between " a backslash quotes what has a meaning there.
func (p *lineParser) quoted(quote rune) {
	text := p.rest[1:]
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == byte(quote):
			p.rest = text[i+1:]
			return
		case c == '\\' && quote == '"' && i+1 < len(text) && strings.IndexByte("\"\\$`", text[i+1]) >= 0:
			i++
			p.word.WriteByte(text[i])
		default:
			p.word.WriteByte(c)
		}
	}
	p.rest, p.open = "", quote
}

// escaped reads $'...', in which a backslash begins an escape as in Go and C.
func (p *lineParser) escaped() {
	text := p.rest[2:]
	for text != "" && text[0] != '\'' {
		r, wide, rest, err := strconv.UnquoteChar(text, '\'')
		switch {
		case err != nil: // no escape: it stands for itself
			p.word.WriteByte(text[0])
			rest = text[1:]
		case wide || r < utf8.RuneSelf:
			p.word.WriteRune(r)
		default: // \xNN is a byte
			p.word.WriteByte(byte(r))
		}
		text = rest
	}
	if text == "" {
		p.rest, p.open = "", '\''
		return
	}
	p.rest = text[1:]
}

func (p *lineParser) backslash() {
	if len(p.rest) == 1 {
		p.rest, p.open = "", '\\'
		return
	}
	_, n := utf8.DecodeRuneInString(p.rest[1:])
	p.word.WriteString(p.rest[1 : 1+n])
	p.rest = p.rest[1+n:]
}

// escapedWord writes a word, or the beginning of one, so that the shell reads it back.
func escapedWord(text string) string {
	var b strings.Builder
	for i, r := range text {
		if strings.ContainsRune(" \t'\"\\", r) || r == '#' && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
