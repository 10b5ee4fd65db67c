//go:build unix

package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpwire/mcp"
)

const (
	suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	hook  = "./node20-hook.mjs"
)

// limit bounds one run of the suite, which waits for ever for a client that does not exit. Ours gives up before that.
const limit = 50 * time.Second

// A check is one entry of the suite's report.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	Message string `json:"errorMessage"`
}

// A report is what is known after one run of the suite.
type report struct {
	checks []check
	err    error  // the suite does not call it a success, or could not be run
	stderr string // of the client
}

// node runs the suite's program and returns what it printed. Nothing of it outlives the call.
func node(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{"--import", hook, suite}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("killed after %v", limit)
	case errors.Is(err, exec.ErrWaitDelay): // the client is still there, and so is its process group
		_ = cmd.Cancel()
	}
	return string(out), err
}

// runSuite has the suite run one scenario in a folder of its own.
func runSuite(t *testing.T, driver string, s scenario) report {
	t.Helper()
	folder := t.TempDir()
	out, err := node(t.Context(), "client", "--scenario", s.name, "--spec-version", s.revision, "--force",
		"--command", driver, "-o", folder)
	r := report{err: err}
	walkErr := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch filepath.Base(path) {
		case "checks.json":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return mcp.Decode(text, &r.checks)
		case "stderr.txt":
			text, err := os.ReadFile(path)
			r.stderr = strings.TrimSpace(string(text))
			return err
		}
		return nil
	})
	if walkErr != nil {
		r.err = errors.Join(r.err, walkErr)
	}
	if err != nil && r.checks == nil {
		r.stderr = strings.TrimSpace(out)
	}
	return r
}
