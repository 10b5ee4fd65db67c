package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/mcp"
)

// Items are those of a list, as JSON, by name; nil: they have not been read.
type items map[string]string

// A watchedList is what a notification tells of that a list has changed.
type watchedList struct {
	method string
	kind   string
	// offers reports whether the server has such a list, and whether it tells of changes.
	offers func(mcp.ServerCapabilities) (has, tells bool)
	read   func(context.Context, *client.Client, config.ToolFilter) (items, error)
}

var watchedLists = []watchedList{
	{
		method: mcp.NotificationToolsChanged, kind: "tools",
		offers: func(c mcp.ServerCapabilities) (has, tells bool) {
			return c.Tools != nil, c.Tools != nil && c.Tools.ListChanged
		},
		read: func(ctx context.Context, c *client.Client, filter config.ToolFilter) (items, error) {
			tools, err := c.ListTools(ctx)
			tools = slices.DeleteFunc(tools, func(t mcp.Tool) bool { return !filter.Allows(t.Name) })
			return itemsOf(tools, err, toolList.encode, func(t *mcp.Tool) string { return t.Name })
		},
	},
	{
		method: mcp.NotificationPromptsChanged, kind: "prompts",
		offers: func(c mcp.ServerCapabilities) (has, tells bool) {
			return c.Prompts != nil, c.Prompts != nil && c.Prompts.ListChanged
		},
		read: func(ctx context.Context, c *client.Client, _ config.ToolFilter) (items, error) {
			all, err := c.ListPrompts(ctx)
			return itemsOf(all, err, prompts.encode, func(p *mcp.Prompt) string { return p.Name })
		},
	},
	{
		method: mcp.NotificationResourcesChanged, kind: "resources", // and of their templates
		offers: func(c mcp.ServerCapabilities) (has, tells bool) {
			return c.Resources != nil, c.Resources != nil && c.Resources.ListChanged
		},
		read: func(ctx context.Context, c *client.Client, _ config.ToolFilter) (items, error) {
			all, err := c.ListResources(ctx)
			found, err := itemsOf(all, err, resources.encode, func(r *mcp.Resource) string { return r.URI })
			if err != nil {
				return nil, err
			}
			patterns, err := c.ListResourceTemplates(ctx)
			more, err := itemsOf(patterns, err, templates.encode, func(t *mcp.ResourceTemplate) string { return t.URITemplate })
			maps.Copy(found, more)
			return found, err
		},
	},
}

// itemsOf returns what was listed. A list that is incomplete is none: what is missing would look removed.
func itemsOf[T any](
	all []T, listErr error, encode func(*T) (json.RawMessage, error), name func(*T) string,
) (items, error) {
	if listErr != nil {
		return nil, listErr
	}
	found := items{}
	for i := range all {
		text, err := encode(&all[i])
		if err != nil {
			return nil, err
		}
		found[name(&all[i])] = string(text)
	}
	return found, nil
}

// A difference is what has become of a list, by names in their order.
type difference struct{ added, removed, changed []string }

func differenceOf(before, after items) (d difference) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		old, was := before[name]
		switch {
		case !was:
			d.added = append(d.added, name)
		case old != after[name]:
			d.changed = append(d.changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, is := after[name]; !is {
			d.removed = append(d.removed, name)
		}
	}
	return d
}

func (d difference) none() bool { return len(d.added)+len(d.removed)+len(d.changed) == 0 }

// text is "+ new, - gone, ~ other".
func (d difference) text() string {
	var parts []string
	for _, of := range []struct {
		sign  string
		names []string
	}{{"+ ", d.added}, {"- ", d.removed}, {"~ ", d.changed}} {
		for _, name := range of.names {
			parts = append(parts, of.sign+name)
		}
	}
	return strings.Join(parts, ", ")
}

// facts adds the names to what JSON has.
func (d difference) facts(o *object) {
	for _, of := range []struct {
		member string
		names  []string
	}{{"added", d.added}, {"removed", d.removed}, {"changed", d.changed}} {
		if of.names == nil {
			of.names = []string{}
		}
		o.addTexts(of.member, of.names)
	}
}
