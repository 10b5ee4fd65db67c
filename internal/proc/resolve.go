package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// errNotExecutable is how runnable says that a file is there and may not be executed.
var errNotExecutable = errors.New("not executable")

// resolve returns the absolute path of the file to start. A name without a separator is looked up in the PATH that the
// process will have; entries that are empty or relative are passed over, so that nothing is ever run because it happens
// to lie in the working directory.
func resolve(spec Spec, env environment) (string, *StartError) {
	fail := StartError{Command: spec.Command, Dir: spec.Dir}
	dir, err := filepath.Abs(spec.Dir)
	if info, statErr := os.Stat(dir); err != nil || statErr != nil || !info.IsDir() {
		fail.Reason, fail.Err = NoDir, errors.Join(err, statErr)
		return "", &fail
	}
	if spec.Command == "" {
		fail.Reason = NotFound
		return "", &fail
	}
	if isPath(spec.Command) {
		if fail.Path = spec.Command; !filepath.IsAbs(fail.Path) {
			fail.Path = filepath.Join(dir, fail.Path)
		}
		return try(fail, env)
	}
	fail.Search = env.get("PATH")
	return search(fail, env)
}

// try returns the file at fail.Path, if it can be run.
func try(fail StartError, env environment) (string, *StartError) {
	path, err := runnable(fail.Path, env)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, errNotExecutable):
		fail.Reason = NotExecutable
	case errors.Is(err, fs.ErrNotExist):
		fail.Reason, fail.Err = NotFound, err
	default:
		fail.Err = err
	}
	return "", &fail
}

// search looks fail.Command up in fail.Search. A file that may not be executed is named if nothing better is found.
func search(fail StartError, env environment) (string, *StartError) {
	fail.Reason, fail.Err = NotFound, fs.ErrNotExist
	for _, dir := range filepath.SplitList(fail.Search) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, fail.Command)
		found, err := runnable(path, env)
		if err == nil {
			return found, nil
		}
		if errors.Is(err, errNotExecutable) && fail.Reason == NotFound {
			fail.Reason, fail.Path, fail.Err = NotExecutable, path, nil
		}
	}
	return "", &fail
}

// explain turns the system's refusal to start path into what a person can act on.
func explain(spec Spec, path string, err error) *StartError {
	fail := &StartError{Command: spec.Command, Path: path, Dir: spec.Dir, Err: err}
	switch {
	case isBadFormat(err):
		fail.Reason = NoFormat
	case errors.Is(err, fs.ErrNotExist) && exists(path):
		fail.Reason = NoInterpreter
	case errors.Is(err, fs.ErrNotExist):
		fail.Reason = NotFound
	}
	return fail
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
