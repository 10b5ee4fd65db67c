package manager

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/transport"
)

// A supervisor owns one server: its configuration, its connection, its timers and tools. All that is decided is decided
// on its loop's goroutine; what takes time runs beside it and reports back to the loop. Everybody else reads the view
// that it publishes.
type supervisor struct {
	m       *Manager
	name    string
	started time.Time
	inbox   chan func()     // what the loop is to do
	base    context.Context // of all that the supervisor does
	stop    context.CancelFunc
	done    chan struct{} // closed when nothing is left
	beside  sync.WaitGroup

	calls    atomic.Int64 // that are running
	answered atomic.Int64 // how many have been answered

	// Guarded by m.mu:
	current *view
	pending *config.Server // the configuration that the loop is to take next

	mu         sync.Mutex
	closeError error // not to be read before done is closed

	// The rest belongs to the loop, and before it runs to the one who makes it.
	server   config.Server
	state    State
	since    time.Time
	err      error
	starts   int
	attempt  *attempt        // that is under way; nil if none is
	client   *client.Client  // the connection, from the handshake on
	line     context.Context // done when client is given up
	leave    context.CancelFunc
	opened   time.Time     // when client was opened
	clear    chan struct{} // closed when nothing is left of earlier connections and attempts; nil: nothing ever was
	breaker  *breaker
	retry    retry
	quiet    bool
	dueAt    time.Time
	tools    catalogue
	health   health
	restored restored

	retryTimer   *time.Timer
	refreshTimer *time.Timer
	pingTimer    *time.Timer
}

// newSupervisor makes a supervisor that does not run yet. The caller holds m.mu.
func newSupervisor(m *Manager, server config.Server) *supervisor {
	now := time.Now()
	s := &supervisor{
		breaker: m.breakerOf(server.Name), clear: m.leftover(server.Name),
		m: m, name: server.Name, started: now, inbox: make(chan func()), done: make(chan struct{}),
		server: server, since: now, state: Connecting, restored: restored{level: m.options.LogLevel},
		retryTimer: stopped(), refreshTimer: stopped(), pingTimer: stopped(),
	}
	if server.Disabled {
		s.state = Disabled
	}
	s.base, s.stop = context.WithCancel(transport.Unattended(context.Background()))
	s.current = s.newView()
	return s
}

// stopped returns a timer that does not run.
func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// run is the loop.
func (s *supervisor) run() {
	defer close(s.done)
	if s.state == Connecting {
		s.begin()
	}
	for {
		var ended <-chan struct{}
		if s.client != nil {
			ended = s.client.Done()
		}
		select {
		case <-s.base.Done():
			s.end()
			return
		case do := <-s.inbox:
			do()
		case <-ended:
			s.lost(s.client.Err())
		case <-s.retryTimer.C:
			s.begin()
		case <-s.refreshTimer.C:
			s.list()
		case <-s.pingTimer.C:
			s.ping()
		}
	}
}

// ask has the loop do something, and waits until it has begun; false if the loop has ended.
func (s *supervisor) ask(do func()) bool {
	select {
	case s.inbox <- do:
		return true
	case <-s.base.Done():
		return false
	}
}

// settle is ask after the newest configuration was taken, and waits until it is done.
func (s *supervisor) settle(do func()) bool {
	finished := make(chan struct{})
	asked := s.ask(func() {
		defer close(finished)
		s.takeNews()
		do()
	})
	if asked {
		<-finished
	}
	return asked
}

// end closes what is left.
func (s *supervisor) end() {
	s.drop()
	s.publish()
	s.beside.Wait()
	if s.clear != nil {
		<-s.clear // of what had the server's name before, if there was no attempt
	}
	for _, t := range []*time.Timer{s.retryTimer, s.refreshTimer, s.pingTimer} {
		t.Stop()
	}
}

// An attempt is an attempt to connect, with the context that ends it.
type attempt struct {
	stop context.CancelFunc
	at   time.Time
}

// begin starts an attempt, unless there have been too many starts.
func (s *supervisor) begin() {
	s.retryTimer.Stop()
	now := time.Now()
	allowed, at := s.breaker.start(now)
	switch {
	case allowed:
		s.connect(now)
	case isProcess(s.server) && s.state == Waiting:
		s.move(gaveUp, tooOften(s.err))
	default: // somebody wants it, or it costs nothing but a request
		s.move(s.eventOfBeginning(), nil)
		s.wait(at, true, tooOften(s.err))
	}
}

// connect starts an attempt beside the loop. It waits until all that was before is gone, so that there is never more
// than one process of a server.
func (s *supervisor) connect(now time.Time) {
	s.move(s.eventOfBeginning(), nil)
	s.starts++
	ctx, stop := context.WithCancel(s.base)
	a := &attempt{stop: stop, at: now}
	s.attempt = a
	before, gone := s.clear, make(chan struct{})
	s.clear = gone
	server, options := s.server, s.clientOptions()
	s.publish()
	s.beside.Go(func() {
		defer close(gone)
		defer stop()
		if before != nil {
			<-before
		}
		if ctx.Err() != nil {
			return
		}
		c, err := s.m.options.Connect(ctx, server, options)
		taken := make(chan bool, 1)
		if s.ask(func() { taken <- s.connected(a, c, err) }) && <-taken || c == nil {
			return
		}
		s.closed(c.Close(s.m.hurried))
	})
}

// eventOfBeginning is what leads to Connecting from where the server stands.
func (s *supervisor) eventOfBeginning() event {
	if s.state == Disabled {
		return enabled
	}
	if s.state == Waiting {
		return due
	}
	return restart
}

