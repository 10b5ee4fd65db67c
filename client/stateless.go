package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"mcpwire/internal/jsonscan"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// DefaultInputRounds is the default of Options.InputRounds.
const DefaultInputRounds = 10

// stateless is the era of revisions from 2026-07-28 on: there is no session, and every request says in _meta what a
// session would have settled.
type stateless struct {
	client   *Client
	revision string
	cache    *resultCache

	mu    sync.Mutex
	level mcp.LogLevel
	meta  json.RawMessage // of requests; made anew when level changes
}

func newStateless(c *Client, revision string) *stateless {
	return &stateless{client: c, revision: revision, cache: &resultCache{}, meta: c.selfDescription(revision, "")}
}

// selfDescription is the _meta of a request (2026-07-28, base protocol, per-request protocol fields).
func (c *Client) selfDescription(revision string, level mcp.LogLevel) json.RawMessage {
	offered := c.options.Capabilities
	if offered.Roots != nil {
		offered.Roots = &mcp.RootsCapability{} // nothing tells of changes in this era
	}
	meta, err := mcp.Encode(mcp.RequestMeta{
		ProtocolVersion:    revision,
		ClientInfo:         &c.options.Info,
		ClientCapabilities: &offered,
		LogLevel:           level,
	})
	if err != nil {
		c.log.Warn("the client's description of itself can't be encoded", "error", err)
		return nil
	}
	return meta
}

// open finds out what the server says of itself. The negotiation has done that for the first line.
func (s *stateless) open(ctx context.Context, peer *rpc.Peer) (Server, error) {
	n := &negotiation{client: s.client, line: &line{peer: peer}}
	if _, err := n.stateless(n.read(n.discover(ctx, s.revision))); err != nil {
		return Server{}, err
	}
	return n.line.server, nil
}

// ping asks for what the server always has.
func (s *stateless) ping(ctx context.Context) error {
	_, err := s.send(ctx, mcp.MethodDiscover, nil, rpc.RequestOptions{Timeout: s.client.options.Timeout})
	if _, refused := errors.AsType[*jsonrpc.Error](err); refused {
		return nil
	}
	return err
}

// mirrors reports whether the line has headers in which arguments are mirrored.
func (s *stateless) mirrors() bool { return s.client.current().peer.Conn().Traits().Status }

// listed notes which arguments are mirrored in headers, over HTTP, and leaves out tools whose notes on that are not
// valid (2026-07-28, Streamable HTTP, custom headers).
func (s *stateless) listed(tools []mcp.Tool) []mcp.Tool {
	if !s.mirrors() {
		return tools
	}
	return s.client.mirrored(tools)
}

// endsList takes an empty cursor for a cursor (2026-07-28, pagination).
func (s *stateless) endsList(cursor *string) bool { return cursor == nil }

// nullIsAbsent: a structured result may be any value, null too.
func (s *stateless) nullIsAbsent() bool { return false }

// setLevel has every request from now on ask for log messages of this level (2026-07-28, logging).
func (s *stateless) setLevel(_ context.Context, level mcp.LogLevel) error {
	meta := s.client.selfDescription(s.revision, level)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level, s.meta = level, meta
	return nil
}

// request sends a request, and again with what the server asks for until its result is complete (2026-07-28,
// multi round-trip requests).
func (s *stateless) request(
	ctx context.Context, method string, params json.RawMessage, o rpc.RequestOptions,
) (json.RawMessage, error) {
	key := ""
	if cacheable(method) {
		key = cacheKey(method, params)
		if raw, ok := s.cache.get(key); ok {
			return raw, nil
		}
	}
	original, since := params, s.cache.drops()
	for round := 0; ; round++ {
		raw, err := s.send(ctx, method, params, o)
		if err != nil {
			return nil, err
		}
		kind := resultType(raw)
		switch {
		case mcp.IsComplete(kind):
			if key != "" && round == 0 {
				s.cache.putSince(key, raw, since)
			}
			return raw, nil
		case kind != mcp.ResultInputRequired:
			return nil, s.broken(method, fmt.Errorf("unknown resultType %.40q", kind))
		case !takesInput(method):
			return nil, s.broken(method, errors.New("the server asks for input, which this method has not"))
		case round == s.client.options.InputRounds:
			return nil, &InputError{Server: s.client.options.Server, Method: method, Name: o.Name, Err: fmt.Errorf(
				"the server asked for input %d times and is still not content", round)}
		}
		if params, err = s.answerInput(ctx, method, original, raw, o.Name); err != nil {
			return nil, err
		}
	}
}

