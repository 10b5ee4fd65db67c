package streamable

import (
	"encoding/base64"
	"strings"
)

// What is around a value that is encoded in Base64.
const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// encodeHeader writes any value as one that a header can hold: as it is, or else its bytes in Base64 with marks around
// them (2026-07-28, Streamable HTTP, value encoding). An empty value stays empty, and is sent.
func encodeHeader(value string) string {
	marked := strings.HasPrefix(value, encodedPrefix) && strings.HasSuffix(value, encodedSuffix)
	if !marked && strings.TrimSpace(value) == value && !strings.ContainsFunc(value, unprintable) {
		return value
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(value)) + encodedSuffix
}

// unprintable reports whether r is no printable ASCII character. A tab is none: not everybody leaves it as it is.
func unprintable(r rune) bool { return r < ' ' || r > '~' }
