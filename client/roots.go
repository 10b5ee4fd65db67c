package client

import (
	"context"
	"errors"

	"mcpwire/mcp"
	"mcpwire/transport"
)

// RootsChanged tells the server that InputHandler.Roots would now return others (2025-11-25, roots). From 2026-07-28
// on, and in place of an HTTP session that was lost, the server asks anew by itself: nothing is sent then.
func (c *Client) RootsChanged(ctx context.Context) error {
	roots := c.options.Capabilities.Roots
	if roots == nil || !roots.ListChanged {
		return errors.New("the client has not offered to tell of changes of its roots")
	}
	if c.newer.Load() != nil {
		return nil
	}
	err := c.current().peer.Notify(ctx, mcp.NotificationRootsChanged, nil)
	if errors.Is(err, transport.ErrSessionLost) {
		return nil
	}
	return err
}
