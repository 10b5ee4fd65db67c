package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"mcpwire/internal/atomicfile"
)

// How long a writer waits for another one, and how often it looks.
const (
	lockPatience = 10 * time.Second
	lockInterval = 10 * time.Millisecond
)

// ErrBusy is in the error of a change that waited 10 s for another writer of the same file.
var ErrBusy = errors.New("another program is writing it")

// update replaces what a file holds with what change makes of it, at once or not at all, and never while another
// update of the same file runs, in this process or another. A missing file is nil to change, and is made, with its
// folder; what is unchanged is not written. Links are followed, and the mode is kept; that of a new file is 0600. The
// error is a *Problem, or what change returned.
func update(path string, change func(text []byte) ([]byte, error)) error {
	target, err := followed(path)
	if err != nil {
		return unreadable(path, err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return unreadable(path, err)
	}
	unlock, err := lock(target)
	if err != nil {
		return unreadable(path, err)
	}
	defer unlock()
	removeDrafts(target)
	before, err := readText(target, largest)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return unreadable(path, err)
	}
	after, err := change(before)
	if err != nil || bytes.Equal(before, after) && !missing {
		return err
	}
	if err := replace(target, after); err != nil {
		return unreadable(path, err)
	}
	return nil
}

// followed returns the file that a path leads to, which need not exist.
func followed(path string) (string, error) {
	const links = 40 // as many as the system follows
	for range links {
		to, err := os.Readlink(path)
		if err != nil { // no link
			return path, nil //nolint:nilerr // whatever else is wrong shows when the file is read
		}
		folder, name := filepath.Split(to)
		if !filepath.IsAbs(to) {
			above, _ := filepath.Split(path)
			folder = above + folder
		}
		// What ".." means behind a linked folder only the links can tell, so nothing may be cleaned before.
		if resolved, err := filepath.EvalSymlinks(folder); err == nil {
			folder = resolved
		}
		path = filepath.Join(folder, name)
	}
	return "", errors.New("too many links")
}

// lock keeps other writers of a file out, by a file beside it that is there for so long.
func lock(path string) (unlock func(), err error) {
	beside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockPatience, ErrBusy)
	defer cancel()
	for {
		l := flock.New(beside)
		if _, err := l.TryLockContext(ctx, lockInterval); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, fmt.Errorf("it can't be locked: %w", err)
		}
		// The one who held it before has removed it, perhaps after we opened it: then it locks nothing.
		if current(l) {
			return func() {
				_ = os.Remove(beside) // fails where files in use stay: then it goes with the next lock, or stays
				_ = l.Unlock()
			}, nil
		}
		_ = l.Unlock()
	}
}

// current reports whether the file that was locked is the one that the path names.
func current(l *flock.Flock) bool {
	locked, err := l.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(l.Path())
	return err == nil && os.SameFile(locked, named)
}

// draftName begins the names of the drafts of a file.
func draftName(path string) string { return "." + filepath.Base(path) + ".new-" }

// replace writes a file anew, so that others see the old text or the new.
func replace(path string, text []byte) error {
	o := atomicfile.Options{Draft: draftName(path), Sync: true}
	if info, err := os.Stat(path); err == nil {
		o.Mode = info.Mode().Perm()
	}
	return atomicfile.Write(path, text, o)
}

// removeDrafts removes drafts of a file, which writers that were killed have left behind. The file must be locked.
func removeDrafts(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		number, draft := strings.CutPrefix(e.Name(), draftName(path))
		if draft && number != "" && strings.Trim(number, "0123456789") == "" && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name())) // what can't be removed is left to the next writer
		}
	}
}
