package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Scope is a kind of source. What stands in a stronger one hides what has the same name in a weaker one.
type Scope string

// The scopes, strongest first.
const (
	ScopeConfig  Scope = "config"  // a file that was named by hand
	ScopeProject Scope = "project" // the file of the project that we are in
	ScopeUser    Scope = "user"    // the user's own file
	ScopeImport  Scope = "import"  // a file of another program
)

// String returns the scope's name.
func (s Scope) String() string { return string(s) }

// Sources say where servers are looked for. The zero value is the user's file; with Approved, the project's file of the
// working directory counts too.
type Sources struct {
	Path      string // a file that must be there, stronger than all others; empty: none
	Dir       string // where the search for a project's file starts; empty: the working directory
	User      string // the user's file; empty: that of UserFile; "none": none
	NoProject bool   // no project's file is looked for, of other programs neither
	// Import names other programs, as Hosts does, whose servers count too, weaker than all of ours; of two that have the
	// same name the one counts whose program comes first. "all" stands for all that are known. Those that the user's file
	// names under "import" come behind, unless "none" is among the names.
	Import []string
	// Approved tells which files of projects count (nil: none): TrustStore.Trusted is made for it. One that does not is
	// among Set.Sources, as Waiting, and changes nothing else.
	Approved func(*File) bool
}

// A Source is one file that servers were looked for in.
type Source struct {
	Scope Scope
	Host  string // the program whose file it is, by its name in Hosts; empty: ours
	Path  string
	File  *File // what it holds; nil if it can't be used
	Err   error // why not, a *Problem; else nil
	// Waiting: it NeedsTrust and was not approved, so what it holds is left out of the Set, its problems too. After its
	// approval the sources are to be loaded again.
	Waiting bool

	project bool // the file comes with a project
}

// counts reports whether what the source holds is part of the set.
func (s Source) counts() bool { return s.File != nil && !s.Waiting }

// NeedsTrust reports whether the servers of this source may be started only after its content was approved: a project's
// file, also one of another program, comes with the project, perhaps from strangers, and names programs that would run.
func (s Source) NeedsTrust() bool { return s.Scope == ScopeProject || s.project }

// A candidate is a source that may have no file. Another program's format is one with another read.
type candidate struct {
	scope   Scope
	host    string   // whose file it is; empty: ours
	project bool     // it comes with a project
	paths   []string // where the file may be; the first that exists counts
	read    func(path string) (*File, error)
}

// candidates returns where to look for our files, strongest first.
func (s Sources) candidates() []candidate {
	var all []candidate
	if s.Path != "" {
		all = append(all, candidate{scope: ScopeConfig, paths: []string{s.Path}, read: ReadFile})
	}
	if !s.NoProject {
		all = append(all, candidate{scope: ScopeProject, project: true, paths: projectFiles(s.Dir), read: readProject})
	}
	switch s.User {
	case "":
		if path, err := UserFile(); err == nil {
			all = append(all, candidate{scope: ScopeUser, paths: []string{path}, read: ReadFile})
		}
	case "none":
	default:
		all = append(all, candidate{scope: ScopeUser, paths: []string{s.User}, read: ReadFile})
	}
	return all
}

// find returns the file that exists, or the last path; false if there is none.
func (c candidate) find() (path string, info fs.FileInfo, found bool) {
	for _, path = range c.paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case c.project && (err != nil || !info.Mode().IsRegular()):
		default:
			return path, info, true
		}
	}
	return path, nil, c.scope == ScopeConfig
}

// readProject reads a project's file, whose programs run in its folder unless they say otherwise.
func readProject(path string) (*File, error) {
	file, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, list := range [][]Server{file.Servers, file.entries} {
		for i := range list {
			if list[i].Command != "" && list[i].Cwd == "" {
				list[i].Cwd = escaped(folderOf(path))
			}
		}
	}
	return file, nil
}

// Load reads all sources and merges them. Only a Path that can't be used, a *Problem, and an unknown name in Import are
// errors; another file that can't be used is told in Set.Problems, and one that is missing counts as empty. It may be
// called from several goroutines.
func (s Sources) Load() (*Set, error) {
	l := loading{sources: s, set: &Set{}}
	for _, c := range s.candidates() {
		if err := l.take(c); err != nil {
			return nil, err
		}
	}
	wanted, err := s.wanted(l.set)
	if err != nil {
		return nil, err
	}
	return l.finish(wanted)
}

