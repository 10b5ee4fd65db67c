package cli

import (
	"bytes"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
)

// sameJSON reports whether two texts are the same JSON value: the order of members and the way that strings and numbers
// are written don't matter, all digits do. Text that is no JSON is the same as nothing.
func sameJSON(a, b []byte) bool {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	return jsontext.Value(a).IsValid() && jsontext.Value(b).IsValid() && bytes.Equal(normal(nil, a), normal(nil, b))
}

// normal appends the one form that all texts of a value share. The text has been checked.
func normal(to, text []byte) []byte {
	switch text[0] {
	case '{':
		m := members(text)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			to, _ = jsontext.AppendQuote(append(to, '{'), name)
			to = normal(append(to, ':'), m[name])
		}
		return append(to, '}')
	case '[':
		to = append(to, '[')
		for _, e := range elements(text) {
			to = append(normal(to, e), ',')
		}
		return append(to, ']')
	case '"':
		to, _ = jsontext.AppendQuote(to, jsonscan.Unquote(text))
		return to
	case 't', 'f', 'n':
		return append(to, text...)
	}
	return append(to, normalNumber(string(text))...)
}

// normalNumber writes a number as its significant digits, taken as an integer, and a power of ten.
func normalNumber(number string) string {
	number, minus := strings.CutPrefix(number, "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	significant := strings.TrimRight(digits, "0")
	exponent := big.NewInt(int64(len(digits) - len(significant) - len(fraction)))
	if given, ok := new(big.Int).SetString(power, 10); ok {
		exponent.Add(exponent, given)
	}
	if minus {
		significant = "-" + significant
	}
	return significant + "e" + exponent.String()
}
