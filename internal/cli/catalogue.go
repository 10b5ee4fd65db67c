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
	unapproved []config.Source // files of the project whose content nobody has approved
	without    bool            // the set leaves the servers of unapproved out
}

// load reads all files that name servers, those of the imported programs too. That of --config, path, must be readable;
// what is wrong with others is among the set's problems. A project's file that nobody has approved is left out if
// --config names what is wanted; else whoever starts its servers must ask.
func (a *app) load(path string, imports ...string) (*catalogue, error) {
	return a.read(path, path != "", imports...)
}

// read is load, which leaves out what was not approved where without says so.
func (a *app) read(path string, without bool, imports ...string) (*catalogue, error) {
	sources := config.Sources{Path: path, Import: imports, Approved: toBeAsked}
	set, err := sources.Load()
	if err != nil {
		return nil, &usageError{err}
	}
	c := &catalogue{Set: set, files: set.Sources, unapproved: unapproved(set)}
	if c.unapproved == nil || !without {
		return c, nil
	}
	sources.Approved, c.without = config.OpenTrust("").Trusted, true
	if c.Set, err = sources.Load(); err != nil {
		return nil, &usageError{err}
	}
	return c, nil
}

// toBeAsked takes what must be approved: that is asked for before it is started.
func toBeAsked(*config.File) bool { return true }

// unapproved returns the files of the project whose content was not approved.
func unapproved(set *config.Set) (all []config.Source) {
	trust := config.OpenTrust("")
	for _, source := range set.Sources {
		if source.NeedsTrust() && source.File != nil && !trust.Trusted(source.File) {
			all = append(all, source)
		}
	}
	return all
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
		if !source.Waiting {
			paths = append(paths, source.Path)
		}
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
	for _, source := range c.unapproved {
		if s, _ := source.File.Server(name); s != nil && c.without {
			where += "; " + source.Path + " does, but was not approved"
		}
	}
	hint := didYouMean(name, known)
	if hint == "" {
		hint = "; known are " + strings.Join(known, ", ")
	}
	return usagef("unknown server %q: %s%s", name, where, hint)
}

// showProblems tells of the files and entries that can't be used, and of warnings that concern the servers that are
// wanted; all adds the other warnings, and entries of other programs that nobody has asked for. What ends the program
// anyway, reported, is left out.
func (a *app) showProblems(set *config.Set, names []string, reported error, all bool) {
	for _, p := range set.Problems {
		grave := p.Severity == config.Error && (p.Server == "" || !imported(set, p.Path))
		if !sameProblem(reported, p) && (all || grave || slices.Contains(names, p.Server)) {
			a.console.linef("mcpwire: %s: %v", p.Severity, p)
		}
	}
}

// imported reports whether a file is one of another program.
func imported(set *config.Set, path string) bool {
	return slices.ContainsFunc(set.Sources, func(s config.Source) bool {
		return s.Path == path && s.Scope == config.ScopeImport
	})
}

// showWaiting tells that a project's file is left out.
func (a *app) showWaiting(c *catalogue) {
	for _, source := range c.unapproved {
		if c.without {
			a.console.linef("mcpwire: warning: the servers of %s are left out: nobody has approved it (\"mcpwire trust %s\")",
				visible(source.Path), shellWords([]string{source.Path}))
		}
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
	host         string // the other program whose file it is; empty: it is ours
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
				all[i].scope, all[i].host = source.Scope, source.Host
			}
		}
	}
	return all
}
