package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/mcp"
)

func callCommand(a *app) *cobra.Command {
	c := &toolCall{app: a}
	cmd := &cobra.Command{
		Use: "call [flags] SERVER TOOL [key=value | key:=JSON ...]\n" +
			"  mcpwire call [flags] TOOL [key=value | key:=JSON ...] -- COMMAND ARG...",
		Short: "Call a tool and print its result",
		Long: `Call a tool and print its result.

key=value becomes what the tool's schema says: a string as it is, a number with all its digits, true or false, JSON
for an array or object. key:=JSON is passed as it is. --args gives several at once; single ones are stronger.

Text is printed as it is, structured content unless the text holds it already, anything else as one line that
tells what it is. With --output json the whole result is printed. If the tool reports an error, the exit code is 3.
While the tool reports progress, the call goes on for up to 10 minutes, unless --timeout is given.

A server that asks for input is answered by whoever is at the terminal, or from the files of --answer: JSON such as
{"elicit": [{"match": "table", "content": {"name": "Ada"}}], "sample": [{"text": "Yes."}]}. Without an answer the exit
code is 1, and standard error tells what was asked.

With --each the tool is called once for each line of a file. Each line gets one line with its number: the result, or
an error of a kind. With --results the results are kept, and the same command goes on where an earlier run was ended: a
call that may have run is not made again. The exit code is then 3 if tools reported errors, 5 if some lines failed, 1
if all did.`,
		Example: `  mcpwire call demo add a=2 b=40
  mcpwire call demo echo message='hello there' --output json
  mcpwire call demo add b=40 --each sums.jsonl --parallel 4 --results done.jsonl
  mcpwire call echo message=hi -- npx -y @modelcontextprotocol/server-everything stdio`,
		RunE: c.run,
	}
	c.flags.add(cmd)
	cmd.Flags().Var(&c.flags.level, "level", "show the server's log messages of `LEVEL` and above on standard error")
	c.flags.ask.add(cmd)
	c.each.add(cmd)
	cmd.Flags().StringVar(&c.base, "args", "", "arguments as a JSON object: `JSON`, @FILE, or - for standard input")
	return cmd
}

// A toolCall is one run of the command call.
type toolCall struct {
	*app
	flags  serverFlags
	base   string // --args
	target target
	tool   string
	given  json.RawMessage // read from base; nil for none
	single []argument
	each   eachFlags
}

func (c *toolCall) run(cmd *cobra.Command, words []string) error {
	many, err := c.each.check(cmd)
	if err != nil {
		return err
	}
	if err := c.parse(cmd, words); err != nil {
		return err
	}
	if many {
		return c.runBatch(cmd)
	}
	return c.withClient(cmd.Context(), c.target, &c.flags, c.call)
}

// parse reads the command line as far as it can be judged without the server.
func (c *toolCall) parse(cmd *cobra.Command, words []string) (err error) {
	wanted := operand{"tool", "TOOL [key=value ...]", "demo echo message=hi"}
	if c.target, words, err = c.serverAnd(cmd, words, &c.flags, wanted); err != nil {
		return err
	}
	c.tool = words[0]
	if c.single, err = parseArguments(words[1:]); err != nil {
		return err
	}
	if cmd.Flags().Changed("args") {
		c.given, err = readBase(c.base, c.stdin)
	}
	return err
}

// allowed returns why the server's entry keeps the tool out; nil if it lets it through.
func (c *toolCall) allowed() error {
	if c.target.Tools.Allows(c.tool) {
		return nil
	}
	return usagef("%s: the tool %q is not allowed by the server's entry in %s", c.target.Name, c.tool, c.target.Origin)
}

func (c *toolCall) call(ctx context.Context, conn *client.Client) error {
	if err := c.allowed(); err != nil {
		return err
	}
	c.console.say("listing the tools of " + c.target.Name)
	tools, err := listedTools(ctx, conn, c.target)
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == c.tool })
	switch {
	case i < 0 && err != nil:
		return err
	case i < 0:
		return c.unknownTool(tools)
	case err != nil:
		c.console.line("mcpwire: warning: " + errorText(err))
	}
	arguments, err := mergeArguments(c.given, c.single, tools[i].InputSchema)
	if err != nil {
		return err
	}
	c.console.say("calling " + c.tool)
	options := callOptions(c.target.Server)
	options.OnProgress = c.progress
	result, err := conn.CallTool(ctx, c.tool, arguments, options)
	if err != nil {
		return err
	}
	if err := c.show(result); err != nil {
		return err
	}
	if result.IsError {
		return &toolError{c.target.Name, c.tool}
	}
	return nil
}

func (c *toolCall) progress(p mcp.ProgressParams) {
	text := progressText(p)
	c.console.say("calling " + c.tool + ": " + text)
	if c.flags.verbose {
		c.console.linef("[%s] progress of %s: %s", c.target.Name, c.tool, text)
	}
}

// progressText shows progress: "3/10 message".
func progressText(p mcp.ProgressParams) string {
	text := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		text += fmt.Sprintf("/%g", p.Total)
	}
	if p.Message != "" {
		text += " " + p.Message
	}
	return text
}

func (c *toolCall) unknownTool(tools []mcp.Tool) error {
	var known []string
	for _, t := range tools {
		if c.target.Tools.Allows(t.Name) {
			known = append(known, t.Name)
		}
	}
	return usagef("%s has no tool %q%s (\"%s\" lists them)",
		c.target.Name, c.tool, didYouMean(c.tool, known), c.target.line("tools"))
}

func (c *toolCall) show(result *mcp.CallToolResult) error {
	if !c.flags.output.json {
		return c.out.show(resultText(result))
	}
	encoded, err := encodedResult(result)
	if err != nil {
		return err
	}
	return c.printJSON(encoded)
}
