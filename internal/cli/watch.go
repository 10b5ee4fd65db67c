package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/manager"
	"mcpwire/rpc"
)

func watchCommand(a *app) *cobra.Command {
	w := &watching{app: a}
	cmd := &cobra.Command{
		Use:   "watch [flags] [SERVER ...]\n  mcpwire watch [flags] -- COMMAND ARG...",
		Short: "Show what servers tell by themselves: changes, log messages, notifications",
		Long: `Show what servers tell by themselves, as it happens, one line for each: notifications, log messages, changes of
lists with what was added (+), removed (-) or changed (~), changes of resources, and how each connection stands. A lost
one is made anew. Without SERVER all configured servers that are not disabled are watched.

Log messages come if --level asks for them, changes of a resource if --resource subscribes to it. That a server offers
no such thing is told once, on standard error.

It ends when it is interrupted (exit code 130), after --for or --count, or when no server is left that will be tried
again. After --for the exit code is 5 if some servers are not connected then, and 1 if none is.

With --output json each line is an object: time, server, kind, and "method" and "params" as the server sent them.
docs/watch.md tells of each kind.`,
		Example: `  mcpwire watch
  mcpwire watch demo --resource demo://clock --read --count 3
  mcpwire watch files search --level warning --output json
  mcpwire watch --for 10m -- npx -y some-mcp-server`,
		RunE: w.run,
	}
	w.flags.add(cmd)
	flags := cmd.Flags()
	flags.Var(&w.flags.level, "level", "ask for log messages of `LEVEL` and above: debug, info, notice, warning, error, …")
	flags.StringArrayVar(&w.uris, "resource", nil, "subscribe to the resource `URI`; may be given several times")
	flags.BoolVar(&w.read, "read", false, "show what a resource holds that has changed")
	flags.DurationVar(&w.limit, "for", 0, "end after `DURATION`, such as 30s (default: when interrupted)")
	flags.IntVar(&w.count, "count", 0, "end after `N` lines, not counting those about connections and subscriptions")
	return cmd
}

// A watching is one run of the command watch. The servers' goroutines hand over what is to be shown, one shows it.
type watching struct {
	*app
	flags serverFlags
	uris  []string
	read  bool
	limit time.Duration // 0: none
	count int           // 0: any number

	lost    int // servers that the files name and nobody can use
	names   int // width of the longest name
	servers map[string]*watchedServer
	ended   map[string]bool // servers from which nothing comes any more unless somebody does something
	seen    chan observation
	over    chan struct{} // closed when nothing is shown any more

	mu     sync.Mutex
	states []manager.Event // not shown yet
	moved  chan struct{}   // has one when there are some
}

func (w *watching) run(cmd *cobra.Command, words []string) error {
	switch {
	case w.limit < 0 || w.limit == 0 && cmd.Flags().Changed("for"):
		return usagef("--for: a duration above 0 is wanted, such as 30s")
	case w.count < 0 || w.count == 0 && cmd.Flags().Changed("count"):
		return usagef("--count: a number above 0 is wanted")
	}
	servers, err := w.chosen(cmd, words)
	if err != nil {
		return err
	}
	w.servers, w.ended, w.seen = map[string]*watchedServer{}, map[string]bool{}, make(chan observation)
	w.over, w.moved = make(chan struct{}), make(chan struct{}, 1)
	for _, s := range servers {
		w.servers[s.Name] = newWatchedServer(w, s)
		w.names = max(w.names, len([]rune(s.Name)))
	}
	return w.manage(cmd.Context(), servers, &w.flags, w.prepare, w.watch)
}

// chosen returns the servers to watch.
func (w *watching) chosen(cmd *cobra.Command, words []string) ([]config.Server, error) {
	names, command, err := splitAtDash(cmd, words)
	switch {
	case err != nil:
		return nil, err
	case command != nil && len(names) > 0:
		return nil, usagef("both servers, %q, and a command behind -- are given; give one of them", names)
	case command != nil:
		return []config.Server{adHoc(command, &w.flags).Server}, nil
	}
	servers, lost, err := w.configured(names, &w.flags)
	if err != nil {
		return nil, err
	}
	w.lost = len(lost)
	for _, s := range servers {
		if s.Disabled && len(names) > 0 {
			return nil, usagef("server %q is disabled at %v (\"mcpwire enable %s\" changes that)",
				s.Name, s.Places["disabled"], inFile(w.flags.config)+shellWords([]string{s.Name}))
		}
	}
	servers = slices.DeleteFunc(servers, func(s config.Server) bool { return s.Disabled })
	if len(servers) == 0 {
		return nil, usagef("no server is given and none is configured and enabled; write \"mcpwire watch SERVER\", " +
			"as in \"mcpwire watch demo\", or \"mcpwire watch -- COMMAND ARG...\"")
	}
	return servers, nil
}

