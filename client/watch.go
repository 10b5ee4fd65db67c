package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// A Change is something that has changed on the server.
type Change struct {
	Method string // mcp.NotificationToolsChanged, …PromptsChanged, …ResourcesChanged or …ResourceUpdated
	URI    string // of the resource that was updated
}

// changesKept is how many changes wait for a host that does not read. A change says no more than that something is to
// be read again, so that one that waits already is not added.
const changesKept = 256

// A Watch tells what changes on the server, from Client.Watch on until it is closed or the server ends it.
type Watch struct {
	// Changes is closed when the watch has ended; Err then tells why. The same change is not told twice while it waits.
	Changes <-chan Change
	// Filter is what the server has agreed to tell, of what was asked for; all of that where it has told a change before
	// anything was heard of its agreement.
	Filter mcp.SubscriptionFilter

	client *Client
	filter mcp.SubscriptionFilter // what was asked for
	id     jsonrpc.ID             // of the subscription; absent in the session era
	stop   context.CancelFunc
	acked  chan struct{}

	mu         sync.Mutex
	changes    chan Change
	waiting    map[Change]bool
	order      []Change
	pumping    bool
	overflowed bool // changes were dropped
	over       bool
	err        error
	ended      chan struct{} // closed when over and everything has been told
}

// ErrWatchEnded is the Err of a watch that the server has ended in order.
var ErrWatchEnded = errors.New("the server has ended the subscription")

// Watch asks the server to tell what changes. In the session era resources are subscribed to one by one, and changes of
// lists are told unasked; from 2026-07-28 on it is one subscription (2026-07-28, subscriptions). ctx bounds the asking,
// not the watch. Several watches may be open at once.
func (c *Client) Watch(ctx context.Context, filter mcp.SubscriptionFilter) (*Watch, error) {
	changes := make(chan Change)
	w := &Watch{
		Changes: changes, client: c, filter: filter, changes: changes,
		acked: make(chan struct{}), waiting: map[Change]bool{}, ended: make(chan struct{}),
	}
	if err := c.era.watch(ctx, w); err != nil {
		c.watches.remove(w)
		w.finish(err)
		return nil, err
	}
	return w, nil
}

// Err tells why Changes is closed: nil after Close, ErrWatchEnded when the server has ended the watch in order,
// otherwise why it was lost. It is nil before.
func (w *Watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close ends the watch and tells the server. ctx bounds the telling.
func (w *Watch) Close(ctx context.Context) error {
	w.client.watches.remove(w)
	w.finish(nil)
	err := w.client.era.unwatch(ctx, w)
	if w.stop != nil {
		w.stop()
	}
	return err
}

// push tells a change. It never waits for the host.
func (w *Watch) push(change Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over || w.waiting[change]:
		return
	case len(w.order) >= changesKept:
		if !w.overflowed {
			w.overflowed = true
			w.client.log.Warn("changes are dropped, as nobody reads them", "waiting", len(w.order))
		}
		return
	}
	w.waiting[change] = true
	w.order = append(w.order, change)
	if !w.pumping {
		w.pumping = w.client.start(w.pump) // a client that has ended is about to end the watch
	}
}

// pump hands over what waits, as long as there is something.
func (w *Watch) pump() {
	for {
		w.mu.Lock()
		if w.over || len(w.order) == 0 {
			w.pumping = false
			if w.over {
				close(w.changes)
			}
			w.mu.Unlock()
			return
		}
		next := w.order[0]
		w.order = w.order[1:]
		delete(w.waiting, next)
		w.mu.Unlock()
		select {
		case w.changes <- next:
		case <-w.ended:
		}
	}
}

// finish ends the watch; the first reason counts. What still waits is dropped.
func (w *Watch) finish(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.over, w.err = true, err
	close(w.ended)
	if !w.pumping {
		close(w.changes)
	}
}

