package cli

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// bashAlone is what the script for bash needs where the package bash-completion is not installed.
//
//go:embed completion.bash
var bashAlone string

var shells = []string{"bash", "zsh", "fish", "powershell"}

func completionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that has a shell complete mcpwire's command lines",
		Long: `Print a script that has a shell complete mcpwire's command lines at the Tab key: commands, flags and their
values, the names of servers, and of servers that were used before their tools, arguments, and values of these.

SHELL is bash, zsh, fish or powershell. The script goes where the shell reads it when it starts:

  bash        into ~/.bashrc:                    eval "$(mcpwire completion bash)"
  zsh         into ~/.zshrc, behind compinit:    eval "$(mcpwire completion zsh)"
  fish        into ~/.config/fish/config.fish:   mcpwire completion fish | source
  powershell  into the file that $PROFILE names: mcpwire completion powershell | Out-String | Invoke-Expression

What is offered comes from the files of servers and from what earlier runs have seen of the servers' tools. Completing
never starts a server, and asks nobody.`,
		Example: `  eval "$(mcpwire completion bash)"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("one shell is wanted: %s", either(shells))
			}
			script, err := completionScript(cmd.Root(), args[0])
			if err != nil {
				return err
			}
			return a.out.write(script)
		},
	}
}

func completionScript(root *cobra.Command, shell string) (string, error) {
	var b bytes.Buffer
	var err error
	switch shell {
	case "bash":
		if err = root.GenBashCompletionV2(&b, true); err == nil {
			b.WriteString(bashAlone)
		}
	case "zsh":
		err = root.GenZshCompletion(&b)
	case "fish":
		err = root.GenFishCompletion(&b, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&b)
	default:
		return "", usagef("unknown shell %q%s; known are %s", shell, didYouMean(shell, shells), strings.Join(shells, ", "))
	}
	// As cobra has it, an argument such as dry-run=yes counts as the flag -run=yes in zsh and fish.
	return strings.ReplaceAll(b.String(), `'-.*='`, `'^-.*='`), err
}

// isCompletion reports whether a shell's script asks what completes a command line.
func isCompletion(args []string) bool {
	return len(args) > 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// offerCompletions has every command below cmd complete its operands and flags.
func (a *app) offerCompletions(cmd *cobra.Command, args []string) {
	// The last word is the one that is completed.
	program := slices.Contains(args[:len(args)-1], "--")
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, before []string, begun string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		if program {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return a.operands(cmd, before, begun)
	}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		var value string
		value, flag.Usage = pflag.UnquoteUsage(flag)
		_ = cmd.RegisterFlagCompletionFunc(flag.Name, flagValues(flag, value)) // fails only for a flag that there is not
	})
	for _, below := range cmd.Commands() {
		a.offerCompletions(below, args)
	}
}

// A limitedFlag is one with few values.
type limitedFlag interface{ choices() []string }

// flagValues completes the values of a flag, of which the help calls one value.
func flagValues(flag *pflag.Flag, value string) cobra.CompletionFunc {
	var known []string
	if c, ok := flag.Value.(limitedFlag); ok {
		known = c.choices()
	}
	switch value {
	case "FILE", "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case "TYPE":
		known = []string{"stdio", "http", "sse"}
	}
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		o := offer{begun: begun, directive: cobra.ShellCompDirectiveNoFileComp}
		o.addAll(known)
		return o.words, o.directive
	}
}

// operands completes an operand, of which there are some before.
func (a *app) operands(
	cmd *cobra.Command, before []string, begun string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	o := offer{begun: begun, directive: cobra.ShellCompDirectiveNoFileComp}
	c := completer{app: a, cmd: cmd, before: before}
	switch kind := operandKind(cmd.Use, len(before)); {
	case kind == "FILE":
		o.directive = cobra.ShellCompDirectiveDefault
	case kind == "SHELL":
		o.addAll(shells)
	case kind == "PROGRAM":
		o.addAll(programs())
	case kind == "NAME" && cmd.Name() == "import":
		c.importable(&o)
	case kind == "LEVEL":
		o.addAll(levelNames())
	case kind == "SERVER", kind == "NAME":
		c.servers(&o)
	case kind == "TOOL":
		c.tools(&o)
	case kind == "URI":
		c.resources(&o)
	case strings.HasPrefix(kind, "PROMPT"):
		c.prompts(&o)
	case strings.HasPrefix(kind, "key="):
		c.arguments(&o)
	}
	return o.words, o.directive
}

// operandKind returns what the operand behind n others is called in a command's Use, such as TOOL for the second one of
// "call [flags] SERVER TOOL [key=value | key:=JSON ...]". It is empty if there is none.
func operandKind(use string, n int) string {
	line, _, _ := strings.Cut(use, "\n")
	line = strings.ReplaceAll(line, "[flags] ", "")
	line = strings.ReplaceAll(line, "-o FILE ", "")
	words := strings.Fields(line)[1:]
	if strings.HasSuffix(line, " NAME URL") {
		return "" // a name that is new
	}
	repeats := strings.Contains(line, "...")
	if end := slices.IndexFunc(words, func(w string) bool { return w == "|" || strings.HasPrefix(w, "...") }); end >= 0 {
		words = words[:end]
	}
	switch {
	case len(words) == 0 || n >= len(words) && !repeats:
		return ""
	case n >= len(words):
		n = len(words) - 1
	}
	return strings.Trim(words[n], "[]{}")
}
