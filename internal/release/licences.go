package release

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// licences returns the licences of all that a program is built of: they want to come along with binaries too.
func (r Release) licences(p Program) (File, error) {
	var b bytes.Buffer
	for _, m := range append([]*debug.Module{{Path: "std", Version: p.Info.GoVersion}}, p.Info.Deps...) {
		if err := r.licence(&b, m); err != nil {
			return File{}, err
		}
	}
	return File{"THIRD-PARTY-LICENSES", 0o644, b.Bytes()}, nil
}

// licence writes the licence of one module, and what it wants to be noticed.
func (r Release) licence(b *bytes.Buffer, m *debug.Module) error {
	entries, err := os.ReadDir(r.Modules[m.Path])
	if err != nil {
		return fmt.Errorf("the licence of %s: %w", m.Path, err)
	}
	found := false
	for _, entry := range entries { // by name
		upper := strings.ToUpper(entry.Name())
		licence := strings.HasPrefix(upper, "LICEN") || strings.HasPrefix(upper, "COPYING")
		if entry.IsDir() || !licence && !strings.HasPrefix(upper, "NOTICE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.Modules[m.Path], entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s\n%s %s: %s\n\n", strings.Repeat("=", 79), m.Path, m.Version, entry.Name())
		fmt.Fprintf(b, "%s\n\n", bytes.TrimSpace(text))
		found = found || licence
	}
	if !found {
		return fmt.Errorf("there is no licence of %s in %q", m.Path, r.Modules[m.Path])
	}
	return nil
}
