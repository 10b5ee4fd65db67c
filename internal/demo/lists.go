package demo

import (
	"context"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Lists are what the server has, as the results of the methods that list it.
type Lists struct{ Tools, Resources, Prompts json.RawMessage }

// ReadLists asks a server within this process, so that what it has is known without a start.
func ReadLists(ctx context.Context) (l Lists, err error) {
	near, far := mcp.NewInMemoryTransports()
	server, err := newServer().Connect(ctx, far, nil)
	if err != nil {
		return l, err
	}
	defer func() { _ = server.Wait() }()
	c, err := mcp.NewClient(&mcp.Implementation{Name: Name}, nil).Connect(ctx, near, nil)
	if err != nil {
		_ = server.Close()
		return l, err
	}
	defer c.Close()
	if l.Tools, err = encoded(c.ListTools(ctx, nil)); err != nil {
		return l, err
	}
	if l.Resources, err = encoded(c.ListResources(ctx, nil)); err != nil {
		return l, err
	}
	l.Prompts, err = encoded(c.ListPrompts(ctx, nil))
	return l, err
}

func encoded(result any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return jsonv2.Marshal(result, jsonv2.Deterministic(true)) // the SDK has decoded schemas into maps
}
