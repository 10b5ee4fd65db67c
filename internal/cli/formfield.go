package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A formField is one field of a form that a server wants filled in (2025-11-25, elicitation, requested schema).
type formField struct {
	property
	kind    string // string, number, integer, boolean or array; anything else is answered with JSON
	choices []choice
	usual   json.RawMessage // the value unless another is given; nil: there is none
}

// A choice is one value that a field can have.
type choice struct {
	value json.RawMessage
	title string
}

// formFields returns the fields of a form, in the schema's order.
func formFields(requested json.RawMessage) (fields []formField) {
	for _, p := range newSchema(requested).properties() {
		f := formField{property: p}
		types := slices.DeleteFunc(p.schema.types(), func(t string) bool { return t == "null" })
		if len(types) == 1 {
			f.kind = types[0]
		}
		of := p.schema.members
		if f.kind == "array" {
			of = members(of["items"])
		}
		f.choices = choicesOf(of)
		if usual, given := p.schema.members["default"]; given && typeOf(usual) != "null" && f.check(usual) == nil {
			f.usual = usual
		}
		fields = append(fields, f)
	}
	return fields
}

// choicesOf reads enum, with enumNames (2025-06-18), and lists of constants with titles (2025-11-25).
func choicesOf(of map[string]json.RawMessage) (all []choice) {
	names := elements(of["enumNames"])
	for i, value := range elements(of["enum"]) {
		c := choice{value: value, title: jsonText(value)}
		if i < len(names) && scalar(names[i]) != "" {
			c.title = scalar(names[i])
		}
		all = append(all, c)
	}
	for _, list := range []string{"oneOf", "anyOf"} {
		for _, one := range elements(of[list]) {
			m := members(one)
			value, ok := m["const"]
			if !ok {
				continue
			}
			c := choice{value: value, title: scalar(m["title"])}
			if c.title == "" {
				c.title = jsonText(value)
			}
			all = append(all, c)
		}
	}
	return all
}

// title is what the field is called where people read it.
func (f *formField) title() string {
	if title := scalar(f.schema.members["title"]); title != "" {
		return title
	}
	return f.name
}

// nothing is what is typed for an empty text, or an empty list.
const nothing = `""`

// parse returns what somebody has typed as a value that fits. The text is not empty.
func (f *formField) parse(text string) (json.RawMessage, error) {
	value, err := f.read(text)
	if err == nil {
		err = f.check(value)
	}
	return value, err
}

func (f *formField) read(text string) (json.RawMessage, error) {
	trimmed := strings.TrimSpace(text)
	switch {
	case f.kind == "array" && len(f.choices) > 0:
		return f.pickSeveral(trimmed)
	case len(f.choices) > 0:
		return f.pick(trimmed)
	case f.kind == "string" && trimmed == nothing:
		return json.RawMessage(nothing), nil
	case f.kind == "string":
		value, _ := typed(text, "string")
		return value, nil
	case f.kind == "boolean":
		switch strings.ToLower(trimmed) {
		case "y", "yes", "true":
			return json.RawMessage("true"), nil
		case "n", "no", "false":
			return json.RawMessage("false"), nil
		}
		return nil, errors.New("yes or no is wanted")
	}
	if checkJSON([]byte(trimmed)) != nil {
		if f.kind == "number" || f.kind == "integer" {
			return nil, errors.New(f.wanted() + " is wanted")
		}
		return nil, errors.New("JSON is wanted")
	}
	return json.RawMessage(trimmed), nil
}

// pick returns the choice that a number or a text means. The number is stronger: it is what is shown.
func (f *formField) pick(text string) (json.RawMessage, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(f.choices) {
		return f.choices[n-1].value, nil
	}
	for _, c := range f.choices {
		if text == jsonText(c.value) || strings.EqualFold(text, c.title) {
			return c.value, nil
		}
	}
	return nil, fmt.Errorf("%q is none of the choices", text)
}

// pickSeveral is pick for texts with commas between.
func (f *formField) pickSeveral(text string) (json.RawMessage, error) {
	var picked []json.RawMessage
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" || text == nothing {
			continue
		}
		value, err := f.pick(one)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(picked, func(p json.RawMessage) bool { return string(p) == string(value) }) {
			picked = append(picked, value)
		}
	}
	return listOf(picked), nil
}

func listOf(values []json.RawMessage) json.RawMessage {
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return json.RawMessage("[" + strings.Join(texts, ",") + "]")
}

// choicesTold is how many of the choices an error names.
const choicesTold = 10

// check tells why a value does not fit; nil if it does. What servers may not ask for, their schemas say in vain: they
// see it themselves.
func (f *formField) check(value json.RawMessage) error {
	m := f.schema.members
	switch {
	case f.kind == "array":
		return f.checkList(value)
	case len(f.choices) > 0:
		return f.checkChoice(value)
	case f.kind == "string":
		if typeOf(value) != "string" {
			return errors.New("a text is wanted")
		}
		return checkText(m, scalar(value))
	case f.kind == "number", f.kind == "integer":
		return f.checkNumber(value)
	case f.kind == "boolean" && typeOf(value) != "boolean":
		return errors.New("true or false is wanted")
	case f.kind == "object" && typeOf(value) != "object":
		return errors.New("a JSON object is wanted")
	}
	return nil
}

