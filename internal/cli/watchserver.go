package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
)

// noticesWaiting is how many notices of a server wait while one is handled, before the server's line holds them.
const noticesWaiting = 64

// A watchedServer makes lines of what one server tells. All but its channels belongs to the goroutine that follows it.
type watchedServer struct {
	*watching
	server  config.Server
	secrets *redact.Set    // of its entry
	line    *client.Client // the last connection; nil before the first
	lists   map[string]items
	open    []string // URIs that are to be subscribed to

	ready   chan struct{} // has one when there is a new connection
	notices chan notice
}

func newWatchedServer(w *watching, s config.Server) *watchedServer {
	return &watchedServer{
		watching: w, server: s, secrets: entrySecrets(s), lists: map[string]items{}, open: slices.Clone(w.uris),
		ready: make(chan struct{}, 1), notices: make(chan notice, noticesWaiting),
	}
}

// entrySecrets are the secrets of an entry, for what comes before there is a connection that knows them.
func entrySecrets(s config.Server) *redact.Set {
	var found []string
	if s.Origin != "" {
		if expanded, secrets, err := s.Expand(os.LookupEnv); err == nil { // it can't be connected to otherwise
			s, found = expanded, secrets
		}
	}
	return redact.NewSet(slices.Concat(found, redact.Secrets(s.Env), redact.Secrets(s.Headers))...)
}

// clean returns text of the server on one line, without secrets.
func (s *watchedServer) clean(text string) string {
	return redact.Excerpt([]byte(masked(text, s.line, s.secrets)), lineShown)
}

// follow handles what comes, in order, until ctx is done.
func (s *watchedServer) follow(ctx context.Context, m *manager.Manager) {
	for {
		select { // first what a connection has, before what changes
		case <-s.ready:
			s.connected(ctx, m)
			continue
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-s.ready:
			s.connected(ctx, m)
		case n := <-s.notices:
			s.notice(ctx, m, n)
		}
	}
}

// tell hands an observation over to be shown.
func (s *watchedServer) tell(ctx context.Context, o observation) {
	select {
	case s.seen <- o:
	case <-ctx.Done():
	}
}

// connected looks at a new connection: what it offers, what its lists hold, and what is still to be subscribed to.
func (s *watchedServer) connected(ctx context.Context, m *manager.Manager) {
	c, err := m.Client(ctx, s.server.Name)
	if err != nil {
		return // its state tells
	}
	if s.line == nil {
		s.showMissing(c)
	}
	s.line = c
	for _, l := range watchedLists {
		if _, tells := l.offers(c.Server().Capabilities); !tells {
			continue
		}
		before := s.lists[l.method]
		now, err := l.read(ctx, c, s.server.Tools)
		switch {
		case ctx.Err() != nil || c.Err() != nil:
			return
		case err != nil:
			s.console.line("mcpwire: warning: " + indented(withName(s.server.Name, err)))
			continue
		}
		s.lists[l.method] = now
		if d := differenceOf(before, now); before != nil && !d.none() {
			o := observation{at: time.Now(), server: s.server.Name, kind: l.kind}
			o.text = s.clean(d.text() + " (while there was no connection)")
			d.facts(&o.facts)
			s.tell(ctx, o)
		}
	}
	s.subscribe(ctx, m, c)
}

// showMissing tells once what the server does not offer of what is asked for.
func (s *watchedServer) showMissing(c *client.Client) {
	offered := c.Server().Capabilities
	warn := func(text string) { s.console.line("mcpwire: warning: " + s.server.Name + " " + text) }
	var untold []string
	for _, l := range watchedLists {
		if has, tells := l.offers(offered); has && !tells {
			untold = append(untold, l.kind)
		}
	}
	if untold != nil {
		warn("does not tell when its " + strings.Join(untold, ", ") + " change")
	}
	if s.flags.level.level != "" && offered.Logging == nil {
		warn(noLogs)
	}
	if s.open != nil && (offered.Resources == nil || !offered.Resources.Subscribe) {
		warn("offers no subscriptions to resources")
		s.open = nil
	}
}

