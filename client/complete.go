package client

import (
	"context"
	"encoding/json"

	"mcpwire/mcp"
	"mcpwire/rpc"
)

// Complete asks how an argument of a prompt or a resource template could be completed. settled holds the values of the
// arguments that are known already, from 2025-06-18 on; it may be nil. The answer has at most 100 values, best first
// (2025-11-25, completion). The errors are those of rpc.Peer.Request: a *jsonrpc.Error with jsonrpc.CodeMethodNotFound
// where the server completes nothing.
func (c *Client) Complete(
	ctx context.Context, ref mcp.CompletionReference, argument mcp.CompletionArgument, settled map[string]string,
) (*mcp.CompleteResult, error) {
	p := mcp.CompleteParams{Ref: ref, Argument: argument}
	if len(settled) > 0 {
		p.Context = &mcp.CompletionContext{Arguments: settled}
	}
	params, err := mcp.Encode(p)
	if err != nil {
		return nil, err
	}
	raw, err := c.era.request(ctx, mcp.MethodComplete, params, rpc.RequestOptions{Timeout: c.options.Timeout})
	if err != nil {
		return nil, err
	}
	return c.completion(raw)
}

// completion decodes an answer. One without values has none.
func (c *Client) completion(raw json.RawMessage) (*mcp.CompleteResult, error) {
	var result mcp.CompleteResult
	completion, others, err := cut(raw, "completion")
	if err != nil {
		others = raw // what is wrong with it is told by decode
	}
	if err := c.decodeRest(mcp.MethodComplete, others, &result); err != nil {
		return nil, err
	}
	if completion == nil {
		return &result, nil
	}
	all := func(*string) bool { return true }
	result.Completion.Values, err = decodeList(
		c, mcp.MethodComplete, completion, "values", &result.Completion, all)
	if err != nil {
		return nil, err
	}
	return &result, nil
}
