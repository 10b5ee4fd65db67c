package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mcpwire/mcp"
)

// An ArgumentError tells that arguments do not fit the tool's input schema. They were not sent.
type ArgumentError struct {
	Server string
	Tool   string
	Path   string // a JSON Pointer into the arguments; empty: the whole
	Reason string // may show a part of the arguments
}

// Error returns "<server>: arguments of <tool>: at <path>: <reason>".
func (e *ArgumentError) Error() string {
	return mismatchText(e.Server, "arguments of "+e.Tool, e.Path, e.Reason)
}

// A ResultError tells that the structured content of a result does not fit the tool's output schema.
type ResultError struct {
	Server string
	Tool   string
	Path   string // a JSON Pointer into the structured content; empty: the whole
	Reason string // may show a part of the structured content
}

// Error returns "<server>: structured content of <tool>: at <path>: <reason>".
func (e *ResultError) Error() string {
	return mismatchText(e.Server, "structured content of "+e.Tool, e.Path, e.Reason)
}

func mismatchText(server, what, path, reason string) string {
	text := what
	if server != "" {
		text = server + ": " + text
	}
	if path != "" {
		text += ": at " + clip(path)
	}
	return text + ": " + reason
}

// schemas are those of the tools that were listed last. They are compiled when they are first needed (JSON Schema
// 2020-12 unless $schema names draft 4, 6, 7 or 2019-09).
type schemas struct {
	mu     sync.Mutex
	byTool map[string]toolSchemas
}

// toolSchemas holds nil for what there is not or is not to be checked.
type toolSchemas struct{ input, output *schema }

// A schema checks values, one at a time.
type schema struct {
	text string

	mu       sync.Mutex
	tried    bool
	compiled *compiled // nil if tried: it doesn't compile
}

// rememberSchemas takes the place of what was remembered before. Schemas that are still the same stay compiled.
func (c *Client) rememberSchemas(tools []mcp.Tool) {
	c.schemas.mu.Lock()
	defer c.schemas.mu.Unlock()
	before := c.schemas.byTool
	c.schemas.byTool = make(map[string]toolSchemas)
	for _, t := range tools {
		var s toolSchemas
		if c.options.ValidateArguments {
			s.input = before[t.Name].input.renew(t.InputSchema)
		}
		if !c.options.SkipResultValidation {
			s.output = before[t.Name].output.renew(t.OutputSchema)
		}
		if s != (toolSchemas{}) {
			c.schemas.byTool[t.Name] = s
		}
	}
}

func (s *schema) renew(text json.RawMessage) *schema {
	switch {
	case text == nil:
		return nil
	case s != nil && s.text == string(text):
		return s
	}
	return &schema{text: string(text)}
}

func (c *Client) schemasOf(tool string) toolSchemas {
	c.schemas.mu.Lock()
	defer c.schemas.mu.Unlock()
	return c.schemas.byTool[tool]
}

// checkArguments returns an *ArgumentError if the arguments of a tool that was listed do not fit.
func (c *Client) checkArguments(tool string, args json.RawMessage) error {
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	m := c.check(tool, "inputSchema", c.schemasOf(tool).input, args)
	if m == nil {
		return nil
	}
	return &ArgumentError{Server: c.options.Server, Tool: tool, Path: m.path, Reason: m.reason}
}

// checkResult marks a result whose structured content doesn't fit (2025-06-18, tools, output schema). That a tool
// failed need not be told in a structure.
func (c *Client) checkResult(tool string, r *mcp.CallToolResult) {
	s := c.schemasOf(tool).output
	if s == nil || r.IsError {
		return
	}
	m := &mismatch{reason: "there is none"}
	if r.StructuredContent != nil {
		m = c.check(tool, "outputSchema", s, r.StructuredContent)
	}
	if m != nil {
		r.SchemaError = &ResultError{Server: c.options.Server, Tool: tool, Path: m.path, Reason: m.reason}
	}
}

// check tells how a value doesn't fit. What can't be checked counts as fitting, with a warning: once for a schema, and
// for each value that is too big or too costly.
func (c *Client) check(tool, kind string, s *schema, value json.RawMessage) *mismatch {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	log := c.log.With("tool", tool, "schema", kind)
	if !s.tried {
		s.tried = true
		compiled, err := compileSchema(s.text)
		if err != nil {
			log.Warn("a schema can't be used; values are not checked against it", "error", clip(err.Error()))
		}
		s.compiled = compiled
	}
	if s.compiled == nil {
		return nil
	}
	m, err := s.compiled.check(value)
	if err != nil {
		log.Warn("a value can't be checked against its schema", "error", clip(err.Error()))
	}
	return m
}

// A mismatch is the first place where a value doesn't fit its schema.
type mismatch struct{ path, reason string }

// firstMismatch follows the causes down to where there is one no more, or a choice of which none fits.
func firstMismatch(e *jsonschema.ValidationError) *mismatch {
	for len(e.Causes) > 0 && !choice(e) {
		next := e.Causes[0]
		for _, cause := range e.Causes[1:] {
			if before(cause, next) {
				next = cause
			}
		}
		e = next
	}
	return &mismatch{pointer(e.InstanceLocation), clip(reason(e))}
}

// choice reports whether a failure is that of several alternatives, none of which is the one that was meant.
func choice(e *jsonschema.ValidationError) bool {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.MinContains:
		return len(e.Causes) > 1
	}
	return false
}

// before orders causes, which come in the order of a map.
func before(a, b *jsonschema.ValidationError) bool {
	if order := slices.Compare(a.InstanceLocation, b.InstanceLocation); order != 0 {
		return order < 0
	}
	return reason(a) < reason(b)
}

func pointer(tokens []string) string {
	var p jsontext.Pointer
	for _, token := range tokens {
		p = p.AppendToken(token)
	}
	return string(p)
}

// reason words what is wrong in one place, without what lies below it.
func reason(e *jsonschema.ValidationError) string {
	alone := &jsonschema.ValidationError{SchemaURL: e.SchemaURL, ErrorKind: e.ErrorKind}
	return alone.BasicOutput().Error.String()
}

// clip shortens what a server may have made long.
func clip(text string) string {
	const most = 300
	text = string(bytes.ToValidUTF8([]byte(text), []byte("\uFFFD")))
	if runes := []rune(text); len(runes) > most {
		return fmt.Sprintf("%s…", string(runes[:most]))
	}
	return text
}
