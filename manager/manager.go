// Package manager keeps lines to many MCP servers: it starts them all at once, shows what is known of them in
// snapshots, brings lost lines back, and calls tools without ever running one twice unasked. One supervisor owns each
// server; what connects to a server is given by Options.Connect.
package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/toolcache"
	"mcpwire/mcp"
)

// Defaults of Options.
const (
	DefaultWindow       = 250 * time.Millisecond
	DefaultPingInterval = 30 * time.Second
	DefaultPingTimeout  = 10 * time.Second
)

// Options configure a Manager. Only Connect is needed. The callbacks must be quick unless something else is said.
// OnEvent must call nothing of the Manager but Snapshot, which never waits; no callback may call Close.
type Options struct {
	// Connect starts or reaches a server and shakes hands with it. It must return promptly when ctx is done, and leave
	// nothing behind when it fails. Configuration is expanded there.
	Connect func(ctx context.Context, s config.Server, o client.Options) (*client.Client, error)
	// Client are the options of every connection. Of its callbacks OnRequest, OnError and Input are used as they are; the
	// manager has OnNotification, OnRenewed and OnClose for itself.
	Client client.Options
	// CacheDir is where the tools of servers are kept for the next start, for 30 days (empty: nowhere). It may be shared
	// with other processes.
	CacheDir string
	// Window is how long Settle waits for servers that nobody has named (0: 250 ms; negative: not at all). A server's
	// startupWait is stronger.
	Window time.Duration
	// PingInterval is how often a server is asked for a sign of life (0: 30 s; negative: never). It is not asked while a
	// call is running, nor if it has answered one since.
	PingInterval time.Duration
	// PingTimeout is how long it may take to answer (0: 10 s). After two silences in a row the line counts as lost.
	PingTimeout time.Duration
	// LogLevel asks every server that offers log messages for those from this level on (empty: none is asked), as
	// SetLogLevel does, but from the first connection on, and before changes are watched: from 2026-07-28 on the request
	// that watches carries the level along.
	LogLevel mcp.LogLevel
	// OnEvent is told, in order for each server, whenever a server changes its state.
	OnEvent func(Event)
	// OnChange is told what a server says has changed: lists, and resources that were subscribed to. Tools are read again
	// without it. It may block until ctx is done, which it is when the connection has ended or is closed; that holds up
	// the changes of that server alone.
	OnChange func(ctx context.Context, server string, change client.Change)
	// OnNotification gets the notifications of all servers; see client.Options.OnNotification.
	OnNotification func(ctx context.Context, server, method string, params json.RawMessage)
	// Logger gets what is odd but harmless (nil: discarded). Its handler must be quick.
	Logger *slog.Logger
}

// An Event is a change of a server's state.
type Event struct {
	Server   string
	From, To State
	Time     time.Time
	Err      error // why, if something went wrong
}

// A Manager keeps a number of servers. Its methods may be called from several goroutines at once.
type Manager struct {
	options Options
	log     *slog.Logger
	cache   toolcache.Cache

	hurried context.Context // of the closing of connections; done when somebody who closes has no time
	hurry   context.CancelFunc

	mu       sync.Mutex
	order    []*supervisor // as configured
	leaving  []*supervisor // no longer configured and not gone yet
	breakers map[string]*breaker
	closed   bool
	changed  chan struct{} // closed when there is something new to publish
	snapshot *Snapshot     // built from the views; nil when outdated
}

// New starts all servers, in parallel, and returns at once: with what an earlier run has left in the cache its first
// snapshot is complete. Of several servers of one name the first counts. Close must be called.
func New(servers []config.Server, o Options) *Manager {
	o = o.withDefaults()
	m := &Manager{options: o, log: o.Logger, changed: make(chan struct{}), breakers: map[string]*breaker{}}
	if o.CacheDir != "" {
		m.cache = toolcache.In(o.CacheDir)
	}
	m.hurried, m.hurry = context.WithCancel(context.Background())
	m.Apply(servers)
	return m
}

