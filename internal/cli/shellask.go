package cli

import (
	"context"
	"slices"
	"strings"

	"mcpwire/client"
	"mcpwire/mcp"
	"mcpwire/skills"
)

// resourceURIs are those of the chosen server.
func (s *shell) resourceURIs() (uris []string) {
	s.ask(func(ctx context.Context, c *client.Client) {
		if c.Server().Capabilities.Resources == nil {
			return
		}
		all, _ := c.ListResources(ctx) // what there is of them
		for _, one := range all {
			uris = append(uris, one.URI)
		}
	})
	return uris
}

// templateURIs are those of the chosen server.
func (s *shell) templateURIs() (uris []string) {
	s.ask(func(ctx context.Context, c *client.Client) {
		if c.Server().Capabilities.Resources == nil {
			return
		}
		all, _ := c.ListResourceTemplates(ctx) // what there is of them
		for _, one := range all {
			uris = append(uris, one.URITemplate)
		}
	})
	return uris
}

// skillNames are those of the skills of the chosen server.
func (s *shell) skillNames() (names []string) {
	s.ask(func(ctx context.Context, c *client.Client) {
		all, _ := c.ListSkills(ctx) // what there is of them
		for i := range all {
			names = append(names, skills.About(all[i].Frontmatter).Name)
		}
	})
	return names
}

// prompts are those of the chosen server.
func (s *shell) prompts() (all []mcp.Prompt) {
	s.ask(func(ctx context.Context, c *client.Client) {
		if c.Server().Capabilities.Prompts != nil {
			all, _ = c.ListPrompts(ctx) // what there is of them
		}
	})
	return all
}

func (s *shell) promptNames() (names []string) {
	for _, one := range s.prompts() {
		names = append(names, one.Name)
	}
	return names
}

// argumentsOfReference are the arguments of a prompt, or the variables of a template, that are not given yet or, behind
// "=", what the server offers for one.
func (s *shell) argumentsOfReference(name string, given []string, word string) (all []string) {
	key, value, valued := strings.Cut(word, "=")
	if valued {
		return s.valuesOf(name, given, key, value)
	}
	for _, argument := range s.variablesOf(name) {
		if !isGiven(given, argument) {
			all = append(all, argument+"=")
		}
	}
	return all
}

// variablesOf are the names of the arguments of a prompt, or of the variables of a template.
func (s *shell) variablesOf(name string) (all []string) {
	if ref := reference(name); ref.Type == mcp.RefResource {
		return templateVariables(name)
	}
	prompts := s.prompts()
	i := slices.IndexFunc(prompts, func(p mcp.Prompt) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	for _, argument := range prompts[i].Arguments {
		all = append(all, argument.Name)
	}
	return all
}

// templateVariables are the variables of a URI template (RFC 6570, section 2.3).
func templateVariables(template string) (all []string) {
	for {
		_, rest, ok := strings.Cut(template, "{")
		if !ok {
			return all
		}
		inside, behind, ok := strings.Cut(rest, "}")
		if !ok {
			return all
		}
		template = behind
		for variable := range strings.SplitSeq(strings.TrimLeft(inside, "+#./;?&=,!@|"), ",") {
			name, _, _ := strings.Cut(strings.TrimSuffix(variable, "*"), ":")
			all = append(all, name)
		}
	}
}

// valuesOf asks the server how an argument could go on, with those that are settled (2025-11-25, completion).
func (s *shell) valuesOf(name string, given []string, key, value string) (all []string) {
	single, err := parseArguments(given)
	if err != nil {
		return nil
	}
	settled, err := promptArguments(nil, single)
	if err != nil {
		return nil
	}
	s.ask(func(ctx context.Context, c *client.Client) {
		if c.Server().Capabilities.Completions == nil {
			return
		}
		result, err := c.Complete(ctx, reference(name), mcp.CompletionArgument{Name: key, Value: value}, settled)
		if err != nil {
			return // there is nobody to tell it to
		}
		for _, offered := range result.Completion.Values {
			all = append(all, key+"="+offered)
		}
	})
	return all
}
