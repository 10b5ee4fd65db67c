package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// session is the era of revisions up to 2025-11-25.
type session struct {
	client *Client

	mu    sync.Mutex
	level mcp.LogLevel // asked for; empty: none
}

// open sends initialize and, if both sides have a revision in common, notifications/initialized (2025-11-25, lifecycle,
// initialization). Its time is bounded by ctx alone. It is never cancelled on the wire (2025-11-25, cancellation).
func (s *session) open(ctx context.Context, peer *rpc.Peer) (Server, error) {
	o := s.client.options
	revision := mcp.SessionRevisions()[0]
	if mcp.IsSession(o.Protocol) {
		revision = o.Protocol
	}
	params, err := mcp.Encode(mcp.InitializeParams{
		ProtocolVersion: revision,
		Capabilities:    o.Capabilities,
		ClientInfo:      o.Info,
	})
	if err != nil {
		return Server{}, err
	}
	raw, err := s.client.send(ctx, peer, revision, mcp.MethodInitialize, params, rpc.RequestOptions{
		Timeout: -1, Limit: -1, NoCancel: true,
	})
	if err != nil {
		return Server{}, s.refused(err)
	}
	var result mcp.InitializeResult
	if err := s.client.decode(mcp.MethodInitialize, raw, &result); err != nil {
		return Server{}, err
	}
	if !mcp.IsSession(result.ProtocolVersion) || revision == o.Protocol && result.ProtocolVersion != revision {
		return Server{}, s.versionError(result.ProtocolVersion)
	}
	peer.Conn().Negotiated(transport.Wire{Revision: result.ProtocolVersion, Resume: true})
	if err := peer.Notify(ctx, mcp.NotificationInitialized, nil); err != nil {
		return Server{}, err
	}
	return Server{
		Info:         result.ServerInfo,
		Revision:     result.ProtocolVersion,
		Capabilities: result.Capabilities,
		Instructions: result.Instructions,
	}, nil
}

// refused turns the refusal of a revision into a VersionError; its data name what the server speaks (2025-11-25,
// lifecycle, error handling).
func (s *session) refused(err error) error {
	var refusal *jsonrpc.Error
	if !errors.As(err, &refusal) || len(refusal.Data) == 0 {
		return err
	}
	var data struct {
		Supported []string `json:"supported"`
	}
	if mcp.Decode(refusal.Data, &data) != nil || len(data.Supported) == 0 {
		return err
	}
	v := s.versionError(data.Supported...)
	v.Refusal = refusal
	return v
}

func (s *session) versionError(theirs ...string) *VersionError {
	return &VersionError{
		Server: s.client.options.Server,
		Ours:   slices.Clone(mcp.SessionRevisions()),
		Theirs: theirs,
	}
}

func (s *session) request(
	ctx context.Context, method string, params json.RawMessage, o rpc.RequestOptions,
) (json.RawMessage, error) {
	return s.client.request(ctx, method, params, o)
}

// ping counts a refusal as an answer: it proves life just as well.
func (s *session) ping(ctx context.Context) error {
	_, err := s.request(ctx, mcp.MethodPing, nil, rpc.RequestOptions{Timeout: s.client.options.Timeout})
	if _, refused := errors.AsType[*jsonrpc.Error](err); refused {
		return nil
	}
	return err
}

// setLevel asks for log messages (2025-11-25, logging).
func (s *session) setLevel(ctx context.Context, level mcp.LogLevel) error {
	params, err := mcp.Encode(mcp.SetLevelParams{Level: level})
	if err != nil {
		return err
	}
	_, err = s.request(ctx, mcp.MethodSetLevel, params, rpc.RequestOptions{Timeout: s.client.options.Timeout})
	if err == nil {
		s.mu.Lock()
		s.level = level
		s.mu.Unlock()
	}
	return err
}

// listed has nothing to note: headers tell nothing of tools in this era.
func (s *session) listed(tools []mcp.Tool) []mcp.Tool { return tools }

// endsList takes an empty cursor for the end, as servers of this era mean it.
func (s *session) endsList(cursor *string) bool { return cursor == nil || *cursor == "" }

// nullIsAbsent is how servers of this era mean a structured result that is null: it must be an object otherwise.
func (s *session) nullIsAbsent() bool { return true }