func (o Options) withDefaults() Options {
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.PingInterval == 0 {
		o.PingInterval = DefaultPingInterval
	}
	if o.PingTimeout <= 0 {
		o.PingTimeout = DefaultPingTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Apply makes servers the configured ones. Those that are new are started, those that are gone are closed, those whose
// entry has changed in a way that matters to the connection are connected anew; all others, and their running calls,
// are not touched. It does not wait for connections; the next snapshot shows the new configuration. After Close it does
// nothing.
func (m *Manager) Apply(servers []config.Server) {
	for _, s := range m.apply(servers) {
		s.settle(func() {})
	}
}

// apply returns the supervisors that have another configuration to take.
func (m *Manager) apply(servers []config.Server) (told []*supervisor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	known := make(map[string]*supervisor, len(m.order))
	for _, s := range m.order {
		known[s.name] = s
	}
	order := make([]*supervisor, 0, len(servers))
	var fresh []*supervisor
	taken := map[string]bool{}
	for _, server := range servers {
		if taken[server.Name] {
			continue
		}
		taken[server.Name] = true
		s := known[server.Name]
		if s == nil {
			s = newSupervisor(m, server)
			fresh = append(fresh, s)
		} else {
			s.pending = &server
			told = append(told, s)
		}
		order = append(order, s)
	}
	for _, s := range m.order {
		if !taken[s.name] {
			s.stop()
			m.leaving = append(m.leaving, s)
		}
	}
	m.leaving = stillThere(m.leaving)
	m.order = order
	start(fresh)
	m.outdate()
	return told
}

// start lets supervisors run, after what they remember of an earlier run was read, all at the same time.
func start(fresh []*supervisor) {
	var reading sync.WaitGroup
	for _, s := range fresh {
		reading.Go(s.remember)
	}
	reading.Wait()
	for _, s := range fresh {
		go s.run()
	}
}

// stillThere drops the supervisors that have ended.
func stillThere(leaving []*supervisor) (rest []*supervisor) {
	for _, s := range leaving {
		select {
		case <-s.done:
		default:
			rest = append(rest, s)
		}
	}
	return rest
}

// breakerOf returns the breaker of all servers of a name. The caller holds mu.
func (m *Manager) breakerOf(name string) *breaker {
	b := m.breakers[name]
	if b == nil {
		b = &breaker{}
		m.breakers[name] = b
	}
	return b
}

// leftover returns what is closed when nothing is left of the last server of a name; nil if nothing is. The caller
// holds mu.
func (m *Manager) leftover(name string) chan struct{} {
	for _, s := range slices.Backward(m.leaving) {
		if s.name == name {
			return s.done
		}
	}
	return nil
}

// outdate tells everybody that there is something new. The caller holds mu.
func (m *Manager) outdate() {
	m.snapshot = nil
	close(m.changed)
	m.changed = make(chan struct{})
}

// Snapshot returns what is known now.
func (m *Manager) Snapshot() *Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.snapshot == nil {
		views := make([]*view, len(m.order))
		for i, s := range m.order {
			views[i] = s.current
		}
		m.snapshot = build(views, m.changed)
	}
	return m.snapshot
}

// find returns a server's supervisor.
func (m *Manager) find(name string) (*supervisor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fmt.Errorf("server %q: %w", name, ErrClosed)
	}
	for _, s := range m.order {
		if s.name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownServer, name)
}

// Reconnect has a server connected anew, whatever its state is unless it is disabled, and forgets how often that has
// failed. An attempt that is under way is given up for it. It does not wait: see Settle.
func (m *Manager) Reconnect(name string) error {
	s, err := m.find(name)
	if err != nil {
		return err
	}
	if !s.settle(s.reconnect) {
		return fmt.Errorf("server %q: %w", name, ErrClosed)
	}
	return nil
}

// Settle waits until the attempts to connect that are under way have ended. Without names it waits for each server as
// long as its startupWait or Options.Window says, counted from its start, and for required servers to the end; the
// error then joins a *ServerError for each required server that is not ready. With names it waits for those to the end
// of their attempts, which their timeouts for connecting and listing bound, and the error tells of each that is not
// ready. A done ctx ends it with context.Cause(ctx).
func (m *Manager) Settle(ctx context.Context, names ...string) error {
	waitFor, err := m.waiters(names)
	if err != nil {
		return err
	}
	for _, w := range waitFor {
		w.s.settle(func() {})
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	var missing []error
	for _, w := range waitFor {
		v := w.s.view()
		if w.required && v.status.State != Ready {
			missing = append(missing, v.failure())
		}
	}
	return errors.Join(missing...)
}

// A waiter is a server that Settle waits for.
type waiter struct {
	s        *supervisor
	required bool      // it is missed if it is not ready then
	until    time.Time // zero: to the end
}

func (m *Manager) waiters(names []string) ([]waiter, error) {
	if len(names) == 0 {
		m.mu.Lock()
		defer m.mu.Unlock()
		var all []waiter
		for _, s := range m.order {
			server := s.current.status.Config
			w := waiter{s: s, required: server.Required}
			switch wait := server.StartupWait; {
			case server.Required, wait != nil && *wait == 0:
			case wait != nil:
				w.until = s.started.Add(*wait)
			default:
				w.until = s.started.Add(max(m.options.Window, 0))
			}
			all = append(all, w)
		}
		return all, nil
	}
	var some []waiter
	for _, name := range names {
		s, err := m.find(name)
		if err != nil {
			return nil, err
		}
		some = append(some, waiter{s: s, required: true})
	}
	return some, nil
}

// wait waits until the server has settled, or its time is over.
func (w waiter) wait(ctx context.Context) error {
	var over <-chan time.Time
	if !w.until.IsZero() {
		timer := time.NewTimer(time.Until(w.until))
		defer timer.Stop()
		over = timer.C
	}
	for {
		v := w.s.view()
		if v.status.State != Connecting {
			return nil
		}
		select {
		case <-v.next:
		case <-over:
			return nil
		case <-w.s.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends all connections, at the same time, and waits until every goroutine and process is gone; running calls fail
// with ErrClosed. A done ctx makes it hurry. It is idempotent, and every caller waits.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		m.leaving = append(m.leaving, m.order...)
		for _, s := range m.leaving {
			s.stop()
		}
	}
	all := m.leaving
	m.mu.Unlock()
	stopHurrying := context.AfterFunc(ctx, m.hurry)
	defer stopHurrying()
	var failed []error
	for _, s := range all {
		<-s.done
		failed = append(failed, s.closeError)
	}
	return errors.Join(failed...)
}
