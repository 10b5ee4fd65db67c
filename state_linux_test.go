package mcpwire_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/internal/proc/proctest"
)

func TestRunningServersAreRecordedInTheStateFolder(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entry := config.Server{
		Name: "demo", Command: self, Env: map[string]string{environmentServer: "1", "GORACE": "atexit_sleep_ms=0"},
	}
	for _, row := range []struct {
		name, option, xdg string
		want              string // where the record is, in the folder of the test
	}{
		{"as told", "$/state", "$/xdg", "state/processes"},
		{"in the user's folder for state", "", "$/xdg", "xdg/mcpwire/processes"},
		{"in its usual place", "", "", ".local/state/mcpwire/processes"},
		{"not relative to where we are", "", "xdg", ".local/state/mcpwire/processes"},
		{"nowhere", "none", "$/xdg", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			folder := t.TempDir()
			t.Chdir(folder)
			place := strings.NewReplacer("$", folder).Replace
			t.Setenv("XDG_STATE_HOME", place(row.xdg))
			t.Setenv("HOME", folder)
			o := mcpwire.Options{CacheDir: "none", StateDir: place(row.option)}
			c, err := mcpwire.Connect(t.Context(), entry, o)
			if err != nil {
				t.Fatal(err)
			}
			running := files(t, folder)
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if row.want == "" {
				if running != nil {
					t.Errorf("there are %q", running)
				}
				return
			}
			if len(running) != 1 || filepath.Dir(running[0]) != row.want {
				t.Errorf("there are %q, want one in %s", running, row.want)
			}
			if left := files(t, folder); left != nil {
				t.Errorf("after Close there are %q", left)
			}
		})
	}
}

// files lists all files below a folder.
func files(t *testing.T, folder string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		all = append(all, relative)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAConnectThatRunsOutOfTimeLeavesNoServerBehindAWrapper(t *testing.T) {
	proctest.NoLeaks(t)
	file := filepath.Join(t.TempDir(), "pid")
	limit := 300 * time.Millisecond
	entry := config.Server{
		Name: "demo", Command: "sh", ConnectTimeout: &limit,
		Args: []string{"-c", `echo $$$$ >` + file + `; exec 3<&0; sh -c "while :; do sleep 0.05; done" <&3 & wait`},
	}
	begin := time.Now()
	if _, err := mcpwire.Connect(t.Context(), entry, mcpwire.Options{CacheDir: "none"}); err == nil {
		t.Fatal("connected")
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	group, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || !proctest.GroupGone(group) {
		t.Errorf("processes of the group %d are left (error %v)", group, err)
	}
}
