package survival_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"golang.org/x/tools/txtar"
)

// A mutation is a way to break the client, as a file in testdata/mutations: what it does, the file that it is done to,
// the rows that must notice, and the text to be replaced.
type mutation struct {
	does, file, rows string
	from, to         string
}

func readMutation(t *testing.T, path string) (m mutation) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
	if len(lines) != 3 || len(archive.Files) != 2 {
		t.Fatalf("%s: what it does, file, rows, old and new are wanted", path)
	}
	text := func(i int) string { return strings.TrimSuffix(string(archive.Files[i].Data), "\n") }
	return mutation{
		does: lines[0], file: strings.TrimPrefix(lines[1], "file: "), rows: strings.TrimPrefix(lines[2], "rows: "),
		from: text(0), to: text(1),
	}
}

// TestABrokenClientIsCaught builds the catalogue with one file of the client replaced at a time. It takes minutes, and
// runs only if it is asked to.
func TestABrokenClientIsCaught(t *testing.T) {
	if os.Getenv("MUTATIONS") == "" {
		t.Skip("runs with MUTATIONS=1 only; see make mutations")
	}
	files, err := filepath.Glob("testdata/mutations/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d mutations, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			m := readMutation(t, file)
			out, err := m.run(t)
			switch {
			case err == nil:
				t.Errorf("nobody notices a client that %s", m.does)
			case !strings.Contains(out, "the client must"):
				t.Errorf("it did not come to the rows: %s", out)
			}
		})
	}
}

// run runs the rows against the broken client.
func (m mutation) run(t *testing.T) (output string, err error) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(root, filepath.FromSlash(m.file))
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), m.from); n != 1 {
		t.Fatalf("the text to be replaced stands in %s %d times: %s", m.file, n, m.from)
	}
	folder := t.TempDir()
	broken, overlay := filepath.Join(folder, "broken.go"), filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(broken, []byte(strings.Replace(string(text), m.from, m.to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {source: broken}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, replaced, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-count=1", "-overlay", overlay, "-run", "^TestTheClientSurvivesEveryRow$", ".")
	cmd.Env = append(os.Environ(), rowsVariable+"="+m.rows)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
