package doctor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpwire/client"
	"mcpwire/internal/jsonscan"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport"
)

const (
	// bytesPerToken is the rule by which tokens are counted: the bytes of the names, descriptions and input schemas of
	// the tools, as JSON, divided by four. Real counts differ by model, mostly by less than a third.
	bytesPerToken = 4
	// heavyTokens is what the tools of one server may cost before it is warned.
	heavyTokens = 10_000
	heaviest    = 3
	named       = 5 // how many names a finding shows
)

// toolName is what the APIs of models take for the name of a tool.
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// contents tells of the lists.
func (f *facts) contents(r *Report) {
	has := f.about.Capabilities
	tools, prompts, resources := r.step(Tools), r.step(Prompts), r.step(Resources)
	for step, declared := range map[*Step]bool{prompts: has.Prompts != nil, resources: has.Resources != nil} {
		if !declared {
			step.Verdict, step.Text = Skipped, "the server does not declare any"
		}
	}
	for _, l := range f.lists {
		s, declared := tools, has.Tools != nil
		switch l.method {
		case mcp.MethodListPrompts:
			s, declared = prompts, true
		case mcp.MethodListResources, mcp.MethodListResourceTemplates:
			s, declared = resources, true
		}
		f.contentsOf(r, s, l, declared)
	}
}