func (f *formField) checkChoice(value json.RawMessage) error {
	for _, c := range f.choices {
		if sameJSON(value, c.value) {
			return nil
		}
	}
	var values []string
	for _, c := range f.choices[:min(len(f.choices), choicesTold)] {
		values = append(values, abridged(jsonText(c.value)))
	}
	if more := len(f.choices) - choicesTold; more > 0 {
		values = append(values, fmt.Sprintf("another of %d", more))
	}
	return fmt.Errorf("%s is wanted", either(values))
}

func (f *formField) checkList(value json.RawMessage) error {
	if typeOf(value) != "array" {
		return errors.New("a list is wanted")
	}
	all := elements(value)
	if least, ok := number(f.schema.members["minItems"]); ok && float64(len(all)) < least {
		return fmt.Errorf("at least %g of the choices are wanted", least)
	}
	if most, ok := number(f.schema.members["maxItems"]); ok && float64(len(all)) > most {
		return fmt.Errorf("at most %g of the choices are wanted", most)
	}
	for _, one := range all {
		if len(f.choices) > 0 {
			if err := f.checkChoice(one); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *formField) checkNumber(value json.RawMessage) error {
	kind := typeOf(value)
	if kind != "integer" && (kind != "number" || f.kind == "integer" && !whole(value)) {
		return errors.New(f.wanted() + " is wanted")
	}
	n, ok := number(value)
	if !ok {
		return errors.New("it is out of range")
	}
	least, hasLeast := number(f.schema.members["minimum"])
	most, hasMost := number(f.schema.members["maximum"])
	switch {
	case hasLeast && n < least:
		return fmt.Errorf("at least %s is wanted", digits(least))
	case hasMost && n > most:
		return fmt.Errorf("at most %s is wanted", digits(most))
	}
	return nil
}

// whole takes 1.0 for an integer, as JSON Schema does.
func whole(value json.RawMessage) bool {
	n, ok := number(value)
	return ok && n == float64(int64(n))
}

func number(value json.RawMessage) (float64, bool) {
	if kind := typeOf(value); kind != "number" && kind != "integer" {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(value), 64)
	return n, err == nil
}

func checkText(of map[string]json.RawMessage, text string) error {
	length := float64(utf8.RuneCountInString(text))
	if least, ok := number(of["minLength"]); ok && length < least {
		return fmt.Errorf("at least %g characters are wanted", least)
	}
	if most, ok := number(of["maxLength"]); ok && length > most {
		return fmt.Errorf("at most %g characters are wanted", most)
	}
	if pattern := scalar(of["pattern"]); pattern != "" {
		// A pattern that is beyond Go's is the server's to check.
		if compiled, err := regexp.Compile(pattern); err == nil && !compiled.MatchString(text) {
			return fmt.Errorf("what matches %s is wanted", abridged(pattern))
		}
	}
	if format := formats[scalar(of["format"])]; format.fits != nil && !format.fits(text) {
		return errors.New(format.wanted + " is wanted")
	}
	return nil
}

// formats are those that a form's fields may have.
var formats = map[string]struct {
	wanted string
	fits   func(string) bool
}{
	"email": {"an email address", func(text string) bool {
		a, err := mail.ParseAddress(text)
		return err == nil && a.Address == text
	}},
	"uri": {"a URI such as https://example.com/", func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && u.Scheme != ""
	}},
	"date": {"a date such as 2026-07-28", func(text string) bool {
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	}},
	"date-time": {"a date and time such as 2026-07-28T15:04:05Z", func(text string) bool {
		_, err := time.Parse(time.RFC3339, strings.ToUpper(text))
		return err == nil
	}},
}

// wanted says what kind of value is wanted: "an integer from 1 to 12".
func (f *formField) wanted() string {
	m := f.schema.members
	switch {
	case f.kind == "array" && len(f.choices) > 0:
		return "any of these, with commas between" + bounds(m["minItems"], m["maxItems"], " of them")
	case len(f.choices) > 0:
		return "one of these, by its number or its text"
	case f.kind == "string":
		if format, ok := formats[scalar(m["format"])]; ok {
			return format.wanted
		}
		return "text" + bounds(m["minLength"], m["maxLength"], " characters")
	case f.kind == "integer":
		return "an integer" + bounds(m["minimum"], m["maximum"], "")
	case f.kind == "number":
		return "a number" + bounds(m["minimum"], m["maximum"], "")
	case f.kind == "boolean":
		return "yes or no"
	}
	return "JSON"
}

// bounds says between which bounds something must be: ", from 1 to 12 characters".
func bounds(least, most json.RawMessage, unit string) string {
	from, hasFrom := number(least)
	to, hasTo := number(most)
	switch {
	case hasFrom && hasTo:
		return fmt.Sprintf(", from %s to %s%s", digits(from), digits(to), unit)
	case hasFrom:
		return fmt.Sprintf(", at least %s%s", digits(from), unit)
	case hasTo:
		return fmt.Sprintf(", at most %s%s", digits(to), unit)
	}
	return ""
}

func digits(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// shown is how a value of the field is shown to people.
func (f *formField) shown(value json.RawMessage) string {
	switch typeOf(value) {
	case "boolean":
		if string(value) == "true" {
			return "yes"
		}
		return "no"
	case "array":
		var texts []string
		for _, one := range elements(value) {
			texts = append(texts, f.shown(one))
		}
		if texts == nil {
			return nothing
		}
		return strings.Join(texts, ", ")
	case "string":
		if scalar(value) == "" {
			return nothing
		}
	}
	for _, c := range f.choices {
		if sameJSON(c.value, value) {
			return visible(c.title)
		}
	}
	return visible(jsonText(value))
}
