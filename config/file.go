package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json/jsontext"
)

// A File is what one configuration file holds.
type File struct {
	Path     string
	Servers  []Server   // the entries that can be used, in the file's order
	Problems []*Problem // what is wrong with the others, and warnings, in the file's order
}

// Server returns the entry of that name. If there is one that can't be used, the error is its *Problem; both are zero
// if there is none.
func (f *File) Server(name string) (*Server, error) {
	for i := range f.Servers {
		if f.Servers[i].Name == name {
			return &f.Servers[i], nil
		}
	}
	for _, p := range f.Problems {
		if p.Severity == Error && p.Server == name && name != "" {
			return nil, p
		}
	}
	return nil, nil
}

// ReadFile reads one file. A bad entry is left out and told in File.Problems. A file that can't be read, or that is not
// JSON of the expected shape, gives a *Problem; errors.Is(err, fs.ErrNotExist) tells one that is missing. An empty file
// holds no servers.
func ReadFile(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &Problem{Path: path, Text: reason(err), Err: err}
	}
	return parse(path, text)
}

// reason returns why a file can't be read, without its path.
func reason(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

func parse(path string, text []byte) (*File, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	r := &reader{file: &File{Path: path}, text: text}
	if len(bytes.TrimSpace(text)) == 0 {
		return r.file, nil
	}
	if err := r.syntax(); err != nil {
		return nil, err
	}
	if err := r.top(); err != nil {
		return nil, err
	}
	return r.file, nil
}

// A reader walks one file. Offsets are in bytes from the start of text.
type reader struct {
	file *File
	text []byte
}

// A member is one name and value of an object, with where they stand.
type member struct {
	name          string
	at            int // of the name
	value         jsontext.Value
	valueAt       int
	repeatsBefore bool // an earlier member has the same name
}

func (r *reader) problem(at int, server string, format string, args ...any) *Problem {
	p := &Problem{Path: r.file.Path, Server: server, Text: fmt.Sprintf(format, args...)}
	p.Line, p.Column = place(r.text, at)
	return p
}

func (r *reader) report(p *Problem) { r.file.Problems = append(r.file.Problems, p) }

// syntax checks that the whole text is one JSON value.
func (r *reader) syntax() error {
	dec := jsontext.NewDecoder(bytes.NewReader(r.text), lenient)
	if _, err := dec.ReadValue(); err != nil {
		return r.broken(err, int(dec.InputOffset()))
	}
	end := int(dec.InputOffset())
	if more := r.text[end:]; start(more) < len(more) {
		return r.problem(end+start(more), "", "more text behind the end of the JSON value")
	}
	return nil
}

func (r *reader) broken(err error, at int) error {
	if where, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, err = int(where.ByteOffset), where.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return r.problem(len(r.text), "", "not valid JSON: it ends in the middle")
	}
	return r.problem(at, "", "not valid JSON: %v", err)
}

// A name that stands twice costs an entry at most, never the file.
var lenient = jsontext.AllowDuplicateNames(true)

// members returns the members of the object value, which stands at offset at.
func members(value jsontext.Value, at int) []member {
	var out []member
	seen := map[string]bool{}
	dec := jsontext.NewDecoder(bytes.NewReader(value), lenient)
	read := func() (jsontext.Value, int) {
		v, err := dec.ReadValue()
		if err != nil { // the text has been checked
			return nil, 0
		}
		return v.Clone(), at + int(dec.InputOffset()) - len(v)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		var m member
		var quoted jsontext.Value
		quoted, m.at = read()
		name, _ := jsontext.AppendUnquote(nil, quoted)
		m.name = string(name)
		m.value, m.valueAt = read()
		m.repeatsBefore, seen[m.name] = seen[m.name], true
		out = append(out, m)
	}
	return out
}

func (r *reader) top() error {
	if kind := jsontext.Value(r.text).Kind(); kind != '{' {
		return r.problem(start(r.text), "", "an object with \"mcpServers\" is expected, not %s", kindName(kind))
	}
	for _, m := range members(r.text, 0) {
		switch {
		case m.name == "mcpServers" && m.value.Kind() != '{':
			return r.problem(m.valueAt, "", "mcpServers must be an object of servers by name, not %s", kindName(m.value.Kind()))
		case m.name == "mcpServers" && m.repeatsBefore:
			return r.problem(m.at, "", "mcpServers stands there twice")
		case m.name == "mcpServers":
			r.servers(m)
		case m.name != "$schema":
			p := r.problem(m.at, "", "unknown key %q is ignored; servers are read from \"mcpServers\"", m.name)
			p.Severity = Warning
			r.report(p)
		}
	}
	return nil
}

func (r *reader) servers(all member) {
	for _, m := range members(all.value, all.valueAt) {
		switch {
		case m.name == "":
			r.report(r.problem(m.at, "", "a server must have a name"))
		case m.repeatsBefore:
			r.report(r.problem(m.at, m.name, "the name stands there twice; the first entry counts"))
		case m.value.Kind() != '{':
			r.report(r.problem(m.valueAt, m.name, "it must be an object, not %s", kindName(m.value.Kind())))
		default:
			r.server(m)
		}
	}
}

// server takes one entry, or reports what is wrong with it.
func (r *reader) server(entry member) {
	s := Server{Name: entry.name, Origin: r.file.Path}
	good := true
	for _, m := range members(entry.value, entry.valueAt) {
		set, known := fields[m.name]
		if !known {
			p := r.problem(m.at, s.Name, "unknown key %q is ignored", m.name)
			p.Severity = Warning
			r.report(p)
			continue
		}
		if err := set(&s, m.value); err != nil {
			good = false
			r.report(r.problem(m.valueAt, s.Name, "%s %v", m.name, err))
		}
	}
	if !good {
		return
	}
	if _, misfit := s.kind(); misfit != "" {
		r.report(r.problem(entry.at, s.Name, "%s", misfit))
		return
	}
	r.file.Servers = append(r.file.Servers, s)
}

// start returns the offset of the first byte that is no white space.
func start(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t\r\n")) }

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}
