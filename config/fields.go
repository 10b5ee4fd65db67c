package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A field is a known key of an entry.
type field struct {
	set  func(*Server, jsontext.Value) error // the error continues a sentence that begins with the key
	hint func(jsontext.Value) string         // what looks wrong though it can be meant, after the key; empty: nothing

	// inner are the known keys of its value, where others are warned of, with what they are called in Places; nil: it has
	// none, or no others.
	inner map[string]string
	place string // what it is called in Places; empty: as its key is; nowhere: it has no place
}

// nowhere is the place of a key that says nothing about a server.
const nowhere = "-"

var fields = map[string]field{
	"type":       plain(setType),
	"transport":  {set: setType, hint: noHint, place: "type"},
	"command":    plain(func(s *Server, v jsontext.Value) error { return setText(&s.Command, v) }),
	"args":       plain(func(s *Server, v jsontext.Value) error { return setTexts(&s.Args, v) }),
	"env":        plain(func(s *Server, v jsontext.Value) error { return setTextMap(&s.Env, v, asWritten) }),
	"envInherit": plain(setEnvInherit),
	"cwd":        plain(func(s *Server, v jsontext.Value) error { return setText(&s.Cwd, v) }),
	"url":        plain(func(s *Server, v jsontext.Value) error { return setText(&s.URL, v) }),
	"headers":    plain(setHeaders),
	"protocol":   plain(func(s *Server, v jsontext.Value) error { return setText(&s.Protocol, v) }),
	"tls":        plain(setTLS),
	"proxy":      plain(func(s *Server, v jsontext.Value) error { return setText(&s.Proxy, v) }),
	"required":   plain(func(s *Server, v jsontext.Value) error { return setBool(&s.Required, v) }),
	"disabled":   plain(func(s *Server, v jsontext.Value) error { return setBool(&s.Disabled, v) }),
	"tools":      {set: setTools, hint: hintTools},
	"auth":       {set: setAuth, hint: hintAuth, inner: authNames()},
	"timeout": {
		set:  func(s *Server, v jsontext.Value) error { return setDuration(&s.Timeout, v) },
		hint: hintDuration,
	},
	"connectTimeout": {
		set:  func(s *Server, v jsontext.Value) error { return setDuration(&s.ConnectTimeout, v) },
		hint: hintDuration,
	},
	"startupWait": {
		set:  func(s *Server, v jsontext.Value) error { return setDuration(&s.StartupWait, v) },
		hint: hintDuration,
	},
}

// plain is a field whose value is right or wrong, and never doubtful.
func plain(set func(*Server, jsontext.Value) error) field {
	return field{set: set, hint: noHint}
}

func noHint(jsontext.Value) string { return "" }

func setBool(to *bool, v jsontext.Value) error {
	switch v.Kind() {
	case 't', 'f':
		*to = v.Kind() == 't'
		return nil
	}
	return fmt.Errorf("must be true or false, not %s", kindName(v.Kind()))
}

func setText(to *string, v jsontext.Value) error {
	if v.Kind() != '"' {
		return fmt.Errorf("must be a string, not %s", kindName(v.Kind()))
	}
	text, err := jsontext.AppendUnquote(nil, v)
	*to = string(text)
	return err
}

// setType takes "type" and its other name "transport".
func setType(s *Server, v jsontext.Value) error {
	before := s.Type
	if err := setText(&s.Type, v); err != nil {
		return err
	}
	if before != "" && before != s.Type {
		return fmt.Errorf("says %q, and the entry says %q too; give type or transport, not both", s.Type, before)
	}
	return nil
}

func setTexts(to *[]string, v jsontext.Value) error {
	var elements []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &elements) != nil {
		return fmt.Errorf("must be an array of strings, not %s", kindName(v.Kind()))
	}
	texts := make([]string, len(elements))
	for i, e := range elements {
		if err := setText(&texts[i], e); err != nil {
			return fmt.Errorf("must hold strings: number %d %w", i+1, err)
		}
	}
	*to = texts
	return nil
}

