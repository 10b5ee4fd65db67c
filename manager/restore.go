package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// How soon a lost subscription is opened again, and how long the first list waits for one to be opened.
const (
	watchFirst = time.Second
	watchLast  = time.Minute
	watchHeld  = time.Second
)

// restored is what a new connection is told again. It belongs to the supervisor's loop.
type restored struct {
	level mcp.LogLevel                  // empty: none was asked for
	taken bool                          // the server has taken level before, whatever it offers
	uris  map[string]context.CancelFunc // resources that are subscribed to, with what ends it on the connection in use
	asked chan struct{}                 // closed when the connection in use has been asked for level, or will not be
}

// clientOptions are the options of the next connection.
func (s *supervisor) clientOptions() client.Options {
	o := s.m.options.Client
	o.Server = s.name
	host := s.m.options.OnNotification
	// It is never nil, so that the client holds the stream on which an HTTP server tells of changes.
	o.OnNotification = func(ctx context.Context, method string, params json.RawMessage) {
		if host != nil {
			host(ctx, s.name, method, params)
		}
	}
	o.OnRenewed = func(context.Context) { s.ask(s.listSoon) }
	o.OnClose = nil
	return o
}

// restore tells a new connection what its predecessor knew, and has it tell of changes. The channel that it returns is
// closed when it does, or will not: what is read from then on is not outdated without a word.
func (s *supervisor) restore() (watched <-chan struct{}) {
	c, line := s.client, s.line
	s.restoreLevel()
	for _, uri := range slices.Sorted(maps.Keys(s.restored.uris)) {
		s.follow(nil, uri)
	}
	opened := make(chan struct{})
	filter, told := changesOf(c.Server().Capabilities)
	if !told {
		close(opened)
		return opened
	}
	began, first, asked := time.Now(), true, s.restored.asked
	tell := sync.OnceFunc(func() { close(opened) })
	s.beside.Go(func() {
		defer tell()
		hold(line, asked)
		s.watch(line, c, nil, filter, func() {
			tell()
			if !first || time.Since(began) >= watchHeld {
				s.ask(s.listSoon) // something may have been missed
			}
			first = false
		})
	})
	return opened
}

// restoreLevel asks the connection in use for log messages.
func (s *supervisor) restoreLevel() {
	c, line, level, asked := s.client, s.line, s.restored.level, make(chan struct{})
	s.restored.asked = asked
	if level == "" || !s.restored.taken && c.Server().Capabilities.Logging == nil {
		close(asked)
		return
	}
	s.beside.Go(func() {
		defer close(asked)
		if err := c.SetLogLevel(line, level); err != nil && line.Err() == nil {
			s.m.log.Warn("the log level could not be set", "server", s.name, "error", err)
		}
	})
}

// changesOf returns the changes of lists that a server says that it tells.
func changesOf(offered mcp.ServerCapabilities) (f mcp.SubscriptionFilter, told bool) {
	f.ToolsListChanged = offered.Tools != nil && offered.Tools.ListChanged
	f.PromptsListChanged = offered.Prompts != nil && offered.Prompts.ListChanged
	f.ResourcesListChanged = offered.Resources != nil && offered.Resources.ListChanged
	return f, f.ToolsListChanged || f.PromptsListChanged || f.ResourcesListChanged
}

// follow watches one resource on the connection in use; w is the watch where it is open already.
func (s *supervisor) follow(w *client.Watch, uri string) {
	ctx, stop := context.WithCancel(s.line)
	s.restored.uris[uri] = stop
	c, asked := s.client, s.restored.asked
	s.beside.Go(func() {
		defer stop()
		if w == nil {
			hold(ctx, asked)
		}
		s.watch(ctx, c, w, mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}, func() {})
	})
}

// watch hands on what the server says has changed, until ctx is done or the server wants no watching. A watch that is
// lost is opened again. opened is called each time that one is open.
func (s *supervisor) watch(
	ctx context.Context, c *client.Client, w *client.Watch, filter mcp.SubscriptionFilter, opened func(),
) {
	pause := watchFirst
	for {
		if w == nil {
			var err error
			if w, err = c.Watch(ctx, filter); err != nil && ctx.Err() == nil {
				s.m.log.Warn("the server's changes can't be watched", "server", s.name, "error", err)
				if _, no := errors.AsType[*jsonrpc.Error](err); no {
					return
				}
			}
		}
		if w != nil {
			opened()
			since := time.Now()
			if s.pump(ctx, w) {
				return
			}
			if w = nil; time.Since(since) > watchLast {
				pause = watchFirst
			}
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, watchLast)
		case <-ctx.Done():
			return
		}
	}
}

// pump hands on what a watch tells. It reports whether ctx has ended it.
func (s *supervisor) pump(ctx context.Context, w *client.Watch) (ended bool) {
	for {
		select {
		case change, open := <-w.Changes:
			if !open {
				return false
			}
			if change.Method == mcp.NotificationToolsChanged {
				s.ask(s.listSoon)
			}
			if f := s.m.options.OnChange; f != nil {
				f(ctx, s.name, change)
			}
		case <-ctx.Done():
			farewell(context.WithoutCancel(ctx), w)
			return true
		}
	}
}

// farewell ends a watch. The line may be gone, and the watch with it.
func farewell(ctx context.Context, w *client.Watch) {
	bounded, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = w.Close(bounded)
}

// SetLogLevel asks a server for log messages from this level on, now and on every later connection. It waits for the
// server as CallTool does; the messages come to Options.OnNotification.
func (m *Manager) SetLogLevel(ctx context.Context, server string, level mcp.LogLevel) error {
	s, err := m.find(server)
	if err != nil {
		return err
	}
	c, err := s.await(ctx)
	if err != nil {
		return err
	}
	if err := c.SetLogLevel(ctx, level); err != nil {
		return err
	}
	s.settle(func() { s.restored.level, s.restored.taken = level, true })
	return nil
}

// Subscribe asks a server to tell when a resource changes, now and on every later connection, until Unsubscribe. It
// waits for the server as CallTool does; the changes come to Options.OnChange. The error is ErrUnheeded if the server
// has agreed to less than it was asked for (2026-07-28, subscriptions).
func (m *Manager) Subscribe(ctx context.Context, server, uri string) error {
	s, err := m.find(server)
	if err != nil {
		return err
	}
	c, err := s.await(ctx)
	if err != nil {
		return err
	}
	w, err := c.Watch(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}})
	if err != nil {
		return err
	}
	if !slices.Contains(w.Filter.ResourceSubscriptions, uri) {
		farewell(context.WithoutCancel(ctx), w)
		return fmt.Errorf("%s: %s: %w", server, uri, ErrUnheeded)
	}
	s.settle(func() {
		if stop := s.restored.uris[uri]; stop != nil {
			stop()
		}
		if s.restored.uris == nil {
			s.restored.uris = map[string]context.CancelFunc{}
		}
		switch s.client {
		case c:
			s.follow(w, uri)
		case nil:
			s.restored.uris[uri] = func() {} // the next connection follows it
		default:
			s.follow(nil, uri)
		}
	})
	return nil
}

// Unsubscribe ends what Subscribe has begun. What is not subscribed to is no error.
func (m *Manager) Unsubscribe(server, uri string) error {
	s, err := m.find(server)
	if err != nil {
		return err
	}
	s.settle(func() {
		if stop := s.restored.uris[uri]; stop != nil {
			stop()
			delete(s.restored.uris, uri)
		}
	})
	return nil
}
