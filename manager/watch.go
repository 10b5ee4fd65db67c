package manager

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"mcpwire/config"
)

// How long files must be quiet before they are read again, and how long that may take with files that never are.
const (
	filesQuiet  = 200 * time.Millisecond
	filesLatest = 2 * time.Second
)

// Watch follows the files of sources: whenever they have changed they are read again, once for a storm of changes, and
// what they hold is applied. loaded is told of each set that was read, before it is applied, and returns the servers to
// apply; what nobody has approved is kept out by sources. A file or an entry that can't be read any more leaves its
// servers as they are; failed is told of files that can't be read, each time. Watch returns when ctx is done, with nil,
// or when files can't be watched.
func (m *Manager) Watch(
	ctx context.Context, sources config.Sources, loaded func(*config.Set) []config.Server, failed func(error),
) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("%w: %w", errUnwatched, err)
	}
	defer w.Close()
	f := &follower{manager: m, watcher: w, sources: sources, loaded: loaded, failed: failed, paths: []string{sources.Path}}
	for _, s := range m.Snapshot().Servers {
		f.applied = append(f.applied, s.Config)
	}
	if err := f.reload(); err != nil { // what has changed since the caller has read it
		return err
	}
	var quiet, latest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-w.Events:
			if !f.concerns(event) {
				continue
			}
			quiet = time.After(filesQuiet)
			if latest == nil {
				latest = time.After(filesLatest)
			}
			continue
		case err := <-w.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				failed(err)
				continue
			}
			// Changes were lost: look.
		case <-quiet:
		case <-latest:
		}
		quiet, latest = nil, nil
		if err := f.reload(); err != nil {
			failed(err)
		}
	}
}

// A follower is one run of Watch.
type follower struct {
	manager *Manager
	watcher *fsnotify.Watcher
	sources config.Sources
	loaded  func(*config.Set) []config.Server
	failed  func(error)
	paths   []string        // of the files
	applied []config.Server // the last time
}

// concerns reports whether an event may be a change of one of the files.
func (f *follower) concerns(event fsnotify.Event) bool {
	return event.Op != fsnotify.Chmod &&
		slices.ContainsFunc(f.paths, func(path string) bool { return touches(event.Name, path) })
}

// reload reads the files and applies what they hold. The error is that they can't be watched.
func (f *follower) reload() error {
	set, err := f.read()
	switch {
	case errors.Is(err, errUnwatched):
		return err
	case err != nil:
		f.failed(err)
		return nil
	}
	f.paths = set.Paths()
	for _, source := range set.Sources {
		if source.Err != nil {
			f.failed(source.Err)
		}
	}
	servers := f.loaded(set)
	f.applied = slices.Concat(servers, unreadable(f.applied, servers, set))
	f.manager.Apply(f.applied)
	return nil
}

// unreadable returns the servers of before that are missing now only because their file or their entry can't be read.
func unreadable(before, now []config.Server, set *config.Set) (kept []config.Server) {
	broken := func(s config.Server) bool {
		return slices.ContainsFunc(set.Sources, func(source config.Source) bool {
			return source.Err != nil && source.Path == s.Origin
		}) || slices.ContainsFunc(set.Problems, func(p *config.Problem) bool {
			return p.Severity == config.Error && p.Path == s.Origin && p.Server == s.Name
		})
	}
	for _, s := range before {
		named := slices.ContainsFunc(now, func(other config.Server) bool { return other.Name == s.Name })
		if !named && broken(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// errUnwatched tells that changes of files would not be noticed.
var errUnwatched = errors.New("the configuration can't be watched")

// read reads the files while their folders are watched, so that no change falls between the two.
func (f *follower) read() (*config.Set, error) {
	for {
		set, err := f.sources.Load()
		paths := f.paths // if they can't be read
		if err == nil {
			paths = set.Paths()
		}
		more, unwatched := follow(f.watcher, paths)
		switch {
		case unwatched != nil:
			return nil, unwatched
		case !more:
			return set, err
		}
	}
}

// touches reports whether a change of name may be one of the file at path: of itself, or of a folder above it that came
// or went.
func touches(name, path string) bool {
	return name == path || len(path) > len(name) && path[:len(name)] == name && path[len(name)] == filepath.Separator
}

// follow watches the folders of files: a file that is replaced is a new file. Of a folder that does not exist the
// nearest one above is watched, until the folder comes. It reports whether a folder is watched that was not before.
func follow(w *fsnotify.Watcher, paths []string) (more bool, err error) {
	before := w.WatchList()
	wanted := map[string]bool{}
	for _, path := range paths {
		folder := filepath.Dir(path)
		for !wanted[folder] {
			err := w.Add(folder)
			if err == nil {
				wanted[folder] = true
				more = more || !slices.Contains(before, folder)
				break
			}
			above := filepath.Dir(folder)
			if above == folder {
				return more, fmt.Errorf("%w: %w", errUnwatched, err)
			}
			folder = above
		}
	}
	for _, folder := range before {
		if !wanted[folder] {
			_ = w.Remove(folder) // it may be gone, and its watch with it
		}
	}
	return more, nil
}
