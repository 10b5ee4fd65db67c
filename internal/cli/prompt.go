package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/internal/jsonscan"
	"mcpwire/mcp"
)

func promptCommand(a *app) *cobra.Command {
	p := &promptFilling{app: a}
	cmd := &cobra.Command{
		Use: "prompt [flags] SERVER PROMPT [key=value ...]\n" +
			"  mcpwire prompt [flags] PROMPT [key=value ...] -- COMMAND ARG...",
		Short: "Fill in a prompt and print its messages",
		Long: `Fill in a prompt and print its messages, each behind a line with its role.

The arguments of prompts are texts. --args gives several at once; single ones are stronger. With --output json the
whole result is printed.`,
		Example: `  mcpwire prompt demo greet name=Ada
  mcpwire prompt demo greet --args '{"name":"Ada"}' --output json`,
		RunE: p.run,
	}
	p.flags.add(cmd)
	p.flags.ask.add(cmd)
	cmd.Flags().StringVar(&p.base, "args", "", "arguments as a JSON object: `JSON`, @FILE, or - for standard input")
	return cmd
}

// A promptFilling is one run of the command prompt.
type promptFilling struct {
	*app
	flags     serverFlags
	base      string // --args
	target    target
	name      string
	arguments map[string]string
}

func (p *promptFilling) run(cmd *cobra.Command, words []string) (err error) {
	wanted := operand{"prompt", "PROMPT [key=value ...]", "demo greet name=Ada"}
	if p.target, words, err = p.serverAnd(cmd, words, &p.flags, wanted); err != nil {
		return err
	}
	p.name = words[0]
	single, err := parseArguments(words[1:])
	if err != nil {
		return err
	}
	var base json.RawMessage
	if cmd.Flags().Changed("args") {
		if base, err = readBase(p.base, p.stdin); err != nil {
			return err
		}
	}
	if p.arguments, err = promptArguments(base, single); err != nil {
		return err
	}
	return p.withClient(cmd.Context(), p.target, &p.flags, p.fill)
}

// promptArguments returns the texts that fill a prompt in: the base's members, replaced and followed by the single
// ones.
func promptArguments(base json.RawMessage, single []argument) (given map[string]string, err error) {
	given = map[string]string{}
	add := func(name string, value json.RawMessage) error {
		if typeOf(value) != "string" {
			return usagef("argument %q: the arguments of prompts are texts, and %s is none", name, abridged(string(value)))
		}
		given[name] = scalar(value)
		return nil
	}
	if base != nil {
		err = jsonscan.Members(base, func(name, value []byte) error { return add(string(name), value) })
	}
	for _, a := range single {
		if err != nil {
			break
		}
		if !a.raw {
			given[a.name] = a.text
			continue
		}
		err = add(a.name, json.RawMessage(strings.TrimSpace(a.text)))
	}
	return given, err
}

func (p *promptFilling) fill(ctx context.Context, conn *client.Client) error {
	p.console.say("listing the prompts of " + p.target.Name)
	known, err := conn.ListPrompts(ctx)
	i := slices.IndexFunc(known, func(one mcp.Prompt) bool { return one.Name == p.name })
	switch {
	case i < 0 && err != nil:
		return err
	case i < 0:
		return p.unknown(known)
	case err != nil:
		p.console.line("mcpwire: warning: " + errorText(err))
	}
	for _, argument := range known[i].Arguments {
		if _, given := p.arguments[argument.Name]; argument.Required && !given {
			return usagef("%s: the prompt %s wants the argument %q", p.target.Name, p.name, argument.Name)
		}
	}
	p.console.say("waiting for " + p.name)
	result, err := conn.GetPrompt(ctx, p.name, p.arguments)
	if err != nil {
		return err
	}
	if p.flags.output.json {
		encoded, err := encodedWith(result, result.Meta)
		if err != nil {
			return err
		}
		return p.printJSON(encoded)
	}
	var b strings.Builder
	for i := range result.Messages {
		m := &result.Messages[i]
		b.WriteString(p.out.heading(string(m.Role)+":") + "\n" + p.out.shown(line(contentText(&m.Content))))
	}
	return p.out.write(b.String())
}

func (p *promptFilling) unknown(known []mcp.Prompt) error {
	var names []string
	for _, one := range known {
		names = append(names, one.Name)
	}
	return usagef("%s has no prompt %q%s (\"%s\" lists them)",
		p.target.Name, p.name, didYouMean(p.name, names), p.target.line("prompts"))
}
