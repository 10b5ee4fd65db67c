package streamable

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"mcpwire/internal/httpwire"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

const (
	sessionHeader  = "Mcp-Session-Id"
	revisionHeader = "Mcp-Protocol-Version"
)

// session is the id that the server has given to this connection. It is taken once: a connection has one session, and a
// new session has a new connection, so that a late answer can't bring an old id back.
type session struct {
	mu    sync.Mutex
	id    string
	fixed bool // an answer has come: the server has given an id, or opens no sessions
}

func (s *session) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// adopt takes the id of the first successful answer to a request (2025-11-25, transports, session management 1).
func (s *session) adopt(resp *http.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fixed {
		s.id, s.fixed = resp.Header.Get(sessionHeader), true
	}
}

// SessionID implements transport.Sessioned.
func (c *conn) SessionID() string { return c.session.current() }

// lost reports whether an answer to a request that carried a session id says that the server has forgotten the session.
// 404 is how servers must say it (session management 3); some say it with 400 or 410 and words.
func lost(e *transport.StatusError) bool {
	switch e.Status {
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest, http.StatusGone:
		var refusal *jsonrpc.Error
		return errors.As(e, &refusal) && (refusal.Code == -32000 || refusal.Code == -32001) &&
			strings.Contains(strings.ToLower(refusal.Message), "session")
	}
	return false
}

// deleteSession tells the server that the session is over (session management 5). That it can't or won't is no failure.
func (c *conn) deleteSession(ctx context.Context) {
	id := c.session.current()
	if id == "" || errors.Is(c.Err(), transport.ErrSessionLost) {
		return
	}
	header := c.header(id, c.negotiated().Revision)
	resp, _, err := c.endpoint.Do(ctx, httpwire.Request{Method: http.MethodDelete, Headers: c.endpoint.Headers(header)})
	if err == nil {
		_ = resp.Body.Close()
	}
}
