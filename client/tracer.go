package client

import (
	"bytes"
	"context"
	"encoding/json"

	"mcpwire/internal/jsonscan"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// A Tracer follows what a Client does, for traces and measurements; package telemetry has one. Its methods and the
// functions that they return run on the goroutines of calls and callbacks, several at once, and must be quick. The
// functions are called once each. A Tracer changes nothing but what it adds to _meta.
type Tracer interface {
	// Request is told of each request that is about to be sent, those of the handshake too; one that is sent again, and
	// each round in which a server asks for input, is a request of its own. The request runs under ctx that it returns,
	// which descends from the one that it got; meta is an object whose members go into the request's _meta (nil: none).
	// end is told when the request has ended.
	Request(ctx context.Context, t Traced) (_ context.Context, meta json.RawMessage, end func(Outcome))
	// Serve is told of each question of the server that the host is about to be asked, and end when it is answered.
	Serve(ctx context.Context, t Traced) (_ context.Context, end func(Outcome))
	// Session is told of each connection whose handshake is done, and end when it has ended: nil after Close, otherwise
	// why.
	Session(t Traced) (end func(err error))
}

// Traced is what a Tracer is told at the beginning. Of a session only Revision and Carrier are set.
type Traced struct {
	Method string
	// Name is what the request is about: the tool's or prompt's name, the resource's URI; empty where there is none.
	Name string
	// ID is that of a request of the server; absent where the server asks in a result. That of our own comes in Outcome.
	ID jsonrpc.ID
	// Meta is the _meta that the request has without the Tracer, but for the progress token; nil where there is none.
	Meta json.RawMessage
	// Revision is the protocol revision; before it is settled the one that is asked for.
	Revision string
	// Carrier is the name of the carrier's kind; see transport.Traits.
	Carrier string
}

// An Outcome is what a Tracer is told of a request at its end.
type Outcome struct {
	ID        jsonrpc.ID // of a request of ours
	Session   string     // the id of the HTTP session; empty where there is none
	ToolError bool       // the result is that of a tool which reports an error
	Err       error      // what Client's methods return, or what the host's answer failed with; nil if there is a result
}

// send sends one request on a line. revision is that of a line whose requests do not describe themselves.
func (c *Client) send(
	ctx context.Context, peer *rpc.Peer, revision, method string, params json.RawMessage, o rpc.RequestOptions,
) (json.RawMessage, error) {
	if c.options.Tracer == nil {
		return peer.Request(ctx, method, params, o)
	}
	return c.sendTraced(ctx, peer, revision, method, params, o)
}

func (c *Client) sendTraced(
	ctx context.Context, peer *rpc.Peer, revision, method string, params json.RawMessage, o rpc.RequestOptions,
) (json.RawMessage, error) {
	if o.Revision != "" {
		revision = o.Revision
	}
	ctx, meta, end := c.options.Tracer.Request(ctx, Traced{
		Method: method, Name: o.Name, Meta: o.Meta, Revision: revision, Carrier: peer.Conn().Traits().Name,
	})
	var outcome Outcome
	o.ID = &outcome.ID
	o.Meta = joinObjects(o.Meta, meta)
	raw, err := peer.Request(ctx, method, params, o)
	outcome.Err = err
	outcome.ToolError = err == nil && method == mcp.MethodCallTool && reportsError(raw)
	outcome.Session = sessionOf(peer)
	end(outcome)
	return raw, err
}

// sessionOf returns the id of a line's HTTP session.
func sessionOf(peer *rpc.Peer) string {
	if s, ok := peer.Conn().(transport.Sessioned); ok {
		return s.SessionID()
	}
	return ""
}

// reportsError reports whether the result of a tool says that it is an error.
func reportsError(raw json.RawMessage) (says bool) {
	if !bytes.Contains(raw, []byte(`"isError"`)) {
		return false
	}
	// A result that can't be decoded is decoded again by whoever asked, who tells.
	_ = jsonscan.Members(raw, func(name, value []byte) error {
		if string(name) == "isError" {
			says = string(value) == "true"
		}
		return nil
	})
	return says
}

// serve has a question of the server answered. l is the line on which it was asked, nil during the handshake; id is
// absent where it was asked in a result.
func (c *Client) serve(
	ctx context.Context, l *line, id jsonrpc.ID, method string, params json.RawMessage,
	answer func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	if c.options.Tracer == nil {
		return answer(ctx, method, params)
	}
	t := Traced{Method: method, ID: id, Meta: metaOf(params)}
	if l != nil {
		t.Revision, t.Carrier = l.server.Revision, l.peer.Conn().Traits().Name
	}
	ctx, end := c.options.Tracer.Serve(ctx, t)
	raw, err := answer(ctx, method, params)
	outcome := Outcome{ID: id, Err: err}
	if ctx.Err() != nil {
		outcome.Err = ctx.Err() // nobody wants the answer any more
	}
	if l != nil {
		outcome.Session = sessionOf(l.peer)
	}
	end(outcome)
	return raw, err
}

// metaOf returns the _meta of params; nil where there is none.
func metaOf(params json.RawMessage) (meta json.RawMessage) {
	// Whoever answers decodes params again, and tells if they are malformed.
	_ = jsonscan.Members(params, func(name, value []byte) error {
		if string(name) == "_meta" && value[0] == '{' {
			meta = value
		}
		return nil
	})
	return meta
}

// session tells the Tracer, if there is one, of a line that is about to be used.
func (c *Client) session(l *line) (end func(error)) {
	if c.options.Tracer == nil {
		return nil
	}
	return c.options.Tracer.Session(Traced{Revision: l.server.Revision, Carrier: l.peer.Conn().Traits().Name})
}
