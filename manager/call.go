package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport"
)

// CallOptions configure one tool call. The zero value works.
type CallOptions struct {
	client.CallOptions
	// Repeat allows a second run of the tool where it is not known whether it has run. It is allowed without this for
	// tools that say that they are read-only or idempotent.
	Repeat bool
}

// Waits before a call that has not reached its server is sent again over the same connection.
var resend = [...]time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second}

// CallTool calls a tool by the names of its server and itself, and waits for its result. A server that is being
// connected is waited for until its own connect deadline. o may be nil.
//
// A call that can't have reached the server is sent again. One that may have reached it and got no answer is sent
// again, once, only if the tool says that it is read-only or idempotent or CallOptions.Repeat allows it; otherwise the
// error is an *OutcomeUnknown. Other errors are a *ServerError where the server can't be used, ErrUnknownServer,
// ErrDenied, and those of client.Client.CallTool.
func (m *Manager) CallTool(
	ctx context.Context, server, tool string, args any, o *CallOptions,
) (*mcp.CallToolResult, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &CallOptions{}
	}
	var lost error // of a run that nobody knows the outcome of
	for tries := 0; ; tries++ {
		c, result, err := s.call(ctx, tool, args, o)
		if err == nil {
			return result, nil
		}
		switch s.judge(ctx, c, err) {
		case unsent:
			if tries < len(resend) {
				err = pauseFor(ctx, c, resend[tries])
				if err == nil {
					continue
				}
			}
		case unknown:
			if first := lost == nil; first && (o.Repeat || s.mayRepeat(tool)) {
				lost = err
				continue
			}
			return nil, &OutcomeUnknown{Server: server, Tool: tool, Err: err}
		case finished:
		}
		if _, refused := errors.AsType[*jsonrpc.Error](err); lost == nil || refused || ctx.Err() != nil {
			return nil, err
		}
		return nil, &OutcomeUnknown{Server: server, Tool: tool, Err: lost} // of the first run, as there was no second
	}
}

// call sends a call once. The connection that it returns is nil if there was none.
func (s *supervisor) call(
	ctx context.Context, tool string, args any, o *CallOptions,
) (*client.Client, *mcp.CallToolResult, error) {
	c, err := s.await(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !s.view().status.Config.Tools.Allows(tool) {
		return nil, nil, fmt.Errorf("%s: %s: %w", s.name, tool, ErrDenied)
	}
	s.calls.Add(1)
	defer s.calls.Add(-1)
	result, err := c.CallTool(ctx, tool, args, &o.CallOptions)
	if err == nil {
		s.answered.Add(1)
	}
	return c, result, err
}

// Call is CallTool for a tool's safe name, as Snapshot has it.
func (m *Manager) Call(ctx context.Context, safeName string, args any, o *CallOptions) (*mcp.CallToolResult, error) {
	t, ok := m.Snapshot().Tool(safeName)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknownTool, safeName)
	}
	return m.CallTool(ctx, t.Server, t.Name, args, o)
}

// Client returns the connection to a server, for all that is no tool call. It waits for the server as CallTool does.
// The connection may be lost at any time; the manager then makes another one, so that it should not be kept.
func (m *Manager) Client(ctx context.Context, server string) (*client.Client, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	return s.await(ctx)
}

// A verdict is what follows from the error of a call.
type verdict uint8

const (
	finished verdict = iota // the caller is to have the error
	unsent                  // the server has not got the call, and may get it over another try
	unknown                 // nobody can say whether the tool has run
)

// judge tells what follows from the error of a call.
func (s *supervisor) judge(ctx context.Context, c *client.Client, err error) verdict {
	carriage, ok := errors.AsType[*transport.Error](err)
	if c == nil || !ok || ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return finished // refused, undecodable, or ended by the caller
	}
	_, timeout := errors.AsType[*transport.TimeoutError](err)
	if timeout {
		s.ask(s.suspect)
	}
	if wantsLogin(err) {
		s.ask(func() { s.loggedOut(c, err) })
	}
	switch {
	case byGateway(err):
		return unknown
	case carriage.Delivery == transport.Answered:
		return finished
	case carriage.Delivery == transport.MaybeDelivered:
		return unknown
	case timeout, errors.Is(err, transport.ErrCongested), errors.Is(err, transport.ErrTooLarge):
		return finished
	}
	return unsent
}

// byGateway reports whether somebody between us and the server has answered, who has lost it or its answer: the server
// may have run the call.
func byGateway(err error) bool {
	status, ok := errors.AsType[*transport.StatusError](err)
	if !ok || status.Err != nil {
		return false
	}
	return status.Status == http.StatusBadGateway || status.Status == http.StatusGatewayTimeout
}

// mayRepeat reports whether a tool says that running it twice does no harm.
func (s *supervisor) mayRepeat(tool string) bool {
	for _, t := range s.view().tools {
		if t.Name != tool || t.Annotations == nil {
			continue
		}
		readOnly, idempotent := t.Annotations.ReadOnlyHint, t.Annotations.IdempotentHint
		return readOnly != nil && *readOnly || idempotent != nil && *idempotent
	}
	return false
}

// pauseFor waits before a call is sent again. It is over at once if the connection is lost, since the next one is
// waited for anyway.
func pauseFor(ctx context.Context, c *client.Client, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// await returns the connection, and waits for it up to the connect deadline of the server.
func (s *supervisor) await(ctx context.Context) (*client.Client, error) {
	timer := stopped()
	defer timer.Stop()
	for started := false; ; started = true {
		v := s.view()
		switch state := v.status.State; {
		case v.client != nil && v.client.Err() == nil:
			return v.client, nil
		case state == Disabled, state == NeedsLogin, state == Failed:
			return nil, v.failure()
		case state == Waiting && v.quiet && (isProcess(v.status.Config) || time.Since(v.status.Since) < stale):
			return nil, v.failure()
		case state == Waiting && v.quiet:
			s.ask(s.hasten)
		}
		if limit := s.deadline(v.status.Config); !started && limit > 0 {
			timer.Reset(limit)
		}
		select {
		case <-v.next:
		case <-timer.C:
			failure := s.view().failure()
			if failure.Err == nil {
				failure.Err = &transport.TimeoutError{What: "connect", After: s.deadline(v.status.Config)}
			}
			return nil, failure
		case <-s.done:
			return nil, &transport.Error{Server: s.name, Delivery: transport.NotDelivered, Err: ErrClosed}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// hasten has a remote server that is tried with long waits tried now, as somebody wants it. A process waits so long
// only because it was started too often.
func (s *supervisor) hasten() {
	if s.state == Waiting && s.quiet && !isProcess(s.server) {
		s.begin()
	}
}

// deadline is how long connecting may take; negative: for ever.
func (s *supervisor) deadline(server config.Server) time.Duration {
	switch limit := s.m.options.Client.ConnectTimeout; {
	case server.ConnectTimeout != nil && *server.ConnectTimeout == 0:
		return -1
	case server.ConnectTimeout != nil:
		return *server.ConnectTimeout
	case limit == 0:
		return client.DefaultConnectTimeout
	default:
		return limit
	}
}
