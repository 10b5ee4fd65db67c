package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/mcp"
)

func readCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use:   "read [flags] SERVER URI\n  mcpwire read [flags] URI -- COMMAND ARG...",
		Short: "Print what a resource holds",
		Long: `Print what a resource of a server holds.

If standard output is a file or a pipe it gets exactly the resource's bytes, an image's too. On a terminal, and where
one URI stands for several resources, text is shown, each of several behind a line that tells what it is, and of
anything else one such line. With --output json the whole result is printed.`,
		Example: `  mcpwire read demo demo://readme
  mcpwire read demo demo://pixel > pixel.png`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, words, err := a.serverAnd(cmd, args, f, operand{"URI", "URI", "demo demo://readme"})
			if err != nil {
				return err
			}
			if len(words) > 1 {
				return usagef("one URI is wanted, got %q", words)
			}
			return a.withClient(cmd.Context(), t, f, func(ctx context.Context, c *client.Client) error {
				a.console.say("reading " + words[0])
				result, err := c.ReadResource(ctx, words[0])
				if err != nil {
					return err
				}
				return a.showResource(result, t, f)
			})
		},
	}
	f.add(cmd)
	f.ask.add(cmd)
	return cmd
}

func (a *app) showResource(r *mcp.ReadResourceResult, t target, f *serverFlags) error {
	switch {
	case f.output.json:
		encoded, err := encodedWith(r, r.Meta)
		if err != nil {
			return err
		}
		return a.printJSON(encoded)
	case len(r.Contents) == 0:
		a.console.linef("%s: the resource is empty", t.Name)
		return nil
	case len(r.Contents) > 1:
		return a.out.show(contentsText(r))
	}
	only := &r.Contents[0]
	switch {
	case !a.out.terminal:
		data, err := only.Bytes()
		if err != nil {
			return fmt.Errorf("%s: the resource is not valid base64; --output json shows it as it came", t.Name)
		}
		return a.out.write(string(data))
	case only.Text != nil:
		return a.out.show(line(*only.Text))
	}
	return a.out.show(line(resourceText(only)))
}

// contentsText shows resources, each behind a line that tells what it is.
func contentsText(r *mcp.ReadResourceResult) string {
	var b strings.Builder
	for i := range r.Contents {
		b.WriteString(line(resourceText(&r.Contents[i])))
	}
	return b.String()
}
