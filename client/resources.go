package client

import (
	"context"

	"mcpwire/mcp"
	"mcpwire/rpc"
)

// ListResources returns the server's resources, from all pages, each URI once. Errors are as those of ListTools.
func (c *Client) ListResources(ctx context.Context) ([]mcp.Resource, error) {
	return walk(ctx, c, listing[mcp.Resource]{
		method: mcp.MethodListResources, items: "resources", key: func(r *mcp.Resource) string { return r.URI },
	})
}

// ListResourceTemplates returns the templates of the server's resources, from all pages, each URI template once. Errors
// are as those of ListTools.
func (c *Client) ListResourceTemplates(ctx context.Context) ([]mcp.ResourceTemplate, error) {
	return walk(ctx, c, listing[mcp.ResourceTemplate]{
		method: mcp.MethodListResourceTemplates, items: "resourceTemplates",
		key: func(t *mcp.ResourceTemplate) string { return t.URITemplate },
	})
}

// ReadResource returns the contents of a resource. It may name several: those of a directory, or parts. That there is
// no such resource is a *jsonrpc.Error with mcp.CodeResourceNotFound (up to 2025-11-25) or jsonrpc.CodeInvalidParams
// (from 2026-07-28 on). Other errors are those of rpc.Peer.Request, and *InputError.
func (c *Client) ReadResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	params, err := mcp.Encode(mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	o := rpc.RequestOptions{Timeout: c.options.Timeout, Name: uri}
	raw, err := c.era.request(ctx, mcp.MethodReadResource, params, o)
	if err != nil {
		return nil, err
	}
	var result mcp.ReadResourceResult
	result.Contents, err = decodeList(c, mcp.MethodReadResource, raw, "contents", &result, hasContents)
	if err != nil {
		return nil, err
	}
	return &result, nil
}

// hasContents reports whether something was read. An answer without the URI is still one.
func hasContents(r *mcp.ResourceContents) bool { return r.URI != "" || r.Text != nil || r.Blob != nil }

// ForgetResource has the next ReadResource of this URI ask the server, even if what was read before may be kept for
// longer (2026-07-28, caching). It reports whether anything had been kept.
func (c *Client) ForgetResource(uri string) bool {
	e := c.newer.Load()
	return e != nil && e.cache.drop(resourcePrefix(uri))
}