func (s *stateless) broken(method string, err error) error {
	return &rpc.DecodeError{Server: s.client.options.Server, Method: method, Err: err}
}

// takesInput reports whether a method's result may ask for input.
func takesInput(method string) bool {
	return method == mcp.MethodCallTool || method == mcp.MethodGetPrompt || method == mcp.MethodReadResource
}

// resultType returns the kind of a result; empty where it names none.
func resultType(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte(`"resultType"`)) {
		return ""
	}
	kind := ""
	// A result that can't be decoded is decoded again by whoever asked, who tells.
	_ = jsonscan.Members(raw, func(name, value []byte) error {
		if string(name) == "resultType" && value[0] == '"' {
			kind = kindOf(value)
		}
		return nil
	})
	return kind
}

// kindOf returns a resultType; that of most results is not allocated.
func kindOf(quoted []byte) string {
	if string(quoted) == `"`+mcp.ResultComplete+`"` {
		return mcp.ResultComplete
	}
	return string(jsonscan.Unquote(quoted))
}

// send sends one request with all that describes it. A server that finds the mirrored headers wrong has changed its
// tools: they are listed again and the request, which it has not run, is sent once more. Where there are no headers,
// nothing could be better the second time. A request that may be run twice is sent again if its answer was lost.
func (s *stateless) send(
	ctx context.Context, method string, params json.RawMessage, o rpc.RequestOptions,
) (json.RawMessage, error) {
	raw, err := s.once(ctx, method, params, o)
	refusal, _ := errors.AsType[*jsonrpc.Error](err)
	switch {
	case err == nil:
		return raw, nil
	case refusal != nil && refusal.Code == mcp.CodeHeaderMismatch && method == mcp.MethodCallTool && s.mirrors():
		s.cache.drop(mcp.MethodListTools)
		if _, listErr := s.client.ListTools(ctx); listErr != nil {
			return nil, err
		}
		return s.once(ctx, method, params, o)
	case lost(err) && harmless(method) && ctx.Err() == nil:
		return s.once(ctx, method, params, o)
	}
	return nil, err
}

// lost reports whether the answer to a request was lost on a line that goes on.
func lost(err error) bool {
	_, missing := errors.AsType[*transport.NoResponseError](err)
	return missing
}

// harmless reports whether a request may be run twice: whoever asks to run a tool decides for himself.
func harmless(method string) bool {
	switch method {
	case mcp.MethodCallTool, mcp.MethodListen:
		return false
	}
	return true
}

func (s *stateless) once(
	ctx context.Context, method string, params json.RawMessage, o rpc.RequestOptions,
) (json.RawMessage, error) {
	l := s.client.current()
	s.mu.Lock()
	meta := s.meta
	s.mu.Unlock()
	o.Meta = joinObjects(meta, o.Meta)
	o.Revision = s.revision
	if method == mcp.MethodCallTool && l.peer.Conn().Traits().Status {
		headers, err := s.client.mirrorHeaders(o.Name, params)
		if err != nil {
			return nil, err
		}
		o.Headers = headers
	}
	return s.client.send(ctx, l.peer, s.revision, method, params, o)
}

// joinObjects returns one object with the members of two; either may be nil. Where both have a member, the reader takes
// the second.
func joinObjects(a, b json.RawMessage) json.RawMessage {
	x, y := bytes.TrimSpace(a), bytes.TrimSpace(b)
	switch {
	case len(y) < 2 || len(bytes.TrimSpace(y[1:len(y)-1])) == 0:
		return a
	case len(x) < 2 || len(bytes.TrimSpace(x[1:len(x)-1])) == 0:
		return b
	}
	joined := make(json.RawMessage, 0, len(x)+len(y))
	joined = append(append(joined, x[:len(x)-1]...), ',')
	return append(joined, y[1:]...)
}

// mirrorHeaders returns the arguments of a call that the tool wants to see in headers.
func (c *Client) mirrorHeaders(tool string, params json.RawMessage) ([]transport.Header, error) {
	m, _ := c.mirrors.of(tool)
	if m == nil {
		return nil, nil
	}
	var call struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := mcp.Decode(params, &call); err != nil {
		return nil, err
	}
	return m.headers(call.Arguments)
}
