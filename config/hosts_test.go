package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"mcpwire/config"
)

var update = flag.Bool("update", false, "write what is got as what is wanted")

// The files of testdata/hosts hold a file of each program, what it is in our words, and what is wrong with it.
func TestFilesOfOtherProgramsAreReadByTheirRules(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths are not absolute there")
	}
	for _, h := range config.Hosts() {
		t.Run(h.Name, func(t *testing.T) {
			path := filepath.Join("testdata", "hosts", h.Name+".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			file, err := config.ParseHost(h.Name, []byte(parts["file"]), h.Name == "cursor")
			if err != nil {
				t.Fatal(err)
			}
			var problems strings.Builder
			for _, p := range file.Problems {
				problems.WriteString(p.Severity.String() + " " + p.Error() + "\n")
			}
			got := map[string]string{"servers": config.EntriesText(file.Servers...), "problems": problems.String()}
			if *update {
				archive.Files = archive.Files[:1]
				for _, name := range []string{"servers", "problems"} {
					archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
				}
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			for name, text := range got {
				if text != parts[name] {
					t.Errorf("%s: got\n%s\nwant\n%s", name, text, parts[name])
				}
			}
		})
	}
}
