package cli

import (
	"context"

	"mcpwire/client"
	"mcpwire/internal/filecache"
	"mcpwire/internal/toolcache"
	"mcpwire/mcp"
)

// listedTools lists a server's tools, and keeps a whole list for later runs: for the shell's completion, and for hosts
// that start with what is known.
func listedTools(ctx context.Context, c *client.Client, t target) ([]mcp.Tool, error) {
	tools, err := c.ListTools(ctx)
	if err == nil {
		s := c.Server()
		s.Info.Name, s.Info.Version = c.Mask(s.Info.Name), c.Mask(s.Info.Version)
		_ = knownTools().Store(toolKey(t), toolcache.Entry{ // without it later runs know less
			Tools: tools, Revision: s.Revision, Instructions: s.Instructions, Info: s.Info,
		})
	}
	return tools, err
}

// knownTools is the cache that a manager keeps too.
func knownTools() toolcache.Cache {
	if folder := filecache.UserFolder(); folder != "" {
		return toolcache.In(folder)
	}
	return toolcache.Cache{}
}

func toolKey(t target) string { return toolcache.Key(t.Name, t.Fingerprint()) }
