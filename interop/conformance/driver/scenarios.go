package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"mcpwire/mcp"
	"mcpwire/skills"
)

// A scenario is what the host does once it is connected.
type scenario func(ctx context.Context, h *host) error

var scenarios = map[string]scenario{
	"initialize":                          list,
	"tools_call":                          add,
	"elicitation-sep1034-client-defaults": callOne("test_client_elicitation_defaults"),
	"sse-retry":                           callOne("test_reconnection"),
	"request-metadata":                    list,
	"sep-2322-client-request-state":       roundTrips,
	"http-standard-headers":               everyKind,
	"http-custom-headers":                 callsOfContext,
	"http-invalid-tool-headers":           callAll,
	"json-schema-ref-no-deref":            list,
	"json-schema-2020-12-preservation":    echoSchema,
	"sep-2640-client-no-prefetch":         listSkills,
	"sep-2640-client-verify-digest":       refuseSkills,
	"sep-2640-client-verify-size":         refuseSkills,
	"sep-2640-client-verify-frontmatter":  refuseSkills,
}

type object = map[string]any

func list(ctx context.Context, h *host) error {
	_, err := h.ListTools(ctx)
	return err
}

// callOne is the scenario of one call without arguments.
func callOne(tool string) scenario {
	return func(ctx context.Context, h *host) error { return h.call(ctx, tool, object{}) }
}

func add(ctx context.Context, h *host) error {
	if err := list(ctx, h); err != nil {
		return err
	}
	return h.call(ctx, "add_numbers", object{"a": 5, "b": 3})
}

// roundTrips calls tools that ask for input before they answer. One that has nothing to do with that is called in
// between.
func roundTrips(ctx context.Context, h *host) error {
	unrelated := sync.OnceValue(func() error { return h.call(ctx, "test_mrtr_unrelated", object{}) })
	h.elicit = func(context.Context) (json.RawMessage, error) {
		return json.RawMessage(`{"confirmed":true}`), unrelated()
	}
	for _, tool := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_no_result_type"} {
		if err := h.call(ctx, tool, object{}); err != nil {
			return err
		}
	}
	return nil
}

// everyKind uses the first of each kind of thing that a server can offer.
func everyKind(ctx context.Context, h *host) error {
	tools, err := h.ListTools(ctx)
	if err != nil {
		return err
	}
	resources, err := h.ListResources(ctx)
	if err != nil {
		return err
	}
	prompts, err := h.ListPrompts(ctx)
	if err != nil {
		return err
	}
	if len(tools) == 0 || len(resources) == 0 || len(prompts) == 0 {
		return fmt.Errorf("there are %d tools, %d resources and %d prompts", len(tools), len(resources), len(prompts))
	}
	_, err = h.ReadResource(ctx, resources[0].URI)
	if err != nil {
		return err
	}
	if _, err = h.GetPrompt(ctx, prompts[0].Name, nil); err != nil {
		return err
	}
	return h.call(ctx, tools[0].Name, object{})
}

// callsOfContext makes the calls that the suite asks for.
func callsOfContext(ctx context.Context, h *host) error {
	var wanted struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := mcp.Decode(h.context, &wanted); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	if len(wanted.ToolCalls) == 0 {
		return errors.New("MCP_CONFORMANCE_CONTEXT names no calls")
	}
	if err := list(ctx, h); err != nil {
		return err
	}
	for _, c := range wanted.ToolCalls {
		if err := h.call(ctx, c.Name, c.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// callAll calls every tool that the library lets through.
func callAll(ctx context.Context, h *host) error {
	tools, err := h.ListTools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if err := h.call(ctx, tool.Name, object{"region": "us-west1"}); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema sends a tool's schema back as it came.
func echoSchema(ctx context.Context, h *host) error {
	tools, err := h.ListTools(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == "json_schema_2020_12_tool" })
	if i < 0 {
		return errors.New("the tool with the schema is not listed")
	}
	return h.call(ctx, "json_schema_echo", object{"schema": tools[i].InputSchema})
}

var errNoSkills = errors.New("there are no skills")

// listSkills learns of the server's skills, and needs none.
func listSkills(ctx context.Context, h *host) error {
	all, err := h.ListSkills(ctx)
	if err == nil && len(all) == 0 {
		err = errNoSkills
	}
	return err
}

// refuseSkills loads skills as an agent that wants to use them, with all their files. None of them is what its entry
// says.
func refuseSkills(ctx context.Context, h *host) error {
	all, err := h.ListSkills(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errNoSkills
	}
	for _, entry := range all {
		err := useSkill(ctx, h, entry)
		if _, refused := errors.AsType[*skills.VerifyError](err); !refused {
			return fmt.Errorf("%s was not refused: %w", entry.URI, err)
		}
	}
	return nil
}

func useSkill(ctx context.Context, h *host, entry mcp.Skill) error {
	skill, err := skills.Load(ctx, h, entry, skills.Options{})
	if err != nil {
		return err
	}
	for _, file := range entry.Resources.Files {
		if _, err := skill.Read(ctx, file.URI); err != nil {
			return err
		}
	}
	return nil
}

// authorized is what is done in every scenario that is about how the host gets a token.
func authorized(ctx context.Context, h *host) error {
	if err := list(ctx, h); err != nil {
		return err
	}
	return h.call(ctx, "test-tool", object{})
}
