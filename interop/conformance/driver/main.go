// Command driver is the client that the conformance suite tests: mcpwire as a host would use it. The suite starts it
// with the address of a mock server as the last argument, and names in the environment what to do there.
//
// It exits with 0 if that could be done, 1 if not, 2 if it can't tell what is wanted, and 3 if it ran out of time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/mcp"
)

const (
	exitFailed  = 1
	exitUsage   = 2
	exitTimeout = 3
)

const (
	patience = 20 * time.Second // for a scenario as a whole
	grace    = 5 * time.Second  // after that, before the process ends whatever it is doing
)

func main() {
	time.AfterFunc(patience+grace, func() {
		fmt.Fprintln(os.Stderr, "the driver hangs")
		os.Exit(exitTimeout)
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	code := run(ctx, os.Args[1:], os.Getenv)
	cancel()
	os.Exit(code)
}

func run(ctx context.Context, args []string, env func(string) string) int {
	name := env("MCP_CONFORMANCE_SCENARIO")
	do, known := scenarios[name]
	if strings.HasPrefix(name, "auth/") {
		do, known = authorized, true
	}
	if !known || len(args) == 0 {
		fmt.Fprintf(os.Stderr, "usage: MCP_CONFORMANCE_SCENARIO=NAME driver … URL, not NAME=%q\nknown are auth/… and %s\n",
			name, strings.Join(slices.Sorted(maps.Keys(scenarios)), ", "))
		return exitUsage
	}
	folder, err := os.MkdirTemp("", "driver")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	defer os.RemoveAll(folder)
	h := &host{context: json.RawMessage(env("MCP_CONFORMANCE_CONTEXT")), folder: folder}
	err = h.connect(ctx, name, args[len(args)-1])
	if err == nil {
		err = errors.Join(do(ctx, h), h.Close(ctx))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return exitTimeout
	}
	return exitFailed
}

// A host is an agent with one MCP server. What the server asks it answers by itself, for want of a user.
type host struct {
	*client.Client

	context json.RawMessage // what the suite tells of the scenario, an object; empty: nothing
	folder  string          // for files that are named in the entry
	elicit  func(ctx context.Context) (content json.RawMessage, err error)
}

// connect negotiates for real: the suite's hint about the revision is not looked at.
func (h *host) connect(ctx context.Context, scenario, url string) error {
	var o mcpwire.Options
	o.CacheDir = "none"
	o.Info = mcp.Implementation{Name: "mcpwire-conformance", Version: client.Version}
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	o.Input = &client.InputHandler{Roots: h.roots, Sample: h.sample, Elicit: h.fillIn}
	entry := config.Server{Name: "suite", Type: "http", URL: url}
	var err error
	if entry.Auth, err = h.identity(scenario); err != nil {
		return err
	}
	o.StateDir = "none" // logins too end with the process
	o.Auth.Authorizer = user{}
	c, err := mcpwire.Connect(ctx, entry, o)
	h.Client = c
	return err
}

func (h *host) roots(context.Context) ([]mcp.Root, error) {
	return []mcp.Root{{URI: "file:///work", Name: "work"}}, nil
}

func (h *host) sample(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{
		Role: mcp.RoleAssistant, Content: mcp.Blocks{mcp.Text("Yes.")}, Model: "none",
		StopReason: mcp.StopEndTurn,
	}, nil
}

// fillIn accepts every form, with what the scenario says; the fields that are left out are the library's business.
func (h *host) fillIn(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	content := json.RawMessage(`{}`)
	if h.elicit != nil {
		var err error
		if content, err = h.elicit(ctx); err != nil {
			return nil, err
		}
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

// call calls a tool. A result that says that the call failed is a failure here.
func (h *host) call(ctx context.Context, name string, args any) error {
	result, err := h.CallTool(ctx, name, args, nil)
	if err != nil {
		return err
	}
	if result.IsError {
		text, _ := mcp.Encode(result.Content)
		return fmt.Errorf("%s failed: %s", name, text)
	}
	return nil
}
