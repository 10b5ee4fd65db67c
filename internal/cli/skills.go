package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/mcp"
	"mcpwire/skills"
)

// skillList shows each skill with its URI, which alone tells it from others of the same name.
var skillList = listing[mcp.Skill]{
	things: "skills",
	member: "skills",
	list:   (*client.Client).ListSkills,
	encode: func(s *mcp.Skill) (json.RawMessage, error) {
		encoded, err := mcp.Encode(s)
		if err != nil {
			return nil, err
		}
		return exact(encoded, map[string]json.RawMessage{"frontmatter": s.Frontmatter}), nil
	},
	text: func(o *output, s *mcp.Skill) string {
		about := skills.About(s.Frontmatter)
		text := o.heading(firstLine(about.Name, s.URI)) + "  " + o.shown(bracketed(s.URI, skillSize(s)))
		if described := firstLine(about.Description); described != "" {
			text += "  " + o.shown(described)
		}
		if err := skills.Check(s); err != nil {
			text += "\n    " + o.alarm("can't be loaded: "+reason(err))
		}
		return text + "\n"
	},
}

// skillSize tells how much there is to read of a skill.
func skillSize(s *mcp.Skill) string {
	if s.Resources.Dynamic {
		return "dynamic"
	}
	total := 0.0
	for _, f := range s.Resources.Files {
		if f.Size != nil {
			total += *f.Size
		}
	}
	files := fmt.Sprintf("%d files, ", len(s.Resources.Files))
	if len(s.Resources.Files) == 1 {
		files = "1 file, "
	}
	return files + byteSize(total)
}

func skillsCommand(a *app) *cobra.Command {
	return listCommand(a, skillList, &cobra.Command{
		Short: "List the skills of a server",
		Long: `List the Agent Skills that a server serves: name, URI, files, first line of the description. None of them is
read; "mcpwire skill" does that.

With --output json they come as {"skills":[...]}, with the digest and size of each file.`,
	})
}
