package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// What the errors of changes have in them.
var (
	ErrServerExists = errors.New("a server of that name is there already")
	ErrNoServer     = errors.New("there is no server of that name")
)

// AddServer writes an entry into a file, behind those that stand there; with replace in place of the one that has its
// name. Comments and the form of everything else are kept. The file and its folder are made if they are missing. What
// is written is what is set, as Server has it. Errors are a *Problem if the file can't be read, parsed (then it is
// never written) or written, with ErrServerExists in it if the name is taken and replace is false, and those of
// Server.Kind; a name must be there, in valid UTF-8. Several writers, in several processes, wait for each other.
func AddServer(path string, s Server, replace bool) error {
	if s.Name == "" {
		return errors.New("a server must have a name")
	}
	if !utf8.ValidString(s.Name) {
		return fmt.Errorf("a server's name must be valid UTF-8, not %q", s.Name)
	}
	if _, err := s.Kind(); err != nil {
		return err
	}
	return edit(path, adding(s, replace))
}

func adding(s Server, replace bool) change {
	return func(d *document) error {
		found, err := d.find(s.Name)
		switch {
		case err != nil:
			return err
		case found != nil && !replace:
			return &Problem{Path: d.file.Path, Server: s.Name, Text: ErrServerExists.Error(), Err: ErrServerExists}
		case found != nil:
			value := &found.Value
			d.cut(value.StartOffset, value.EndOffset, render(s, d.styleAt(found.Name.StartOffset, d.inline(d.servers))))
		default:
			d.addServer(s)
		}
		d.added = s.Name
		return nil
	}
}

// RemoveServer takes an entry out of a file. Comments stay, but for those inside the entry. Errors are a *Problem, with
// ErrNoServer in it if there is no such entry.
func RemoveServer(path, name string) error {
	return editExisting(path, name, removing(name))
}

func removing(name string) change {
	return func(d *document) error {
		found, err := d.mustFind(name)
		if err != nil {
			return err
		}
		d.remove(d.servers, found)
		return nil
	}
}

// SetDisabled makes an entry disabled, or takes "disabled" out of it; an entry that has nothing else goes with it.
// Nothing is written if it is so already. Errors are those of RemoveServer.
func SetDisabled(path, name string, disabled bool) error {
	return editExisting(path, name, disabling(name, disabled))
}

func disabling(name string, disabled bool) change {
	return func(d *document) error {
		found, err := d.mustFind(name)
		if err != nil {
			return err
		}
		entry, ok := found.Value.Value.(*hujson.Object)
		if !ok {
			return d.problem(found.Value.StartOffset, name, "it must be an object")
		}
		member, err := d.member(entry, "disabled", name)
		switch {
		case err != nil:
			return err
		case disabled && member == nil:
			d.insert(&found.Value, `"disabled": true`)
		case disabled:
			d.cut(member.Value.StartOffset, member.Value.EndOffset, "true")
		case member == nil || string(d.text[member.Value.StartOffset:member.Value.EndOffset]) == "false":
		case len(entry.Members) == 1:
			d.remove(d.servers, found)
		default:
			d.remove(&found.Value, member)
		}
		return nil
	}
}

// Override makes the server of that name in a weaker file disabled or not: it writes "disabled" into the entry of this
// file, and makes one that has nothing else if there is none. Errors are a *Problem.
func Override(path, name string, disabled bool) error {
	return edit(path, func(d *document) error {
		found, err := d.find(name)
		text := `"disabled": ` + strconv.FormatBool(disabled)
		switch {
		case err != nil:
			return err
		case found == nil:
			d.addEntry(name, func(style) string { return "{" + text + "}" })
			return nil
		}
		entry, ok := found.Value.Value.(*hujson.Object)
		if !ok {
			return d.problem(found.Value.StartOffset, name, "it must be an object")
		}
		member, err := d.member(entry, "disabled", name)
		switch {
		case err != nil:
			return err
		case member == nil:
			d.insert(&found.Value, text)
		default:
			d.cut(member.Value.StartOffset, member.Value.EndOffset, strconv.FormatBool(disabled))
		}
		return nil
	})
}

