package toolcache_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"mcpwire/internal/toolcache"
	"mcpwire/mcp"
)

// writerFolder is the variable that makes the test binary a process that stores into that folder.
const writerFolder = "TOOLCACHE_TEST_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(writerFolder); folder != "" {
		storeOften(folder)
		return
	}
	os.Exit(m.Run())
}

// storeOften stores entries that differ from each other and from those of other processes.
func storeOften(folder string) {
	c := toolcache.In(folder)
	for i := range 200 {
		if err := c.Store(key, uniform(fmt.Sprintf("process %d, entry %d", os.Getpid(), i))); err != nil {
			panic(err)
		}
	}
}

// uniform returns an entry in which every tool says the same.
func uniform(text string) toolcache.Entry {
	e := toolcache.Entry{Instructions: text}
	for range 50 {
		e.Tools = append(e.Tools, mcp.Tool{Name: text, InputSchema: json.RawMessage(`{"title":"` + text + `"}`)})
	}
	return e
}

func TestProcessesThatStoreAtOnceLeaveOneWholeEntry(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("on Windows a file that is being read can't be replaced")
	}
	folder := t.TempDir()
	c := toolcache.In(folder)
	store(t, c, key, uniform("first"))
	ended := make(chan error)
	const writers = 2
	for range writers {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), writerFolder+"="+folder)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- cmd.Wait() }()
	}
	seen := map[string]bool{}
	for left := writers; left > 0; {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			left--
		default:
			seen[loadUniform(t, c)] = true
		}
	}
	if last := loadUniform(t, c); len(seen) < 3 || last == "first" {
		t.Errorf("of all entries %d were seen, at last %s", len(seen), last)
	}
	if files, err := os.ReadDir(folder + "/tools"); err != nil || len(files) != 1 {
		t.Errorf("left are %v (error %v)", files, err)
	}
}

func loadUniform(t *testing.T, c toolcache.Cache) string {
	t.Helper()
	e, ok := c.Load(key)
	if !ok || len(e.Tools) != 50 {
		t.Fatalf("got %d tools, %v", len(e.Tools), ok)
	}
	for _, tool := range e.Tools {
		if tool.Name != e.Instructions || string(tool.InputSchema) != `{"title":"`+e.Instructions+`"}` {
			t.Fatalf("%q is in the entry %q", tool.Name, e.Instructions)
		}
	}
	return e.Instructions
}
