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
)

// String returns the scope's name.
func (s Scope) String() string { return string(s) }

// Sources say where servers are looked for. The zero value is the user's file; with Approved, the project's file of the
// working directory counts too.
type Sources struct {
	Path      string // a file that must be there, stronger than all others; empty: none
	Dir       string // where the search for a project's file starts; empty: the working directory
	User      string // the user's file; empty: that of UserFile; "none": none
	NoProject bool   // no project's file is looked for
	// Approved tells which files of projects count (nil: none): TrustStore.Trusted is made for it. One that does not is
	// among Set.Sources, as Waiting, and changes nothing else.
	Approved func(*File) bool
}

// A Source is one file that servers were looked for in.
type Source struct {
	Scope Scope
	Path  string
	File  *File // what it holds; nil if it can't be used
	Err   error // why not, a *Problem; else nil
	// Waiting: it NeedsTrust and was not approved, so what it holds is left out of the Set, its problems too. After its
	// approval the sources are to be loaded again.
	Waiting bool
}

// counts reports whether what the source holds is part of the set.
func (s Source) counts() bool { return s.File != nil && !s.Waiting }

// NeedsTrust reports whether the servers of this source may be started only after its content was approved: a project's
// file comes with the project, perhaps from strangers, and names programs that would run.
func (s Source) NeedsTrust() bool { return s.Scope == ScopeProject }

// A candidate is a source that may have no file. Another program's format is one with another read.
type candidate struct {
	scope Scope
	paths []string // where the file may be; the first that exists counts
	read  func(path string) (*File, error)
}

// candidates returns where to look, strongest first.
func (s Sources) candidates() []candidate {
	var all []candidate
	if s.Path != "" {
		all = append(all, candidate{ScopeConfig, []string{s.Path}, ReadFile})
	}
	if !s.NoProject {
		all = append(all, candidate{ScopeProject, projectFiles(s.Dir), readProject})
	}
	switch s.User {
	case "":
		if path, err := UserFile(); err == nil {
			all = append(all, candidate{ScopeUser, []string{path}, ReadFile})
		}
	case "none":
	default:
		all = append(all, candidate{ScopeUser, []string{s.User}, ReadFile})
	}
	return all
}

// find returns the file that exists, or the last path; false if there is none.
func (c candidate) find() (path string, info fs.FileInfo, found bool) {
	for _, path = range c.paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case c.scope == ScopeProject && (err != nil || !info.Mode().IsRegular()):
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

// Load reads all sources and merges them. Only a Path that can't be used is an error, a *Problem; another file that
// can't is told in Set.Problems, and one that is missing counts as empty. It may be called from several goroutines.
func (s Sources) Load() (*Set, error) {
	set := &Set{}
	var seen []fs.FileInfo
	for _, c := range s.candidates() {
		for _, path := range c.paths {
			set.follow(filepath.Join(folderOf(path), filepath.Base(path)))
		}
		path, info, found := c.find()
		again := func(other fs.FileInfo) bool { return os.SameFile(info, other) }
		if !found || info != nil && slices.ContainsFunc(seen, again) {
			continue // a file counts once, at its strongest
		}
		file, err := c.read(path)
		source := Source{Scope: c.scope, Path: path, File: file, Err: err}
		source.Waiting = source.NeedsTrust() && file != nil && (s.Approved == nil || !s.Approved(file))
		if info != nil && !source.Waiting {
			seen = append(seen, info)
		}
		switch {
		case err != nil && c.scope == ScopeConfig:
			return nil, err
		case errors.Is(err, fs.ErrNotExist):
		default:
			set.add(source)
		}
	}
	set.merge()
	return set, nil
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
			list[i].Scope = source.Scope
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
