package cli

import (
	"context"
	"encoding/json"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"mcpwire/manager"
)

func serversCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use:   "servers [flags] [NAME ...]",
		Short: "Connect to all configured servers, and tell how each stands",
		Long: `Connect to all configured servers, or the named ones, at the same time, and tell how each stands: state,
number of tools, time until it was ready, transport, protocol, where it is configured, and what went wrong.

On a terminal the table fills in as servers come. With --output json it comes as {"servers":[...]}, entries that can't
be used among them.

The exit code is 0 if all are ready, 5 if some have failed, 1 if all have. An entry or a file that can't be used counts
as a server that has failed; one that is disabled does not count.`,
		Example: `  mcpwire servers
  mcpwire servers files search --timeout 5s -o json`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				return usagef("names of servers are wanted; a command behind -- is for \"mcpwire ping -- COMMAND ARG...\"")
			}
			servers, lost, err := a.configured(names, f)
			if err != nil {
				return err
			}
			if len(servers) == 0 && lost == nil {
				a.console.line("no servers are configured (\"mcpwire add --help\" tells how to add one)")
			}
			return a.withManager(cmd.Context(), servers, f, func(ctx context.Context, m *manager.Manager) error {
				return a.showServers(ctx, m, lost, f)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func (a *app) showServers(ctx context.Context, m *manager.Manager, lost []unusable, f *serverFlags) error {
	watch, shown := a.settledQuietly, false
	if l := newLive(a.out); l != nil && !f.output.json && !f.verbose {
		watch, shown = l.watch, true
	}
	s, err := watch(ctx, m)
	if err != nil {
		return err
	}
	switch {
	case f.output.json:
		err = a.printServersJSON(s, lost)
	case !shown && len(s.Servers) > 0:
		err = a.out.write(strings.Join(finalTable(s), "\n") + "\n")
	}
	if err != nil {
		return err
	}
	return verdict(s, len(lost))
}

func (a *app) printServersJSON(s *manager.Snapshot, lost []unusable) error {
	all := struct {
		Servers []row `json:"servers"`
	}{[]row{}}
	for _, one := range s.Servers {
		all.Servers = append(all.Servers, rowOf(one, true))
	}
	for _, one := range lost {
		if one.server != "" {
			all.Servers = append(all.Servers, one.row())
		}
	}
	text, err := jsonv2.Marshal(all)
	if err != nil {
		return err
	}
	return a.printJSON(json.RawMessage(text))
}
