package stdio_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mcpwire/internal/proc/proctest"
	"mcpwire/transport/stdio"
)

// recorded returns the process ids of the servers that are recorded in a folder for state.
func recorded(t *testing.T, folder string) []int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "processes", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, file := range files {
		text, _, _ := strings.Cut(filepath.Base(file), "-")
		id, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s is no record", file)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestAServerIsRecordedWhileItRuns(t *testing.T) {
	folder := t.TempDir()
	s := open(t, "echo", func(o *stdio.Options) { o.StateDir = folder })
	if ids := recorded(t, folder); len(ids) != 1 || proctest.GroupGone(ids[0]) {
		t.Errorf("recorded are %v", ids)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if ids := recorded(t, folder); ids != nil {
		t.Errorf("after the end %v are recorded", ids)
	}
}

func TestWhatAKilledHostLeavesBehindHasGoneWhenTheNextServerStarts(t *testing.T) {
	folder := t.TempDir()
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), role+"=host", stateVariable+"="+folder)
	in, err := host.StdinPipe() // stays open
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	killErr := host.Process.Kill()
	_ = host.Wait()
	orphans := recorded(t, folder)
	if err != nil || killErr != nil || len(orphans) != 1 || proctest.GroupGone(orphans[0]) {
		t.Fatalf("recorded are %v; %v, %v", orphans, err, killErr)
	}
	t.Cleanup(func() {
		if !proctest.GroupGone(orphans[0]) {
			_ = syscall.Kill(-orphans[0], syscall.SIGKILL)
		}
	})
	s := open(t, "echo", func(o *stdio.Options) { o.StateDir = folder })
	if !proctest.GroupGone(orphans[0]) {
		t.Error("it still runs")
	}
	if ids := recorded(t, folder); len(ids) != 1 || slices.Contains(ids, orphans[0]) {
		t.Errorf("recorded are %v, the old one was %d", ids, orphans[0])
	}
	s.mustAnswer(1, "")
}
