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
	files      []config.Source // all that exist, strongest first
	unapproved *config.Source  // the project's file, if nobody has approved its content; nil otherwise
	without    bool            // the set leaves the servers of unapproved out
}

// load reads all files that name servers. That of --config, path, must be readable; what is wrong with others is among
// the set's problems. A project's file that nobody has approved is left out if --config names what is wanted; else
// whoever starts its servers must ask.
func (a *app) load(path string) (*catalogue, error) { return a.read(path, path != "") }

// read is load, which leaves out what was not approved where without says so.
func (a *app) read(path string, without bool) (*catalogue, error) {
	all := func(*config.File) bool { return true } // what must be approved is asked for before it is started
	sources := config.Sources{Path: path, Approved: all}
	set, err := sources.Load()
	if err != nil {
		return nil, &usageError{err}
	}
	c := &catalogue{Set: set, files: set.Sources, unapproved: unapproved(set)}
	if c.unapproved == nil || !without {
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

// showWaiting tells that a project's file is left out.
func (a *app) showWaiting(c *catalogue) {
	if c.without {
		a.console.linef("mcpwire: warning: the servers of %s are left out: nobody has approved it (\"mcpwire trust %s\")",
			visible(c.unapproved.Path), shellWords([]string{c.unapproved.Path}))
	}
}

// sameProblem reports whether err is p, or p with more text.
func sameProblem(err error, p *config.Problem) bool {
	q, ok := errors.AsType[*config.Problem](err)
	return ok && q.Path == p.Path && q.Line == p.Line && q.Column == p.Column && q.Severity == p.Severity
}

// An unusable is an entry that can't be used or, without a server, a file.
type unusable struct {
	scope        config.Scope
	path, server string
	faults       []error // at least one
}

// broken returns the entries and files that can't be used, as they are met.
func broken(set *config.Set) (all []unusable) {
	for _, p := range set.Problems {
		if p.Severity != config.Error {
			continue
		}
		i := slices.IndexFunc(all, func(u unusable) bool { return u.path == p.Path && u.server == p.Server })
		if i < 0 {
			i = len(all)
			all = append(all, unusable{path: p.Path, server: p.Server})
		}
		all[i].faults = append(all[i].faults, p)
	}
	for i := range all {
		for _, source := range set.Sources {
			if source.Path == all[i].path {
				all[i].scope = source.Scope
			}
		}
	}
	return all
}
