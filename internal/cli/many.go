package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/redact"
	"mcpwire/manager"
)

// configured returns the servers that a command over many is about: the named ones or, without names, all. They may be
// started. lost is what the files name and nobody can use.
func (a *app) configured(names []string, f *serverFlags) (servers []config.Server, lost []unusable, err error) {
	if a.within != nil {
		return a.within.all(names)
	}
	c, err := a.load(f.config, f.imports...)
	if err != nil {
		return nil, nil, err
	}
	if len(names) > 0 {
		servers, err = a.pick(c, names, f)
		return servers, nil, err
	}
	a.showProblems(c.Set, nil, nil, true)
	a.showWaiting(c)
	for _, s := range c.Servers {
		servers = append(servers, newTarget(s, "", f).Server)
	}
	return servers, broken(c.Set), a.permit(c, servers...)
}

// pick returns the servers of those names, each once. URLs are called by their hosts, as far as that tells them apart.
func (a *app) pick(c *catalogue, names []string, f *serverFlags) (servers []config.Server, err error) {
	taken := map[string]bool{}
	for _, name := range names {
		taken[name] = true
	}
	asked := map[string]bool{}
	for _, name := range names {
		if asked[name] {
			continue
		}
		asked[name] = true
		if host, ok := hostOf(name); ok {
			called := unlike(taken, host)
			taken[called] = true
			servers = append(servers, newTarget(config.Server{Name: called, URL: name}, name, f).Server)
			continue
		}
		t, err := c.find(name, name, f)
		if err != nil {
			a.showProblems(c.Set, names, err, f.verbose)
			return nil, err
		}
		servers = append(servers, t.Server)
	}
	a.showProblems(c.Set, names, nil, f.verbose)
	return servers, a.permit(c, servers...)
}

// unlike returns name, with a number behind it if it is taken.
func unlike(taken map[string]bool, name string) string {
	called := name
	for n := 2; taken[called]; n++ {
		called = fmt.Sprintf("%s (%d)", name, n)
	}
	return called
}

// withManager starts all servers, lets work use them, and shuts them down, all at the same time, on every path.
func (a *app) withManager(
	ctx context.Context, servers []config.Server, f *serverFlags, work func(context.Context, *manager.Manager) error,
) error {
	if a.within != nil {
		return work(ctx, a.within.manager)
	}
	return a.manage(ctx, servers, f, func(*mcpwire.ManageOptions, *stopper) {}, work)
}

