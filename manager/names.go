package manager

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	maxName   = 64   // what the APIs of models take, in characters
	separator = "__" // between server and tool
	hashLen   = 12   // of the hash at a name's end, in characters
	minServer = 16   // how much is left of a long server's name beside a long tool's, in characters
)

// hashedEnd tells a hashed name. The hash begins with a digit so that no word looks like one.
var hashedEnd = regexp.MustCompile(`_[2-7][a-z2-7]{11}$`)

// SafeName returns the name by which a model knows the tool: 1 to 64 characters, of A-Z, a-z, 0-9, "_" and "-" only, as
// the APIs of models want it. A tool's own name may be longer and hold dots (2025-11-25, tools, tool names). The safe
// name follows from the two names alone, so it is the same at every start and in whatever order servers connect; and no
// two tools of any servers share one. It is SERVER__TOOL where that will do, and otherwise a readable form of it with a
// hash of both names at the end. The two names may be any bytes, and empty.
func SafeName(server, tool string) string {
	name := server + separator + tool
	if plainServer(server) && plain(tool) && len(name) <= maxName && !hashedEnd.MatchString(name) {
		return name
	}
	return shortened(readable(server), readable(tool)) + "_" + hash(server, tool)
}

// plainServer reports whether a server's name may stand in a name without a hash. Such names are one-to-one: a server
// that neither holds "__" nor ends in "_" ends where the first "__" of the name begins, so the name can be taken apart
// again. And none of them is a name with a hash, since whatever ends like one gets a hash of its own.
func plainServer(server string) bool {
	return plain(server) && !strings.Contains(server, separator) && !strings.HasSuffix(server, "_")
}

// plain reports whether a name is not empty and holds nothing but allowed characters.
func plain(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return !allowed(r) }) < 0
}

func allowed(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-'
}

// readable returns the name with letters bare of their diacritics and each run of other characters as one "_", and none
// of these at its ends. Whatever letters and digits of ASCII it had are still there.
func readable(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(name) {
		switch {
		case allowed(r):
			if gap {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
		case !unicode.Is(unicode.Mn, r): // a mark belongs to the letter before it
			gap = true
		}
	}
	return strings.Trim(b.String(), "_")
}

// shortened joins readable names so that a hash still fits behind them. What is too long loses its end, a server's name
// down to minServer characters, then the tool's. An empty name is left out.
func shortened(server, tool string) string {
	if server == "" || tool == "" {
		return cut(server+tool, maxName-1-hashLen)
	}
	room := maxName - 1 - hashLen - len(separator)
	server = cut(server, max(minServer, room-len(tool)))
	return server + separator + cut(tool, room-len(server))
}

// cut returns no more than the first n characters of a readable name.
func cut(name string, n int) string { return strings.TrimRight(name[:min(n, len(name))], "_") }

// hash returns 57 bits as 12 characters of base32, the first of them a digit. The length keeps apart what a separator
// could not, since names may hold any character.
func hash(server, tool string) string {
	const digits = "234567"
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(server), server, tool))
	text := strings.ToLower(base32.StdEncoding.EncodeToString(sum[1:]))
	return digits[sum[0]%byte(len(digits)):][:1] + text[:hashLen-1]
}
