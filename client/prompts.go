package client

import (
	"context"

	"mcpwire/mcp"
	"mcpwire/rpc"
)

// ListPrompts returns the server's prompts, from all pages, each name once. Errors are as those of ListTools.
func (c *Client) ListPrompts(ctx context.Context) ([]mcp.Prompt, error) {
	return walk(ctx, c, listing[mcp.Prompt]{
		method: mcp.MethodListPrompts, items: "prompts", key: func(p *mcp.Prompt) string { return p.Name },
	})
}

// GetPrompt fills a prompt in. args may be nil. The errors are those of rpc.Peer.Request, and *InputError.
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string) (*mcp.GetPromptResult, error) {
	params, err := mcp.Encode(mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return nil, err
	}
	o := rpc.RequestOptions{Timeout: c.options.Timeout, Name: name}
	raw, err := c.era.request(ctx, mcp.MethodGetPrompt, params, o)
	if err != nil {
		return nil, err
	}
	var result mcp.GetPromptResult
	result.Messages, err = decodeList(c, mcp.MethodGetPrompt, raw, "messages", &result, saysSomething)
	if err != nil {
		return nil, err
	}
	return &result, nil
}

func saysSomething(m *mcp.PromptMessage) bool { return hasContent(&m.Content) }