func asWritten(name string) string { return name }

// setTextMap takes an object of strings. Names that are the same to canonical must not stand there twice: nobody could
// say which of them counts.
func setTextMap(to *map[string]string, v jsontext.Value, canonical func(name string) string) error {
	if v.Kind() != '{' {
		return fmt.Errorf("must be an object of strings, not %s", kindName(v.Kind()))
	}
	texts, seen := map[string]string{}, map[string]bool{}
	for _, m := range members(v, 0) {
		var text string
		same := canonical(m.name)
		if seen[same] {
			return fmt.Errorf("has %s twice", same)
		}
		seen[same] = true
		if err := setText(&text, m.value); err != nil {
			return fmt.Errorf("must hold strings: %s %w", m.name, err)
		}
		texts[m.name] = text
	}
	*to = texts
	return nil
}

func setHeaders(s *Server, v jsontext.Value) error {
	return setTextMap(&s.Headers, v, http.CanonicalHeaderKey)
}

func setTLS(s *Server, v jsontext.Value) error {
	var files map[string]string
	if err := setTextMap(&files, v, asWritten); err != nil {
		return err
	}
	known := map[string]*string{"ca": &s.TLS.CA, "cert": &s.TLS.Cert, "key": &s.TLS.Key}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if known[name] == nil {
			return fmt.Errorf("has the unknown key %q; accepted are ca, cert and key, each a PEM file", name)
		}
		*known[name] = files[name]
	}
	if (s.TLS.Cert == "") != (s.TLS.Key == "") {
		return errors.New("must have both cert and key, or neither")
	}
	return nil
}

var errEnvInherit = errors.New(`must be "all", "minimal", or a list of names that get through besides the minimal ones`)

func setEnvInherit(s *Server, v jsontext.Value) error {
	if v.Kind() == '[' {
		s.EnvInherit.Minimal = true
		return setTexts(&s.EnvInherit.Pass, v)
	}
	var word string
	if setText(&word, v) != nil || word != "all" && word != "minimal" {
		return errEnvInherit
	}
	s.EnvInherit = EnvInherit{Minimal: word == "minimal"}
	return nil
}

// setDuration takes a Go duration such as "30s" or a number of milliseconds.
func setDuration(to **time.Duration, v jsontext.Value) error {
	d, err := duration(v)
	if err != nil {
		return err
	}
	if d < 0 {
		return errors.New("must not be negative; 0 means no limit")
	}
	*to = &d
	return nil
}

func duration(v jsontext.Value) (time.Duration, error) {
	errForm := fmt.Errorf(`must be a duration such as "30s" or a number of milliseconds, not %s`, v)
	switch v.Kind() {
	case '"':
		var text string
		if err := setText(&text, v); err != nil {
			return 0, err
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, errForm
		}
		return d, nil
	case '0':
		ms, err := strconv.ParseFloat(string(v), 64)
		if ns := ms * float64(time.Millisecond); err == nil && math.Abs(ns) < math.MaxInt64 {
			return time.Duration(ns), nil
		}
		return 0, fmt.Errorf("is out of range: %s", v)
	}
	return 0, errForm
}

// longest is what no wait is longer than, unless its unit is wrong.
const longest = 24 * time.Hour

// hintDuration tells of a time that looks as if another unit was meant.
func hintDuration(v jsontext.Value) string {
	d, err := duration(v)
	switch {
	case err != nil:
		return ""
	case v.Kind() == '0' && d > 0 && d < time.Second:
		return fmt.Sprintf(`%[1]s means %[1]s milliseconds; write "%[1]ss" for seconds, or "%[1]sms" if that is meant`, v)
	case v.Kind() == '0' && d > longest:
		return fmt.Sprintf(`%s means %s, since a number counts milliseconds; write the unit, as in "30s"`, v, written(d))
	case d > longest:
		return fmt.Sprintf(`%s is longer than a day; 0 means no limit`, v)
	}
	return ""
}

// written returns a duration as people write it: "1m" and not "1m0s".
func written(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
