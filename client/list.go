package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// A listing is how a method's list is read.
type listing[T any] struct {
	method    string
	directory string          // the URI of what is listed, for the method that wants one; it must know the method
	items     string          // the member of a page that holds them
	key       func(*T) string // what tells an item from others; empty for none that could be used
	// quick reads a page of which nothing has to be left out; nil or false: it is to be read item by item.
	quick func(json.RawMessage) (page[T], bool)
}

// A page is one page of a list, decoded.
type page[T any] struct {
	items []T
	next  *string
}

// walk reads a list page by page (2025-11-25, pagination). An item whose key came before is dropped, since servers that
// page wrongly send the same ones again. A server that doesn't know the method has an empty list. If the walk ends
// early, what was read so far is returned with a *ListError; the error of the first page is returned as it is.
func walk[T any](ctx context.Context, c *Client, of listing[T]) ([]T, error) {
	method := of.method
	if limit := c.options.ListTimeout; limit > 0 {
		cause := &transport.TimeoutError{What: method, After: limit}
		bounded, cancel := context.WithTimeoutCause(ctx, limit, cause)
		defer cancel()
		ctx = bounded
	}
	var all []T
	var names map[string]bool
	cursors := map[string]bool{}
	var cursor *string
	var twice string
	warned := false
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
		p, err := readPage(ctx, c, of, cursor)
		var refusal *jsonrpc.Error
		switch {
		case err == nil:
		case pages > 0:
			return incomplete(err)
		case of.directory == "" && errors.As(err, &refusal) && refusal.Code == jsonrpc.CodeMethodNotFound:
			return nil, nil
		default:
			return nil, c.named(err)
		}
		if names == nil {
			names = make(map[string]bool, len(p.items))
		}
		all, twice = appendNew(all, p.items, names, of.key)
		if twice != "" && !warned {
			warned = true
			c.log.Warn("the server lists the same item twice; the first is kept", "method", method, "item", twice)
		}
		if c.era.endsList(p.next) {
			return all, nil
		}
		cursor = p.next
	}
}

func readPage[T any](ctx context.Context, c *Client, of listing[T], cursor *string) (page[T], error) {
	params, err := of.params(cursor)
	if err != nil {
		return page[T]{}, err
	}
	raw, err := c.era.request(ctx, of.method, params, rpc.RequestOptions{Timeout: c.options.Timeout})
	if err != nil {
		return page[T]{}, err
	}
	if of.quick != nil {
		if p, ok := of.quick(raw); ok {
			return p, nil
		}
	}
	var rest struct {
		NextCursor *string `json:"nextCursor"`
	}
	usable := func(item *T) bool { return of.key(item) != "" }
	items, err := decodeList(c, of.method, raw, of.items, &rest, usable)
	return page[T]{items, rest.NextCursor}, err
}

// params are those of the request for a page; nil for none.
func (l listing[T]) params(cursor *string) (json.RawMessage, error) {
	switch {
	case l.directory != "":
		return mcp.Encode(mcp.DirectoryParams{URI: l.directory, Cursor: cursor})
	case cursor != nil:
		return mcp.Encode(mcp.ListParams{Cursor: cursor})
	}
	return nil, nil
}

// named puts the server's name before the end of a walk's time, which is the cause of a context and names none.
func (c *Client) named(err error) error {
	if timeout, ok := err.(*transport.TimeoutError); ok { //nolint:errorlint // a wrapped one is named
		return &transport.Error{Server: c.options.Server, Err: timeout}
	}
	return err
}

// appendNew appends the items that are new, and returns the key of one that is not, if there are any.
func appendNew[T any](all, items []T, seen map[string]bool, key func(*T) string) (more []T, twice string) {
	if len(all) == 0 && len(items) > 0 {
		all = items[:0] // what is new moves to the front
	} else {
		all = slices.Grow(all, len(items))
	}
	for i := range items {
		k := key(&items[i])
		if seen[k] {
			twice = k
			continue
		}
		seen[k] = true
		all = append(all, items[i])
	}
	return all, twice
}

// decodeList decodes a result in which the member called name is a list, and its other members into rest. Elements that
// are null, malformed or not usable are left out with a warning, so that they cost only themselves.
func decodeList[T any](
	c *Client, method string, raw json.RawMessage, name string, rest any, usable func(*T) bool,
) ([]T, error) {
	list, others, err := cut(raw, name)
	if err != nil {
		return nil, c.decode(method, raw, rest)
	}
	if err := c.decodeRest(method, others, rest); err != nil || list == nil {
		return nil, err
	}
	all, bad := []T{}, 0
	var reason error
	err = jsonscan.Elements(list, func(text []byte) error {
		var none T
		all = append(all, none)
		item := &all[len(all)-1]
		if err := mcp.Decode(text, item); err != nil {
			reason = err
		} else if string(text) != "null" && usable(item) {
			return nil
		}
		all = all[:len(all)-1]
		bad++
		return nil
	})
	if err != nil {
		return nil, &rpc.DecodeError{Server: c.options.Server, Method: method, Err: fmt.Errorf("%s: %w", name, err)}
	}
	if bad > 0 {
		c.log.Warn("elements of a list that are null or malformed are left out",
			"method", method, "list", name, "elements", bad, "error", reason)
	}
	return all, nil
}

// cut returns the value of one member of an object, nil if it is absent or null, and the object without it, nil if
// nothing is left.
func cut(object json.RawMessage, name string) (value, others json.RawMessage, err error) {
	var rest []byte
	err = jsonscan.Members(object, func(n, v []byte) error {
		switch {
		case string(n) != name:
			if rest == nil {
				rest = append(make([]byte, 0, len(n)+len(v)+16), '{')
			}
			rest = appendMember(rest, string(n), v)
		case string(v) == "null":
			value = nil
		default:
			value = v
		}
		return nil
	})
	if rest != nil {
		rest = append(rest, '}')
	}
	return value, rest, err
}

// decodeRest decodes what cut has left.
func (c *Client) decodeRest(method string, others json.RawMessage, rest any) error {
	if others == nil {
		return nil
	}
	return c.decode(method, others, rest)
}

// appendMember appends a member to an object that is not closed yet.
func appendMember(object []byte, name string, value json.RawMessage) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	// Broken UTF-8 becomes U+FFFD, and the error only says so.
	object, _ = jsontext.AppendQuote(object, name)
	object = append(object, ':')
	return append(object, value...)
}