// manage is withManager after prepare has seen to the options and the signals.
func (a *app) manage(
	ctx context.Context, servers []config.Server, f *serverFlags, prepare func(*mcpwire.ManageOptions, *stopper),
	work func(context.Context, *manager.Manager) error,
) error {
	ctx, stop := catchSignals(ctx)
	defer stop.release()
	o := a.manageOptions(servers, f)
	o.Telemetry = a.observed.follow(ctx)
	prepare(&o, stop)
	m := mcpwire.Manage(withConnectTimeouts(servers), o)
	err := work(ctx, m)
	if f.verbose {
		a.console.line("shutting down")
	}
	done := a.console.wait("shutting down")
	closeErr := m.Close(stop.closing())
	done()
	if closeErr != nil {
		a.console.line("mcpwire: warning: " + indented(errorText(closeErr)))
	}
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// withConnectTimeouts widens the clocks that would end a request before a long timeout does.
func withConnectTimeouts(servers []config.Server) []config.Server {
	servers = slices.Clone(servers)
	for i := range servers {
		s := &servers[i]
		if limit := longer(s.Timeout, client.DefaultConnectTimeout); s.ConnectTimeout == nil && limit != 0 {
			limit = max(limit, 0) // no limit is 0 in an entry
			s.ConnectTimeout = &limit
		}
	}
	return servers
}

// listTimeout is the clock of all lists: it is one for all servers, so wide that it ends no request of any before the
// server's timeout does.
func listTimeout(servers []config.Server) time.Duration {
	var widest time.Duration
	for _, s := range servers {
		limit := longer(s.Timeout, client.DefaultListTimeout)
		if limit < 0 {
			return limit
		}
		widest = max(widest, limit)
	}
	return widest
}

func (a *app) manageOptions(servers []config.Server, f *serverFlags) mcpwire.ManageOptions {
	o := mcpwire.ManageOptions{Trace: a.trace.sink()}
	o.Client.ListTimeout = listTimeout(servers)
	o.Auth.Command = func(server string) string { return "mcpwire login " + loginName(server, servers, f) }
	if !f.verbose {
		return o
	}
	tell := func(server, text string) { a.console.line("[" + server + "] " + redact.Tokens(text)) }
	o.OnStderr = func(server string, line []byte) { tell(server, string(line)) }
	o.OnNoise = func(server string, line []byte) { tell(server, "dropped, no message: "+string(line)) }
	o.OnHTTP = func(server string, x mcpwire.HTTPTrace) { tell(server, exchangeText(x)) }
	o.OnEvent = func(e manager.Event) {
		text := e.To.String()
		if e.Err != nil {
			text += ": " + e.Err.Error()
		}
		tell(e.Server, text)
	}
	return o
}

// loginName returns what stands for a server in the command that logs in to it.
func loginName(name string, servers []config.Server, f *serverFlags) string {
	for _, s := range servers {
		if s.Name == name && s.Origin == "" {
			return shellWords([]string{s.URL}) // it was given so
		}
	}
	return inFile(f.config, f.imports...) + shellWords([]string{name})
}

// settled waits until the first attempt to reach each server has ended. show gets every snapshot, and again at each
// tick.
func settled(
	ctx context.Context, m *manager.Manager, tick <-chan time.Time, show func(*manager.Snapshot) error,
) (*manager.Snapshot, error) {
	for {
		s := m.Snapshot()
		if err := show(s); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(s.Servers, pending) {
			return s, nil
		}
		select {
		case <-s.Changed():
		case <-tick:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// pending reports whether the first attempt to reach a server is under way.
func pending(s manager.Status) bool { return s.State == manager.Connecting && s.Failures == 0 }

// settledQuietly is settled with no more than a spinner.
func (a *app) settledQuietly(ctx context.Context, m *manager.Manager) (*manager.Snapshot, error) {
	done := a.console.wait("connecting")
	defer done()
	return settled(ctx, m, nil, func(s *manager.Snapshot) error {
		var waiting []string
		for _, one := range s.Servers {
			if pending(one) {
				waiting = append(waiting, one.Config.Name)
			}
		}
		a.console.say(fmt.Sprintf("connecting to %d of %d: %s", len(waiting), len(s.Servers), strings.Join(waiting, ", ")))
		return nil
	})
}

// trouble tells why a server is not as it should be; nil if it is ready and its tools were read, or is disabled.
func trouble(s manager.Status) error {
	switch {
	case s.State == manager.Disabled:
		return nil
	case s.State == manager.Ready:
		return s.ListErr
	case s.Err != nil:
		return s.Err
	}
	return errors.New(s.State.String())
}

// withName returns an error's text with the server's name before it, unless it is in it.
func withName(server string, err error) string {
	if names(err, server) {
		return errorText(err)
	}
	return server + ": " + errorText(err)
}

// names reports whether an error tells the server's name: before its text or, as one about an entry does, behind the
// place. That the name is anywhere in the text does not count: it may be the server's words.
func names(err error, server string) bool {
	if p, ok := errors.AsType[*config.Problem](err); ok && p.Server == server {
		return true
	}
	if e, ok := errors.AsType[*config.ExpandError](err); ok && e.Server == server {
		return true
	}
	return strings.HasPrefix(err.Error(), server+": ")
}

// verdict is the error of a command over several servers: nil if none has failed. failed counts those that are not even
// in the snapshot.
func verdict(s *manager.Snapshot, failed int) error {
	all, login := failed, false
	for _, one := range s.Servers {
		if one.State == manager.Disabled {
			continue
		}
		all++
		if trouble(one) != nil {
			failed++
			login = one.State == manager.NeedsLogin
		}
	}
	if failed == 0 {
		return nil
	}
	return &someError{failed: failed, all: all, login: login && all == 1}
}

// A someError tells that servers have failed, of several. What is wrong with each has been told.
type someError struct {
	failed, all int
	login       bool // there is one server, and somebody must log in to it
}

func (e *someError) Error() string {
	switch {
	case e.login:
		return "somebody must log in to the server"
	case e.all == 1:
		return "the server has failed"
	case e.failed == e.all:
		return fmt.Sprintf("all %d servers have failed", e.all)
	}
	return fmt.Sprintf("%d of %d servers have failed", e.failed, e.all)
}
