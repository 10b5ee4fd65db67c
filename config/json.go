package config

import (
	"github.com/go-json-experiment/json/jsontext"
)

// object returns the members of the whole text, JSON in which comments and trailing commas are allowed. Only the first
// member of a name is among them.
func (r *reader) object() (map[string]member, error) {
	if err := r.syntax(); err != nil { // programs write plain JSON, and much of it
		if err := r.standardize(); err != nil {
			return nil, err
		}
		if err := r.syntax(); err != nil {
			return nil, err
		}
	}
	if kind := jsontext.Value(r.text).Kind(); kind != '{' {
		return nil, r.problem(start(r.text), "", "an object is expected, not %s", kindName(kind))
	}
	return byName(members(r.text, 0)), nil
}

// byName returns members by their names, the first of each name.
func byName(all []member) map[string]member {
	named := map[string]member{}
	for _, m := range all {
		if !m.repeatsBefore {
			named[m.name] = m
		}
	}
	return named
}

// serversOf takes the servers that a member holds, if there is one.
func (r *reader) serversOf(m member, key string) error {
	switch {
	case m.value == nil, m.value.Kind() == 'n':
	case m.value.Kind() != '{':
		return r.problem(m.valueAt, "", "%s must be an object of servers by name, not %s", key, kindName(m.value.Kind()))
	default:
		r.servers(m)
	}
	return nil
}

// disable disables servers by their names, at the places that say so.
func (r *reader) disable(names map[string]Place) {
	for _, list := range [][]Server{r.file.Servers, r.file.entries} {
		for i := range list {
			if at, ok := names[list[i].Name]; ok {
				list[i].Disabled = true
				list[i].Places["disabled"] = at
			}
		}
	}
}

// listed returns the texts of a list, with their places.
func (r *reader) listed(list member) map[string]Place {
	names := map[string]Place{}
	for _, e := range list.elements() {
		var name string
		if setText(&name, e.value) == nil {
			names[name] = r.where(e.valueAt)
		}
	}
	return names
}

// setForm sets how entries are written.
func (r *reader) setForm(from where, fields map[string]field) {
	r.form = form{fields: fields, names: namesOf(fields), from: from}
}
