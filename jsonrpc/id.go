package jsonrpc

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
)

// An ID identifies a request among those that its sender has open (JSON-RPC 2.0, section 4). It is an integer of any
// size, a string or null, and is kept as it was sent, digit for digit. IDs may be compared with == and used as map
// keys; two texts of one value (7 and 7.0) are different IDs. The zero ID is absent: that of a notification.
type ID struct {
	text  string // the JSON text, unless small
	n     int64
	small bool // the text is n in decimal
}

// NullID is the id null, which answers a request whose id could not be read.
var NullID = ID{text: "null"}

// IntID returns the id that is the integer n.
func IntID(n int64) ID {
	const small = 1e18 // what smallInt reads is below it
	if -small < n && n < small {
		return ID{n: n, small: true}
	}
	return ID{text: strconv.FormatInt(n, 10)}
}

// StringID returns the id that is the string s.
func StringID(s string) ID {
	// Broken UTF-8 becomes U+FFFD, and the error only says so.
	quoted, _ := jsontext.AppendQuote(nil, s)
	return ID{text: string(quoted)}
}

var errID = errors.New("an id must be a number, a string or null")

// ParseID reads the JSON text of an id.
func ParseID(text []byte) (ID, error) {
	if n, ok := smallInt(text); ok {
		return IntID(n), nil
	}
	if len(text) == 0 || !jsonscan.Valid(text) || strings.IndexByte(`{[tf`, text[0]) >= 0 {
		return ID{}, errID
	}
	return ID{text: string(text)}, nil
}

// smallInt reads an integer in its shortest form that fits in 18 digits.
func smallInt(text []byte) (int64, bool) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && len(text) > 1 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// IsAbsent reports whether there is no id at all.
func (id ID) IsAbsent() bool { return id == ID{} }

// IsNull reports whether the id is null.
func (id ID) IsNull() bool { return id == NullID }

// Append appends the id's JSON text to dst; an absent id is written as null.
func (id ID) Append(dst []byte) []byte {
	switch {
	case id.small:
		return strconv.AppendInt(dst, id.n, 10)
	case id.text == "":
		return append(dst, "null"...)
	}
	return append(dst, id.text...)
}

// String returns the id's JSON text, or "none" where there is no id.
func (id ID) String() string {
	if id.IsAbsent() {
		return "none"
	}
	return string(id.Append(nil))
}

// Integer returns the integer that the id denotes exactly: 7, "7", 7.0 and 70e-1 all denote 7, "07" and 7.5 denote
// none. Servers that send an id back as another type are matched by it.
func (id ID) Integer() (int64, bool) {
	if id.small {
		return id.n, true
	}
	text := id.text
	if strings.HasPrefix(text, `"`) {
		text = string(jsonscan.Unquote([]byte(text)))
		n, ok := smallInt([]byte(text))
		return n, ok
	}
	return exactInt(text)
}

// exactInt returns the integer that a JSON number denotes, without a detour through floating point.
func exactInt(number string) (int64, bool) {
	digits, exponent := number, 0
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(number[i+1:], "+"))
		if err != nil {
			return 0, false
		}
		digits, exponent = number[:i], e
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	negative := strings.HasPrefix(whole, "-")
	digits = strings.TrimLeft(strings.TrimPrefix(whole, "-")+fraction, "0")
	exponent -= len(fraction)
	for exponent < 0 && strings.HasSuffix(digits, "0") {
		digits, exponent = digits[:len(digits)-1], exponent+1
	}
	if digits == "" {
		return 0, number != ""
	}
	if exponent < 0 || exponent > 19 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits+strings.Repeat("0", exponent), 10, 64)
	switch {
	case err != nil || n > math.MaxInt64:
		return 0, false
	case negative:
		return -int64(n), true
	}
	return int64(n), true
}
