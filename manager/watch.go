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
// apply: it is where servers are kept out that nobody has approved. failed is told why the files could not be read; the
// servers then stay as they are. Watch returns when ctx is done, with nil, or when files can't be watched.
func (m *Manager) Watch(
	ctx context.Context, sources config.Sources, loaded func(*config.Set) []config.Server, failed func(error),
) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("the configuration can't be watched: %w", err)
	}
	defer w.Close()
	set, err := read(w, sources, nil)
	if err != nil {
		return err
	}
	paths := set.Paths()
	m.Apply(loaded(set)) // what has changed since the caller has read it
	var quiet, latest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-w.Events:
			if !slices.ContainsFunc(paths, func(p string) bool { return touches(event.Name, p) }) || event.Op == fsnotify.Chmod {
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
		set, err := read(w, sources, paths)
		if err != nil {
			failed(err)
			continue
		}
		paths = set.Paths()
		m.Apply(loaded(set))
	}
}

// read reads the files while their folders are watched, so that no change falls between the two. paths are the files to
// watch where they can't be read.
func read(w *fsnotify.Watcher, sources config.Sources, paths []string) (*config.Set, error) {
	for {
		set, err := sources.Load()
		if err == nil {
			paths = set.Paths()
		}
		more, unwatched := follow(w, paths)
		switch {
		case err == nil && unwatched != nil:
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
				return more, fmt.Errorf("the configuration can't be watched: %w", err)
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
