// Package release makes of the program's binaries what is given to people: archives with the manual and the scripts for
// shells, bills of materials, and the list of checksums. The same binaries make the same bytes on every machine.
package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcpwire/internal/cli"
)

// Earliest is the time of files where none is known: a zip archive has no earlier one.
var Earliest = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// A Release is what the archives of all platforms have in common.
type Release struct {
	Version  string    // of the program, which the names of archives have
	Revision string    // the commit; empty: not known
	Time     time.Time // of all files; not before Earliest
	Root     string    // of the repository, where LICENSE and README.md are
	// Modules are the folders of the modules that binaries are built of, by their paths, which is std for Go's own.
	Modules map[string]string
}

// A Program is the program, built for one platform.
type Program struct {
	Data []byte
	Info *buildinfo.BuildInfo // tells for which platform, and of what
}

// ReadProgram reads a binary that Go has built.
func ReadProgram(path string) (p Program, err error) {
	if p.Data, err = os.ReadFile(path); err != nil {
		return p, err
	}
	if p.Info, err = buildinfo.Read(bytes.NewReader(p.Data)); err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// Pack makes an archive and a bill of materials of each program, and SHA256SUMS of all, in the folder out.
func (r Release) Pack(ctx context.Context, out string, programs []Program) error {
	common, err := r.common(ctx)
	if err != nil {
		return err
	}
	var sums strings.Builder
	write := func(name string, data []byte) error {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
		return os.WriteFile(filepath.Join(out, name), data, 0o644)
	}
	for _, p := range programs {
		if err := r.pack(p, common, write); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// pack makes what is of one program.
func (r Release) pack(p Program, common []File, write func(name string, data []byte) error) error {
	goos, goarch := setting(p.Info, "GOOS"), setting(p.Info, "GOARCH")
	if goos == "" || goarch == "" {
		return errors.New("a binary does not tell for which platform it is")
	}
	name := fmt.Sprintf("mcpwire_%s_%s_%s", r.Version, goos, goarch)
	program, ending, archive := "mcpwire", ".tar.gz", tarGz
	if goos == "windows" {
		program, ending, archive = "mcpwire.exe", ".zip", zipped
	}
	licences, err := r.licences(p)
	if err != nil {
		return err
	}
	files := append([]File{{Name: program, Mode: 0o755, Data: p.Data}, licences}, common...)
	packed, err := archive(name, files, r.Time)
	if err != nil {
		return err
	}
	if err := write(name+ending, packed); err != nil {
		return err
	}
	bill, err := r.sbom(p)
	if err != nil {
		return err
	}
	return write(name+".cdx.json", append(bill, '\n'))
}

func setting(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// common returns the files that every archive has.
func (r Release) common(ctx context.Context) ([]File, error) {
	var files []File
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(r.Root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, 0o644, data})
	}
	for _, page := range Manual(cli.Commands(), r.Version, r.Time) {
		page.Name = "man/" + page.Name
		files = append(files, page)
	}
	for shell, name := range map[string]string{
		"bash": "mcpwire.bash", "zsh": "_mcpwire", "fish": "mcpwire.fish", "powershell": "mcpwire.ps1",
	} {
		var script, stderr bytes.Buffer
		if code := cli.Main(ctx, []string{"completion", shell}, strings.NewReader(""), &script, &stderr); code != 0 {
			return nil, fmt.Errorf("mcpwire completion %s: exit code %d: %s", shell, code, &stderr)
		}
		files = append(files, File{"completions/" + name, 0o644, script.Bytes()})
	}
	return files, nil
}
