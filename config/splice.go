package config

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// A style is how new text is laid out.
type style struct {
	newline string // "\n" or "\r\n"; empty: all on one line
	indent  string // of the line that a value begins on
	unit    string // what the lines in it have more
}

// deeper is the style of what stands in a value.
func (s style) deeper() style {
	s.indent += s.unit
	return s
}

// br begins a line.
func (s style) br() string { return s.newline + s.indent }

// styleAt returns the style of the text around an offset.
func (d *document) styleAt(offset int, inline bool) style {
	if inline {
		return style{}
	}
	s := style{newline: "\n", indent: d.indentAt(offset), unit: "  "}
	if bytes.Contains(d.text, []byte("\r\n")) {
		s.newline = "\r\n"
	}
	top, _ := d.top.Value.(*hujson.Object) // as edit has checked
	if len(top.Members) == 0 {
		return s
	}
	// The first member has one unit more than what it stands in.
	first := top.Members[0].Name.StartOffset
	if unit, ok := strings.CutPrefix(d.indentAt(first), d.indentAt(d.top.StartOffset)); ok && unit != "" {
		s.unit = unit
	}
	return s
}

// indentAt returns the white space that the line of an offset begins with.
func (d *document) indentAt(offset int) string {
	begin := bytes.LastIndexByte(d.text[:offset], '\n') + 1
	line := d.text[begin:offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// inline reports whether an object with members stands on one line.
func (d *document) inline(object *hujson.Value) bool {
	o, _ := object.Value.(*hujson.Object) // callers have checked
	return len(o.Members) > 0 && !bytes.ContainsRune(d.text[object.StartOffset:object.EndOffset], '\n')
}

// addServer puts an entry behind the others, with the object of servers if there is none.
func (d *document) addServer(s Server) {
	d.addEntry(s.Name, func(at style) string { return render(s, at) })
}

// addEntry is addServer for an entry in any form.
func (d *document) addEntry(name string, written func(at style) string) {
	if d.servers != nil {
		in := d.styleIn(d.servers)
		d.insert(d.servers, quote(name)+": "+written(in))
		return
	}
	in := d.styleIn(&d.top)
	entry := quote(name) + ": " + written(in.deeper())
	if in.newline == "" {
		d.insert(&d.top, `"mcpServers": {`+entry+"}")
		return
	}
	d.insert(&d.top, `"mcpServers": {`+in.deeper().br()+entry+in.br()+"}")
}

// styleIn returns the style of the members of an object.
func (d *document) styleIn(object *hujson.Value) style {
	o, _ := object.Value.(*hujson.Object) // callers have checked
	if len(o.Members) == 0 {
		return d.styleAt(object.StartOffset, false).deeper()
	}
	last := o.Members[len(o.Members)-1].Name.StartOffset
	s := d.styleAt(last, d.inline(object))
	if s.newline != "" && len(bytes.TrimSpace(d.text[bytes.LastIndexByte(d.text[:last], '\n')+1:last])) > 0 {
		// The member shares its line with what is before it.
		s = d.styleAt(object.StartOffset, false).deeper()
	}
	return s
}

// insert puts a member behind the others of an object, and behind all comments there.
func (d *document) insert(object *hujson.Value, member string) {
	o, _ := object.Value.(*hujson.Object) // callers have checked
	in := d.styleIn(object)
	closing := object.EndOffset - len("}")
	extra := bytes.TrimRight(o.AfterExtra, " \t\r\n") // comments behind the last member
	at := closing - len(o.AfterExtra) + len(extra)
	if len(o.Members) == 0 {
		outer := d.styleAt(object.StartOffset, false)
		d.cut(at, closing, in.br()+member+outer.br())
		return
	}
	last := &o.Members[len(o.Members)-1].Value
	comma := ""
	if last.AfterExtra == nil { // there is none behind the last member
		d.cut(last.EndOffset, last.EndOffset, ",")
	} else {
		comma = ","
	}
	before := in.br()
	if in.newline == "" {
		before = " "
	}
	d.cut(at, at, before+member+comma)
}

// remove takes a member of an object out, with the comma that it needs no more and the lines that are empty then.
func (d *document) remove(object *hujson.Value, member *hujson.ObjectMember) {
	o, _ := object.Value.(*hujson.Object) // callers have checked
	from, to := member.Name.StartOffset, member.Value.EndOffset
	i := slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return m.Name.StartOffset == from })
	last := i == len(o.Members)-1
	if last && i == 0 && len(bytes.TrimSpace(member.Name.BeforeExtra)) == 0 &&
		len(bytes.TrimSpace(member.Value.AfterExtra)) == 0 && len(bytes.TrimSpace(o.AfterExtra)) == 0 {
		d.cut(object.StartOffset+len("{"), object.EndOffset-len("}"), "")
		return
	}
	if !last || member.Value.AfterExtra != nil { // a comma stands behind it
		comma := to + len(member.Value.AfterExtra)
		if len(bytes.TrimSpace(member.Value.AfterExtra)) > 0 { // a comment stands between
			d.cut(from, to, "")
			d.cut(comma, comma+1, "")
			return
		}
		to = comma + 1
	} else if i > 0 { // the one before it must have none any more
		before := &o.Members[i-1].Value
		comma := before.EndOffset + len(before.AfterExtra)
		d.cut(comma, comma+1, "")
	}
	d.cutWithSpace(from, to)
}

// cutWithSpace takes text out, and with it its line if nothing else stands there, else the blanks on one side.
func (d *document) cutWithSpace(from, to int) {
	const blanks = " \t"
	head := bytes.TrimRight(d.text[:from], blanks)
	tail := bytes.TrimLeft(d.text[to:], blanks)
	rest := len(d.text) - len(tail)
	begins := bytes.HasSuffix(head, []byte("\n"))
	ends := bytes.HasPrefix(tail, []byte("\n")) || bytes.HasPrefix(tail, []byte("\r\n"))
	switch {
	case begins && ends:
		to = rest + bytes.IndexByte(tail, '\n') + 1
		from = len(head)
	case ends || bytes.HasPrefix(tail, []byte("}")): // what was behind it is the end
		from = len(head)
	default:
		to = rest
	}
	d.cut(from, to, "")
}

func sortCuts(cuts []cut) {
	slices.SortStableFunc(cuts, func(a, b cut) int { return cmp.Compare(a.from, b.from) })
}
