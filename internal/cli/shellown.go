package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/internal/jsonscan"
	"mcpwire/mcp"
)

func (s *shell) infoCommand() *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Short: "Tell what a server says of itself",
		Long: `Tell what a server says of itself: name and version, protocol, capabilities, instructions.

With --output json it comes as
{"server":...,"protocol":...,"serverInfo":{...},"capabilities":{...},"instructions":...}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := s.onlyTarget(cmd, args, f)
			if err != nil {
				return err
			}
			return s.withClientOf(cmd.Context(), t, func(_ context.Context, c *client.Client) error {
				return s.showInfo(c, t, f)
			})
		},
	}
	cmd.Flags().VarP(&f.output, "output", "o", "`FORM` of the result: text or json (default text)")
	return cmd
}

func (s *shell) showInfo(c *client.Client, t target, f *serverFlags) error {
	about := c.Server()
	capabilities, err := mcp.Encode(&about.Capabilities)
	if err != nil {
		return err
	}
	if f.output.json {
		info, err := mcp.Encode(&about.Info)
		if err != nil {
			return err
		}
		var all object
		for _, member := range []struct {
			name  string
			value any
		}{
			{"server", t.Name},
			{"protocol", about.Revision},
			{"serverInfo", info},
			{"capabilities", capabilities},
			{"instructions", about.Instructions},
		} {
			value, err := jsonv2.Marshal(member.value)
			if err != nil {
				return err
			}
			all.add(member.name, value)
		}
		return s.printJSON(all.text())
	}
	var offered []string
	_ = jsonscan.Members(capabilities, func(name, _ []byte) error { // it has just been encoded
		offered = append(offered, string(name))
		return nil
	})
	slices.Sort(offered)
	text := about.Info.Name + " " + about.Info.Version
	if about.Info.Title != "" {
		text += " (" + about.Info.Title + ")"
	}
	text += "\nprotocol: " + about.Revision + " (" + eraOf(about.Revision) + ")\ncapabilities: " +
		cmp.Or(strings.Join(offered, ", "), "none") + "\n"
	if about.Instructions != "" {
		text += "instructions: " + line(about.Instructions)
	}
	return s.out.show(c.Mask(text))
}

func (s *shell) logLevelCommand() *cobra.Command {
	return &cobra.Command{
		Short: "Have a server send log messages from a level on",
		Long: `Have a server send log messages from a level on: ` + strings.Join(levelNames(), ", ") + `.

It holds for later connections too. The messages are shown as they come, unless "watch off" says otherwise.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s: a level is wanted: %s", cmd.Name(), either(levelNames()))
			}
			level, err := parseLevel(args[0])
			if err != nil {
				return err
			}
			t, err := s.onlyTarget(cmd, args[1:], &serverFlags{})
			if err != nil {
				return err
			}
			return s.withClientOf(cmd.Context(), t, func(ctx context.Context, _ *client.Client) error {
				return s.manager.SetLogLevel(ctx, t.Name, level)
			})
		},
	}
}

func (s *shell) watchCommand() *cobra.Command {
	return &cobra.Command{
		Short: "Show what servers tell unasked, or stop showing it",
		Long: `Show what servers tell unasked, or stop showing it: log messages, and that lists and resources have changed. It
is on at a terminal, where it is shown above the prompt, and off elsewhere, where it goes to standard error.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			s.mu.Lock()
			defer s.mu.Unlock()
			switch text {
			case "on", "off":
				s.silent = text == "off"
			case "":
				return s.out.write(map[bool]string{false: "on\n", true: "off\n"}[s.silent])
			default:
				return usagef("%s: on or off is wanted, got %q", cmd.Name(), text)
			}
			return nil
		},
	}
}

func (s *shell) useCommand() *cobra.Command {
	return &cobra.Command{
		Short: "Choose the server that commands are for; none without SERVER",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				s.current = s.only()
				return nil
			}
			t, err := s.onlyTarget(cmd, args, &serverFlags{})
			if err == nil {
				s.current = t.Name
			}
			return err
		},
	}
}

func (s *shell) reconnectCommand() *cobra.Command {
	return &cobra.Command{
		Short: "Connect to a server anew",
		Long:  "End the connection to a server, a process too, and make another one.",
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := s.onlyTarget(cmd, args, &serverFlags{})
			if err != nil {
				return err
			}
			done := s.console.wait("connecting to " + t.Name)
			defer done()
			delete(s.connections, t.Name)
			if err := s.manager.Reconnect(t.Name); err != nil {
				return err
			}
			c, err := s.await(cmd.Context(), t.Name)
			if err == nil {
				s.welcome(c)
			}
			return explained(cmd.Context(), t.Name, err)
		},
	}
}

func (s *shell) setCommand() *cobra.Command {
	return &cobra.Command{
		Short: "Set the form of results, as --output does for one command",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] != "output" {
				return usagef("write \"%s output json\", or text", cmd.Name())
			}
			if err := s.flags.output.Set(args[1]); err != nil {
				return usagef("%s output: %w, got %q", cmd.Name(), err, args[1])
			}
			return nil
		},
	}
}
