package config

import (
	"slices"
)

// wish is another program whose servers a file asks for.
type wish struct {
	name string
	at   Place
}

// importKey is the key of the list of them.
const importKey = "import"

// wishes takes the list.
func (r *reader) wishes(m member) {
	if m.repeatsBefore {
		r.warn(m.at, "", "import stands there twice; the first counts")
		return
	}
	var names []string
	if err := setTexts(&names, m.value); err != nil {
		r.warn(m.valueAt, "", "import is ignored: it %v", err)
		return
	}
	for i, e := range m.elements() {
		r.file.imports = append(r.file.imports, wish{names[i], r.where(e.valueAt)})
	}
}

// wanted returns the hosts that are asked for, each once, those of Sources.Import first.
func (s Sources) wanted(set *Set) ([]*host, error) {
	if err := CheckHosts(s.Import...); err != nil {
		return nil, err
	}
	names := slices.Clone(s.Import)
	if !slices.Contains(names, noHosts) {
		names = append(names, set.wishes()...)
	}
	var all []*host
	for _, name := range names {
		for _, h := range hosts {
			if (name == h.name || name == allHosts) && !slices.Contains(all, h) {
				all = append(all, h)
			}
		}
	}
	return all, nil
}

// wishes returns what the user's file asks for. Other files must not ask: a project's come from strangers.
func (s *Set) wishes() (names []string) {
	warn := func(at Place, text string) {
		s.Problems = append(s.Problems, &Problem{
			Path: at.Path, Line: at.Line, Column: at.Column, Severity: Warning, Text: text,
		})
	}
	for _, source := range s.Sources {
		if !source.counts() || source.File.imports == nil {
			continue
		}
		if source.Scope != ScopeUser {
			warn(source.File.imports[0].at, "import counts in the user's file only, and is ignored here; put it there, or give "+
				"--import")
			continue
		}
		for _, w := range source.File.imports {
			if w.name != allHosts && hostNamed(w.name) == nil {
				warn(w.at, "import: "+unknownHost(w.name))
			}
			names = append(names, w.name)
		}
	}
	return names
}
