package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// window is how many times the limit is looked at of a text, since what is left out and masked takes room too.
const window = 4

// Excerpt returns the beginning of a server's text on one line, as Line does, with what looks like a token masked: what
// follows "Bearer" or "Basic", JSON web tokens, keys such as "sk-…", and the values of JSON members and of parameters
// with names such as access_token.
func Excerpt(body []byte, limit int) string {
	return bounded(body, limit, hideTokens)
}

// Line returns the beginning of a text on one line, with nothing masked: white space becomes one blank, control and
// other invisible characters are left out, broken UTF-8 becomes U+FFFD. limit is how many bytes are shown, whole
// characters only; "…" stands behind them if something was cut off.
func Line(text string, limit int) string {
	return bounded([]byte(text), limit, func(s string) string { return s })
}

// bounded masks before it cuts, so that no token's beginning is shown whose end has been cut off.
func bounded(text []byte, limit int, mask func(string) string) string {
	limit = max(0, limit)
	seen := text[:min(len(text), window*limit)]
	line := mask(oneLine(string(seen)))
	if len(line) <= limit && len(seen) == len(text) {
		return line
	}
	return cut(line, limit) + ellipsis
}

// cut returns the first n bytes of valid UTF-8, without the beginning of a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// oneLine makes a text fit for a line of a log or a terminal.
func oneLine(s string) string {
	var b strings.Builder
	blank := false
	for _, c := range s { // broken UTF-8 is U+FFFD here
		switch {
		case unicode.IsSpace(c), unicode.IsControl(c):
			blank = b.Len() > 0
			continue
		case unicode.Is(unicode.Cf, c):
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(c)
	}
	return b.String()
}

// secretWords are parts of the names of members and parameters whose values are masked in free text.
const secretWords = `(?:token|secret|passw|passphrase|api[_-]?key|private[_-]?key|authorization|credential|` +
	`assertion|verifier)`

// A shape is how secrets look, and what stands for them.
type shape struct {
	pattern *regexp.Regexp
	with    string
}

// What is compiled here takes 0.5 ms and 85 KB, which a program that masks nothing does not spend.
var (
	scheme = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(bearer|basic)(\s+|%20|\+)[\w.~+/\-]+=*"?`)
	})
	shapes = sync.OnceValue(func() []shape {
		return []shape{
			// a JSON web token, or the beginning of one
			{regexp.MustCompile(`\beyJ[\w\-]{5,}(?:\.[\w\-]*)*`), Mask},
			// keys that begin with their kind
			{regexp.MustCompile(`\bsk-[\w\-]{4,}`), Mask},
			{regexp.MustCompile(`\b(?:xox[a-z]-|gh[a-z]_|glpat-|npm_|hf_|github_pat_|ya29\.|AIza|AKIA)[\w\-]{10,}`), Mask},
			// a member of an object, the end of whose value may be missing, and one in JSON that is itself a string
			{
				regexp.MustCompile(`(?i)("[\w\-]*` + secretWords + `[\w\-]*"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|\\?$)`),
				`${1}"` + Mask + `"`,
			},
			{regexp.MustCompile(`(?i)(\\+"[\w\-]*` + secretWords + `[\w\-]*\\+"\s*:\s*\\+")[^"\\]*`), `${1}` + Mask},
			// a header with cookies
			{regexp.MustCompile(`(?i)\b((?:set-)?cookie2?:[ \t]*)[^\s"'][^\r\n"']*`), `${1}` + Mask},
			// a parameter of a form or a query
			{regexp.MustCompile(`(?i)\b([\w\-]*` + secretWords + `[\w\-]*=)[^\s&;,"'<>]+`), `${1}` + Mask},
		}
	})
)

// prose are words that follow the name of a scheme in a sentence.
var prose = []string{
	"and", "auth", "authentication", "authorization", "credentials", "is", "or", "scheme", "token", "tokens",
}

// hideTokens masks what looks like a secret.
func hideTokens(s string) string {
	if !suspicious(s) {
		return s
	}
	return maskShapes(s)
}

// maskShapes masks what any of the expressions finds.
func maskShapes(s string) string {
	s = scheme().ReplaceAllStringFunc(s, func(found string) string {
		at := scheme().FindStringSubmatchIndex(found)
		credentials := found[at[5]:]
		if slices.Contains(prose, strings.ToLower(credentials)) || strings.HasSuffix(credentials, `="`) {
			return found // a sentence, or a challenge's parameter
		}
		if strings.HasSuffix(credentials, `"`) {
			return found[:at[5]] + Mask + `"`
		}
		return found[:at[5]] + Mask
	})
	for _, shape := range shapes() {
		s = shape.pattern.ReplaceAllString(s, shape.with)
	}
	return s
}
