package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/mcp"
	"mcpwire/rpc"
)

// CallOptions configure one tool call. The zero value works.
type CallOptions struct {
	// Timeout is how long to wait for the result (0: as Options.Timeout says; negative: no limit).
	Timeout time.Duration
	// Limit is a total that nothing extends (0: 10 min; negative: none).
	Limit time.Duration
	// OnProgress gets the call's progress, in order; see rpc.RequestOptions.OnProgress.
	OnProgress func(mcp.ProgressParams)
	// ExtendOnProgress restarts Timeout at each progress notification.
	ExtendOnProgress bool
	// Meta is an object whose members go into the request's _meta; may be nil.
	Meta json.RawMessage
}

// ListTools returns the server's tools, from all pages. Where the list is incomplete, the tools read so far come with a
// *ListError. Other errors are those of rpc.Peer.Request.
func (c *Client) ListTools(ctx context.Context) ([]mcp.Tool, error) {
	return walk(ctx, c, mcp.MethodListTools, c.toolsPage, func(t mcp.Tool) string { return t.Name })
}

// toolsPage decodes a page. If that fails, it is decoded tool by tool, so that one that is malformed costs only itself.
func (c *Client) toolsPage(raw json.RawMessage) (page[mcp.Tool], error) {
	var result mcp.ListToolsResult
	err := c.decode(mcp.MethodListTools, raw, &result)
	if err == nil {
		return page[mcp.Tool]{result.Tools, result.NextCursor}, nil
	}
	var loose struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor *string           `json:"nextCursor"`
	}
	if mcp.Decode(raw, &loose) != nil {
		return page[mcp.Tool]{}, err
	}
	p := page[mcp.Tool]{next: loose.NextCursor}
	for _, text := range loose.Tools {
		var t mcp.Tool
		if err := mcp.Decode(text, &t); err != nil {
			c.log.Warn("a tool that can't be decoded is left out", "error", err)
			continue
		}
		p.items = append(p.items, t)
	}
	return p, nil
}

// CallTool calls a tool and waits for its result. args is nil, a JSON object as json.RawMessage, or a value that
// encodes to one. o may be nil. A result with IsError is a result, not an error (2025-11-25, tools, error handling).
// The errors are those of rpc.Peer.Request; a *transport.Error tells whether the tool may have run. A call is never
// repeated.
func (c *Client) CallTool(ctx context.Context, name string, args any, o *CallOptions) (*mcp.CallToolResult, error) {
	if o == nil {
		o = &CallOptions{}
	}
	params, err := callParams(name, args)
	if err != nil {
		return nil, err
	}
	request := rpc.RequestOptions{
		Timeout: o.Timeout, Limit: o.Limit, Extend: o.ExtendOnProgress, Meta: o.Meta, Name: name,
	}
	if request.Timeout == 0 {
		request.Timeout = c.options.Timeout
	}
	if o.OnProgress != nil {
		request.OnProgress = c.progress(o.OnProgress)
	}
	raw, err := c.era.request(ctx, mcp.MethodCallTool, params, request)
	if err != nil {
		return nil, err
	}
	var result mcp.CallToolResult
	if err := c.decode(mcp.MethodCallTool, raw, &result); err != nil {
		return nil, err
	}
	if string(result.StructuredContent) == "null" && c.era.nullIsAbsent() {
		result.StructuredContent = nil
	}
	return &result, nil
}

func callParams(name string, args any) (json.RawMessage, error) {
	raw, ok := args.(json.RawMessage)
	if args != nil && !ok {
		encoded, err := mcp.Encode(args)
		if err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", name, err)
		}
		raw = encoded
	}
	if kind := jsontext.Value(raw).Kind(); len(raw) > 0 && kind != '{' {
		return nil, fmt.Errorf("arguments of %s: a JSON object is needed, not %s", name, kind)
	}
	params, err := mcp.Encode(mcp.CallToolParams{Name: name, Arguments: raw})
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", name, err)
	}
	return params, nil
}

// progress decodes progress for f; what can't be decoded is dropped.
func (c *Client) progress(f func(mcp.ProgressParams)) func(json.RawMessage) {
	return func(raw json.RawMessage) {
		var p mcp.ProgressParams
		if err := mcp.Decode(raw, &p); err != nil {
			c.log.Warn("progress that can't be decoded is dropped", "error", err)
			return
		}
		f(p)
	}
}

// decode decodes a result; a failure is that of this call alone.
func (c *Client) decode(method string, raw json.RawMessage, result any) error {
	if err := mcp.Decode(raw, result); err != nil {
		return &rpc.DecodeError{Server: c.options.Server, Method: method, Err: err}
	}
	return nil
}
