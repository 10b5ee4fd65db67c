package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
	"mcpwire/mcp"
	"mcpwire/rpc"
)

// CallOptions configure one tool call. The zero value works.
type CallOptions struct {
	// Timeout is how long to wait for the result (0: as Options.Timeout says; negative: no limit).
	Timeout time.Duration
	// Limit is a total that nothing extends (0: 10 min, but never less than the timeout; negative: none).
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
	tools, err := walk(ctx, c, listing[mcp.Tool]{
		method: mcp.MethodListTools, items: "tools",
		key:   func(t *mcp.Tool) string { return t.Name },
		quick: quickTools,
	})
	tools = c.era.listed(tools)
	if err == nil || tools != nil {
		c.rememberSchemas(tools)
	}
	return tools, err
}

// quickTools reads a page of tools that all have a name.
func quickTools(raw json.RawMessage) (page[mcp.Tool], bool) {
	var result mcp.ListToolsResult
	if !mcp.QuickListToolsResult(raw, &result) {
		return page[mcp.Tool]{}, false
	}
	for i := range result.Tools {
		if result.Tools[i].Name == "" {
			return page[mcp.Tool]{}, false
		}
	}
	return page[mcp.Tool]{result.Tools, result.NextCursor}, true
}

// CallTool calls a tool and waits for its result. args is nil, a JSON object as json.RawMessage, which is sent as it
// is, or a value that encodes to one. o may be nil. A result with IsError is a result, not an error (2025-11-25, tools,
// error handling). The errors are those of rpc.Peer.Request, and *ArgumentError where arguments are checked; a
// *transport.Error tells whether the tool may have run. A call is never repeated.
func (c *Client) CallTool(ctx context.Context, name string, args any, o *CallOptions) (*mcp.CallToolResult, error) {
	if o == nil {
		o = &CallOptions{}
	}
	buf, ok := spareParams.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	defer giveBack(buf) // a request is copied into its message, and what checks the arguments keeps none of them
	params, raw, err := callParams((*buf)[:0], name, args)
	if err != nil {
		return nil, err
	}
	*buf = params
	if err := c.checkArguments(name, raw); err != nil {
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
	raw, err = c.era.request(ctx, mcp.MethodCallTool, params, request)
	if err != nil {
		return nil, err
	}
	result, err := c.decodeCall(raw)
	if err != nil {
		return nil, err
	}
	if string(result.StructuredContent) == "null" && c.era.nullIsAbsent() {
		result.StructuredContent = nil
	}
	c.checkResult(name, result)
	return result, nil
}

// decodeCall decodes the result of a call.
func (c *Client) decodeCall(raw json.RawMessage) (*mcp.CallToolResult, error) {
	if result, ok := mcp.QuickCallToolResult(raw); ok {
		return result, nil
	}
	var result mcp.CallToolResult
	content, err := decodeList(c, mcp.MethodCallTool, raw, "content", &result, hasContent)
	result.Content = content
	return &result, err
}

// hasContent reports whether a block is more than an empty object.
func hasContent(block *mcp.Content) bool { return block.Type != "" || len(block.Extra) > 0 }

// spareParams is memory of calls that are over.
var spareParams sync.Pool

// maxSpareParams is how many bytes are kept at most for later calls.
const maxSpareParams = 4 << 10

func giveBack(buf *[]byte) {
	if cap(*buf) <= maxSpareParams {
		spareParams.Put(buf)
	}
}

// callParams appends the params of a call to buf, which is empty. It returns them, and the arguments alone, which share
// their memory.
func callParams(buf []byte, name string, args any) (params, raw json.RawMessage, err error) {
	given, ok := args.(json.RawMessage)
	if kind := jsontext.Value(given).Kind(); len(given) > 0 && kind != '{' {
		return nil, nil, noObject(name, kind)
	}
	if len(given) > 0 {
		if err := jsonscan.Members(given, func(_, _ []byte) error { return nil }); err != nil {
			return nil, nil, fmt.Errorf("arguments of %s: %w", name, err)
		}
	}
	buf = slices.Grow(buf, len(name)+sizeOfArguments(args)+len(`{"name":"","arguments":}`))
	buf = append(buf, `{"name":`...)
	buf, _ = jsontext.AppendQuote(buf, name) // broken UTF-8 becomes U+FFFD, and the error only says so
	if args == nil || ok && len(given) == 0 {
		return append(buf, '}'), given, nil
	}
	buf = append(buf, `,"arguments":`...)
	start := len(buf)
	if buf, err = appendArguments(buf, args); err != nil {
		return nil, nil, fmt.Errorf("arguments of %s: %w", name, err)
	}
	raw = json.RawMessage(buf[start:len(buf):len(buf)])
	if kind := jsontext.Value(raw).Kind(); kind != '{' {
		return nil, nil, noObject(name, kind)
	}
	return append(buf, '}'), raw, nil
}

func noObject(tool string, kind jsontext.Kind) error {
	return fmt.Errorf("arguments of %s: a JSON object is needed, not %s", tool, kind)
}

// sizeOfArguments guesses how many bytes arguments take.
func sizeOfArguments(args any) int {
	switch args := args.(type) {
	case json.RawMessage:
		return len(args)
	case map[string]any:
		size := len(`{}`)
		for name, value := range args {
			const other = 24
			size += len(name) + len(`"":,`) + other
			if text, ok := value.(string); ok {
				size += len(text) + len(`""`) - other
			}
		}
		return size
	}
	return 128
}

// appendArguments appends what mcp.Encode returns, and is quicker for what hosts mostly have.
func appendArguments(buf []byte, args any) ([]byte, error) {
	if given, ok := args.(json.RawMessage); ok {
		return append(buf, given...), nil
	}
	members, ok := args.(map[string]any)
	if !ok || members == nil {
		encoded, err := mcp.Encode(args)
		return append(buf, encoded...), err
	}
	names := slices.AppendSeq(make([]string, 0, 8), maps.Keys(members))
	slices.Sort(names)
	buf = append(buf, '{')
	for i, name := range names {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf, _ = jsontext.AppendQuote(buf, name) // as above
		buf = append(buf, ':')
		switch value := members[name].(type) {
		case string:
			buf, _ = jsontext.AppendQuote(buf, value)
		case int:
			buf = strconv.AppendInt(buf, int64(value), 10)
		case bool:
			buf = strconv.AppendBool(buf, value)
		default:
			encoded, err := mcp.Encode(value)
			if err != nil {
				return nil, err
			}
			buf = append(buf, encoded...)
		}
	}
	return append(buf, '}'), nil
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
