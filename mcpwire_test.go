package mcpwire_test

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport"
)

// environmentServer is the variable that makes the test binary a server that tells its environment.
const environmentServer = "MCPWIRE_TEST_SERVER"

func TestMain(m *testing.M) {
	if token := os.Getenv("DEMO_TOKEN"); token != "" {
		fmt.Println("using " + token)
		fmt.Fprintln(os.Stderr, "the token "+token+" was refused")
		os.Exit(2)
	}
	if len(os.Args) > 2 && os.Args[1] == secretProgram {
		giveSecret(os.Args[2])
		return
	}
	if os.Getenv(environmentServer) != "" {
		tellEnvironment()
		return
	}
	os.Exit(inScratch(m))
}

// inScratch runs the tests with caches and state in a folder that is removed.
func inScratch(m *testing.M) int {
	scratch, err := os.MkdirTemp("", "mcpwire-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	for _, name := range []string{"XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		if err := os.Setenv(name, filepath.Join(scratch, name)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

func tellEnvironment() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		m, _ := jsonrpc.Parse(in.Bytes())
		switch m.Method {
		case mcp.MethodInitialize:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, handshake)
		case mcp.MethodCallTool:
			text, _ := mcp.Encode(strings.Join(os.Environ(), "\n"))
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`+"\n", m.ID, text)
		default:
			if m.Kind == jsonrpc.Request {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
			}
		}
	}
}

func TestAServerGetsTheEnvironmentThatItsEntryNames(t *testing.T) {
	t.Setenv("DEMO_X", "1")
	t.Setenv("HTTPS_PROXY", "p")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "demo-server")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("links need rights: ", err)
		}
		t.Fatal(err)
	}
	for _, row := range []struct {
		name    string
		inherit config.EnvInherit
		env     map[string]string
		with    []string
		without []string // names
	}{
		{"everything", config.EnvInherit{}, nil, []string{"DEMO_X=1", "HTTPS_PROXY=p"}, nil},
		{
			"the minimal set",
			config.EnvInherit{Minimal: true},
			nil,
			[]string{"PATH=" + dir},
			[]string{"DEMO_X", "HTTPS_PROXY"},
		},
		{
			"and a list",
			config.EnvInherit{Minimal: true, Pass: []string{"DEMO_X"}},
			nil,
			[]string{"DEMO_X=1"},
			[]string{"HTTPS_PROXY"},
		},
		{
			"configured values win",
			config.EnvInherit{},
			map[string]string{"DEMO_X": "", "HTTPS_PROXY": "q"},
			[]string{"DEMO_X=", "HTTPS_PROXY=q"},
			nil,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			// The command is found only in the PATH that is configured.
			env := map[string]string{"PATH": dir, environmentServer: "1", "GORACE": "atexit_sleep_ms=0"}
			maps.Copy(env, row.env)
			s := config.Server{Name: "demo", Command: "demo-server", Env: env, EnvInherit: row.inherit}
			c, err := mcpwire.Connect(t.Context(), s, mcpwire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close(t.Context()) }()
			r, err := c.CallTool(t.Context(), "environment", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(r.Content[0].Text, "\n")
			for _, want := range row.with {
				if !slices.Contains(got, want) {
					t.Errorf("%s is missing", want)
				}
			}
			for _, name := range row.without {
				if slices.ContainsFunc(got, func(entry string) bool { return strings.HasPrefix(entry, name+"=") }) {
					t.Errorf("%s was passed", name)
				}
			}
		})
	}
}

func TestConfiguredSecretsAreNotShown(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 10)
	entry := config.Server{
		Name: "demo", Command: self, Protocol: client.ProtocolSession,
		Env: map[string]string{"DEMO_TOKEN": "s3cr3t-value", "GORACE": "atexit_sleep_ms=0"},
	}
	_, err = mcpwire.Connect(t.Context(), entry, mcpwire.Options{
		CacheDir: "none",
		OnStderr: func(line []byte) { lines <- string(line) },
		OnNoise:  func(line []byte) { lines <- string(line) },
	})
	exit, ok := errors.AsType[*transport.ExitError](err)
	if !ok || exit.Stderr != "the token *** was refused\n" || len(exit.Noise) != 1 || exit.Noise[0] != "using ***" {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if line := <-lines; strings.Contains(line, "s3cr3t") {
			t.Errorf("a callback was told %q", line)
		}
	}
}
