package client

import (
	"context"
	"encoding/json"
	"log/slog"

	"mcpwire/mcp"
)

// Answer answers a question with a handler.
func Answer(ctx context.Context, h *InputHandler, method string, params json.RawMessage) (json.RawMessage, error) {
	return h.answer(ctx, method, params)
}

// Capabilities returns base with what a handler offers.
func Capabilities(h *InputHandler, base mcp.ClientCapabilities) mcp.ClientCapabilities {
	return h.capabilities(base)
}

// DecodeTools decodes the tools of a page.
func DecodeTools(raw json.RawMessage) ([]mcp.Tool, error) {
	return decodeAny(raw, "tools", func(t *mcp.Tool) bool { return t.Name != "" })
}

// DecodeContent decodes the content of a tool's result.
func DecodeContent(raw json.RawMessage) ([]mcp.Content, error) {
	return decodeAny(raw, "content", hasContent)
}

// DecodeMessages decodes the messages of a prompt.
func DecodeMessages(raw json.RawMessage) ([]mcp.PromptMessage, error) {
	return decodeAny(raw, "messages", saysSomething)
}

// DecodeCompletion decodes a completion.
func DecodeCompletion(raw json.RawMessage) (*mcp.CompleteResult, error) {
	return bare().completion(raw)
}

func bare() *Client { return &Client{log: slog.New(slog.DiscardHandler)} }

func decodeAny[T any](raw json.RawMessage, name string, usable func(*T) bool) ([]T, error) {
	var rest struct {
		NextCursor *string `json:"nextCursor"`
	}
	return decodeList(bare(), "x", raw, name, &rest, usable)
}