// wants reports whether a change is one that was asked for.
func (w *Watch) wants(change Change) bool {
	switch change.Method {
	case mcp.NotificationToolsChanged:
		return w.filter.ToolsListChanged
	case mcp.NotificationPromptsChanged:
		return w.filter.PromptsListChanged
	case mcp.NotificationResourcesChanged:
		return w.filter.ResourcesListChanged
	case mcp.NotificationResourceUpdated:
		return w.subscribedTo(change.URI)
	}
	return false
}

// subscribedTo reports whether a resource is one that was subscribed to, or a sub-resource of one, which servers may
// tell of in its place. Where the subscription has an id, that has told already.
func (w *Watch) subscribedTo(uri string) bool {
	return slices.ContainsFunc(w.filter.ResourceSubscriptions, func(subscribed string) bool {
		return !w.id.IsAbsent() || uri == subscribed || strings.HasPrefix(uri, strings.TrimSuffix(subscribed, "/")+"/")
	})
}

// watches are the open watches of a client.
type watches struct {
	mu   sync.Mutex
	open []*Watch
}

func (ws *watches) add(w *Watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.open = append(ws.open, w)
}

func (ws *watches) remove(w *Watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if i := slices.Index(ws.open, w); i >= 0 {
		ws.open = slices.Delete(ws.open, i, i+1)
	}
}

func (ws *watches) all() []*Watch {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Clone(ws.open)
}

// subscribed reports whether another watch than w is about a resource.
func (ws *watches) subscribed(w *Watch, uri string) bool {
	return slices.ContainsFunc(ws.all(), func(other *Watch) bool {
		return other != w && slices.Contains(other.filter.ResourceSubscriptions, uri)
	})
}

// tell hands a notification to the watches that it is for.
func (ws *watches) tell(method string, params json.RawMessage) {
	open := ws.all()
	if len(open) == 0 {
		return
	}
	var about struct {
		URI           string                 `json:"uri"`
		Notifications mcp.SubscriptionFilter `json:"notifications"`
		Meta          struct {
			Subscription json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	}
	if len(params) > 0 && mcp.Decode(params, &about) != nil {
		return
	}
	id, _ := jsonrpc.ParseID(about.Meta.Subscription)
	if method != mcp.NotificationResourceUpdated {
		about.URI = "" // no other change is about a resource
	}
	for _, w := range open {
		own := w.id.IsAbsent() || sameID(w.id, id)
		switch change := (Change{Method: method, URI: about.URI}); {
		case !own:
		case method == mcp.NotificationSubscriptionsAcknowledged && !w.id.IsAbsent():
			w.acknowledge(about.Notifications)
		case w.wants(change):
			if !w.id.IsAbsent() {
				w.acknowledge(w.filter) // that it was, was lost, or never said: see rpc.Options.Queue
			}
			w.push(change)
		}
	}
}

// sameID compares ids as answers are compared: servers that send them back as another type are known.
func sameID(a, b jsonrpc.ID) bool {
	x, ok := a.Integer()
	y, same := b.Integer()
	return a == b || ok && same && x == y
}

func (w *Watch) acknowledge(filter mcp.SubscriptionFilter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.acked:
	default:
		w.Filter = filter
		close(w.acked)
	}
}

// endAll ends all watches when the client has ended.
func (ws *watches) endAll(err error) {
	for _, w := range ws.all() {
		ws.remove(w)
		w.finish(err)
	}
}

// watch subscribes to resources; the changes of lists come unasked, if the server says that it tells them.
func (s *session) watch(ctx context.Context, w *Watch) error {
	s.client.watches.add(w)
	offered := s.client.current().server.Capabilities
	w.Filter = mcp.SubscriptionFilter{
		ToolsListChanged:     w.filter.ToolsListChanged && offered.Tools != nil && offered.Tools.ListChanged,
		PromptsListChanged:   w.filter.PromptsListChanged && offered.Prompts != nil && offered.Prompts.ListChanged,
		ResourcesListChanged: w.filter.ResourcesListChanged && offered.Resources != nil && offered.Resources.ListChanged,
	}
	for _, uri := range w.filter.ResourceSubscriptions {
		if err := s.subscribe(ctx, mcp.MethodSubscribe, uri); err != nil {
			return err
		}
		w.Filter.ResourceSubscriptions = append(w.Filter.ResourceSubscriptions, uri)
	}
	return s.client.Err() // if the client has ended meanwhile, nobody ends the watch
}