// LoadImports is Load for the servers of other programs alone, those that names, as in Sources.Import, stand for.
func (s Sources) LoadImports(names ...string) (*Set, error) {
	l := loading{sources: s, set: &Set{}}
	wanted, err := Sources{Import: names}.wanted(l.set)
	if err != nil {
		return nil, err
	}
	return l.finish(wanted)
}

// A loading is one run of Load.
type loading struct {
	sources Sources
	set     *Set
	seen    []fs.FileInfo
}

// finish takes the files of other programs, and merges all.
func (l *loading) finish(wanted []*host) (*Set, error) {
	for _, h := range wanted {
		for _, c := range h.candidates(l.sources) {
			if err := l.take(c); err != nil {
				return nil, err
			}
		}
	}
	l.set.merge()
	return l.set, nil
}

// take reads a source, if there is one.
func (l *loading) take(c candidate) error {
	for _, path := range c.paths {
		l.set.follow(filepath.Join(folderOf(path), filepath.Base(path)))
	}
	path, info, found := c.find()
	again := func(other fs.FileInfo) bool { return os.SameFile(info, other) }
	if !found || info != nil && slices.ContainsFunc(l.seen, again) {
		return nil // a file counts once, at its strongest
	}
	file, err := c.read(path)
	source := Source{Scope: c.scope, Host: c.host, Path: path, File: file, Err: err, project: c.project}
	approved := l.sources.Approved
	source.Waiting = source.NeedsTrust() && file != nil && (approved == nil || !approved(file))
	if info != nil && !source.Waiting {
		l.seen = append(l.seen, info)
	}
	switch {
	case err != nil && c.scope == ScopeConfig:
		return err
	case errors.Is(err, fs.ErrNotExist):
	default:
		l.set.add(source)
	}
	return nil
}

// A Set is the servers of all sources together. It does not change.
type Set struct {
	// Servers are the entries, the disabled ones too, each name once: the whole entry of the strongest source. Those of
	// stronger sources come first, each source's in its file's order. An entry that has nothing but "disabled" stands for
	// the next weaker one of its name with that changed; its scope and origin are the weaker one's, as is all else.
	Servers  []Server
	Sources  []Source   // the files that exist, strongest first
	Problems []*Problem // of all files that count, and of the files themselves

	paths []string
}

// Paths returns the absolute paths of all files whose change could change the set, whether they exist or not: of a link
// also that of the file that it leads to.
func (s *Set) Paths() []string { return slices.Clone(s.paths) }

// follow takes a path for Paths.
func (s *Set) follow(path string) {
	s.paths = append(s.paths, path)
	if target, err := followed(path); err == nil && target != path {
		s.paths = append(s.paths, target)
	}
}

// add takes a source with its problems.
func (s *Set) add(source Source) {
	s.Sources = append(s.Sources, source)
	if p, ok := errors.AsType[*Problem](source.Err); ok {
		s.Problems = append(s.Problems, p)
	}
	if !source.counts() {
		return
	}
	for _, list := range [][]Server{source.File.Servers, source.File.entries} {
		for i := range list {
			list[i].Scope, list[i].Host = source.Scope, source.Host
		}
	}
	s.Problems = append(s.Problems, source.File.Problems...)
}

// Server returns the entry of that name. If the strongest source that has one can't use it, the error is its
// *Problem: it hides those of weaker sources, so that a mistake does not start another server than the one that was
// meant. Both are zero if there is none.
func (s *Set) Server(name string) (*Server, error) {
	for i := range s.Servers {
		if s.Servers[i].Name == name {
			return &s.Servers[i], nil
		}
	}
	for i, source := range s.Sources {
		if !source.counts() {
			continue
		}
		_, err := source.File.Server(name)
		p, broken := errors.AsType[*Problem](err)
		if !broken {
			continue
		}
		var hidden []string
		for _, weaker := range s.Sources[i+1:] {
			if weaker.counts() && slices.ContainsFunc(weaker.File.entries, called(name)) {
				hidden = append(hidden, weaker.Path)
			}
		}
		if hidden == nil {
			return nil, p
		}
		told := *p
		told.Text += fmt.Sprintf("; until this is mended, the entry of %s is not used either", strings.Join(hidden, " and "))
		return nil, &told
	}
	return nil, nil
}

func called(name string) func(Server) bool { return func(s Server) bool { return s.Name == name } }
