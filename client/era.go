package client

import (
	"context"
	"encoding/json"

	"mcpwire/mcp"
	"mcpwire/rpc"
)

// An era is a way of speaking to a server. The session era (up to 2025-11-25) opens a session with initialize; in the
// stateless era (from 2026-07-28 on) every request describes itself. All that differs between them is behind it.
type era interface {
	// open shakes hands.
	open(ctx context.Context, peer *rpc.Peer) (Server, error)
	// request sends one request and returns its raw result.
	request(ctx context.Context, method string, params json.RawMessage, o rpc.RequestOptions) (json.RawMessage, error)
	// ping asks for a sign of life.
	ping(ctx context.Context) error
	// watch has the server tell what changes, and unwatch end that.
	watch(ctx context.Context, w *Watch) error
	unwatch(ctx context.Context, w *Watch) error
	// restore asks in a new session for what the lost one had been asked for.
	restore(ctx context.Context)
	// setLevel says which log messages are wanted.
	setLevel(ctx context.Context, level mcp.LogLevel) error
	// listed takes note of the server's tools, and returns those that can be called.
	listed(tools []mcp.Tool) []mcp.Tool
	// endsList reports whether a page's cursor says that there is no further page.
	endsList(cursor *string) bool
	// nullIsAbsent reports whether a structured result that is null is none.
	nullIsAbsent() bool
}
