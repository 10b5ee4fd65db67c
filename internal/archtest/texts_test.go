package archtest_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unwanted lists what no committed file may hold: it is true on one machine only, or names where packages come from.
// The names are put together here so that this file holds none of them itself.
var unwanted = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"a registry host", regexp.MustCompile(`\b(` + strings.Join([]string{
		`(registry|replicate)\.` + `(npmjs|yarnpkg|npmmirror)\.`, `npm\.pkg\.` + `github\.`,
		`(proxy|sum|index)\.` + `golang\.org`, `goproxy\.` + `(io|cn)`,
		`(deb|security|archive)\.` + `(debian|ubuntu)\.`, `files\.` + `pythonhosted\.`, `pypi\.` + `org`,
	}, "|") + `)`)},
	{"a download address in a lock file", regexp.MustCompile(`"resolved"` + `\s*:\s*"https?:`)},
	{"a path of one machine", regexp.MustCompile(`(^|[\s"'` + "`" + `=:(,\[<])/(` + `work|root)/`)},
}

// texts finds unwanted texts in one file.
func texts(name string, text []byte) []string {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil // not a text
	}
	var problems []string
	for i, line := range strings.Split(string(text), "\n") {
		for _, u := range unwanted {
			if found := u.pattern.FindString(line); found != "" {
				problems = append(problems, fmt.Sprintf("%s:%d holds %s: %s", name, i+1, u.what, found))
			}
		}
	}
	return problems
}

func TestNoFileNamesARegistryOrAMachine(t *testing.T) {
	names := committed(t)
	if !slices.Contains(names, "go.mod") {
		t.Fatal("the files of the repository were not found")
	}
	for _, name := range names {
		if strings.Contains("/"+name, "/testdata/") {
			continue // data of others, kept byte for byte
		}
		file := filepath.Join(root, filepath.FromSlash(name))
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			continue // deleted and not yet committed, or a link
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range texts(name, text) {
			t.Error(problem)
		}
	}
}

// committed returns the files that git knows or would add, or without git all files outside of skipped folders.
func committed(t *testing.T) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	if out, err := list.Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	}
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skipped(d.Name()):
			return fs.SkipDir
		case !d.IsDir():
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestTheTextCheckFindsRegistriesAndMachines(t *testing.T) {
	rows := []struct {
		name, text string
		want       int
	}{
		{"plain text", "go test ./...\nsee https://modelcontextprotocol.io/specification", 0},
		{"the npm registry", "registry=https://registry." + "npmjs.org/", 1},
		{"the Go proxy", "GOPROXY=https://proxy." + "golang.org", 1},
		{"a download address", `  "resolved"` + `: "https://example.com/a.tgz"`, 1},
		{"the npm option", "omit-lockfile-registry-resolved=true", 0},
		{"a workplace", "cd /" + "work/main", 1},
		{"a home", `"/` + `root/x"`, 1},
		{"part of a longer path", "/home/me/" + "work/x and ./" + "root/y and file:///" + "root/z", 0},
		{"two lines", "/" + "work/a\n/" + "work/b", 2},
		{"not a text", "\x00/" + "work/a", 0},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := texts("file", []byte(r.text)); len(got) != r.want {
				t.Errorf("%d problems, want %d: %q", len(got), r.want, got)
			}
		})
	}
}
