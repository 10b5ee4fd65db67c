package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/mcp"
)

// A listing is a kind of list that servers have.
type listing[T any] struct {
	things string // what they are, in the plural
	member string // of the JSON form: as the method's result calls them
	list   func(*client.Client, context.Context) ([]T, error)
	encode func(*T) (json.RawMessage, error) // one item, with its payloads as the server sent them
	text   func(*output, *T) string          // one item, with a line feed behind it
}

var resources = listing[mcp.Resource]{
	things: "resources",
	member: "resources",
	list:   (*client.Client).ListResources,
	encode: func(r *mcp.Resource) (json.RawMessage, error) { return encodedWith(r, r.Meta) },
	text: func(o *output, r *mcp.Resource) string {
		size := ""
		if r.Size != nil {
			size = byteSize(*r.Size)
		}
		return place(o, r.URI, r.Description, r.Title, r.Name, r.MIMEType, size)
	},
}

var templates = listing[mcp.ResourceTemplate]{
	things: "resource templates",
	member: "resourceTemplates",
	list:   (*client.Client).ListResourceTemplates,
	encode: func(t *mcp.ResourceTemplate) (json.RawMessage, error) { return encodedWith(t, t.Meta) },
	text: func(o *output, t *mcp.ResourceTemplate) string {
		return place(o, t.URITemplate, t.Description, t.Title, t.Name, t.MIMEType)
	},
}

var prompts = listing[mcp.Prompt]{
	things: "prompts",
	member: "prompts",
	list:   (*client.Client).ListPrompts,
	encode: func(p *mcp.Prompt) (json.RawMessage, error) { return encodedWith(p, p.Meta) },
	text: func(o *output, p *mcp.Prompt) string {
		text := o.heading(p.Name)
		if about := firstLine(p.Description, p.Title); about != "" {
			text += "  " + o.shown(about)
		}
		return text + "\n" + o.shown(argumentLines(promptProperties(*p)))
	},
}

// place shows a resource or a template on one line: where it is, what is known of it, and what it is about.
func place(o *output, uri, about, title, name string, more ...string) string {
	facts := append([]string{firstLine(title, name)}, more...)
	text := o.heading(uri)
	if facts := bracketed(facts...); facts != "[]" {
		text += "  " + o.shown(facts)
	}
	if about = firstLine(about); about != "" {
		text += "  " + o.shown(about)
	}
	return text + "\n"
}

func resourcesCommand(a *app) *cobra.Command {
	return listCommand(a, resources, &cobra.Command{
		Short: "List the resources of a server",
		Long: `List a server's resources: URI, name, media type, size, first line of the description.

With --output json they come as {"resources":[...]}. "mcpwire templates" lists the patterns of URIs that a server has
for more resources, "mcpwire read" shows what one holds.`,
	})
}

func templatesCommand(a *app) *cobra.Command {
	return listCommand(a, templates, &cobra.Command{
		Short: "List the templates of a server's resources",
		Long: `List the templates of a server's resources: URI template (RFC 6570), name, media type, first line of the
description. What fits in one is found with "mcpwire complete".

With --output json they come as {"resourceTemplates":[...]}.`,
	})
}

func promptsCommand(a *app) *cobra.Command {
	return listCommand(a, prompts, &cobra.Command{
		Short: "List the prompts of a server",
		Long: `List a server's prompts: name, first line of the description, arguments.

With --output json they come as {"prompts":[...]}. "mcpwire prompt" fills one in.`,
	})
}

// listCommand completes the command that prints a list. Its name is the last word of what is listed.
func listCommand[T any](a *app, l listing[T], cmd *cobra.Command) *cobra.Command {
	f := &serverFlags{}
	words := strings.Fields(l.things)
	name := words[len(words)-1]
	cmd.Use = name + " [flags] SERVER\n  mcpwire " + name + " [flags] -- COMMAND ARG..."
	cmd.Example = "  mcpwire " + name + " demo\n  mcpwire " + name + " -o json -- npx -y some-mcp-server"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := a.onlyServer(cmd, args, f)
		if err != nil {
			return err
		}
		return a.withClient(cmd.Context(), t, f, func(ctx context.Context, c *client.Client) error {
			a.console.say("listing the " + l.things + " of " + t.Name)
			items, err := l.list(c, ctx)
			return l.print(a, t, f, items, err)
		})
	}
	f.add(cmd)
	return cmd
}

// print shows the items; of an incomplete list what there is, before the error that it ended with.
func (l listing[T]) print(a *app, t target, f *serverFlags, items []T, listErr error) error {
	if listErr != nil && len(items) == 0 {
		return listErr
	}
	var err error
	switch {
	case f.output.json:
		err = l.printJSON(a, items)
	case len(items) == 0:
		a.console.linef("%s has no %s", t.Name, l.things)
	default:
		err = l.show(a.out, items)
	}
	if listErr != nil {
		return listErr
	}
	return err
}

func (l listing[T]) show(o *output, items []T) error {
	var b strings.Builder
	for i := range items {
		b.WriteString(l.text(o, &items[i]))
	}
	return o.write(b.String())
}

func (l listing[T]) printJSON(a *app, items []T) error {
	var list [][]byte
	for i := range items {
		encoded, err := l.encode(&items[i])
		if err != nil {
			return err
		}
		list = append(list, encoded)
	}
	return a.printList(l.member, list)
}

// printList prints JSON values as the only member of an object: a list.
func (a *app) printList(member string, values [][]byte) error {
	var all object
	all.add(member, slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]")))
	return a.printJSON(all.text())
}

// encodedWith returns v as JSON, with its _meta as it came.
func encodedWith(v any, meta json.RawMessage) (json.RawMessage, error) {
	encoded, err := mcp.Encode(v)
	if err != nil {
		return nil, err
	}
	return exact(encoded, map[string]json.RawMessage{"_meta": meta}), nil
}
