package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/mcp"
	"mcpwire/skills"
)

func skillCommand(a *app) *cobra.Command {
	s := &skillReading{app: a}
	cmd := &cobra.Command{
		Use:   "skill [flags] SERVER SKILL [FILE]\n  mcpwire skill [flags] SKILL [FILE] -- COMMAND ARG...",
		Short: "Print a skill, or a file of it, once it is verified",
		Long: `Print the instructions of an Agent Skill (its SKILL.md), or another of its files.

SKILL is a name that "mcpwire skills" lists, or a URI that ends with /SKILL.md, which need not be listed. FILE is a path
within the skill, such as references/FORMS.md, or a URI.

Nothing is printed whose size, digest and front matter are not those that the server told of it, nor a file that it did
not list. That says nothing about who wrote it. With --output json the skill's entry is printed as the server sent it.`,
		Example: `  mcpwire skill docs pdf-processing
  mcpwire skill docs skill://acme/billing/refunds/SKILL.md examples/email.md`,
		RunE: s.run,
	}
	s.flags.add(cmd)
	cmd.Flags().BoolVar(&s.options.AllowDynamic, "dynamic", false,
		"also print skills that are made when they are read, so that nothing can be verified")
	return cmd
}

// A skillReading is one run of the command skill.
type skillReading struct {
	*app
	flags   serverFlags
	options skills.Options
	target  target
	skill   string
	file    string // empty: SKILL.md
}

func (s *skillReading) run(cmd *cobra.Command, words []string) (err error) {
	wanted := operand{"skill", "SKILL [FILE]", "docs pdf-processing"}
	if s.target, words, err = s.serverAnd(cmd, words, &s.flags, wanted); err != nil {
		return err
	}
	s.skill = words[0]
	switch len(words) {
	case 1:
	case 2:
		s.file = words[1]
	default:
		return usagef("one skill and one file are wanted, got %q", words)
	}
	return s.withClient(cmd.Context(), s.target, &s.flags, s.print)
}

func (s *skillReading) print(ctx context.Context, c *client.Client) error {
	s.console.say("reading " + s.skill)
	entry, err := s.entry(ctx, c)
	if err != nil {
		return err
	}
	if s.flags.output.json {
		encoded, err := skillList.encode(entry)
		if err != nil {
			return err
		}
		return s.printJSON(encoded)
	}
	skill, err := skills.Load(ctx, c, *entry, s.options)
	if err != nil {
		return err
	}
	if s.file == "" {
		text := skill.Text
		return s.showResource(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
			{URI: entry.URI, MIMEType: "text/markdown", Text: &text},
		}}, s.target, &s.flags)
	}
	contents, err := skill.Read(ctx, s.file)
	if err != nil {
		return err
	}
	return s.showResource(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{*contents}}, s.target, &s.flags)
}

// entry finds the skill by its URI or by its name, which several may have.
func (s *skillReading) entry(ctx context.Context, c *client.Client) (*mcp.Skill, error) {
	if strings.Contains(s.skill, "://") {
		return c.GetSkill(ctx, s.skill)
	}
	all, err := c.ListSkills(ctx)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	var found []*mcp.Skill
	var names, uris []string
	for i := range all {
		name := skills.About(all[i].Frontmatter).Name
		names = append(names, name)
		if name == s.skill {
			found, uris = append(found, &all[i]), append(uris, all[i].URI)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, usagef("%s lists no skill %q%s (\"%s\" lists them; another may be named by its URI)",
			s.target.Name, s.skill, didYouMean(s.skill, names), s.target.line("skills"))
	}
	return nil, usagef("%s has several skills %q; name one by its URI: %s", s.target.Name, s.skill, either(uris))
}

// reason returns what is wrong with a skill, without its URI, which stands beside it.
func reason(err error) string {
	if broken, ok := errors.AsType[*skills.VerifyError](err); ok {
		return broken.Err.Error()
	}
	return err.Error()
}
