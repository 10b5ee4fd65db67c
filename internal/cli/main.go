// Package cli is the program mcpwire: one file a command. Results go to standard output, everything about the run goes
// to standard error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // only to silence it
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/internal/redact"
	"mcpwire/transport"
)

// Exit codes of the program.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2   // the command line, a file that it names, or the name of a server or tool
	exitToolError   = 3   // the tool ran and reported an error
	exitLogin       = 4   // somebody must log in
	exitSome        = 5   // of several servers some have failed
	exitInterrupted = 130 // SIGINT, SIGTERM or SIGHUP
)

// Main runs the program with args, the command line without the program's name, and returns the exit code. While a
// server is connected it catches SIGINT, SIGTERM and SIGHUP: the first ends the call and shuts the server down in
// order, a further one hurries the shutdown. ctx ends it like a first signal.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	log.SetOutput(io.Discard) // net/http logs what servers send out of turn: it would stand between our lines as it came
	c := newConsole(stderr)
	a := &app{stdin: stdin, out: newOutput(stdout, c), console: c}
	root := newRoot(a)
	if isCompletion(args) {
		a.offerCompletions(root, args)
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	a.observed.started = time.Now()
	cmd, err := root.ExecuteContextC(ctx)
	a.endTrace()
	code := exitDone
	if err != nil {
		code = exitCode(err)
		if _, told := errors.AsType[*statusError](err); !told && !readerGone(err) {
			a.console.line("mcpwire: " + indented(errorText(err)))
		}
	}
	if err := a.observed.end(ctx, cmd.CommandPath(), code); err != nil {
		a.console.line("mcpwire: warning: telemetry: " + indented(errorText(err)))
	}
	return code
}

// Commands returns the program's command with all others below it, for those who describe them; they can't be run.
func Commands() *cobra.Command { return newRoot(&app{}) }

// An app is one run of the program.
type app struct {
	stdin    io.Reader
	out      *output
	console  *console
	trace    traceFile
	observed observed
	within   *shell // the one that the command runs in; nil outside
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpwire",
		Short: "Talk to MCP servers: list their tools and call them",
		Long: `mcpwire talks to MCP servers: it lists their tools and calls them.

SERVER is a name in a file of servers, else the built-in demo server, or a URL. Any program that speaks MCP on its
standard input and output can be given behind -- instead.

The files of servers are, the strongest first: the one that --config gives; the project's, which is the nearest
` + projectFile + ` in this folder or above it, up to the root of the repository, and must be approved once (see
"mcpwire trust --help"); and the user's, mcpwire/mcp.json in the folder for configuration ($XDG_CONFIG_HOME, else
~/.config; on Windows %AppData%). Servers of other programs can count too ("mcpwire import --help").

Exit codes: 0 done; 1 failed; 2 wrong usage, an unknown server or tool too; 3 the tool reported an error; 4 somebody
must log in to the server; 5 some of several servers failed ("mcpwire doctor": 1 if any is broken); 130 interrupted.`,
		Example: `  mcpwire demo                                 show what it does, on the built-in demo server
  mcpwire tools demo                           list a server's tools
  mcpwire call demo add a=2 b=40               call one
  mcpwire tools -- npx -y some-mcp-server      the same for any program
  mcpwire tools https://mcp.example.com/mcp    the same for a server on the web
  mcpwire add files -- npx -y some-mcp-server  give a server a name
  mcpwire login search                         log in to a server on the web
  mcpwire servers                              see how all configured servers stand
  mcpwire doctor search                        find out why one does not work`,
		Version:       client.Version,
		Args:          cobra.ArbitraryArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.Flags().Bool("version", false, "print the version") // cobra's own would take -v for it
	root.SetVersionTemplate("mcpwire {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; see \"%s --help\"", err, cmd.CommandPath())
	})
	a.addTrace(root)
	root.AddCommand(demoCommand(a), demoServerCommand(), toolsCommand(a), callCommand(a),
		resourcesCommand(a), templatesCommand(a), readCommand(a), promptsCommand(a), promptCommand(a),
		completeCommand(a), skillsCommand(a), skillCommand(a), watchCommand(a), logLevelCommand(a),
		pingCommand(a), postCommand(a), serversCommand(a), addCommand(a), importCommand(a), removeCommand(a),
		switchCommand(a, "enable", false),
		switchCommand(a, "disable", true), trustCommand(a), configCommand(a), selftestCommand(a),
		hostileServerCommand(), loginCommand(a), logoutCommand(a), authCommand(a), traceCommand(a), recordCommand(a),
		replayCommand(a), doctorCommand(a), shellCommand(a), completionCommand(a),
		versionCommand(a))
	return root
}

func unknownCommand(above *cobra.Command, name string) error {
	var known []string
	for _, c := range above.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	return usagef("unknown command %q%s (\"%s --help\" lists them)", name, didYouMean(name, known), above.CommandPath())
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %q", cmd.CommandPath(), strings.Join(args, " "))
	}
	return nil
}

// A usageError is a mistake in the command line or in what it names.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// A toolError is a result that the tool itself calls an error. The result has been shown.
type toolError struct{ server, tool string }

func (e *toolError) Error() string {
	return fmt.Sprintf("%s: the tool %s reported an error", e.server, e.tool)
}

func exitCode(err error) int {
	_, usage := errors.AsType[*usageError](err)
	_, tool := errors.AsType[*toolError](err)
	several, some := errors.AsType[*someError](err)
	status, stoodIn := errors.AsType[*statusError](err)
	_, entries := errors.AsType[*brokenError](err)
	lines, batch := errors.AsType[*batchError](err)
	examined, doctored := errors.AsType[*doctorError](err)
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case stoodIn:
		return status.code
	case usage:
		return exitUsage
	case tool:
		return exitToolError
	case batch:
		return lines.code
	case doctored:
		return examined.code()
	case errors.Is(err, transport.ErrLoginRequired), some && several.login:
		return exitLogin
	case some && several.failed < several.all, entries:
		return exitSome
	}
	return exitFailed
}

// errorText returns what an error tells, which may be a server's words, without what has the shape of a token.
func errorText(err error) string { return redact.Tokens(err.Error()) }

// indented sets all lines but the first in, so that one message stays one.
func indented(text string) string {
	first, rest, more := strings.Cut(strings.TrimRight(text, "\n"), "\n")
	if !more {
		return first
	}
	lines := strings.Split(rest, "\n")
	for i, line := range lines {
		lines[i] = "  " + strings.TrimPrefix(line, "  ")
	}
	return first + "\n" + strings.Join(lines, "\n")
}