// contentsOf tells of one list.
func (f *facts) contentsOf(r *Report, s *Step, l listing, declared bool) {
	sum := List{Method: l.method, Count: l.count, Pages: len(l.pages), MS: ms(l.took)}
	for _, page := range l.pages {
		sum.Bytes += page.bytes
	}
	refusal := refusalOf(l)
	if l.method == mcp.MethodListTools && !declared && refusal != nil {
		s.Verdict, s.Text = Skipped, "the server does not declare any, and has none"
		return
	}
	text := fmt.Sprintf("%s: %s, %s, %d bytes, %s", l.method, plural(l.count, "entry", "entries"),
		plural(sum.Pages, "page", "pages"), sum.Bytes, duration(l.took))
	if l.method == mcp.MethodListTools {
		definitions, twice := unique(f.definitions(l))
		for _, d := range definitions {
			sum.Tokens += d.tokens()
		}
		text += fmt.Sprintf("; about %d tokens for a model", sum.Tokens)
		defer f.judge(s, definitions, twice, sum)
	}
	s.Text = strings.TrimPrefix(s.Text+"; "+text, "; ")
	s.MS += sum.MS
	r.Lists = append(r.Lists, sum)
	f.listFault(s, l, refusal)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// refusalOf returns the server's refusal of a list's first page, which the client takes for an empty list where the
// method is unknown.
func refusalOf(l listing) *jsonrpc.Error {
	if len(l.pages) > 0 {
		return l.pages[0].refusal
	}
	return nil
}

// listFault tells why a list could not be read, or not to its end.
func (f *facts) listFault(s *Step, l listing, refusal *jsonrpc.Error) {
	err := l.err
	_, exited := errors.AsType[*transport.ExitError](err)
	switch {
	case refusal != nil && refusal.Code == jsonrpc.CodeMethodNotFound && l.method == mcp.MethodListResourceTemplates:
		s.find(Note, "list-missing", "it has resources and does not know "+l.method, "answer it with an empty list")
	case refusal != nil:
		s.find(Broken, "list-refused", fmt.Sprintf("it declares a list and refuses %s: error %d: %s", l.method, refusal.Code,
			f.quote(refusal.Message)), "answer the method, or don't declare the capability")
	case err == nil:
	case errors.Is(err, client.ErrCursorRepeats):
		s.find(Broken, "list-circle", err.Error(), "leave nextCursor out of the last page")
	case errors.Is(err, client.ErrTooManyPages):
		s.find(Broken, "list-endless", err.Error(), "leave nextCursor out of the last page")
	case exited, errors.Is(err, transport.ErrClosed):
		s.find(Broken, "exit-in-list", err.Error(), "see why the server ends when it is asked for "+l.method)
	case errors.Is(err, transport.ErrSessionLost):
		s.find(Broken, "session-lost", err.Error(), keepSessions)
	case errors.Is(err, errDeadline):
		s.find(Broken, "list-silent", err.Error(), "answer the method; see what the server waits for")
	default:
		s.find(Broken, "list-failed", err.Error(), "see what it says")
	}
}

// A definition is a tool as the server sent it.
type definition struct {
	name, description string
	schema            json.RawMessage // nil: none
}

// tokens returns about how many tokens the definition costs a model.
func (d definition) tokens() int {
	size := len(d.name) + len(d.description) + len(d.schema) + len(`{"name":"","description":"","inputSchema":}`)
	return (size + bytesPerToken - 1) / bytesPerToken
}

// definitions returns the tools as they were sent. Where the trace has not kept them all, they are as the client has
// them.
func (f *facts) definitions(l listing) (all []definition) {
	for _, page := range l.pages {
		if page.answered && page.refusal == nil && page.result == nil {
			return decoded(l.tools)
		}
		_ = jsonscan.Members(page.result, func(name, value []byte) error { // what can't be read holds none
			if string(name) == "tools" {
				return jsonscan.Elements(value, func(tool []byte) error {
					all = append(all, define(tool))
					return nil
				})
			}
			return nil
		})
	}
	return all
}

func decoded(tools []mcp.Tool) (all []definition) {
	for _, t := range tools {
		all = append(all, definition{t.Name, t.Description, t.InputSchema})
	}
	return all
}

// define reads one tool; what is missing or of another type is left empty.
func define(tool []byte) (d definition) {
	_ = jsonscan.Members(tool, func(name, value []byte) error {
		text := len(value) > 0 && value[0] == '"'
		switch {
		case string(name) == "name" && text:
			d.name = string(jsonscan.Unquote(value))
		case string(name) == "description" && text:
			d.description = string(jsonscan.Unquote(value))
		case string(name) == "inputSchema" && string(value) != "null":
			d.schema = slices.Clone(value)
		}
		return nil
	})
	return d
}

// judge tells what is wrong with definitions of tools, each name once.
func (f *facts) judge(s *Step, tools []definition, twice []string, sum List) {
	var rejected, silent []string
	for _, d := range tools {
		if !toolName().MatchString(d.name) {
			rejected = append(rejected, d.name)
		}
		if strings.TrimSpace(d.description) == "" {
			silent = append(silent, d.name)
		}
	}
	f.judgeSchemas(s, tools)
	if twice != nil {
		s.find(Warning, "tool-twice", "it lists several tools of the same name: "+f.names(twice),
			"give each tool a name of its own: hosts keep one of them, or fail")
	}
	if rejected != nil {
		s.find(Warning, "tool-name", "the APIs of models reject these names of tools: "+f.names(rejected),
			"use letters, digits, _ and - only, 64 at most")
	}
	if silent != nil {
		s.find(Warning, "tool-undescribed", "tools without a description: "+f.names(silent),
			"say in a sentence what each does and when to use it: that is all that a model knows")
	}
	if sum.Tokens > heavyTokens {
		s.find(Warning, "tools-heavy", fmt.Sprintf("the definitions of %s cost a model about %d tokens in every request; "+
			"the heaviest are %s", plural(len(tools), "tool", "tools"), sum.Tokens, f.heaviest(tools)),
			`shorten descriptions and schemas, or offer fewer with "tools" in the entry`)
	}
}

// unique returns the first definition of each name, as hosts keep it, and the names that came again.
func unique(tools []definition) (first []definition, twice []string) {
	seen := map[string]int{}
	for _, d := range tools {
		switch seen[d.name]++; seen[d.name] {
		case 1:
			first = append(first, d)
		case 2:
			twice = append(twice, d.name)
		}
	}
	return first, twice
}

func (f *facts) heaviest(tools []definition) string {
	sorted := slices.SortedStableFunc(slices.Values(tools), func(a, b definition) int {
		return cmp.Compare(b.tokens(), a.tokens())
	})
	var all []string
	for _, d := range sorted[:min(heaviest, len(sorted))] {
		all = append(all, fmt.Sprintf("%s (%d)", f.quote(d.name), d.tokens()))
	}
	return strings.Join(all, ", ")
}

// judgeSchemas tells what is wrong with the schemas of tools' arguments.
func (f *facts) judgeSchemas(s *Step, tools []definition) {
	const fix = `give each tool an inputSchema that is a valid JSON Schema with "type": "object" at its top: the APIs ` +
		"of models refuse a request with another"
	var missing, other, invalid []string
	why := ""
	for _, d := range tools {
		switch err := client.CheckSchema(d.schema); {
		case d.schema == nil:
			missing = append(missing, d.name)
		case !ofObject(d.schema):
			other = append(other, d.name)
		case err != nil:
			if invalid = append(invalid, d.name); why == "" {
				why = f.quote(err.Error())
			}
		}
	}
	if missing != nil {
		s.find(Broken, "schema-missing", "tools without an inputSchema: "+f.names(missing), fix)
	}
	if other != nil {
		s.find(Broken, "schema-no-object", "tools whose inputSchema is not one of an object: "+f.names(other), fix)
	}
	if invalid != nil {
		s.find(Broken, "schema-invalid", "tools whose inputSchema is not valid: "+f.names(invalid)+"; the first: "+why, fix)
	}
}

// ofObject reports whether a schema says that it is one of an object.
func ofObject(schema []byte) bool {
	kind := ""
	err := jsonscan.Members(schema, func(member, value []byte) error {
		if string(member) == "type" {
			kind = string(value)
		}
		return nil
	})
	return err == nil && kind == `"object"`
}

// names shows the first of several names.
func (f *facts) names(all []string) string {
	var shown []string
	for _, name := range all[:min(named, len(all))] {
		shown = append(shown, f.quote(fmt.Sprintf("%q", name)))
	}
	text := strings.Join(shown, ", ")
	if more := len(all) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
