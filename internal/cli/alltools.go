package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/config"
	"mcpwire/manager"
	"mcpwire/mcp"
)

// allTools lists the tools of all configured servers.
func (a *app) allTools(ctx context.Context, f *serverFlags) error {
	servers, lost, err := a.configured(nil, f)
	switch {
	case err != nil:
		return err
	case len(servers) == 0 && lost == nil:
		return usagef("no server is given and none is configured; write \"mcpwire tools SERVER\", as in " +
			"\"mcpwire tools demo\", or \"mcpwire tools -- COMMAND ARG...\"")
	}
	return a.withManager(ctx, servers, f, func(ctx context.Context, m *manager.Manager) error {
		s, err := a.settledQuietly(ctx, m)
		if err != nil {
			return err
		}
		tools := liveTools(s)
		if f.output.json {
			err = a.printAllJSON(tools)
		} else {
			err = a.printAll(tools)
		}
		if err != nil {
			return err
		}
		a.showTroubles(s)
		return verdict(s, len(lost))
	})
}

// liveTools returns the tools that servers have told in this run, by the names of server and tool.
func liveTools(s *manager.Snapshot) []manager.Tool {
	stale := map[string]bool{}
	for _, one := range s.Servers {
		stale[one.Config.Name] = one.Cached
	}
	return slices.DeleteFunc(slices.Clone(s.Tools), func(t manager.Tool) bool {
		return t.Now != manager.Live || stale[t.Server]
	})
}

// showTroubles tells what is wrong with each server, and which ones have no tools.
func (a *app) showTroubles(s *manager.Snapshot) {
	for _, one := range s.Servers {
		name := one.Config.Name
		switch err := trouble(one); {
		case err != nil:
			a.console.line("mcpwire: " + indented(withName(name, err)))
		case one.State == manager.Ready && one.Tools == 0:
			a.console.line(toolless(one.Config))
		}
	}
}

// toolless tells of a server without tools. Whether its entry's filter keeps some out is not known.
func toolless(s config.Server) string {
	if len(s.Tools.Allow)+len(s.Tools.Deny) > 0 {
		return s.Name + " has no tools, or none that its entry allows"
	}
	return s.Name + " has no tools"
}

// printAll prints tools under their servers, each with its safe name.
func (a *app) printAll(tools []manager.Tool) error {
	var b strings.Builder
	server := ""
	for i, t := range tools {
		if i == 0 || t.Server != server {
			if i > 0 {
				b.WriteString("\n")
			}
			server = t.Server
			b.WriteString(a.out.heading(server) + "\n")
		}
		fmt.Fprintf(&b, "  %s  [%s]", a.out.shown(t.Name), t.SafeName)
		if about := firstLine(t.Description, t.Title); about != "" {
			b.WriteString("  " + a.out.shown(about))
		}
		b.WriteString("\n")
		for line := range strings.Lines(argumentLines(newSchema(t.InputSchema).properties())) {
			b.WriteString("  " + a.out.shown(line))
		}
	}
	return a.out.write(b.String())
}

func (a *app) printAllJSON(tools []manager.Tool) error {
	var list [][]byte
	for _, t := range tools {
		encoded, err := encodedTool(t.Tool)
		if err != nil {
			return err
		}
		named := []byte(`{"server":`)
		named, _ = jsontext.AppendQuote(named, t.Server) // broken UTF-8 becomes U+FFFD, and the error only says so
		named = append(named, `,"safeName":"`+t.SafeName+`",`...)
		list = append(list, append(named, encoded[1:]...))
	}
	return a.printList("tools", list)
}

// encodedTool returns a tool as the server sent it.
func encodedTool(tool mcp.Tool) (json.RawMessage, error) {
	encoded, err := mcp.Encode(tool)
	if err != nil {
		return nil, err
	}
	return exact(encoded, map[string]json.RawMessage{
		"inputSchema": tool.InputSchema, "outputSchema": tool.OutputSchema, "_meta": tool.Meta,
	}), nil
}
