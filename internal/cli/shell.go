package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/manager"
)

func shellCommand(a *app) *cobra.Command {
	s := &shell{app: a, connections: map[string]*client.Client{}}
	cmd := &cobra.Command{
		Use:   "shell [flags] [SERVER]\n  mcpwire shell [flags] -- COMMAND ARG...",
		Short: "Type commands on one connection, or on those of all configured servers",
		Long: `Read commands and carry them out on one connection to a server or, without SERVER, on those of all configured
ones.

The commands are those of mcpwire, with the same words, but the server is left out: "tools", "call TOOL key=value",
"read URI", and so on; "TOOL key=value" is short for the second. "help" lists them. Over several servers "use SERVER"
chooses one; a tool is found by its name if only one server has it, else by SERVER.TOOL.

On a terminal there is a prompt with line editing, completion by Tab, and a history, which is kept without lines that
begin with a blank and without what looks like a secret. Ctrl-C clears the line, or cancels the command that is
running; Ctrl-D leaves. What servers tell unasked is shown above the prompt ("watch off" stops that).

Without a terminal commands are read from standard input, one a line; # begins a comment. Errors go to standard error
with the number of the line, and the exit code is that of the last command, as with sh; --stop-on-error stops at the
first that fails. A connection that is lost is opened anew by the next command; what was lost is never sent again.`,
		Example: `  mcpwire shell demo
  mcpwire shell
  mcpwire shell demo -c 'add a=2 b=40' -c ping
  mcpwire shell demo --stop-on-error < commands.txt`,
		RunE: s.run,
	}
	s.flags.add(cmd)
	s.flags.ask.add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVarP(&s.once, "command", "c", nil, "carry out the command `WORDS` and leave; may be given several "+
		"times")
	flags.BoolVarP(&s.strict, "stop-on-error", "e", false, "leave at the first command that fails, with its exit code")
	return cmd
}

// A shell is one run of the command shell: commands that share connections.
type shell struct {
	*app
	flags  serverFlags
	once   []string // --command
	strict bool     // --stop-on-error

	servers     []config.Server
	lost        []unusable                // what the files name and nobody can use
	current     string                    // the server that commands are for; empty: none is chosen
	connections map[string]*client.Client // the last one to each server that a command has used
	editor      *editor                   // nil where no line is edited
	asker       *asker                    // answers what servers ask while a command runs
	leaving     bool                      // the command exit was given

	mu      sync.Mutex
	manager *manager.Manager        // nil before it was started
	cancel  context.CancelCauseFunc // ends the command that is running; nil: none is
	silent  bool                    // what servers tell unasked is not shown
}

func (s *shell) run(cmd *cobra.Command, args []string) (err error) {
	if err := s.choose(cmd, args); err != nil {
		return err
	}
	if s.once == nil && slices.Contains(s.flags.ask.files, "-") {
		return usagef("--answer: standard input has the commands; name a file, or give the commands with --command")
	}
	source := s.source()
	s.silent = s.editor == nil
	if s.asker, err = s.newAsker(s.flags.ask, s.flags.verbose); err != nil {
		return err
	}
	return s.manage(cmd.Context(), s.servers, &s.flags, s.prepare,
		func(ctx context.Context, m *manager.Manager) error {
			s.mu.Lock()
			s.manager = m
			s.mu.Unlock()
			s.within = s
			defer func() { s.within = nil }()
			if err := s.greet(ctx); err != nil {
				return err
			}
			return s.loop(ctx, source)
		})
}

// choose finds the servers that the command line means.
func (s *shell) choose(cmd *cobra.Command, args []string) (err error) {
	if len(args) > 0 || cmd.ArgsLenAtDash() >= 0 {
		t, err := s.onlyServer(cmd, args, &s.flags)
		s.servers = []config.Server{t.Server}
		s.current = t.Name
		return err
	}
	s.servers, s.lost, err = s.configured(nil, &s.flags)
	switch {
	case err != nil:
		return err
	case len(s.servers) == 0:
		return usagef("no server is given and none is configured; write \"mcpwire shell SERVER\", as in " +
			"\"mcpwire shell demo\", or \"mcpwire shell -- COMMAND ARG...\"")
	}
	s.current = s.only()
	return nil
}

// only returns the server that is meant where none is chosen: the only one; empty where there are several.
func (s *shell) only() string {
	if len(s.servers) > 1 {
		return ""
	}
	return s.servers[0].Name
}

