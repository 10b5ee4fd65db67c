package config

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A form is how one kind of file writes an entry.
type form struct {
	fields map[string]field
	names  []string // of the fields, in a fixed order
	// prepare returns the members of an entry as fields has them; nil: as they stand.
	prepare   func(members []member) []member
	overrides bool // an entry that has nothing but "disabled" changes one of a weaker file

	from where // where the file is, of other programs
}

// own is the form of our files.
var own = form{fields: fields, names: namesOf(fields), overrides: true}

// namesOf returns the keys of fields, but for those that say nothing.
func namesOf(fields map[string]field) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name].place != nowhere {
			names = append(names, name)
		}
	}
	return names
}

// prepared returns the members of an entry.
func (f form) prepared(entry member) []member {
	if f.prepare == nil {
		return entry.members()
	}
	return f.prepare(entry.members())
}

// place sees to what depends on where an entry of another program stands. It returns what does not fit.
func (f form) place(s *Server) (misfit string) {
	if f.from.title == "" || s.Command == "" {
		return ""
	}
	switch folder := escaped(f.from.project); {
	case filepath.IsAbs(s.Cwd), strings.HasPrefix(s.Cwd, "${"):
	case f.from.project != "":
		s.Cwd = filepath.Join(folder, s.Cwd)
	case s.Cwd != "":
		return fmt.Sprintf("cwd is taken from the folder that %s happens to run in; write an absolute path", f.from.title)
	}
	return ""
}

// An innerError is what is wrong with one of the values in a value.
type innerError struct {
	name  string // of the member of an object; empty: it is the element of an array
	index int    // of that element
	err   error
}

// Error continues a sentence that begins with the key.
func (e *innerError) Error() string {
	if e.name == "" {
		return fmt.Sprintf("has number %d, which %v", e.index+1, e.err)
	}
	return fmt.Sprintf("has %s, which %v", e.name, e.err)
}

// A tongue puts a text of another program's file in our words: references to variables become ours, and each other
// dollar sign stays one. The error continues a sentence that begins with the key, and shows nothing but names.
type tongue func(text string) (string, error)

// entry are the keys that nearly all programs have.
func (t tongue) entry() map[string]field {
	return map[string]field{
		"command": t.text(func(s *Server) *string { return &s.Command }),
		"args":    t.texts(func(s *Server) *[]string { return &s.Args }),
		"env":     t.env(),
		"url":     t.address(),
		"headers": t.headers(),
	}
}

// text is a field of one text.
func (t tongue) text(of func(*Server) *string) field {
	return plain(func(s *Server, v jsontext.Value) error {
		var text string
		err := setText(&text, v)
		if err == nil {
			*of(s), err = t(text)
		}
		return err
	})
}

// address is the field of a server's address.
func (t tongue) address() field {
	text := t.text(func(s *Server) *string { return &s.URL })
	set := text.set
	text.place = "url"
	text.set = func(s *Server, v jsontext.Value) error {
		if err := set(s, v); err != nil {
			return err
		}
		scheme, _, _ := strings.Cut(s.URL, "://")
		if scheme == "unix" || scheme == "pipe" {
			return errors.New("names a socket, and servers are reached by http and https only")
		}
		return nil
	}
	return text
}

// texts is a field of a list of texts.
func (t tongue) texts(of func(*Server) *[]string) field {
	return plain(func(s *Server, v jsontext.Value) error {
		var texts []string
		if err := setTexts(&texts, v); err != nil {
			return err
		}
		for i, text := range texts {
			said, err := t(text)
			if err != nil {
				return &innerError{index: i, err: err}
			}
			texts[i] = said
		}
		*of(s) = texts
		return nil
	})
}

// env is the field of the variables of a program. Some programs take numbers too.
func (t tongue) env() field {
	f := plain(func(s *Server, v jsontext.Value) error {
		return t.add(&s.Env, v, asWritten, t)
	})
	f.place = "env"
	return f
}

// headers is the field of the headers that are sent.
func (t tongue) headers() field {
	f := plain(func(s *Server, v jsontext.Value) error {
		return t.add(&s.Headers, v, http.CanonicalHeaderKey, t)
	})
	f.place = "headers"
	return f
}

// add adds an object of texts to those that are there. say puts its texts in our words.
func (tongue) add(to *map[string]string, v jsontext.Value, canonical func(string) string, say tongue) error {
	var texts map[string]string
	if err := setTextMap(&texts, withNumbersAsTexts(v), canonical); err != nil {
		return err
	}
	if *to == nil {
		*to = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for other := range *to {
			if canonical(other) == canonical(name) {
				return fmt.Errorf("has %s, which the entry says twice", name)
			}
		}
		said, err := say(texts[name])
		if err != nil {
			return &innerError{name: name, err: err}
		}
		(*to)[name] = said
	}
	return nil
}

