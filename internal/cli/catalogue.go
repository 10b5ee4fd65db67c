package cli

import (
	"errors"
	"slices"
	"strings"

	"mcpwire/config"
	"mcpwire/internal/demo"
)

// A catalogue is the servers that are configured.
type catalogue struct {
	*config.Set
	unapproved *config.Source // the project's file, if nobody has approved its content; nil otherwise
	without    bool           // the set leaves the servers of unapproved out, as --config names what is wanted
}

// load reads all files that name servers. That of --config, path, must be readable; what is wrong with others is among
// the set's problems.
func (a *app) load(path string) (*catalogue, error) {
	sources := config.Sources{Path: path}
	set, err := sources.Load()
	if err != nil {
		return nil, &usageError{err}
	}
	c := &catalogue{Set: set, unapproved: unapproved(set)}
	if c.unapproved == nil || path == "" {
		return c, nil
	}
	sources.NoProject, c.without = true, true
	if c.Set, err = sources.Load(); err != nil {
		return nil, &usageError{err}
	}
	return c, nil
}

// unapproved returns the project's file if its content was not approved.
func unapproved(set *config.Set) *config.Source {
	trust := config.OpenTrust("")
	for i, source := range set.Sources {
		if source.NeedsTrust() && source.File != nil && !trust.Trusted(source.File) {
			return &set.Sources[i]
		}
	}
	return nil
}

// find returns the target that a name stands for: a server of the files, else the built-in one.
func (c *catalogue) find(name, again string, f *serverFlags) (target, error) {
	s, err := c.Server(name)
	switch {
	case err != nil:
		return target{}, &usageError{err}
	case s != nil:
		return newTarget(*s, again, f), nil
	case name == demo.Name:
		return demoTarget(f)
	}
	return target{}, c.unknown(name)
}

// unknown tells that no file names a server, and which ones they name.
func (c *catalogue) unknown(name string) error {
	known := []string{demo.Name}
	for _, s := range c.Servers {
		if s.Name != demo.Name {
			known = append(known, s.Name)
		}
	}
	var paths []string
	for _, source := range c.Sources {
		paths = append(paths, source.Path)
	}
	var where string
	switch {
	case len(paths) == 0:
		where = "there is no " + projectFile + " here, no file of the user, and no --config FILE is given"
	case len(paths) == 1:
		where = paths[0] + " does not name it"
	default:
		where = "none of " + strings.Join(paths, ", ") + " names it"
	}
	if c.without && slices.ContainsFunc(c.unapproved.File.Servers, func(s config.Server) bool { return s.Name == name }) {
		where += "; " + c.unapproved.Path + " does, but was not approved"
	}
	hint := didYouMean(name, known)
	if hint == "" {
		hint = "; known are " + strings.Join(known, ", ")
	}
	return usagef("unknown server %q: %s%s", name, where, hint)
}

// showProblems tells of the files and entries that can't be used, and of warnings that concern the servers that are
// wanted; all adds the other warnings. What ends the program anyway, reported, is left out.
func (a *app) showProblems(set *config.Set, names []string, reported error, all bool) {
	for _, p := range set.Problems {
		if !sameProblem(reported, p) && (all || p.Severity == config.Error || slices.Contains(names, p.Server)) {
			a.console.linef("mcpwire: %s: %v", p.Severity, p)
		}
	}
}

// sameProblem reports whether err is p, or p with more text.
func sameProblem(err error, p *config.Problem) bool {
	q, ok := errors.AsType[*config.Problem](err)
	return ok && q.Path == p.Path && q.Line == p.Line && q.Column == p.Column && q.Severity == p.Severity
}

// broken counts the entries and files that can't be used. One entry may have several faults.
func broken(set *config.Set) int {
	type place struct{ path, server string }
	seen := map[place]bool{}
	for _, p := range set.Problems {
		if p.Severity == config.Error {
			seen[place{p.Path, p.Server}] = true
		}
	}
	return len(seen)
}
