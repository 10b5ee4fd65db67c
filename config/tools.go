package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A ToolFilter says which tools of a server are offered, by patterns for their exact names: "*" stands for any run of
// characters, "?" for one, and everything else for itself. The zero value lets all through.
type ToolFilter struct {
	Allow []string // if there are any, a tool must fit one of them
	Deny  []string // a tool that fits one of them is not offered, whatever Allow says
}

// Allows reports whether the tool of that name is offered.
func (f ToolFilter) Allows(tool string) bool {
	fits := func(pattern string) bool { return fitsPattern([]rune(pattern), []rune(tool)) }
	return !slices.ContainsFunc(f.Deny, fits) && (len(f.Allow) == 0 || slices.ContainsFunc(f.Allow, fits))
}

// fitsPattern reports whether a pattern fits the whole name. Where it fails behind a star, that star takes one
// character more. Only the last star needs that, so the time is bounded by the product of the lengths.
func fitsPattern(pattern, name []rune) bool {
	star, taken := -1, 0 // the place behind the last star, and how far that star has got
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			p++
			star, taken = p, n
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			taken++
			p, n = star, taken
		default:
			return false
		}
	}
	return !slices.ContainsFunc(pattern[p:], func(c rune) bool { return c != '*' })
}

func setTools(s *Server, v jsontext.Value) error {
	if v.Kind() != '{' {
		return fmt.Errorf("must be an object with allow and deny, not %s", kindName(v.Kind()))
	}
	known := map[string]*[]string{"allow": &s.Tools.Allow, "deny": &s.Tools.Deny}
	for _, m := range members(v, 0) {
		switch list := known[m.name]; {
		case list == nil:
			return fmt.Errorf("has the unknown key %q; accepted are allow and deny, each a list of patterns", m.name)
		case m.repeatsBefore:
			return fmt.Errorf("has %s twice", m.name)
		default:
			if err := setTexts(list, m.value); err != nil {
				return fmt.Errorf("has %s, which %w", m.name, err)
			}
		}
	}
	if slices.Contains(s.Tools.Allow, "") || slices.Contains(s.Tools.Deny, "") {
		return errors.New("must not hold an empty pattern, which fits no tool")
	}
	return nil
}

// hintTools tells of a list that lets everything through.
func hintTools(v jsontext.Value) string {
	for _, m := range members(v, 0) {
		if m.name == "allow" && len(elements(m.value, 0)) == 0 {
			return "has an empty allow, which lets every tool through; deny \"*\" lets none"
		}
	}
	return ""
}
