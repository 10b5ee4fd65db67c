package cli

import (
	"context"
	"encoding/json"
	"time"

	"mcpwire/internal/redact"
	"mcpwire/manager"
	"mcpwire/mcp"
)

// notified shows what a server tells unasked.
func (s *shell) notified(ctx context.Context, server, method string, params json.RawMessage) {
	s.mu.Lock()
	m, silent := s.manager, s.silent
	s.mu.Unlock()
	if silent || m == nil || method == mcp.NotificationSubscriptionsAcknowledged {
		return
	}
	ready, cancel := context.WithCancel(ctx)
	cancel() // it is not waited for
	c, err := m.Client(ready, server)
	if err != nil {
		return // it is gone, and with it what its words are masked by
	}
	clean := func(text string) string { return redact.Excerpt([]byte(c.Mask(plain(text))), noticeShown) }
	s.console.line("[" + visible(server) + "] " + indented(notice{time.Now(), method, params}.brief(server, clean)))
}

// noticeShown is how much of a notification is shown, in bytes.
const noticeShown = 500

// brief tells in words what a notification says.
func (n notice) brief(server string, clean func(string) string) string {
	if o, ok := n.logged(server, clean); ok {
		return o.text
	}
	if uri, ok := n.updated(); ok {
		return "the resource has changed: " + clean(uri)
	}
	switch n.method {
	case mcp.NotificationToolsChanged:
		return "its tools have changed"
	case mcp.NotificationPromptsChanged:
		return "its prompts have changed"
	case mcp.NotificationResourcesChanged:
		return "its resources have changed"
	}
	return n.other(server, clean).text
}

// moved tells somebody at a terminal of a connection that is lost while no command runs, whose error would tell it.
func (s *shell) moved(e manager.Event) {
	s.mu.Lock()
	busy := s.cancel != nil
	s.mu.Unlock()
	if busy || s.editor == nil || e.From != manager.Ready || e.Err == nil {
		return
	}
	s.console.line("mcpwire: " + indented(withName(e.Server, e.Err)))
}
