package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"mcpwire/config"
	"mcpwire/internal/demo"
	"mcpwire/internal/redact"
	"mcpwire/mcp"
)

// An offer is what a shell may complete a word to.
type offer struct {
	begun     string // what there is of the word
	words     []cobra.Completion
	directive cobra.ShellCompDirective
}

// add offers a word if it is what was begun, with what tells people what it is. Names come from servers and from files
// of strangers, and scripts of shells evaluate what stands on the command line: a word that a shell would act upon is
// not offered.
func (o *offer) add(word string, about ...string) {
	if !strings.HasPrefix(word, o.begun) || !harmless(word) {
		return
	}
	if text := visible(firstLine(plain(redact.Tokens(strings.Join(about, "\n"))))); text != "" {
		word += "\t" + text
	}
	o.words = append(o.words, word)
}

func (o *offer) addAll(words []string) {
	for _, word := range words {
		o.add(word)
	}
}

// harmless reports whether every shell takes a word for itself, and no command for a flag.
func harmless(word string) bool {
	return word != "" && !strings.ContainsRune("-+:=", rune(word[0])) && !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-+/:=", r)
	})
}

// A completer finds what completes the operands of a command. It goes by files alone: it starts nothing, asks nobody,
// and knows nothing of what can't be read.
type completer struct {
	*app
	cmd    *cobra.Command
	before []string
}

// catalogue returns the servers of all files, those of a project's file too that nobody has approved.
func (c *completer) catalogue() *catalogue {
	path, imports := "", []string(nil)
	if flag := c.cmd.Flags().Lookup("config"); flag != nil {
		path = flag.Value.String()
	}
	if flag := c.cmd.Flags().Lookup("import"); flag != nil && flag.Changed {
		imports = strings.Split(flag.Value.String(), ",")
	}
	all, err := c.load(path, imports...)
	if err != nil {
		return &catalogue{Set: &config.Set{}}
	}
	return all
}

func (c *completer) servers(o *offer) {
	all := c.catalogue()
	add := func(name, about string) {
		if !slices.Contains(c.before, name) {
			o.add(name, about)
		}
	}
	builtIn := true
	for _, s := range all.Servers {
		about := map[config.Scope]string{
			config.ScopeConfig: "of --config", config.ScopeProject: "of the project's file", config.ScopeUser: "of your file",
			config.ScopeImport: "of " + s.Host,
		}[s.Scope]
		switch {
		case all.waits(s) != nil:
			about += ", which nobody has approved"
		case s.Disabled:
			about += ", disabled"
		}
		builtIn = builtIn && s.Name != demo.Name
		add(s.Name, about)
	}
	if builtIn {
		add(demo.Name, "built in")
	}
}

// importable completes the names of servers that another program has.
func (c *completer) importable(o *offer) {
	set, err := config.Sources{Approved: toBeAsked}.LoadImports(strings.Split(c.before[0], ",")...)
	if err != nil {
		return
	}
	for _, s := range set.Servers {
		if !slices.Contains(c.before[1:], s.Name) {
			o.add(s.Name, "of "+s.Host)
		}
	}
}

// has is what is known of a server.
type has struct {
	tools     []mcp.Tool
	resources []mcp.Resource
	prompts   []mcp.Prompt
}

// known returns what is known of the server that the first operand means.
func (c *completer) known() (h has) {
	name := c.before[0]
	t := newTarget(config.Server{Name: name, URL: name}, "", &serverFlags{})
	if host, ok := hostOf(name); ok {
		t.Name = host
	} else {
		s, err := c.catalogue().Server(name)
		switch {
		case err != nil:
			return h
		case s == nil && name == demo.Name:
			return c.ofDemo()
		case s == nil:
			return h
		}
		t = newTarget(*s, "", &serverFlags{})
	}
	entry, _ := knownTools().Load(toolKey(t))
	h.tools = slices.DeleteFunc(entry.Tools, func(tool mcp.Tool) bool { return !t.Tools.Allows(tool.Name) })
	return h
}

// ofDemo returns what the demo server has, which needs no start.
func (c *completer) ofDemo() (h has) {
	lists, err := demo.ReadLists(c.cmd.Context())
	if err != nil {
		return h
	}
	var tools mcp.ListToolsResult
	var resources mcp.ListResourcesResult
	var prompts mcp.ListPromptsResult
	_ = mcp.Decode(lists.Tools, &tools) // they were encoded by this very process
	_ = mcp.Decode(lists.Resources, &resources)
	_ = mcp.Decode(lists.Prompts, &prompts)
	return has{tools.Tools, resources.Resources, prompts.Prompts}
}

func (c *completer) tools(o *offer) {
	for _, t := range c.known().tools {
		o.add(t.Name, t.Description, t.Title)
	}
}

func (c *completer) resources(o *offer) {
	for _, r := range c.known().resources {
		o.add(r.URI, r.Description, r.Title, r.Name)
	}
}

func (c *completer) prompts(o *offer) {
	for _, p := range c.known().prompts {
		o.add(p.Name, p.Description, p.Title)
	}
}

// arguments completes key=value: the names of arguments, the required ones first, and values where few can be.
func (c *completer) arguments(o *offer) {
	properties := c.properties()
	if key, _, given := strings.Cut(o.begun, "="); given {
		name, raw := strings.CutSuffix(key, ":")
		for _, p := range properties {
			if p.name != name {
				continue
			}
			for _, v := range p.schema.choices() {
				if text := jsonText(v); !raw || text == string(v) {
					o.add(key + "=" + text)
				}
			}
		}
		return
	}
	o.directive |= cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	slices.SortStableFunc(properties, func(a, b property) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	for _, p := range properties {
		taken := slices.ContainsFunc(c.before[2:], func(word string) bool {
			key, _, _ := strings.Cut(word, "=")
			return strings.TrimSuffix(key, ":") == p.name
		})
		if taken || strings.ContainsAny(p.name, ":=") {
			continue
		}
		about := p.schema.typeName()
		if p.required {
			about += ", required"
		}
		if p.description != "" {
			about += ": " + p.description
		}
		o.add(p.name+"=", about)
	}
}

// properties returns the arguments of the tool or prompt that the second operand means.
func (c *completer) properties() []property {
	h := c.known()
	for _, t := range h.tools {
		if t.Name == c.before[1] && operandKind(c.cmd.Use, 1) == "TOOL" {
			return newSchema(t.InputSchema).properties()
		}
	}
	for _, p := range h.prompts {
		if p.Name == c.before[1] {
			return promptProperties(p)
		}
	}
	return nil
}

// promptProperties returns the arguments of a prompt, which are texts.
func promptProperties(p mcp.Prompt) (arguments []property) {
	fits := newSchema(json.RawMessage(`{"type":"string"}`)) // 2025-11-25, prompts, getting a prompt
	for _, a := range p.Arguments {
		arguments = append(arguments, property{
			name: a.Name, schema: fits, required: a.Required, description: firstLine(a.Description, a.Title),
		})
	}
	return arguments
}
