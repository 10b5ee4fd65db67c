package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// A page is one page of a list, decoded.
type page[T any] struct {
	items []T
	next  *string
}

// walk reads a list page by page (2025-11-25, pagination). An item whose key came before is dropped, since servers that
// page wrongly send the same ones again. A server that doesn't know the method has an empty list. If the walk ends
// early, what was read so far is returned with a *ListError; the error of the first page is returned as it is.
func walk[T any](
	ctx context.Context, c *Client, method string, decode func(raw json.RawMessage) (page[T], error), key func(T) string,
) ([]T, error) {
	if limit := c.options.ListTimeout; limit > 0 {
		cause := &transport.TimeoutError{What: method, After: limit}
		bounded, cancel := context.WithTimeoutCause(ctx, limit, cause)
		defer cancel()
		ctx = bounded
	}
	var all []T
	names, cursors := map[string]bool{}, map[string]bool{}
	var cursor *string
	for pages := 0; ; pages++ {
		incomplete := func(err error) ([]T, error) {
			return all, &ListError{Server: c.options.Server, Method: method, Pages: pages, Err: err}
		}
		switch {
		case cursor != nil && cursors[*cursor]:
			return incomplete(fmt.Errorf("%w: %.80q", ErrCursorRepeats, *cursor))
		case pages == c.options.ListPages:
			return incomplete(fmt.Errorf("%w: the limit is %d", ErrTooManyPages, pages))
		case cursor != nil:
			cursors[*cursor] = true
		}
		p, err := readPage(ctx, c, method, cursor, decode)
		var refusal *jsonrpc.Error
		switch {
		case err == nil:
		case pages > 0:
			return incomplete(err)
		case errors.As(err, &refusal) && refusal.Code == jsonrpc.CodeMethodNotFound:
			return nil, nil
		default:
			return nil, err
		}
		all = appendNew(c, method, all, p.items, names, key)
		if c.era.endsList(p.next) {
			return all, nil
		}
		cursor = p.next
	}
}

func readPage[T any](
	ctx context.Context, c *Client, method string, cursor *string, decode func(raw json.RawMessage) (page[T], error),
) (page[T], error) {
	var params json.RawMessage
	if cursor != nil {
		encoded, err := mcp.Encode(mcp.ListParams{Cursor: cursor})
		if err != nil {
			return page[T]{}, err
		}
		params = encoded
	}
	raw, err := c.era.request(ctx, method, params, rpc.RequestOptions{Timeout: c.options.Timeout})
	if err != nil {
		return page[T]{}, err
	}
	return decode(raw)
}

// appendNew appends the items that are new, and warns once for a page with others.
func appendNew[T any](c *Client, method string, all, items []T, seen map[string]bool, key func(T) string) []T {
	repeated := ""
	for _, item := range items {
		k := key(item)
		if seen[k] {
			repeated = k
			continue
		}
		seen[k] = true
		all = append(all, item)
	}
	if repeated != "" {
		c.log.Warn("the server lists the same item twice; the first is kept", "method", method, "item", repeated)
	}
	return all
}