// EntriesText returns a text of a file that holds entries, as AddServer writes them.
func EntriesText(servers ...Server) string {
	var text []byte
	for _, s := range servers {
		after, err := edited("", text, adding(s, true))
		if err == nil { // else the entry could not be written either
			text = after
		}
	}
	return string(text)
}

// editExisting changes an entry that must be there; where it is not, not even a folder is made.
func editExisting(path, name string, c change) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return noServer(path, name)
	}
	return edit(path, c)
}

func noServer(path, name string) *Problem {
	return &Problem{Path: path, Server: name, Text: ErrNoServer.Error(), Err: ErrNoServer}
}

// A document is a text that is being changed. Changes are collected as cuts of the text that was parsed, whose offsets
// stay valid until then.
type document struct {
	reader  // for its problems
	top     hujson.Value
	servers *hujson.Value // the object of servers; nil if there is none
	added   string        // the name of an entry that must be usable afterwards; empty: none
	cuts    []cut
}

// A cut puts text in the place of the bytes from one offset to another.
type cut struct {
	from, to int
	text     string
}

func (d *document) cut(from, to int, text string) { d.cuts = append(d.cuts, cut{from, to, text}) }

// A change collects the cuts that make one.
type change func(*document) error

// edit changes a file.
func edit(path string, c change) error {
	return update(path, func(text []byte) ([]byte, error) { return edited(path, text, c) })
}

// edited returns the text of a file as changed. It must be possible to parse it before and after.
func edited(path string, text []byte, c change) ([]byte, error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte(byteOrderMark)))) == 0 {
		text = append(bytes.TrimRight(text, " \t\r\n"), "{}\n"...)
	}
	if _, err := parse(path, text); err != nil {
		return nil, err
	}
	body := bytes.TrimPrefix(text, []byte(byteOrderMark))
	d := &document{reader: reader{file: &File{Path: path}, text: body}}
	var err error
	if d.top, err = d.parseComments(); err != nil {
		return nil, err
	}
	top, _ := d.top.Value.(*hujson.Object) // as parse has checked
	servers, err := d.member(top, "mcpServers", "")
	if err != nil {
		return nil, err
	}
	if servers != nil {
		d.servers = &servers.Value
	}
	if err := c(d); err != nil {
		return nil, err
	}
	mark := text[:len(text)-len(body)]
	after := append(bytes.Clone(mark), d.apply()...)
	file, err := parse(path, after)
	if err == nil && d.added != "" {
		_, err = file.Server(d.added)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is left as it is, for it would be: %w", path, err)
	}
	return after, nil
}

// apply makes the cuts, the first in the text first; of two at one place the earlier one.
func (d *document) apply() []byte {
	sortCuts(d.cuts)
	var out []byte
	at := 0
	for _, c := range d.cuts {
		from := max(at, c.from) // where cuts of white space meet
		out = append(out, d.text[at:from]...)
		out = append(out, c.text...)
		at = max(at, c.to)
	}
	return append(out, d.text[at:]...)
}

// find returns the entry of a name, nil if there is none. It must not stand there twice: it would be the other one that
// counts after it was taken out.
func (d *document) find(name string) (*hujson.ObjectMember, error) {
	if d.servers == nil {
		return nil, nil
	}
	servers, _ := d.servers.Value.(*hujson.Object) // as parse has checked
	return d.member(servers, name, name)
}

func (d *document) mustFind(name string) (*hujson.ObjectMember, error) {
	found, err := d.find(name)
	if err == nil && found == nil {
		return nil, noServer(d.file.Path, name)
	}
	return found, err
}

// member returns the only member of that name, nil if there is none.
func (d *document) member(of *hujson.Object, name, server string) (*hujson.ObjectMember, error) {
	var found *hujson.ObjectMember
	for i := range of.Members {
		m := &of.Members[i]
		literal, _ := m.Name.Value.(hujson.Literal) // names are strings
		switch {
		case literal.String() != name:
		case found != nil:
			return nil, d.problem(m.Name.StartOffset, server, "%s stands there twice; take one of them out by hand", name)
		default:
			found = m
		}
	}
	return found, nil
}
