package release_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"mcpwire/internal/release"
)

var made = time.Date(2026, time.July, 28, 12, 0, 2, 0, time.UTC)

// programs are two that were never built.
func programs() []release.Program {
	var all []release.Program
	for _, goos := range []string{"linux", "windows"} {
		all = append(all, release.Program{Data: []byte("a program for " + goos), Info: &buildinfo.BuildInfo{
			GoVersion: "go1.26.8",
			Settings:  []debug.BuildSetting{{Key: "GOOS", Value: goos}, {Key: "GOARCH", Value: "arm64"}},
			Deps: []*debug.Module{
				{Path: "example.com/Upper/one", Version: "v1.2.3+incompatible", Sum: "h1:one="},
				{Path: "example.com/two", Version: "v2.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v2.0.1"}},
			},
		}})
	}
	return all
}

// modules makes folders of modules with licences, and returns them.
func modules(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range []string{"std", "example.com/Upper/one", "example.com/two"} {
		all[path] = t.TempDir()
		if err := os.WriteFile(filepath.Join(all[path], "LICENSE.md"), []byte("the terms of "+path+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// packed makes a release and returns its files by name.
func packed(t *testing.T) map[string][]byte {
	t.Helper()
	out := t.TempDir()
	r := release.Release{Version: "1.2.3", Revision: "c0ffee", Time: made, Root: "../..", Modules: modules(t)}
	if err := r.Pack(t.Context(), out, programs()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(out, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestAReleaseIsTheSameBytesAgain(t *testing.T) {
	one, another := packed(t), packed(t)
	if len(one) != 5 || len(another) != 5 {
		t.Errorf("there are %d and %d files", len(one), len(another))
	}
	for name, data := range one {
		if !bytes.Equal(data, another[name]) {
			t.Errorf("%s differs", name)
		}
	}
	var sums strings.Builder
	for _, name := range []string{
		"mcpwire_1.2.3_linux_arm64.tar.gz", "mcpwire_1.2.3_linux_arm64.cdx.json",
		"mcpwire_1.2.3_windows_arm64.zip", "mcpwire_1.2.3_windows_arm64.cdx.json",
	} {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(one[name]), name)
	}
	if got := string(one["SHA256SUMS"]); got != sums.String() {
		t.Errorf("the checksums are\n%swant\n%s", got, &sums)
	}
}

// wanted are some files of each archive, with their modes.
func wanted(program string) map[string]os.FileMode {
	return map[string]os.FileMode{
		program: 0o755, "LICENSE": 0o644, "THIRD-PARTY-LICENSES": 0o644, "README.md": 0o644,
		"man/mcpwire.1": 0o644, "man/mcpwire-auth-status.1": 0o644,
		"completions/mcpwire.bash": 0o644, "completions/_mcpwire": 0o644, "completions/mcpwire.fish": 0o644,
		"completions/mcpwire.ps1": 0o644,
	}
}

func TestATarArchiveHasAllAndTellsNothingOfTheMachine(t *testing.T) {
	uncompressed, err := gzip.NewReader(bytes.NewReader(packed(t)["mcpwire_1.2.3_linux_arm64.tar.gz"]))
	if err != nil {
		t.Fatal(err)
	}
	archive, missing := tar.NewReader(uncompressed), wanted("mcpwire")
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(made) || h.Uid != 0 || h.Gid != 0 || h.Uname+h.Gname != "" || len(h.PAXRecords) > 0 {
			t.Errorf("%s: %+v", h.Name, h)
		}
		name, below := strings.CutPrefix(h.Name, "mcpwire_1.2.3_linux_arm64/")
		if mode, ok := missing[name]; ok && mode != h.FileInfo().Mode() || !below {
			t.Errorf("%s has mode %v", h.Name, h.FileInfo().Mode())
		}
		delete(missing, name)
		data, err := io.ReadAll(archive)
		text := map[string]string{
			"mcpwire": "a program for linux", "THIRD-PARTY-LICENSES": "the terms of example.com/Upper/one",
		}[name]
		if err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	if len(missing) > 0 {
		t.Errorf("there is no %v", missing)
	}
}

func TestAZipArchiveHasAllToo(t *testing.T) {
	data := packed(t)["mcpwire_1.2.3_windows_arm64.zip"]
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	missing := wanted("mcpwire.exe")
	for _, f := range archive.File {
		name, _ := strings.CutPrefix(f.Name, "mcpwire_1.2.3_windows_arm64/")
		if mode, ok := missing[name]; ok && mode != f.Mode() || !f.Modified.Equal(made) {
			t.Errorf("%s has mode %v and time %v", f.Name, f.Mode(), f.Modified)
		}
		delete(missing, name)
	}
	if len(missing) > 0 {
		t.Errorf("there is no %v", missing)
	}
}

func TestTheBillOfMaterialsNamesEachModule(t *testing.T) {
	var bill struct {
		BomFormat, SpecVersion string
		Metadata               struct {
			Timestamp time.Time
			Component struct {
				Version string
				Hashes  []struct{ Alg, Content string }
			}
		}
		Components []struct{ Purl string }
	}
	data := packed(t)["mcpwire_1.2.3_linux_arm64.cdx.json"]
	if err := jsonv2.Unmarshal(data, &bill, jsonv2.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("a program for linux")))
	program := bill.Metadata.Component
	if bill.BomFormat != "CycloneDX" || bill.SpecVersion != "1.6" || !bill.Metadata.Timestamp.Equal(made) ||
		program.Version != "v1.2.3" || len(program.Hashes) != 1 || program.Hashes[0].Content != sum {
		t.Errorf("got %s", data)
	}
	var purls []string
	for _, c := range bill.Components {
		purls = append(purls, c.Purl)
	}
	want := "pkg:golang/std@1.26.8 pkg:golang/example.com/upper/one@v1.2.3%2Bincompatible " +
		"pkg:golang/example.com/fork@v2.0.1"
	if got := strings.Join(purls, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWithoutALicenceNothingIsPacked(t *testing.T) {
	r := release.Release{Version: "1.2.3", Time: made, Root: "../..", Modules: modules(t)}
	if err := os.Remove(filepath.Join(r.Modules["example.com/two"], "LICENSE.md")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no licence of example.com/two", "licence of example.com/two"} {
		if err := r.Pack(t.Context(), t.TempDir(), programs()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		delete(r.Modules, "example.com/two")
	}
}

func TestABinaryThatIsNotGosIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcpwire")
	if err := os.WriteFile(path, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := release.ReadProgram(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}
