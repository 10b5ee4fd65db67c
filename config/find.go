package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

const (
	program     = "mcpwire"   // our folder's name below those of the user
	userName    = "mcp.json"  // of the user's file
	projectName = ".mcp.json" // of a project's file
)

// UserFile returns the path of the user's file, which need not exist: $XDG_CONFIG_HOME/mcpwire/mcp.json, where
// XDG_CONFIG_HOME is ~/.config if it is not set to an absolute path, and on Windows %AppData%\mcpwire\mcp.json. The
// error tells that the user's folder is not known.
func UserFile() (string, error) {
	folder, err := userFolder("XDG_CONFIG_HOME", "AppData", ".config")
	return filepath.Join(folder, userName), err
}

// StateDir returns the folder for what programs remember, which need not exist: $XDG_STATE_HOME/mcpwire, where
// XDG_STATE_HOME is ~/.local/state if it is not set to an absolute path, and on Windows %LocalAppData%\mcpwire. The
// error tells that the user's folder is not known.
func StateDir() (string, error) {
	return userFolder("XDG_STATE_HOME", "LocalAppData", filepath.Join(".local", "state"))
}

// userFolder returns our folder in one of the user's: the one that a variable names, else one in the home folder.
func userFolder(variable, onWindows, inHome string) (string, error) {
	if runtime.GOOS == "windows" {
		if base := os.Getenv(onWindows); filepath.IsAbs(base) {
			return filepath.Join(base, program), nil
		}
		return "", errors.New("the variable " + onWindows + " is not set")
	}
	base := os.Getenv(variable)
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		base = filepath.Join(home, inHome)
	}
	return filepath.Join(base, program), nil
}

// ProjectFile returns the path of the .mcp.json that is nearest to dir: in dir itself or above it, up to the root of
// the repository, which is the nearest folder with a .git. Where there is no repository only dir counts. An empty dir
// is the working directory. It is false if there is no such file.
func ProjectFile(dir string) (path string, found bool) {
	candidates := projectFiles(dir)
	i := slices.IndexFunc(candidates, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	})
	if i < 0 {
		return "", false
	}
	return candidates[i], true
}

// projectFiles returns where a project's file may be, nearest first.
func projectFiles(dir string) []string {
	var files []string
	for _, folder := range folders(dir) {
		files = append(files, filepath.Join(folder, projectName))
	}
	return files
}

// folders returns a folder and, in a repository, those above it up to the root. Links among them are resolved, as they
// are when a repository is looked for.
func folders(dir string) []string {
	start, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	if resolved, err := filepath.EvalSymlinks(start); err == nil {
		start = resolved
	}
	var found []string
	for folder := start; ; folder = filepath.Dir(folder) {
		found = append(found, folder)
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return found
		}
		if filepath.Dir(folder) == folder {
			return found[:1]
		}
	}
}