// withNumbersAsTexts returns an object whose numbers are texts; anything else as it is.
func withNumbersAsTexts(v jsontext.Value) jsontext.Value {
	if v.Kind() != '{' {
		return v
	}
	var all []string
	for _, m := range members(v, 0) {
		text := string(m.value)
		if m.value.Kind() == '0' {
			text = quote(text)
		}
		all = append(all, quote(m.name)+":"+text)
	}
	return jsontext.Value("{" + strings.Join(all, ",") + "}")
}

// login is the field of a block for logging in, whose keys are called as in names here.
func (t tongue) login(names map[string]string) field {
	return field{place: "auth", hint: noHint, inner: names, set: func(s *Server, v jsontext.Value) error {
		if v.Kind() != '{' {
			return fmt.Errorf("must be an object, not %s", kindName(v.Kind()))
		}
		for _, m := range members(v, 0) {
			if err := t.setLogin(&s.Auth, names[m.name], m.value); err != nil {
				return &innerError{name: m.name, err: err}
			}
		}
		if key, err := s.Auth.fault(isLiteral); err != nil {
			return fmt.Errorf("has %s, which %w", key, err)
		}
		return nil
	}}
}

// setLogin sets what has a key in a block of ours.
func (t tongue) setLogin(to *Auth, key string, v jsontext.Value) error {
	set := authFields[key]
	if set == nil {
		return nil // the reader warns of it, or it has no meaning here
	}
	var text string
	if setText(&text, v) != nil {
		return set(to, v)
	}
	said, err := t(text)
	if err != nil {
		return err
	}
	if key == "scopes" { // in one text
		set = setScope
	}
	return set(to, jsontext.Value(quote(said)))
}

// Fields that need no tongue.

// ignored is a key that says nothing about how to reach a server.
var ignored = field{set: func(*Server, jsontext.Value) error { return nil }, hint: noHint, place: nowhere}

// refused is a key whose meaning can't be kept, unless its value is false or empty.
func refused(why string) field {
	f := ignored
	f.set = func(_ *Server, v jsontext.Value) error {
		switch string(v) {
		case "false", "null", `""`, "{}", "[]":
			return nil
		}
		return errors.New(why)
	}
	return f
}

// enabled is the opposite of our "disabled".
func enabled() field {
	f := plain(func(s *Server, v jsontext.Value) error {
		var on bool
		err := setBool(&on, v)
		s.Disabled = !on
		return err
	})
	f.place = "disabled"
	return f
}

// wait is a time limit as a number of units.
func wait(of func(*Server) **time.Duration, unit time.Duration, place string) field {
	f := plain(func(s *Server, v jsontext.Value) error {
		units := map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds"}[unit]
		if v.Kind() != '0' {
			return fmt.Errorf("must be a number of %s, not %s", units, kindName(v.Kind()))
		}
		d, err := duration(v) // which takes numbers for milliseconds
		if err != nil || d < 0 || d > longest/(unit/time.Millisecond) {
			return fmt.Errorf("must be from 0 to a day, in %s", units)
		}
		perMilli := int64(unit / time.Millisecond)
		limit := time.Duration(d.Nanoseconds() * perMilli)
		*of(s) = &limit
		return nil
	})
	f.place = place
	return f
}

func requestLimit(s *Server) **time.Duration { return &s.Timeout }
func connectLimit(s *Server) **time.Duration { return &s.ConnectTimeout }

// onlyTools is a list of the tools that are offered: none if it is empty.
func onlyTools() field {
	f := plain(func(s *Server, v jsontext.Value) error {
		if err := setTexts(&s.Tools.Allow, v); err != nil {
			return err
		}
		if len(s.Tools.Allow) == 0 {
			s.Tools = ToolFilter{Deny: []string{"*"}}
		}
		return nil
	})
	f.place = "tools.allow"
	return f
}

// notTools is a list of tools that are not offered.
func notTools() field {
	f := plain(func(s *Server, v jsontext.Value) error {
		var deny []string
		err := setTexts(&deny, v)
		s.Tools.Deny = append(s.Tools.Deny, deny...)
		return err
	})
	f.place = "tools.deny"
	return f
}

// fieldsOf puts fields together; later ones count.
func fieldsOf(all ...map[string]field) map[string]field {
	together := map[string]field{}
	for _, some := range all {
		maps.Copy(together, some)
	}
	return together
}

// ignoring are keys that say nothing about how to reach a server.
func ignoring(keys ...string) map[string]field {
	all := map[string]field{}
	for _, key := range keys {
		all[key] = ignored
	}
	return all
}
