package client

import (
	"encoding/json"
	"log/slog"

	"mcpwire/mcp"
	"mcpwire/transport"
)

// MirrorHeaders returns the headers that a call with args shows by the input schema, and whether it asks for any.
func MirrorHeaders(schema, args string) (headers []transport.Header, asks bool, err error) {
	m, err := compileMirror(json.RawMessage(schema))
	if err != nil {
		return nil, false, err
	}
	headers, err = m.headers(json.RawMessage(args))
	return headers, m != nil, err
}

// A MirrorLister is a client that only notes tools.
type MirrorLister struct{ c *Client }

// NewMirrorLister returns one that knows no tools.
func NewMirrorLister(server string, log *slog.Logger) MirrorLister {
	return MirrorLister{&Client{options: Options{Server: server}, log: log}}
}

// List returns the tools that are valid.
func (l MirrorLister) List(tools ...mcp.Tool) []mcp.Tool { return l.c.mirrored(tools) }

// Known reports whether the tool was listed, and is valid.
func (l MirrorLister) Known(tool string) bool {
	_, known := l.c.mirrors.of(tool)
	return known
}

// Headers returns what a call of the tool shows.
func (l MirrorLister) Headers(tool, args string) ([]transport.Header, error) {
	m, _ := l.c.mirrors.of(tool)
	return m.headers(json.RawMessage(args))
}
