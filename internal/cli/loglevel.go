package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/internal/redact"
	"mcpwire/mcp"
)

func logLevelCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use:   "log-level [flags] SERVER LEVEL\n  mcpwire log-level [flags] LEVEL -- COMMAND ARG...",
		Short: "Find out whether a server takes a level of log messages",
		Long: `Ask a server for log messages of LEVEL and above, and tell whether it takes that.

A level lasts as long as the connection, so that nothing stays set: "mcpwire watch SERVER --level LEVEL" shows what a
server logs by itself, "mcpwire call SERVER TOOL --level LEVEL" what it logs during a call. A server of a revision from
2026-07-28 on is told the level with each request: nothing is sent, and that is said. The exit code is 1 if the server
refuses the level, or offers no log messages.

LEVEL is debug, info, notice, warning, error, critical, alert or emergency. With --output json the answer is
{"level":"...","set":true|false}: "set" tells whether the server was asked and has taken it.`,
		Example: `  mcpwire log-level demo warning
  mcpwire log-level debug -- npx -y some-mcp-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, words, err := a.serverAnd(cmd, args, f, operand{"level", "LEVEL", "demo warning"})
			if err != nil {
				return err
			}
			if len(words) > 1 {
				return usagef("one level is wanted, got %q", words)
			}
			level, err := parseLevel(words[0])
			if err != nil {
				return err
			}
			return a.withClient(cmd.Context(), t, f, func(ctx context.Context, c *client.Client) error {
				return a.setLevel(ctx, c, t, f, level)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func (a *app) setLevel(ctx context.Context, c *client.Client, t target, f *serverFlags, level mcp.LogLevel) error {
	s := c.Server()
	set := mcp.IsSession(s.Revision)
	if !set && s.Capabilities.Logging == nil {
		return fmt.Errorf("%s %s", t.Name, noLogs)
	}
	if err := c.SetLogLevel(ctx, level); err != nil {
		return err
	}
	if f.output.json {
		return a.printJSON(fmt.Appendf(nil, `{"level":%q,"set":%t}`, level, set))
	}
	how := fmt.Sprintf("%s takes the level %s, for as long as a connection lasts", t.Name, level)
	if !set {
		how = fmt.Sprintf("%s has nothing to set: in protocol %s the level goes along with each request", t.Name, s.Revision)
	}
	return a.out.show(fmt.Sprintf("%s (\"mcpwire watch --level %s %s\" does that)\n", how, level, t.again))
}

const noLogs = "offers no log messages"

// A logs shows the log messages of a server on standard error, while a command does something else.
type logs struct {
	*app
	server  string
	level   mcp.LogLevel
	secrets *redact.Set
	line    atomic.Pointer[client.Client] // nil before there is a connection
}

// logsOf returns nil unless log messages are wanted.
func (a *app) logsOf(t target, f *serverFlags) *logs {
	if f.level.level == "" {
		return nil
	}
	return &logs{app: a, server: t.Name, level: f.level.level, secrets: entrySecrets(t.Server)}
}

// ask asks for the messages. A command goes on without those that it does not get.
func (l *logs) ask(ctx context.Context, c *client.Client) {
	l.line.Store(c)
	if c.Server().Capabilities.Logging == nil {
		l.console.line("mcpwire: warning: " + l.server + " " + noLogs)
		return
	}
	if err := c.SetLogLevel(ctx, l.level); err != nil && ctx.Err() == nil {
		l.console.line("mcpwire: warning: " + indented(withName(l.server, err)))
	}
}

// notified shows a notification if it is a log message.
func (l *logs) notified(_ context.Context, method string, params json.RawMessage) {
	if o, ok := (notice{time.Now(), method, params}).logged(l.server, l.clean); ok {
		l.console.line("[" + l.server + "] " + o.text)
	}
}

func (l *logs) clean(text string) string {
	return redact.Excerpt([]byte(masked(text, l.line.Load(), l.secrets)), lineShown)
}

// masked returns text of a server without what a terminal would act upon, and without the secrets that its connection
// knows, if there is one, and those of its entry.
func masked(text string, c *client.Client, secrets *redact.Set) string {
	text = plain(text)
	if c != nil {
		text = c.Mask(text)
	}
	return secrets.Text(text)
}
