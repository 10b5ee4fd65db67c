package config

import "maps"

// A slot is what is known of one name while the sources are merged, strongest first.
type slot struct {
	server   *Server // the entry that counts
	override *Server // the entry that only changes the one that counts; nil if none does
	settled  bool    // what weaker sources say of the name does not count any more
}

// merge makes Servers of the sources.
func (s *Set) merge() {
	slots := map[string]*slot{}
	var order []string
	at := func(name string) *slot {
		if slots[name] == nil {
			slots[name] = &slot{}
			order = append(order, name)
		}
		return slots[name]
	}
	for _, source := range s.Sources {
		if !source.counts() {
			continue
		}
		for _, entry := range source.File.entries {
			at(entry.Name).take(entry)
		}
		for _, p := range source.File.Problems {
			if p.Severity == Error && p.Server != "" {
				at(p.Server).settled = true // an entry that can't be used hides weaker ones too
			}
		}
	}
	for _, name := range order {
		switch found := slots[name]; {
		case found.server != nil:
			s.Servers = append(s.Servers, found.result())
		case found.override != nil && !found.settled:
			s.Problems = append(s.Problems, useless(found.override))
		}
	}
}

// take offers the slot an entry of the next weaker source.
func (s *slot) take(entry Server) {
	switch {
	case s.settled:
	case !entry.override:
		s.server, s.settled = &entry, true
		if s.override != nil && s.override.Host != "" && s.override.Host != entry.Host {
			s.override = nil // a program switches its own servers
		}
	case s.override == nil:
		s.override = &entry
	}
}

// result returns the entry as it counts.
func (s *slot) result() Server {
	merged := *s.server
	if s.override != nil {
		merged.Disabled = s.override.Disabled
		merged.Places = maps.Clone(merged.Places)
		merged.Places["disabled"] = s.override.Places["disabled"]
	}
	return merged
}

// useless is the warning for an entry that changes none.
func useless(entry *Server) *Problem {
	where := entry.Places[""]
	return &Problem{
		Path: where.Path, Line: where.Line, Column: where.Column, Server: entry.Name, Severity: Warning,
		Text: `it has nothing but "disabled", and no weaker file names a server that this could change`,
	}
}
