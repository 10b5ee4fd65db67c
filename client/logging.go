package client

import (
	"context"
	"fmt"

	"mcpwire/mcp"
)

// SetLogLevel asks the server for log messages from this level on; they come to Options.OnNotification as
// mcp.NotificationMessage. In the session era it is a request, which a server without logging refuses (2025-11-25,
// logging). From 2026-07-28 on nothing is sent: the level goes along with each request from now on (2026-07-28,
// logging).
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LogLevel) error {
	switch level {
	case mcp.LogDebug, mcp.LogInfo, mcp.LogNotice, mcp.LogWarning,
		mcp.LogError, mcp.LogCritical, mcp.LogAlert, mcp.LogEmergency:
		return c.era.setLevel(ctx, level)
	}
	return fmt.Errorf("unknown log level %.40q", level)
}
