package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An inner is a command as the shell has it.
type inner struct {
	use  string // its name, and what follows
	made func(*shell) *cobra.Command
}

// ours makes a command that is the program's, with its words, flags and output.
func ours(made func(*app) *cobra.Command) func(*shell) *cobra.Command {
	return func(s *shell) *cobra.Command { return made(s.app) }
}

// inners are the commands of the shell, in the order in which help lists them.
func inners() []inner {
	return []inner{
		{"tools [SERVER]", ours(toolsCommand)},
		{"call TOOL [key=value | key:=JSON ...]", ours(callCommand)},
		{"resources [SERVER]", ours(resourcesCommand)},
		{"templates [SERVER]", ours(templatesCommand)},
		{"read URI", ours(readCommand)},
		{"prompts [SERVER]", ours(promptsCommand)},
		{"prompt PROMPT [key=value ...]", ours(promptCommand)},
		{"complete PROMPT|TEMPLATE key=[BEGINNING] [key=value ...]", ours(completeCommand)},
		{"skills [SERVER]", ours(skillsCommand)},
		{"skill SKILL [FILE]", ours(skillCommand)},
		{"info [SERVER]", (*shell).infoCommand},
		{"ping [SERVER]", ours(pingCommand)},
		{"log-level LEVEL [SERVER]", (*shell).logLevelCommand},
		{"watch [on|off]", (*shell).watchCommand},
		{"servers", ours(serversCommand)},
		{"use [SERVER]", (*shell).useCommand},
		{"reconnect [SERVER]", (*shell).reconnectCommand},
		{"set output json|text", (*shell).setCommand},
		{"help [COMMAND]", (*shell).helpCommand},
		{"exit", (*shell).exitCommand},
	}
}

func (i inner) name() string {
	name, _, _ := strings.Cut(i.use, " ")
	return name
}

// inner returns a command by its name; false if there is none.
func (s *shell) inner(name string) (inner, bool) {
	if name == "quit" {
		name = "exit"
	}
	for _, one := range inners() {
		if one.name() == name {
			return one, true
		}
	}
	return inner{}, false
}

// commandNames are the names of all commands.
func (s *shell) commandNames() []string {
	names := []string{"quit"}
	for _, one := range inners() {
		names = append(names, one.name())
	}
	return names
}

// atStart are flags that belong to the start of the shell, for they are about its connections.
var atStart = []string{"config", "import", "timeout", "verbose", "level", "answer", "root", "no-browser", "no-ask"}

// command makes a command ready to run.
func (s *shell) command(i inner) *cobra.Command {
	cmd := i.made(s)
	cmd.Use, cmd.Example = i.use, ""
	cmd.DisableFlagsInUseLine = true
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(s.out.w)
	cmd.SetErr(s.console.w)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usagef("%v; see \"help %s\"", err, i.name())
	})
	preset := func(name, value string) {
		if flag := cmd.Flags().Lookup(name); flag != nil {
			_ = flag.Value.Set(value) // what has been set before
		}
	}
	if s.flags.output.json {
		preset("output", "json")
	}
	if s.flags.verbose {
		preset("verbose", "true")
	}
	for _, name := range atStart {
		if flag := cmd.Flags().Lookup(name); flag != nil && !(name == "timeout" && i.name() == "call") {
			flag.Hidden = true
		}
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		cmd.Flags().Visit(func(flag *pflag.Flag) {
			if flag.Hidden {
				err = usagef("--%[1]s is given when the shell is started: \"mcpwire shell --%[1]s ...\"", flag.Name)
			}
		})
		return err
	}
	return cmd
}

// carryOut runs a command, or calls the tool that the first word names.
func (s *shell) carryOut(ctx context.Context, words []string) (err error) {
	ctx, done := s.running(ctx)
	defer done()
	ctx, finish := s.asker.during(ctx)
	defer func() { err = finish(err) }()
	i, ok := s.inner(words[0])
	if !ok {
		if err := s.mustBeTool(ctx, words[0]); err != nil {
			return err
		}
		i, _ = s.inner("call")
		words = append([]string{"call"}, words...)
	}
	cmd := s.command(i)
	cmd.SetArgs(words[1:])
	err = cmd.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// mustBeTool returns an error unless a word that is no command names a tool, or may name one.
func (s *shell) mustBeTool(ctx context.Context, word string) error {
	_, _, err := s.toolOf(ctx, word)
	if unknown, ok := errors.AsType[*unknownToolError](err); ok {
		known := slices.Concat(unknown.known, s.commandNames())
		return usagef("%q is no command and no tool%s (\"help\" lists the commands, \"tools\" the tools)",
			word, didYouMean(word, known))
	}
	return err
}

func (s *shell) helpCommand() *cobra.Command {
	return &cobra.Command{
		Short: "List the commands, or tell about one",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return s.out.write(s.help())
			}
			i, ok := s.inner(args[0])
			if !ok || len(args) > 1 {
				name := strings.Join(args, " ")
				return usagef("no command %q%s (\"help\" lists them)", name, didYouMean(name, s.commandNames()))
			}
			return s.command(i).Help()
		},
	}
}

// help lists the commands.
func (s *shell) help() string {
	width := 0
	for _, one := range inners() {
		width = max(width, len(one.use))
	}
	width = min(width, helpWidth)
	var b strings.Builder
	for _, one := range inners() {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, one.use, one.made(s).Short)
	}
	b.WriteString(`
TOOL [key=value ...] without a command calls a tool, SERVER.TOOL that of a certain server. Words are quoted as in a
shell: message='two words'. # begins a comment. Ctrl-C cancels, Ctrl-D leaves.
`)
	return b.String()
}

// helpWidth is how wide the first column of help is.
const helpWidth = 40

func (s *shell) exitCommand() *cobra.Command {
	return &cobra.Command{
		Short: "Leave the shell; also quit, and Ctrl-D",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			s.leaving = true
			return nil
		},
	}
}