// source returns where commands come from: the command line, somebody at a terminal, or standard input.
func (s *shell) source() lineSource {
	switch {
	case s.once != nil:
		return &givenLines{lines: s.once}
	case s.asks() && s.console.spins:
		s.editor = newEditor(s)
		return s.editor
	}
	return newReadLines(s.app)
}

// prepare has the shell told of what servers say, and of Ctrl-C.
func (s *shell) prepare(o *mcpwire.ManageOptions, stop *stopper) {
	o.OnNotification = s.notified
	o.Prepare = s.asker.handle
	verbose := o.OnEvent
	o.OnEvent = func(e manager.Event) {
		if verbose != nil {
			verbose(e)
			return
		}
		s.moved(e)
	}
	stop.setInterrupt(s.interrupt)
}

// interrupt is told of Ctrl-C. It reports false if that ends the shell.
func (s *shell) interrupt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.editor == nil:
		return false
	case s.cancel != nil:
		s.cancel(errInterrupted)
	}
	return true
}

// running lets Ctrl-C end what runs with the context that it returns, until done is called.
func (s *shell) running(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		s.cancel = nil
		s.mu.Unlock()
		cancel(nil)
	}
}

// greet waits for the servers at the beginning. One that is alone must come; of several some may not.
func (s *shell) greet(ctx context.Context) error {
	if len(s.servers) > 1 && s.editor == nil {
		return nil // commands wait for what they need
	}
	waiting, done := s.running(ctx)
	defer done()
	if len(s.servers) == 1 {
		c, err := s.await(waiting, s.servers[0].Name)
		if err != nil {
			return err
		}
		s.welcome(c)
		return nil
	}
	snapshot, err := s.settledQuietly(waiting, s.manager)
	switch {
	case ctx.Err() != nil:
		return err
	case err == nil:
		s.showTroubles(snapshot)
		s.console.linef("%d servers; \"help\" lists the commands, Ctrl-D leaves", len(s.servers))
	}
	return nil
}

func (s *shell) welcome(c *client.Client) {
	if s.editor == nil {
		return
	}
	about := c.Server()
	s.console.linef("connected to %s, protocol %s; \"help\" lists the commands, Ctrl-D leaves",
		c.Mask(about.Info.Name+" "+about.Info.Version), about.Revision)
}

// loop carries out commands until there are no more. The error is that of the last one, or that of the end.
func (s *shell) loop(ctx context.Context, source lineSource) error {
	var last error
	for !s.leaving {
		line, place, err := source.next(ctx, s.prompt())
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case errors.Is(err, io.EOF):
			return s.end(last)
		case err != nil:
			return err
		}
		words, err := splitLine(line)
		switch {
		case err != nil:
			err = &usageError{err}
		case len(words.words) == 0:
			continue
		default:
			err = s.carryOut(ctx, words.words)
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
		if !s.leaving {
			last = err
		}
		if err == nil {
			continue
		}
		if readerGone(err) {
			return err
		}
		s.tell(place, err)
		if s.strict {
			return s.end(err)
		}
	}
	return s.end(last)
}

// tell shows the error of a command.
func (s *shell) tell(place string, err error) {
	if _, told := errors.AsType[*statusError](err); told {
		return
	}
	if place != "" {
		place += ": "
	}
	s.console.line("mcpwire: " + place + indented(errorText(err)))
}

// end returns the error that the shell ends with, after last was the error of the last command. It has been told.
// Somebody at a terminal who leaves has seen what has failed.
func (s *shell) end(last error) error {
	if last == nil || s.editor != nil && !s.strict {
		return nil
	}
	return &statusError{exitCode(last)}
}

func (s *shell) prompt() string {
	if s.current != "" {
		return visible(s.current) + "> "
	}
	return "mcpwire> "
}

// masked returns a text without the secrets of the servers' configuration.
func (s *shell) masked(text string) string {
	for _, c := range s.connections {
		text = c.Mask(text)
	}
	return text
}

// names are those of the servers.
func (s *shell) names() []string {
	var names []string
	for _, one := range s.servers {
		names = append(names, one.Name)
	}
	return names
}

// known reports whether there is a server of that name.
func (s *shell) known(server string) error {
	if names := s.names(); !slices.Contains(names, server) {
		hint := didYouMean(server, names)
		if hint == "" {
			hint = "; there are " + either(names)
		}
		return usagef("unknown server %q%s", server, hint)
	}
	return nil
}
