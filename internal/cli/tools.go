package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/internal/jsonscan"
	"mcpwire/mcp"
)

func toolsCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use:   "tools [flags] [SERVER]\n  mcpwire tools [flags] -- COMMAND ARG...",
		Short: "List the tools of a server, or of all configured ones",
		Long: `List a server's tools: name, first line of the description, arguments with their types.

Without SERVER, the tools of all configured servers are listed, each with the name that a model would know it by, in []:
it is unique over all servers. What is wrong with a server is told on standard error; the exit code is 5 if some have
failed, 1 if all have.

With --output json they come as {"tools":[...]}, with their schemas as the server sent them, those of all servers with
"server" and "safeName" before.`,
		Example: `  mcpwire tools
  mcpwire tools demo
  mcpwire tools -- npx -y some-mcp-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && cmd.ArgsLenAtDash() < 0 && !a.hasServer() {
				return a.allTools(cmd.Context(), f)
			}
			t, err := a.onlyServer(cmd, args, f)
			if err != nil {
				return err
			}
			return a.withClient(cmd.Context(), t, f, func(ctx context.Context, c *client.Client) error {
				return a.listTools(ctx, c, t, f)
			})
		},
	}
	f.add(cmd)
	return cmd
}

// listTools prints the tools; of an incomplete list what there is, before the error.
func (a *app) listTools(ctx context.Context, c *client.Client, t target, f *serverFlags) error {
	a.console.say("listing the tools of " + t.Name)
	tools, err := listedTools(ctx, c, t)
	all := len(tools)
	tools = slices.DeleteFunc(tools, func(tool mcp.Tool) bool { return !t.Tools.Allows(tool.Name) })
	if err == nil && len(tools) == 0 && all > 0 && !f.output.json {
		a.console.linef("the entry of %s allows none of its %d tools", t.Name, all)
		return nil
	}
	return toolList.print(a, t, f, tools, err)
}

var toolList = listing[mcp.Tool]{
	things: "tools",
	member: "tools",
	encode: func(t *mcp.Tool) (json.RawMessage, error) { return encodedTool(*t) },
	text: func(o *output, t *mcp.Tool) string {
		text := o.heading(t.Name)
		if about := firstLine(t.Description, t.Title); about != "" {
			text += "  " + o.shown(about)
		}
		return text + "\n" + o.shown(argumentLines(newSchema(t.InputSchema).properties()))
	},
}

// argumentLines shows one argument a line: name, type, whether it is required, description.
func argumentLines(properties []property) string {
	var types []string
	nameWidth, typeWidth := 0, 0
	for _, p := range properties {
		t := p.schema.typeName()
		if p.required {
			t += ", required"
		}
		types = append(types, t)
		nameWidth = max(nameWidth, utf8.RuneCountInString(p.name))
		typeWidth = max(typeWidth, utf8.RuneCountInString(t))
	}
	var b strings.Builder
	for i, p := range properties {
		line := "    " + padded(p.name, nameWidth) + "  " + padded(types[i], typeWidth) + "  " + firstLine(p.description)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

const descriptionShown = 100 // characters

// firstLine returns the first line of the first text that has one, cut to a length that fits a list.
func firstLine(texts ...string) string {
	for _, text := range texts {
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		line = strings.Join(strings.Fields(line), " ")
		if runes := []rune(line); len(runes) > descriptionShown {
			return strings.TrimRight(string(runes[:descriptionShown-1]), " ") + "…"
		}
		if line != "" {
			return line
		}
	}
	return ""
}

// exact puts payloads back as they came: encoding drops the white space in them.
func exact(encoded json.RawMessage, payloads map[string]json.RawMessage) json.RawMessage {
	var o object
	_ = jsonscan.Members(encoded, func(name, value []byte) error { // it has just been encoded
		if payload := payloads[string(name)]; payload != nil {
			value = payload
		}
		o.add(string(name), value)
		return nil
	})
	return o.text()
}

// printJSON prints one value. On a terminal, control characters that JSON allows within strings are left out.
func (a *app) printJSON(text json.RawMessage) error { return a.out.show(string(text) + "\n") }
