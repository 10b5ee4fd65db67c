package manager

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/toolcache"
	"mcpwire/mcp"
)

// How often a list of tools is read again.
const (
	listSoonest = 100 * time.Millisecond // after the first word of a change
	listLatest  = 30 * time.Second       // after words that came to nothing; also when reading fails
	listCalm    = time.Minute            // without any word, until the first one is heeded quickly again
)

// A catalogue is what a supervisor knows of its server's tools. It belongs to the supervisor's loop.
type catalogue struct {
	all    []mcp.Tool // by name
	shown  []Tool     // those that the configuration lets through
	server client.Server
	whole  bool          // all was read to its end
	cached bool          // all is from an earlier run
	err    error         // why they could not be read the last time
	since  time.Time     // when the attempt to connect began
	took   time.Duration // from there until they were read

	listing bool // they are being read
	again   bool // they have changed meanwhile
	armed   bool // the timer for reading them runs
	delay   time.Duration
	last    time.Time // when they were read last
}

// remember is recall before the loop runs. The caller holds m.mu.
func (s *supervisor) remember() {
	s.recall()
	s.current = s.newView()
}

// recall takes what an earlier run has left in the cache, in place of what is known.
func (s *supervisor) recall() {
	s.tools = catalogue{}
	if s.server.Disabled {
		return
	}
	entry, ok := s.m.cache.Load(s.cacheKey())
	if !ok {
		return
	}
	s.tools.cached, s.tools.whole = true, true
	s.tools.server = client.Server{Info: entry.Info, Revision: entry.Revision, Instructions: entry.Instructions}
	s.tools.set(s.name, entry.Tools, s.server.Tools)
}

func (s *supervisor) cacheKey() string { return toolcache.Key(s.name, s.server.Fingerprint()) }

// set takes a new list, and reports whether it differs from the one before.
func (c *catalogue) set(server string, tools []mcp.Tool, filter config.ToolFilter) (changed bool) {
	slices.SortStableFunc(tools, func(a, b mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
	if c.all != nil && reflect.DeepEqual(c.all, tools) {
		return false
	}
	c.all = tools
	c.filter(server, filter)
	return true
}

// filter makes shown anew.
func (c *catalogue) filter(server string, filter config.ToolFilter) {
	c.shown = make([]Tool, 0, len(c.all))
	for _, t := range c.all {
		if filter.Allows(t.Name) {
			c.shown = append(c.shown, Tool{Tool: t, Server: server, SafeName: SafeName(server, t.Name)})
		}
	}
}

// forget drops what belongs to the connection. The tools stay.
func (c *catalogue) forget() {
	c.listing, c.again, c.armed, c.delay, c.last = false, false, false, 0, time.Time{}
}

// list reads the tools again.
func (s *supervisor) list() { s.read(nil) }

// read reads the tools, beside the loop, once ready is closed or a second is over; nil is ready.
func (s *supervisor) read(ready <-chan struct{}) {
	s.tools.armed = false
	if s.client == nil {
		return
	}
	if s.tools.listing {
		s.tools.again = true
		return
	}
	s.tools.listing = true
	c, line, key := s.client, s.line, s.cacheKey()
	s.beside.Go(func() {
		hold(line, ready)
		tools, err := c.ListTools(line)
		if err == nil {
			s.keep(key, told(c), tools)
		}
		s.ask(func() { s.listed(c, tools, err) })
	})
}

// told returns what a server says of itself, for people to see: without the secrets that its entry has.
func told(c *client.Client) client.Server {
	s := c.Server()
	s.Info.Name, s.Info.Version = c.Mask(s.Info.Name), c.Mask(s.Info.Version)
	return s
}

// hold waits for ready, but not for long.
func hold(ctx context.Context, ready <-chan struct{}) {
	if ready == nil {
		return
	}
	timer := time.NewTimer(watchHeld)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// keep puts the tools into the cache. Without it the next start knows less, which is no reason to fail.
func (s *supervisor) keep(key string, server client.Server, tools []mcp.Tool) {
	err := s.m.cache.Store(key, toolcache.Entry{
		Tools: tools, Revision: server.Revision, Instructions: server.Instructions, Info: server.Info,
	})
	if err != nil {
		s.m.log.Warn("the tools could not be kept for the next start", "server", s.name, "error", err)
	}
}

// listed is told what reading has brought. A list that could not be read whole never replaces a better one.
func (s *supervisor) listed(c *client.Client, tools []mcp.Tool, err error) {
	if s.client != c || c.Err() != nil {
		return // what ended the connection is told by itself
	}
	first := s.state == Connecting
	l := &s.tools
	l.listing, l.err, l.last = false, err, time.Now()
	switch {
	case wantsLogin(err):
		s.loggedOut(c, err)
		return
	case err != nil:
		l.again = true
		l.delay = max(2*l.delay, time.Second)
		if !l.whole && len(tools) > 0 { // the beginning of a list is better than nothing
			l.set(s.name, tools, s.server.Tools)
		}
	case l.set(s.name, tools, s.server.Tools):
		l.delay = 0
		l.cached, l.whole = false, true
	default:
		l.delay *= 2
		l.cached, l.whole = false, true
	}
	l.server = told(c)
	if first {
		l.took = time.Since(l.since)
		s.move(ready, nil)
		s.resetPing()
	} else {
		s.publish()
	}
	if l.again {
		l.again = false
		s.listSoon()
	}
}

// listSoon has the tools read again: soon, or later where that has come to nothing before.
func (s *supervisor) listSoon() {
	l := &s.tools
	switch {
	case s.client == nil || l.armed:
		return
	case l.listing:
		l.again = true
		return
	case l.err == nil && time.Since(l.last) > listCalm:
		l.delay = 0
	}
	l.armed = true
	l.delay = min(max(l.delay, listSoonest), listLatest)
	s.refreshTimer.Reset(l.delay)
}
