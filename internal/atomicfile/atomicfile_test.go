package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"mcpwire/internal/atomicfile"
)

func TestAFileIsReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, row := range []struct {
		text    string
		options atomicfile.Options
		mode    fs.FileMode
	}{
		{"one", atomicfile.Options{Draft: ".new-"}, 0o600},
		{"", atomicfile.Options{Draft: ".new-", Sync: true}, 0o600},
		{"longer", atomicfile.Options{Draft: ".new-", Mode: 0o644, OurTime: true}, 0o644},
	} {
		if err := atomicfile.Write(path, []byte(row.text), row.options); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) != row.text {
			t.Errorf("got %q, %v", text, err)
		}
		info, err := os.Stat(path)
		if err != nil || runtime.GOOS != "windows" && info.Mode() != row.mode || time.Since(info.ModTime()).Abs() > time.Minute {
			t.Errorf("%+v: got %v, %v", row.options, info, err)
		}
		alone(t, path)
	}
}

func TestAWriteThatFailsLeavesWhatWasThereAndNoDraft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.MkdirAll(filepath.Join(path, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("x"), atomicfile.Options{Draft: ".new-"}); err == nil {
		t.Error("a folder was replaced")
	}
	alone(t, path)
	if _, err := os.Stat(filepath.Join(path, "inner")); err != nil {
		t.Error(err)
	}
	missing := filepath.Join(path, "none", "f")
	if err := atomicfile.Write(missing, nil, atomicfile.Options{Draft: ".new-"}); err == nil {
		t.Error("a file was written where there is no folder")
	}
}

// alone fails if there is more in the folder than the file.
func alone(t *testing.T, path string) {
	t.Helper()
	all, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(all) != 1 {
		t.Errorf("left are %v, %v", all, err)
	}
}
