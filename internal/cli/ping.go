package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mcpwire/client"
)

func pingCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use:   "ping [flags] SERVER\n  mcpwire ping [flags] -- COMMAND ARG...",
		Short: "Connect to a server and ask it for a sign of life",
		Example: `  mcpwire ping demo
  mcpwire ping -- npx -y some-mcp-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.onlyServer(cmd, args, f)
			if err != nil {
				return err
			}
			return a.withClient(cmd.Context(), t, f, func(ctx context.Context, c *client.Client) error {
				return a.ping(ctx, c, t, f)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func (a *app) ping(ctx context.Context, c *client.Client, t target, f *serverFlags) error {
	a.console.say("waiting for an answer of " + t.Name)
	start := time.Now()
	if err := c.Ping(ctx); err != nil {
		return err
	}
	ms := fmt.Sprintf("%.3f", time.Since(start).Seconds()*1000)
	if f.output.json {
		return a.printJSON([]byte(`{"ok":true,"ms":` + ms + `}`))
	}
	s := c.Server()
	return a.out.show(fmt.Sprintf("%s: ok, %s ms (%s, protocol %s)\n",
		t.Name, ms, c.Mask(s.Info.Name+" "+s.Info.Version), s.Revision))
}