// subscribe subscribes to the resources that it has not been subscribed to. The manager does so on later connections.
func (s *watchedServer) subscribe(ctx context.Context, m *manager.Manager, c *client.Client) {
	var again []string
	for _, uri := range s.open {
		err := m.Subscribe(ctx, s.server.Name, uri)
		refusal, refused := errors.AsType[*jsonrpc.Error](err)
		if refused {
			err = fmt.Errorf("%s: %s can't be subscribed to: %w", s.server.Name, uri, refusal)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			o := observation{at: time.Now(), server: s.server.Name, kind: kindSubscribed, text: s.clean(uri)}
			o.facts.addText("uri", uri)
			s.tell(ctx, o)
			continue
		case !refused && !errors.Is(err, manager.ErrUnheeded):
			again = append(again, uri) // on the next connection
		}
		if refused || c.Err() == nil { // else its state tells
			s.console.line("mcpwire: warning: " + indented(withName(s.server.Name, err)))
		}
	}
	s.open = again
}

// notice makes lines of a notification.
func (s *watchedServer) notice(ctx context.Context, m *manager.Manager, n notice) {
	if n.method == mcp.NotificationSubscriptionsAcknowledged {
		return // an answer to us
	}
	for _, l := range watchedLists {
		if l.method == n.method {
			s.tell(ctx, s.changed(ctx, m, l, n))
			return
		}
	}
	if o, ok := n.logged(s.server.Name, s.clean); ok {
		s.tell(ctx, o)
		return
	}
	if uri, ok := n.updated(); ok {
		o := n.seen(s.server.Name, kindResource, s.clean(uri))
		if s.read {
			s.hold(ctx, m, uri, &o)
		}
		s.tell(ctx, o)
		return
	}
	s.tell(ctx, n.other(s.server.Name, s.clean))
}

// changed reads a list that has changed, and tells how.
func (s *watchedServer) changed(ctx context.Context, m *manager.Manager, l watchedList, n notice) observation {
	o := n.seen(s.server.Name, l.kind, "changed")
	c, err := m.Client(ctx, s.server.Name)
	var now items
	if err == nil {
		s.line = c
		now, err = l.read(ctx, c, s.server.Tools)
	}
	if err != nil {
		s.failed(&o, "changed; the list can't be read: ", err)
		return o
	}
	before := s.lists[l.method]
	s.lists[l.method] = now
	if before == nil {
		return o // from what is not known
	}
	d := differenceOf(before, now)
	d.facts(&o.facts)
	if o.text = s.clean(d.text()); d.none() {
		o.text = "changed, to the same"
	}
	return o
}

// hold adds to a line what the resource holds now.
func (s *watchedServer) hold(ctx context.Context, m *manager.Manager, uri string, o *observation) {
	c, err := m.Client(ctx, s.server.Name)
	if err == nil {
		s.line = c
		var r *mcp.ReadResourceResult
		if r, err = c.ReadResource(ctx, uri); err == nil {
			var encoded []byte
			if encoded, err = encodedWith(r, r.Meta); err == nil {
				o.facts.add("result", encoded)
				o.below = redact.Tokens(masked(heldText(r), s.line, s.secrets))
				return
			}
		}
	}
	s.failed(o, o.text+": it can't be read: ", err)
}

// heldText shows what a resource holds: the text of one alone, of others what they are too.
func heldText(r *mcp.ReadResourceResult) string {
	if len(r.Contents) == 1 && r.Contents[0].Text != nil {
		return *r.Contents[0].Text
	}
	return contentsText(r)
}

// failed makes a line tell why something about it is missing.
func (s *watchedServer) failed(o *observation, text string, err error) {
	o.text, o.bad = text+s.clean(err.Error()), true
	o.facts.addText("error", errorText(err))
}