// adjust has the manager tell us what happens.
func (w *watching) prepare(o *mcpwire.ManageOptions, _ *stopper) {
	o.LogLevel = w.flags.level.level
	o.Logger = w.console.warnings()
	o.Client.OnError = func(err error) {
		if w.flags.verbose || errors.Is(err, rpc.ErrDropped) { // a state tells of most others
			w.console.line("mcpwire: warning: " + indented(errorText(err)))
		}
	}
	o.OnEvent = func(e manager.Event) {
		w.mu.Lock()
		w.states = append(w.states, e)
		w.mu.Unlock()
		signalTo(w.moved)
		if e.To == manager.Ready {
			signalTo(w.servers[e.Server].ready)
		}
	}
	o.OnNotification = func(ctx context.Context, server, method string, params json.RawMessage) {
		n := notice{time.Now(), method, slices.Clone(params)}
		select {
		case w.servers[server].notices <- n: // who is slow to show them has the oldest dropped: see rpc.Options.Queue
		case <-ctx.Done():
		case <-w.over:
		}
	}
}

// signalTo leaves a signal, unless one is there.
func signalTo(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// watch shows what happens until it is over. Each server has a goroutine, which ends with it.
func (w *watching) watch(ctx context.Context, m *manager.Manager) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var followers sync.WaitGroup
	for _, s := range w.servers {
		followers.Go(func() { s.follow(ctx, m) })
	}
	defer followers.Wait()
	defer cancel(nil)
	defer close(w.over)
	var over <-chan time.Time
	if w.limit > 0 {
		timer := time.NewTimer(w.limit)
		defer timer.Stop()
		over = timer.C
	}
	for shown := 0; ; {
		var seen *observation
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over:
			return w.outcome(m.Snapshot())
		case <-w.moved:
		case o := <-w.seen:
			seen = &o
		}
		if err := w.showStates(m); err != nil { // first, as what a server tells comes after it has been connected
			return err
		}
		if seen != nil {
			if err := w.show(*seen); err != nil {
				return err
			}
			if seen.kind != kindSubscribed {
				shown++
			}
			if shown == w.count && w.count > 0 {
				return nil
			}
		}
		if len(w.ended) == len(w.servers) {
			return w.outcome(m.Snapshot())
		}
	}
}

// outcome is the error at the end, after it was told which servers are not connected.
func (w *watching) outcome(s *manager.Snapshot) error {
	s = &manager.Snapshot{Servers: slices.Clone(s.Servers)}
	for i := range s.Servers {
		one := &s.Servers[i]
		if one.State == manager.Ready {
			one.ListErr = nil // nobody has asked for a list
		} else if err := trouble(*one); err != nil {
			w.console.line("mcpwire: " + indented(withName(one.Config.Name, err)))
		}
	}
	return verdict(s, w.lost)
}

func (w *watching) showStates(m *manager.Manager) error {
	w.mu.Lock()
	states := w.states
	w.states = nil
	w.mu.Unlock()
	for _, e := range states {
		s, _ := m.Snapshot().Server(e.Server)
		if err := w.show(stateSeen(e, s)); err != nil {
			return err
		}
		if e.To == manager.Failed || e.To == manager.NeedsLogin {
			w.ended[e.Server] = true
		}
	}
	return nil
}

// show prints one line, and what belongs below it.
func (w *watching) show(o observation) error {
	if w.flags.output.json {
		return w.printJSON(o.object())
	}
	text := fmt.Sprintf("%s  %s  %s  %s",
		o.at.Format(time.TimeOnly), padded(o.server, w.names), padded(o.kind, len(kindNotification)), o.text)
	if o.bad {
		text = w.out.alarm(text)
	} else {
		text = w.out.shown(text)
	}
	if below := strings.TrimSuffix(o.below, "\n"); below != "" {
		text += "\n    " + strings.ReplaceAll(w.out.shown(below), "\n", "\n    ")
	}
	return w.out.write(text + "\n")
}
