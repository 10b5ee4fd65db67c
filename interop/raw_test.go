package interop_test

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestEveryServerAnswersWithoutUs uses nothing of mcpwire, and so tells a broken server or installation from a fault of
// ours.
func TestEveryServerAnswersWithoutUs(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}`
	for _, s := range stdioServers {
		t.Run(s.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			argv := s.argv(t)
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				stdin.Close()
				cancel()
				cmd.Wait() //nolint:errcheck // it was killed; its status tells nothing
			}()
			if _, err := io.WriteString(stdin, hello+"\n"); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil || !strings.Contains(line, `"serverInfo"`) {
				t.Fatalf("got %.300q, %v", line, err)
			}
		})
	}
}
