package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/mcp"
)

func completeCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use: "complete [flags] SERVER PROMPT|TEMPLATE key=[BEGINNING] [key=value ...]\n" +
			"  mcpwire complete [flags] PROMPT|TEMPLATE key=[BEGINNING] [key=value ...] -- COMMAND ARG...",
		Short: "Ask a server how an argument could go on",
		Long: `Ask a server how an argument of a prompt, or a variable of a resource template, could go on, and print what it
offers, one value a line. What holds :// is taken for a template, anything else for the name of a prompt.

The first key is the one that is asked about, with what is known of its beginning; those behind it are settled.
Servers give 100 values at most; that there are more is told on standard error. With --output json the whole result is
printed.`,
		Example: `  mcpwire complete demo greet name=A
  mcpwire complete demo 'demo://greeting/{name}' name=`,
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := operand{"prompt or template", "PROMPT|TEMPLATE key=[BEGINNING]", "demo greet name=A"}
			t, words, err := a.serverAnd(cmd, args, f, wanted)
			if err != nil {
				return err
			}
			if len(words) < 2 {
				return usagef("no argument is given; write key=, or key=BEGINNING, behind %s", words[0])
			}
			given, err := parseArguments(words[1:])
			if err != nil {
				return err
			}
			arguments, err := promptArguments(nil, given)
			if err != nil {
				return err
			}
			asked := given[0].name
			argument := mcp.CompletionArgument{Name: asked, Value: arguments[asked]}
			delete(arguments, asked)
			return a.withClient(cmd.Context(), t, f, func(ctx context.Context, c *client.Client) error {
				a.console.say("asking " + t.Name)
				result, err := c.Complete(ctx, reference(words[0]), argument, arguments)
				if err != nil {
					return err
				}
				return a.showCompletion(result, f)
			})
		},
	}
	f.add(cmd)
	f.ask.add(cmd)
	return cmd
}

// reference returns what a word of the command line stands for.
func reference(word string) mcp.CompletionReference {
	if strings.Contains(word, "://") {
		return mcp.CompletionReference{Type: mcp.RefResource, URI: word}
	}
	return mcp.CompletionReference{Type: mcp.RefPrompt, Name: word}
}

func (a *app) showCompletion(r *mcp.CompleteResult, f *serverFlags) error {
	if f.output.json {
		encoded, err := encodedWith(r, r.Meta)
		if err != nil {
			return err
		}
		return a.printJSON(encoded)
	}
	var b strings.Builder
	for _, value := range r.Completion.Values {
		b.WriteString(visible(value) + "\n")
	}
	if err := a.out.show(b.String()); err != nil {
		return err
	}
	n, total := len(r.Completion.Values), r.Completion.Total
	switch {
	case total != nil && *total > float64(n):
		a.console.linef("these are %d of %.0f", n, *total)
	case r.Completion.HasMore:
		a.console.line("there are more")
	}
	return nil
}
