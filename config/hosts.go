package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Host is another program whose files name servers.
type Host struct {
	Name  string // what it is called in "import" and on command lines
	Title string // what it calls itself
}

// Hosts returns the programs whose servers can be imported, in a fixed order.
func Hosts() []Host {
	var all []Host
	for _, h := range hosts {
		all = append(all, Host{h.name, h.title})
	}
	return all
}

// A host is another program: where its files are, and how they are read.
type host struct {
	name, title string
	user        func(machine) []string            // the user's files, strongest first, each of which may be missing
	project     []string                          // the same of a project, below its folder; they are stronger
	read        func(r *reader, from where) error // reads r.text; the error is that of the whole file
}

// hosts are the programs that are known.
var hosts = []*host{
	{name: "claude-code", title: "Claude Code", user: claudeCodeFiles, read: readClaudeCode},
	{name: "claude-desktop", title: "Claude Desktop", user: claudeDesktopFiles, read: readClaudeDesktop},
	{name: "cursor", title: "Cursor", user: cursorFiles, project: []string{".cursor/mcp.json"}, read: readCursor},
	{name: "vscode", title: "VS Code", user: vscodeFiles, project: []string{".vscode/mcp.json"}, read: readVSCode},
	{name: "codex", title: "Codex", user: codexFiles, project: []string{".codex/config.toml"}, read: readCodex},
	{name: "windsurf", title: "Windsurf", user: windsurfFiles, read: readWindsurf},
	{name: "opencode", title: "OpenCode", user: opencodeFiles, read: readOpenCode, project: []string{
		".opencode/opencode.jsonc", ".opencode/opencode.json", "opencode.jsonc", "opencode.json",
	}},
	{name: "gemini", title: "Gemini CLI", user: geminiFiles, project: []string{".gemini/settings.json"}, read: readGemini},
	{name: "zed", title: "Zed", user: zedFiles, project: []string{".zed/settings.json"}, read: readZed},
}

// all and none stand for the names of hosts where names are wanted.
const (
	allHosts = "all"
	noHosts  = "none"
)

// CheckHosts returns an error that tells which of the names is no host's, nor "all", nor "none".
func CheckHosts(names ...string) error {
	for _, name := range names {
		if name != allHosts && name != noHosts && hostNamed(name) == nil {
			return errors.New(unknownHost(name))
		}
	}
	return nil
}

func unknownHost(name string) string {
	var known []string
	for _, h := range hosts {
		known = append(known, h.name)
	}
	return fmt.Sprintf("%q is no program whose servers can be imported; known are %s", name, list(append(known, allHosts)))
}

func hostNamed(name string) *host {
	for _, h := range hosts {
		if h.name == name {
			return h
		}
	}
	return nil
}

// A machine is what decides where files of programs are.
type machine struct {
	goos string
	home string // the user's folder
	env  func(name string) string
}

func thisMachine() machine {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return machine{runtime.GOOS, home, os.Getenv}
}

// files are the user's files of a host; none where the user's folder is not known.
func (m machine) files(h *host) []string {
	if m.home == "" {
		return nil
	}
	return h.user(m)
}

// inHome returns a path in the user's folder or, if the variable is set, in the folder that it names.
func (m machine) inHome(variable, folder string, below ...string) string {
	base := filepath.Join(m.home, folder)
	if set := m.env(variable); variable != "" && set != "" {
		base = set
	}
	return filepath.Join(append([]string{base}, below...)...)
}

// xdg returns a path in the folder for configuration of the XDG rules, which some programs go by on every system.
func (m machine) xdg(below ...string) string { return m.inHome("XDG_CONFIG_HOME", ".config", below...) }

// appData returns a path in the folder in which programs with windows keep their data.
func (m machine) appData(below ...string) string {
	switch m.goos {
	case "windows":
		return m.inHome("APPDATA", "AppData/Roaming", below...)
	case "darwin":
		return m.inHome("", "Library/Application Support", below...)
	}
	return m.xdg(below...)
}

// where is where a file of another program stands.
type where struct {
	machine
	title   string   // of the program
	folder  string   // that the file is in
	project string   // the folder of the project whose file it is; empty: it is the user's
	dirs    []string // where we are, and the folders above it up to the root of the repository
}

// largestForeign is how many bytes a file of another program may have: some keep much else in it.
const largestForeign = 32 << 20

// readFile reads a file of a host.
func (h *host) readFile(path string, from where) (*File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, unreadable(path, errors.New("it is no regular file"))
	}
	text, err := readText(path, largestForeign)
	if err != nil {
		return nil, unreadable(path, err)
	}
	from.folder = folderOf(path)
	return h.parse(path, text, from)
}

// parse is what a host reads in a text.
func (h *host) parse(path string, text []byte, from where) (*File, error) {
	sum := sha256.Sum256(text)
	r := &reader{file: &File{Path: path, sum: hex.EncodeToString(sum[:])}}
	r.text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if len(bytes.TrimSpace(r.text)) == 0 {
		return r.file, nil
	}
	from.title = h.title
	if err := h.read(r, from); err != nil {
		return nil, err
	}
	return r.file, nil
}

// candidates returns where files of a host may be, strongest first.
func (h *host) candidates(s Sources) []candidate {
	var all []candidate
	here := where{machine: thisMachine(), dirs: folders(s.Dir)}
	users := here.files(h)
	if !s.NoProject {
		for _, name := range h.project {
			c := candidate{scope: ScopeImport, host: h.name, project: true}
			for _, dir := range here.dirs {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if !slices.ContainsFunc(users, same(path)) { // we may be in the user's folder
					c.paths = append(c.paths, path)
				}
			}
			c.read = func(path string) (*File, error) {
				from := here
				from.project = strings.TrimSuffix(path, string(filepath.Separator)+filepath.FromSlash(name))
				return h.readFile(path, from)
			}
			all = append(all, c)
		}
	}
	for _, path := range users {
		read := func(path string) (*File, error) { return h.readFile(path, here) }
		all = append(all, candidate{scope: ScopeImport, host: h.name, paths: []string{path}, read: read})
	}
	return all
}

// same returns what reports whether a path leads to the same file.
func same(path string) func(string) bool {
	info, err := os.Stat(path)
	return func(other string) bool {
		otherInfo, otherErr := os.Stat(other)
		return path == other || err == nil && otherErr == nil && os.SameFile(info, otherInfo)
	}
}

// ReadProjectFile reads a file of a project, ours or, by its name, that of another program, for a TrustStore. Errors
// are those of ReadFile.
func ReadProjectFile(path string) (*File, error) {
	full := absolute(path)
	for _, h := range hosts {
		for _, name := range h.project {
			folder, ok := strings.CutSuffix(full, string(filepath.Separator)+filepath.FromSlash(name))
			if !ok {
				continue
			}
			return h.readFile(path, where{machine: thisMachine(), project: folder, dirs: []string{folder}})
		}
	}
	return ReadFile(path)
}
