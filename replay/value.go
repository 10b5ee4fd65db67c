package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/redact"
)

// A value is JSON as far as it counts for matching: without the order of members and the spelling of numbers and
// strings.
type value struct {
	kind    jsontext.Kind // 'n', 't', 'f', '"', '0', '{' or '['; 0: there is none
	text    string        // of a string or number
	raw     string        // of a number, as it was written
	members []member      // of an object, by name
	list    []value       // of an array
}

type member struct {
	name  string
	value value
}

// valueOf reads a JSON text. Of members that occur twice the last counts. What is no JSON is the zero value.
func valueOf(text []byte) value {
	if len(text) == 0 {
		return value{}
	}
	in := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := readValue(in)
	if err != nil {
		return value{}
	}
	return v
}

func readValue(in *jsontext.Decoder) (v value, err error) {
	token, err := in.ReadToken()
	if err != nil {
		return v, err
	}
	v.kind = token.Kind()
	switch v.kind {
	case '"':
		v.text = token.String()
	case '0':
		v.raw = token.String()
		v.text = plainNumber(v.raw)
	case '[':
		for in.PeekKind() != ']' {
			item, err := readValue(in)
			if err != nil {
				return v, err
			}
			v.list = append(v.list, item)
		}
		_, err = in.ReadToken()
	case '{':
		for in.PeekKind() != '}' {
			name, err := in.ReadToken()
			if err != nil {
				return v, err
			}
			m := member{name: name.String()} // the token is valid until the next is read
			if m.value, err = readValue(in); err != nil {
				return v, err
			}
			v.set(m)
		}
		_, err = in.ReadToken()
	}
	return v, err
}

// set keeps the members in the order of their names.
func (v *value) set(m member) {
	at, found := slices.BinarySearchFunc(v.members, m, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	if found {
		v.members[at] = m
		return
	}
	v.members = slices.Insert(v.members, at, m)
}

// without returns an object without one of its members; an object that has no others is nothing at all, since params
// that are absent mean the same.
func (v value) without(name string) value {
	if v.kind != '{' {
		return v
	}
	v.members = slices.DeleteFunc(slices.Clone(v.members), func(m member) bool { return m.name == name })
	if len(v.members) == 0 {
		return value{}
	}
	return v
}

// plainNumber spells a number in one way, without losing a digit: 7, 7.0 and 70e-1 are all 7e0.
func plainNumber(text string) string {
	digits, negative := strings.CutPrefix(text, "-")
	digits, power, _ := strings.Cut(strings.ToLower(digits), "e")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if err != nil {
		return text
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0e0"
	}
	exponent += len(digits) - len(short)
	if negative {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent)
}

// key is a text that two values share if and only if they are the same.
func (v value) key() string { return string(v.appendKey(nil)) }

func (v value) appendKey(b []byte) []byte {
	switch v.kind {
	case 0:
		return b
	case '"':
		return strconv.AppendQuote(b, v.text)
	case '0':
		return append(b, v.text...)
	case '[':
		b = append(b, '[')
		for _, item := range v.list {
			b = append(item.appendKey(b), ',')
		}
		return append(b, ']')
	case '{':
		b = append(b, '{')
		for _, m := range v.members {
			b = append(strconv.AppendQuote(b, m.name), ':')
			b = append(m.value.appendKey(b), ',')
		}
		return append(b, '}')
	}
	return append(b, byte(v.kind))
}

// masked reports whether there is something in a recorded value that was a secret.
func (v value) masked() bool {
	return v.kind == '"' && strings.Contains(v.text, redact.Mask) ||
		slices.ContainsFunc(v.list, value.masked) ||
		slices.ContainsFunc(v.members, func(m member) bool { return m.value.masked() })
}

// A difference is a place where a value is not as it was recorded.
type difference struct{ path, text string }

// differences returns where asked is not what was recorded. A mask in a recorded string stands for any text.
func (v value) differences(asked value, path string) []difference {
	switch {
	case v.kind != asked.kind:
	case v.kind == '"' && fits(v.text, asked.text):
		return nil
	case v.kind == '{':
		return v.differentMembers(asked, path)
	case v.kind == '[' && len(v.list) == len(asked.list):
		var all []difference
		for i := range v.list {
			all = append(all, v.list[i].differences(asked.list[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return all
	case v.kind != '"' && v.kind != '[' && v.text == asked.text:
		return nil
	}
	return []difference{{path, fmt.Sprintf("recorded %s, asked %s", v.shown(), asked.shown())}}
}

func (v value) differentMembers(asked value, path string) (all []difference) {
	theirs := map[string]value{}
	for _, m := range asked.members {
		theirs[m.name] = m.value
	}
	for _, m := range v.members {
		at := joined(path, m.name)
		other, ok := theirs[m.name]
		delete(theirs, m.name)
		if !ok {
			all = append(all, difference{at, "recorded " + m.value.shown() + ", not asked"})
			continue
		}
		all = append(all, m.value.differences(other, at)...)
	}
	for _, m := range asked.members {
		if _, left := theirs[m.name]; left {
			all = append(all, difference{joined(path, m.name), "not recorded, asked " + m.value.shown()})
		}
	}
	return all
}

func joined(path, name string) string {
	name = redact.Line(name, shownBytes)
	if path == "" {
		return name
	}
	return path + "." + name
}

// fits reports whether a text is a recorded one, in which masks stand for any text.
func fits(recorded, text string) bool {
	parts := strings.Split(recorded, redact.Mask)
	if len(parts) == 1 {
		return recorded == text
	}
	last := parts[len(parts)-1]
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || !strings.HasSuffix(rest, last) {
		return false
	}
	rest = strings.TrimSuffix(rest, last)
	for _, part := range parts[1 : len(parts)-1] {
		_, behind, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = behind
	}
	return true
}

const shownBytes = 40 // of a value in an error

// shown is a value for an error text.
func (v value) shown() string {
	switch v.kind {
	case 0:
		return "nothing"
	case 'n':
		return "null"
	case 't':
		return "true"
	case 'f':
		return "false"
	case '0':
		return redact.Line(v.raw, shownBytes)
	case '[':
		return fmt.Sprintf("a list of %d", len(v.list))
	case '{':
		return fmt.Sprintf("an object of %d", len(v.members))
	}
	return strconv.Quote(redact.Line(v.text, shownBytes))
}
