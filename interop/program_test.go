package interop_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program runs the program and returns what it wrote to standard output; it must exit with 0.
func program(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.Command(filepath.Join(goServers(t), "mcpwire"), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("mcpwire %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

func TestTheProgramTalksToServersStartedThroughNpx(t *testing.T) {
	nodeModules(t)
	work := t.TempDir()
	// Without -y, npx must find the pinned package: it would ask before it fetched another.
	npx := func(words ...string) []string { return append([]string{"--", "npx", "--no-install"}, words...) }
	for _, row := range []struct {
		name   string
		server []string
		list   string // a tool that must be listed
		call   []string
		want   string
	}{
		{
			"everything", npx("@modelcontextprotocol/server-everything", "stdio"), "echo",
			[]string{"echo", "message=hi"},
			"hi",
		},
		{
			"filesystem", npx("@modelcontextprotocol/server-filesystem", work), "list_directory",
			[]string{"list_directory", "path=" + work},
			"",
		},
		{
			"memory", npx("@modelcontextprotocol/server-memory"), "read_graph",
			[]string{"search_nodes", "query=nothing"},
			"entities",
		},
		{
			"the everything server as a user would start it",
			[]string{"--", "npx", "-y", "@modelcontextprotocol/server-everything", "stdio"},
			"get-sum",
			[]string{"get-sum", "a=2", "b=40"},
			"42",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := program(t, append([]string{"tools"}, row.server...)...); !strings.Contains(got, row.list) {
				t.Errorf("tools printed\n%s", got)
			}
			args := append([]string{"call"}, row.call...)
			if got := program(t, append(args, row.server...)...); !strings.Contains(got, row.want) {
				t.Errorf("call printed\n%s", got)
			}
		})
	}
}
