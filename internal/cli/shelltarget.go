package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/manager"
)

// onlyTarget returns the target of a command of the shell that takes nothing but a server, and that not always.
func (s *shell) onlyTarget(cmd *cobra.Command, args []string, f *serverFlags) (target, error) {
	switch {
	case cmd.ArgsLenAtDash() >= 0:
		return target{}, usagef("a command behind -- is given when the shell is started: \"mcpwire shell -- COMMAND ARG...\"")
	case len(args) > 1:
		return target{}, usagef("one server is wanted, got %q", args)
	case len(args) == 1:
		if err := s.known(args[0]); err != nil {
			return target{}, err
		}
		return s.target(args[0], f), nil
	}
	return s.chosen(cmd, f)
}

// chosen returns the server that commands are for.
func (s *shell) chosen(cmd *cobra.Command, f *serverFlags) (target, error) {
	if s.current == "" {
		return target{}, usagef("%s: no server is chosen; write \"use SERVER\" first: %s", cmd.Name(), either(s.names()))
	}
	return s.target(s.current, f), nil
}

// hasServer reports whether commands that name no server have one all the same.
func (a *app) hasServer() bool { return a.within != nil && a.within.current != "" }

// target returns a server of the shell.
func (s *shell) target(server string, f *serverFlags) target {
	again := shellWords([]string{server})
	if server == s.current {
		again = ""
	}
	i := slices.Index(s.names(), server)
	t := newTarget(s.servers[i], again, f)
	t.inShell = true
	return t
}

// targetAnd returns the target of a command of the shell that takes an operand, and the words from the operand on. A
// tool tells its server, anything else is of the one that was chosen.
func (s *shell) targetAnd(cmd *cobra.Command, words []string, f *serverFlags, o operand) (target, []string, error) {
	if len(words) == 0 {
		return target{}, nil, usagef("no %s is given; write \"%s %s\"", o.name, cmd.Name(), o.form)
	}
	if o.name != "tool" {
		t, err := s.chosen(cmd, f)
		return t, words, err
	}
	server, tool, err := s.toolOf(cmd.Context(), words[0])
	if unknown, ok := errors.AsType[*unknownToolError](err); ok && s.current != "" {
		server, tool = s.current, unknown.word // whose refusal tells more
	} else if err != nil {
		return target{}, nil, err
	}
	return s.target(server, f), append([]string{tool}, words[1:]...), nil
}

// An unknownToolError tells that no server has a tool, and which ones there are.
type unknownToolError struct {
	word  string
	known []string
}

func (e *unknownToolError) Error() string {
	return fmt.Sprintf("no server has a tool %q%s (\"tools\" lists them)", e.word, didYouMean(e.word, e.known))
}

// toolOf returns the tool that a word means: one of the server that was chosen, else SERVER.TOOL, else the tool of that
// name which only one server has.
func (s *shell) toolOf(ctx context.Context, word string) (server, tool string, err error) {
	snapshot, err := s.settledQuietly(ctx, s.manager)
	if err != nil {
		return "", "", err
	}
	return s.find(snapshot.Tools, word)
}

// find is toolOf among the tools that there are.
func (s *shell) find(tools []manager.Tool, word string) (server, tool string, err error) {
	var owners, known []string
	for _, t := range tools {
		switch {
		case s.current != "" && t.Server != s.current:
			if t.Name == word {
				known = append(known, t.Server+"."+word)
			}
			continue
		case t.Name == word:
			owners = append(owners, t.Server)
		}
		known = append(known, t.Name)
	}
	if len(owners) == 1 {
		return owners[0], word, nil
	}
	for _, name := range s.names() {
		if tool, ok := strings.CutPrefix(word, name+"."); ok && tool != "" {
			return name, tool, nil
		}
	}
	if len(owners) == 0 {
		return "", "", &usageError{&unknownToolError{word, known}}
	}
	for i, name := range owners {
		owners[i] = name + "." + word
	}
	return "", "", usagef("several servers have a tool %q; write %s", word, either(owners))
}

// withClientOf lets a command use the connection to a server.
func (s *shell) withClientOf(
	ctx context.Context, t target, work func(ctx context.Context, c *client.Client) error,
) error {
	done := s.console.wait("connecting to " + t.Name)
	defer done()
	c, err := s.connect(ctx, t.Name)
	if err == nil {
		err = s.asker.afterVisits(ctx, t.Name, func() error { return work(ctx, c) })
	}
	return explained(ctx, t.Name, err)
}

// connect returns the connection to a server, and has one made where there is none: somebody wants it now. That it is
// another one than before is told.
func (s *shell) connect(ctx context.Context, server string) (*client.Client, error) {
	before, _ := s.manager.Snapshot().Server(server)
	c, err := s.await(ctx, server)
	if err == nil || ctx.Err() != nil || before.State == manager.Connecting || before.State == manager.Disabled {
		return c, err
	}
	if err := s.manager.Reconnect(server); err != nil {
		return nil, err
	}
	return s.await(ctx, server)
}

// await returns the connection to a server when the attempt to make one that is under way has ended.
func (s *shell) await(ctx context.Context, server string) (*client.Client, error) {
	if err := s.manager.Settle(ctx, server); err != nil {
		return nil, unwrapped(err)
	}
	c, err := s.manager.Client(ctx, server)
	if err != nil {
		return nil, unwrapped(err)
	}
	before := s.connections[server]
	s.connections[server] = c
	s.asker.connected(server, c)
	if before != nil && before != c {
		s.console.line(indented(server + ": connected anew, for the connection before has ended: " + errorText(before.Err())))
	}
	return c, nil
}

// unwrapped returns why a server can't be used, as commands outside of the shell tell it.
func unwrapped(err error) error {
	e, ok := errors.AsType[*manager.ServerError](err)
	if !ok || e.Err == nil {
		return err
	}
	if names(e.Err, e.Server) {
		return e.Err
	}
	return fmt.Errorf("%s: %w", e.Server, e.Err)
}

// all returns the servers of the shell, for commands over several.
func (s *shell) all(names []string) ([]config.Server, []unusable, error) {
	if len(names) > 0 {
		return nil, nil, usagef("no names are wanted, got %q", names)
	}
	return s.servers, s.lost, nil
}
