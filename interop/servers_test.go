// Package interop_test runs mcpwire against servers that others wrote.
package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A server is one way to start somebody else's server on pipes. In its command {modules} is the folder of the installed
// Node packages, {go} that of the built Go servers, and {work} a fresh folder of the test.
type server struct {
	name    string
	command []string
}

var stdioServers = []server{
	{"everything", []string{"node", "{modules}/@modelcontextprotocol/server-everything/dist/index.js", "stdio"}},
	{"filesystem", []string{"node", "{modules}/@modelcontextprotocol/server-filesystem/dist/index.js", "{work}"}},
	{"memory", []string{
		"env", "MEMORY_FILE_PATH={work}/memory.jsonl",
		"node", "{modules}/@modelcontextprotocol/server-memory/dist/index.js",
	}},
	{"gosdk-everything", []string{"{go}/everything"}},
	{"gosdk-memory", []string{"{go}/memory"}},
	{"gosdk-hello", []string{"{go}/hello"}},
	{"gosdk-conformance", []string{"{go}/everything-server"}},
}

// argv returns the command with its folders filled in. What is not there yet is built; what can't be is a fatal error.
func (s server) argv(t *testing.T) []string {
	t.Helper()
	words := make([]string, len(s.command))
	for i, word := range s.command {
		if strings.Contains(word, "{modules}") {
			word = strings.ReplaceAll(word, "{modules}", nodeModules(t))
			requireFile(t, word)
		}
		if strings.Contains(word, "{go}") {
			word = strings.ReplaceAll(word, "{go}", goServers(t))
			requireFile(t, word)
		}
		if strings.Contains(word, "{work}") {
			word = strings.ReplaceAll(word, "{work}", t.TempDir())
		}
		words[i] = word
	}
	return words
}

// requireFile fails the test unless the last of the words, which may be a command line, is a file.
func requireFile(t *testing.T, words string) {
	t.Helper()
	name := words[strings.LastIndexByte(words, ' ')+1:]
	if _, err := os.Stat(name); err != nil {
		t.Fatalf("the server is missing (Node servers: run `make node-servers` at the root): %v", err)
	}
}

// nodeModules returns the folder of the installed Node packages.
func nodeModules(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Fatalf("the Node servers are not installed; run `npm ci --ignore-scripts` in interop/: %v", err)
	}
	return folder
}

// scratch is a folder for as long as the tests run.
var scratch string

// buildGoServers builds what go.mod lists as tools, the servers and mcpwire itself, once for all tests.
var buildGoServers = sync.OnceValues(func() (string, error) {
	folder := filepath.Join(scratch, "go")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", folder, "tool").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the Go servers: %w\n%s", err, out)
	}
	return folder, nil
})

// goServers returns the folder of the Go servers.
func goServers(t *testing.T) string {
	t.Helper()
	folder, err := buildGoServers()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestMain(m *testing.M) {
	if text := os.Getenv(calling); text != "" {
		os.Exit(callAlone(text))
	}
	os.Exit(inScratch(m))
}

func inScratch(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "mcpwire-interop-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	if folder, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
		// Else Go would build all that there is anew, with its cache below XDG_CACHE_HOME.
		if err := os.Setenv("GOCACHE", filepath.Join(folder, "go-build")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		if err := os.Setenv(name, filepath.Join(scratch, name)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}
