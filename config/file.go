package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// largest is how many bytes a file may have, and mostNested how many brackets: more are no configuration, and would
// cost memory without bound.
const (
	largest    = 4 << 20
	mostNested = 100_000
)

// A File is what one configuration file holds.
type File struct {
	Path     string
	Servers  []Server   // the entries that can be used, in the file's order
	Problems []*Problem // what is wrong with the others, and warnings, in the file's order

	entries []Server // the servers and, among them, the entries that only change one of a weaker file
	imports []wish   // the other programs whose servers it asks for
	sum     string   // a hash of the text that was parsed; empty for a File that was not read
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

// Names reports whether there is an entry of that name, also one that can't be used or that only changes one of a
// weaker file.
func (f *File) Names(name string) bool {
	broken := func(p *Problem) bool { return p.Severity == Error && p.Server == name }
	return slices.ContainsFunc(f.entries, called(name)) || slices.ContainsFunc(f.Problems, broken)
}

// ReadFile reads one file. A bad entry is left out and told in File.Problems. A file that can't be read, or that is
// not JSON (with comments and trailing commas allowed) of the expected shape, or that has more than 4 MiB, gives a
// *Problem; errors.Is(err, fs.ErrNotExist) tells one that is missing. An empty file holds no servers. An entry that
// has nothing but "disabled" changes one of a weaker file, so it is not among the servers of this one.
func ReadFile(path string) (*File, error) {
	text, err := readText(path, largest)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return parse(path, text)
}

// readText reads a file of so many bytes at most.
func readText(path string, most int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err == nil && len(text) > most {
		return nil, fmt.Errorf("it has more than %d bytes", most)
	}
	return text, err
}

func unreadable(path string, err error) *Problem {
	return &Problem{Path: path, Text: reason(err), Err: err}
}

// reason returns why a file can't be read, without its path.
func reason(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

func parse(path string, text []byte) (*File, error) {
	sum := sha256.Sum256(text)
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	r := &reader{file: &File{Path: path, sum: hex.EncodeToString(sum[:])}, text: text, form: own}
	if len(bytes.TrimSpace(text)) == 0 {
		return r.file, nil
	}
	if err := r.standardize(); err != nil {
		return nil, err
	}
	if err := r.syntax(); err != nil {
		return nil, err
	}
	if err := r.top(); err != nil {
		return nil, err
	}
	return r.file, nil
}

const byteOrderMark = "\ufeff"

// A reader walks one file. Offsets are in bytes from the start of text.
type reader struct {
	file *File
	text []byte
	at   cursor
	form form
	seen map[string]bool // the names of entries
}

// A member is one name and value of an object, with where they stand.
type member struct {
	name          string
	at            int // of the name
	value         jsontext.Value
	valueAt       int
	repeatsBefore bool // an earlier member has the same name

	// moved: the value is not as it stands in the text. Then inner are the members of an object, and all else in it is
	// where it is itself.
	moved bool
	inner []member
}

// members returns the members of the value.
func (m member) members() []member {
	if m.moved {
		return m.inner
	}
	return members(m.value, m.valueAt)
}

// elements returns the elements of the value.
func (m member) elements() []member {
	all := elements(m.value, m.valueAt)
	for i := range all {
		if m.moved {
			all[i].valueAt, all[i].moved = m.valueAt, true
		}
	}
	return all
}

func (r *reader) problem(at int, server string, format string, args ...any) *Problem {
	where := r.where(at)
	return &Problem{
		Path: where.Path, Line: where.Line, Column: where.Column, Server: server, Text: fmt.Sprintf(format, args...),
	}
}

func (r *reader) where(at int) Place {
	line, column := r.at.to(r.text, at)
	return Place{r.file.Path, line, column}
}

func (r *reader) report(p *Problem) { r.file.Problems = append(r.file.Problems, p) }

func (r *reader) warn(at int, server string, format string, args ...any) {
	p := r.problem(at, server, format, args...)
	p.Severity = Warning
	r.report(p)
}

// syntax checks that the whole text, which has no comments any more, is one JSON value.
func (r *reader) syntax() error {
	dec := jsontext.NewDecoder(bytes.NewReader(r.text), lenient)
	if _, err := dec.ReadValue(); err != nil {
		return r.broken(err, int(dec.InputOffset()))
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
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
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

// elements returns the elements of the array value, which stands at offset at, without names.
func elements(value jsontext.Value, at int) []member {
	var out []member
	dec := jsontext.NewDecoder(bytes.NewReader(value), lenient)
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '[' {
		return nil
	}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil { // the text has been checked
			return nil
		}
		out = append(out, member{value: v.Clone(), valueAt: at + int(dec.InputOffset()) - len(v)})
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
		case m.name == importKey:
			r.wishes(m)
		case m.name == "$schema":
		case strings.EqualFold(m.name, "mcpServers"):
			r.warn(m.at, "", "%s", unknownKey(m.name, []string{"mcpServers"}))
		default:
			r.warn(m.at, "", "unknown key %q is ignored; servers are read from \"mcpServers\"", m.name)
		}
	}
	return nil
}

func (r *reader) servers(all member) {
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	before := maps.Clone(r.seen)
	for _, m := range all.members() {
		r.seen[m.name] = true
		switch {
		case before[m.name]: // the entry that was read first is the stronger one
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
	s := Server{Name: entry.name, Origin: r.file.Path, Places: map[string]Place{"": r.where(entry.at)}}
	good := true
	for _, m := range r.form.prepared(entry) {
		f, known := r.form.fields[m.name]
		switch {
		case !known:
			r.warn(m.at, s.Name, "%s", unknownKey(m.name, r.form.names))
			continue
		case m.repeatsBefore:
			good = false
			r.report(r.problem(m.at, s.Name, "%s stands there twice", m.name))
			continue
		}
		if err := f.set(&s, m.value); err != nil {
			good = false
			r.report(r.problem(m.of(err), s.Name, "%s %v", m.name, err))
			continue
		}
		if hint := f.hint(m.value); hint != "" {
			r.warn(m.valueAt, s.Name, "%s %s", m.name, hint)
		}
		r.innerKeys(s.Name, m, f)
		r.mark(&s, m, f)
	}
	if good {
		r.take(s)
	}
}

// take takes an entry whose values are right, if they fit together.
func (r *reader) take(s Server) {
	_, says := s.Places["disabled"]
	s.override = r.form.overrides && says && len(s.Places) == len([]string{"", "disabled"})
	kind, misfit := s.kind()
	if misfit == "" {
		misfit = r.form.place(&s)
	}
	if misfit != "" && !s.override {
		where := s.Places[""]
		r.report(&Problem{Path: where.Path, Line: where.Line, Column: where.Column, Server: s.Name, Text: misfit})
		return
	}
	if doubt := s.authDoubt(kind); doubt != "" {
		where := s.Places["auth"]
		r.report(&Problem{
			Path: where.Path, Line: where.Line, Column: where.Column, Server: s.Name, Severity: Warning, Text: "auth " + doubt,
		})
	}
	s.anchor()
	r.file.entries = append(r.file.entries, s)
	if !s.override {
		r.file.Servers = append(r.file.Servers, s)
	}
}

// innerKeys warns of what a member's value has under keys that are not known; of nothing if the field has none.
func (r *reader) innerKeys(server string, of member, f field) {
	if f.inner == nil {
		return
	}
	for _, m := range of.members() {
		if f.inner[m.name] == "" {
			r.warn(m.at, server, "%s: %s", of.name, unknownKey(m.name, slices.Sorted(maps.Keys(f.inner))))
		}
	}
}

// mark keeps where the value of a member and those in it stand.
func (r *reader) mark(s *Server, m member, f field) {
	name := m.name
	switch f.place {
	case "":
	case nowhere:
		return
	default:
		name = f.place
	}
	s.Places[name] = r.where(m.valueAt)
	for _, inner := range m.members() {
		called := inner.name
		if known := f.inner[called]; known != "" {
			called = known
		}
		s.Places[name+"."+called] = r.where(inner.valueAt)
	}
	for i, inner := range m.elements() {
		s.Places[fmt.Sprintf("%s[%d]", name, i)] = r.where(inner.valueAt)
	}
}

// of returns where an error about the member's value is.
func (m member) of(err error) int {
	in, ok := errors.AsType[*innerError](err)
	if !ok {
		return m.valueAt
	}
	all := append(m.members(), m.elements()...)
	for i, inner := range all {
		if inner.name == in.name && in.name != "" || in.name == "" && i == in.index {
			return inner.valueAt
		}
	}
	return m.valueAt
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
