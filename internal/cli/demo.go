package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/internal/demo"
	"mcpwire/mcp"
)

func demoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show what mcpwire does, on the built-in demo server",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := demoTarget(&serverFlags{})
			if err != nil {
				return err
			}
			tour := &tour{app: a, target: t}
			if err := a.withClient(cmd.Context(), t, &serverFlags{}, tour.live); err != nil {
				return err
			}
			if err := a.withClient(cmd.Context(), t, &serverFlags{}, tour.death); err != nil {
				return err
			}
			if err := a.overHTTP(cmd.Context(), tour); err != nil {
				return err
			}
			return a.out.show(tryNext(invocation()))
		},
	}
}

// overHTTP runs the tour again, over Streamable HTTP on the loopback address.
func (a *app) overHTTP(ctx context.Context, t *tour) (err error) {
	d, err := startDemoProcess(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := d.stop(ctx); err == nil {
			err = stopErr
		}
	}()
	t.target, t.wire = d.target, "HTTP"
	if err := a.withClient(ctx, d.target, &serverFlags{}, t.live); err != nil {
		return err
	}
	return a.withClient(ctx, d.target, &serverFlags{}, t.death)
}

// A tour is one run of the command demo.
type tour struct {
	*app
	target target
	wire   string // what it goes over, if not pipes
	steps  int
}

// step begins a part of the tour.
func (t *tour) step(format string, args ...any) error {
	t.steps++
	gap := "\n"
	if t.steps == 1 {
		gap = ""
	}
	return t.out.write(gap + t.out.heading(fmt.Sprintf("%d. "+format, append([]any{t.steps}, args...)...)) + "\n")
}

// live shows what goes on with a server that lives.
func (t *tour) live(ctx context.Context, c *client.Client) error {
	parts := []func(context.Context, *client.Client) error{t.connected, t.tools, t.calls, t.progress, t.cancelled}
	if t.wire != "" {
		parts = slices.Delete(parts, 1, 2) // the tools are the same
	}
	for _, part := range parts {
		if err := part(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (t *tour) connected(_ context.Context, c *client.Client) error {
	s := c.Server()
	text := "A server was started as a subprocess, and both sides shook hands"
	if t.wire != "" {
		text = "The same server at " + t.target.URL + ", from here on over " + t.wire
	}
	if err := t.step("%s", text); err != nil {
		return err
	}
	return t.out.show(fmt.Sprintf("%s %s, protocol %s: %s\n", s.Info.Name, s.Info.Version, s.Revision, s.Instructions))
}

func (t *tour) tools(ctx context.Context, c *client.Client) error {
	if err := t.step("Its tools"); err != nil {
		return err
	}
	tools, err := c.ListTools(ctx)
	if err != nil {
		return err
	}
	return toolList.show(t.out, tools)
}

func (t *tour) calls(ctx context.Context, c *client.Client) error {
	if err := t.step("Calls"); err != nil {
		return err
	}
	for _, call := range []struct{ tool, arguments string }{
		{"add", `{"a":9007199254740993,"b":0.25}`},
		{"echo", `{"message":"Hello over the wire."}`},
		{"fail", `{"reason":"The moon was in the way."}`},
	} {
		if err := t.call(ctx, c, call.tool, call.arguments); err != nil {
			return err
		}
	}
	return nil
}

func (t *tour) call(ctx context.Context, c *client.Client, tool, arguments string) error {
	if err := t.out.printf("%s %s\n", tool, arguments); err != nil {
		return err
	}
	result, err := c.CallTool(ctx, tool, json.RawMessage(arguments), nil)
	if err != nil {
		return err
	}
	mark := "  -> "
	if result.IsError {
		mark = "  -> the tool reported an error: "
	}
	text := strings.TrimRight(resultText(result), "\n")
	return t.out.show(mark + strings.ReplaceAll(text, "\n", "\n     ") + "\n")
}

func (t *tour) progress(ctx context.Context, c *client.Client) error {
	if err := t.step("A call that reports progress"); err != nil {
		return err
	}
	result, err := c.CallTool(ctx, "countdown", json.RawMessage(`{"seconds":1,"steps":4}`), &client.CallOptions{
		OnProgress: func(p mcp.ProgressParams) {
			_ = t.out.show("  " + progressText(p) + "\n") // what fails here fails again below
		},
	})
	if err != nil {
		return err
	}
	return t.out.show("  -> " + resultText(result))
}

const (
	cancelAfter = 300 * time.Millisecond
	sleepFor    = 30 // seconds
)

var errHadEnough = errors.New("had enough")

func (t *tour) cancelled(ctx context.Context, c *client.Client) error {
	if err := t.step("A call of %d s, cancelled after %v", sleepFor, cancelAfter); err != nil {
		return err
	}
	hasty, cancel := context.WithTimeoutCause(ctx, cancelAfter, errHadEnough)
	defer cancel()
	start := time.Now()
	_, err := c.CallTool(hasty, "sleep", json.RawMessage(fmt.Sprintf(`{"seconds":%d}`, sleepFor)), nil)
	took := time.Since(start).Round(cancelAfter / 3)
	if ctx.Err() != nil || err == nil {
		return errors.Join(err, errors.New("demo: the call did not end as it should"))
	}
	start = time.Now()
	if err := c.Ping(ctx); err != nil {
		return err
	}
	return t.out.printf("  -> after %v: %v\n  -> the server was told and lives on: it answers a ping in %.1f ms\n",
		took, err, time.Since(start).Seconds()*1000)
}

// death shows what is reported when the server dies in the middle of a call.
func (t *tour) death(ctx context.Context, c *client.Client) error {
	if err := t.step("A server that dies during a call"); err != nil {
		return err
	}
	_, err := c.CallTool(ctx, "crash", json.RawMessage(`{"reason":"out of luck"}`), nil)
	if ctx.Err() != nil || err == nil {
		return errors.Join(err, errors.New("demo: the server did not die as it should"))
	}
	return t.out.show("  -> " + strings.ReplaceAll(err.Error(), "\n", "\n     ") + "\n")
}

func tryNext(program string) string {
	return fmt.Sprintf(`
Try next:
  %[1]s tools %[2]s
  %[1]s call %[2]s add a=2 b=40
  %[1]s call %[2]s countdown seconds=3 --verbose
  %[1]s call %[2]s echo message=hi --output json
  %[1]s tools -- npx -y @modelcontextprotocol/server-everything stdio

Your own servers go into .mcp.json, in the form that most MCP clients share:
  {"mcpServers": {"NAME": {"command": "PROGRAM", "args": ["ARG"], "env": {"KEY": "value"}}}}
  %[1]s tools NAME
`, program, demo.Name)
}

// invocation returns how this program can be started again: what "go run" built is gone when it ends.
func invocation() string {
	if exe, err := os.Executable(); err == nil && strings.Contains(exe, "go-build") {
		return "go run ./cmd/mcpwire"
	}
	return shellWords(os.Args[:1])
}