func (s *session) subscribe(ctx context.Context, method, uri string) error {
	params, err := mcp.Encode(map[string]string{"uri": uri})
	if err != nil {
		return err
	}
	_, err = s.request(ctx, method, params, rpc.RequestOptions{Timeout: s.client.options.Timeout, Name: uri})
	return err
}

// unwatch unsubscribes from the resources that no other watch is about.
func (s *session) unwatch(ctx context.Context, w *Watch) (first error) {
	for _, uri := range w.Filter.ResourceSubscriptions {
		if s.client.watches.subscribed(w, uri) {
			continue
		}
		if err := s.subscribe(ctx, mcp.MethodUnsubscribe, uri); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// restore subscribes again and asks again for log messages.
func (s *session) restore(ctx context.Context) {
	done := map[string]bool{}
	for _, w := range s.client.watches.all() {
		for _, uri := range w.filter.ResourceSubscriptions {
			if done[uri] {
				continue
			}
			done[uri] = true
			if err := s.subscribe(ctx, mcp.MethodSubscribe, uri); err != nil {
				s.client.log.Warn("a subscription could not be renewed", "uri", uri, "error", err)
			}
		}
	}
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	if level == "" {
		return
	}
	if err := s.setLevel(ctx, level); err != nil {
		s.client.log.Warn("the log level could not be set again", "error", err)
	}
}

// restore has nothing to do: nothing hangs on a session.
func (s *stateless) restore(context.Context) {}

// watch opens a subscription, and waits until the server has said what it honours of it.
func (s *stateless) watch(ctx context.Context, w *Watch) error {
	params, err := mcp.Encode(mcp.ListenParams{Notifications: w.filter})
	if err != nil {
		return err
	}
	streaming, stop := context.WithCancel(s.client.base)
	w.stop = stop
	failed := make(chan error, 1)
	started := s.client.start(func() {
		_, err := s.once(streaming, mcp.MethodListen, params, rpc.RequestOptions{
			Timeout: -1, Limit: -1,
			Stream: func(id jsonrpc.ID) {
				w.id = id
				s.client.watches.add(w)
			},
		})
		err = s.client.reason(err)
		if err == nil || errors.Is(err, rpc.ErrEnded) {
			err = ErrWatchEnded
		}
		s.client.watches.remove(w)
		failed <- err
		w.finish(err)
	})
	if !started {
		stop()
		return transport.ErrClosed
	}
	select {
	case <-w.acked:
		return nil
	case err := <-failed:
		stop()
		return err
	case <-ctx.Done():
		stop()
		return context.Cause(ctx)
	}
}

// unwatch has nothing to do: the end of the request is the end of the subscription.
func (s *stateless) unwatch(context.Context, *Watch) error { return nil }

// outdate forgets what a notification says has changed.
func (s *stateless) outdate(method string, params json.RawMessage) {
	switch method {
	case mcp.NotificationToolsChanged:
		s.cache.drop(mcp.MethodListTools)
	case mcp.NotificationPromptsChanged:
		s.cache.drop(mcp.MethodListPrompts)
	case mcp.NotificationResourcesChanged:
		s.cache.drop(mcp.MethodListResources)
		s.cache.drop(mcp.MethodListResourceTemplates)
	case mcp.NotificationResourceUpdated:
		var about struct {
			URI string `json:"uri"`
		}
		if mcp.Decode(params, &about) != nil {
			return
		}
		s.cache.drop(resourcePrefix(about.URI))
	}
}