// connected is told how an attempt went. It reports whether the connection is in use.
func (s *supervisor) connected(a *attempt, c *client.Client, err error) bool {
	if s.attempt != a {
		return false
	}
	s.attempt = nil
	if err != nil {
		s.failed(err, 0)
		return false
	}
	s.client, s.opened = c, time.Now()
	s.line, s.leave = context.WithCancel(s.base)
	s.tools.server, s.tools.since = told(c), a.at
	s.read(s.restore())
	s.publish()
	return true
}

// lost is told that the connection in use has ended, or is of no use any more.
func (s *supervisor) lost(err error) {
	lived := time.Since(s.opened)
	s.drop()
	s.failed(err, lived)
}

// loggedOut is told that a connection is refused until somebody logs in.
func (s *supervisor) loggedOut(c *client.Client, err error) {
	if s.client == c && s.client != nil {
		s.drop()
		s.move(refused, err)
	}
}

// failed decides what follows a failed attempt, or the loss of a connection that lived for a while.
func (s *supervisor) failed(err error, lived time.Duration) {
	if wantsLogin(err) {
		s.move(refused, err)
		return
	}
	d, quiet, again := s.retry.wait(isProcess(s.server), lived)
	if !again || lived == 0 && hopeless(err) {
		s.move(gaveUp, err)
		return
	}
	if status, ok := errors.AsType[*transport.StatusError](err); ok {
		d = max(d, min(status.RetryAfter, quietLast))
	}
	s.wait(time.Now().Add(d), quiet, err)
}

// wait puts the next attempt off.
func (s *supervisor) wait(at time.Time, quiet bool, err error) {
	s.quiet, s.dueAt = quiet, at
	s.retryTimer.Reset(time.Until(at))
	s.move(putOff, err)
}

// drop gives up the connection and the attempt that is under way, if there are any. They are closed beside the loop,
// and the next attempt waits for that.
func (s *supervisor) drop() {
	if s.attempt != nil {
		s.attempt.stop()
		s.attempt = nil
	}
	s.retryTimer.Stop()
	s.refreshTimer.Stop()
	s.pingTimer.Stop()
	s.tools.forget()
	s.health = health{}
	if s.client == nil {
		return
	}
	s.leave()
	c, before, gone := s.client, s.clear, make(chan struct{})
	s.client, s.clear = nil, gone
	s.beside.Go(func() {
		defer close(gone)
		if before != nil {
			<-before
		}
		s.closed(c.Close(s.m.hurried))
	})
}

// closed is told how the closing of a connection went. Of a supervisor that ends it is Close's to tell.
func (s *supervisor) closed(err error) {
	if err == nil {
		return
	}
	s.m.log.Warn("a connection could not be closed in order", "server", s.name, "error", err)
	if s.base.Err() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeError = err
}

// move changes the state and publishes it. Err is why, if something went wrong.
func (s *supervisor) move(e event, err error) {
	to, ok := next(s.state, e)
	if !ok {
		s.m.log.Error("a server's state has no such event", "server", s.name, "state", s.state, "event", e)
		return
	}
	from := s.state
	s.state, s.since = to, time.Now()
	if to != Connecting {
		s.err = err
	}
	if to != Waiting {
		s.quiet, s.dueAt = false, time.Time{}
	}
	s.publish()
	if f := s.m.options.OnEvent; f != nil && from != to {
		f(Event{Server: s.name, From: from, To: to, Time: s.since, Err: err})
	}
}

// reconnect is Manager.Reconnect.
func (s *supervisor) reconnect() {
	if s.state == Disabled {
		return
	}
	s.breaker.reset()
	s.retry = retry{}
	s.drop()
	s.begin()
}

// takeNews takes the configuration that is pending, if there is one.
func (s *supervisor) takeNews() {
	s.m.mu.Lock()
	server := s.pending
	s.pending = nil
	s.m.mu.Unlock()
	if server != nil {
		s.use(*server)
	}
}

// use takes a configuration. A changed connection is made anew, other changes cost nothing.
func (s *supervisor) use(server config.Server) {
	same := sameLine(s.server, server)
	s.server = server
	s.tools.filter(s.name, server.Tools)
	switch {
	case server.Disabled && s.state != Disabled:
		s.drop()
		s.move(disabled, nil)
	case server.Disabled, same && s.state != Disabled:
		s.publish()
	default:
		s.drop()
		if !same {
			s.recall() // what is known is another server's
		}
		s.retry.step = 0 // but starts are still counted
		s.begin()
	}
}

// sameLine reports whether two configurations lead to the same connection.
func sameLine(a, b config.Server) bool {
	for _, s := range []*config.Server{&a, &b} {
		s.Places, s.Origin, s.Scope, s.Host = nil, "", "", ""
		s.StartupWait, s.Required, s.Disabled, s.Tools = nil, false, false, config.ToolFilter{}
	}
	return reflect.DeepEqual(a, b)
}

// isProcess reports whether a server is one that we start.
func isProcess(server config.Server) bool {
	kind, err := server.Kind()
	return err == nil && kind == config.Stdio
}

// view returns what the supervisor has published last.
func (s *supervisor) view() *view {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.current
}

// publish shows everybody how the server stands.
func (s *supervisor) publish() {
	v := s.newView()
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	close(s.current.next)
	s.current = v
	s.m.outdate()
}

func (s *supervisor) newView() *view {
	v := &view{
		status: Status{
			Config: s.server, State: s.state, Since: s.since, Err: s.err, ListErr: s.tools.err,
			Next: s.dueAt, Starts: s.starts, Failures: s.retry.step, Server: s.tools.server,
			Tools: len(s.tools.shown), Cached: s.tools.cached, TimeToReady: s.tools.took,
		},
		quiet: s.quiet, tools: s.tools.shown, client: s.client, next: make(chan struct{}),
	}
	return v
}
