package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fields are the known keys of an entry. The errors continue a sentence that begins with the key's name.
var fields = map[string]func(*Server, jsontext.Value) error{
	"type":           setType,
	"transport":      setType,
	"command":        func(s *Server, v jsontext.Value) error { return setText(&s.Command, v) },
	"args":           func(s *Server, v jsontext.Value) error { return setTexts(&s.Args, v) },
	"env":            func(s *Server, v jsontext.Value) error { return setTextMap(&s.Env, v) },
	"envInherit":     setEnvInherit,
	"cwd":            func(s *Server, v jsontext.Value) error { return setText(&s.Cwd, v) },
	"url":            func(s *Server, v jsontext.Value) error { return setText(&s.URL, v) },
	"headers":        func(s *Server, v jsontext.Value) error { return setTextMap(&s.Headers, v) },
	"protocol":       func(s *Server, v jsontext.Value) error { return setText(&s.Protocol, v) },
	"tls":            setTLS,
	"proxy":          func(s *Server, v jsontext.Value) error { return setText(&s.Proxy, v) },
	"timeout":        func(s *Server, v jsontext.Value) error { return setDuration(&s.Timeout, v) },
	"connectTimeout": func(s *Server, v jsontext.Value) error { return setDuration(&s.ConnectTimeout, v) },
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

func setTextMap(to *map[string]string, v jsontext.Value) error {
	if v.Kind() != '{' {
		return fmt.Errorf("must be an object of strings, not %s", kindName(v.Kind()))
	}
	texts := map[string]string{}
	for _, m := range members(v, 0) {
		var text string
		if err := setText(&text, m.value); err != nil {
			return fmt.Errorf("must hold strings: %s %w", m.name, err)
		}
		texts[m.name] = text
	}
	*to = texts
	return nil
}

func setTLS(s *Server, v jsontext.Value) error {
	var files map[string]string
	if err := setTextMap(&files, v); err != nil {
		return err
	}
	known := map[string]*string{"ca": &s.TLS.CA, "cert": &s.TLS.Cert, "key": &s.TLS.Key}
	for name, file := range files {
		if known[name] == nil {
			return fmt.Errorf("has the unknown key %q; accepted are ca, cert and key, each a PEM file", name)
		}
		*known[name] = file
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
