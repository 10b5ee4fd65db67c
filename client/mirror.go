package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
	"mcpwire/mcp"
	"mcpwire/transport"
)

// mirrorKeyword is the keyword of an input schema that asks for an argument to be shown in a header too.
const mirrorKeyword = "x-mcp-header"

// A mirror tells which arguments of a tool are shown in headers (2026-07-28, Streamable HTTP, custom headers). nil is
// one that shows none.
type mirror struct {
	server, tool string // for errors
	root         *mirrorNode
}

// A mirrorNode is an argument, or a part of one, that is shown in a header or holds what is.
type mirrorNode struct {
	header string // empty: none
	inside map[string]*mirrorNode
}

// compileMirror finds what an input schema wants to see in headers. An error means that it asks for that in a way that
// it must not, so that the tool is not valid. A schema that asks for nothing has a nil mirror.
func compileMirror(schema json.RawMessage) (*mirror, error) {
	if !bytes.Contains(schema, []byte(mirrorKeyword)) {
		return nil, nil
	}
	r := mirrorReader{jsontext.NewDecoder(
		bytes.NewReader(schema), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	root, err := r.schema(atRoot, 0)
	if err != nil {
		return nil, err
	}
	if err := root.unique(nil, make(map[string]string)); err != nil {
		return nil, err
	}
	if root == nil {
		return nil, nil
	}
	return &mirror{root: root}, nil
}

// unique checks that no header is asked for twice, in whatever case. path leads to the schema of n.
func (n *mirrorNode) unique(path []string, seen map[string]string) error {
	if n == nil {
		return nil
	}
	if n.header != "" {
		folded := strings.ToLower(n.header)
		if first, twice := seen[folded]; twice {
			return fmt.Errorf("%s: %s %.40q is already that of %s", clip(pointer(path)), mirrorKeyword, n.header, first)
		}
		seen[folded] = clip(pointer(path))
	}
	for _, name := range slices.Sorted(maps.Keys(n.inside)) {
		if err := n.inside[name].unique(append(path, "properties", name), seen); err != nil {
			return err
		}
	}
	return nil
}

// A place is where a schema stands in the schema of the arguments.
type place uint8

const (
	atRoot     place = iota // the whole
	atArgument              // that of an argument, reached through nothing but properties
	elsewhere
)

// namedSchemas are the keywords besides properties that hold schemas by names, which may be anything. plainData are
// those that hold no schemas but may hold names, or any value. Every other keyword, known or not, is taken to hold a
// schema or several.
var (
	namedSchemas = map[string]bool{
		"$defs": true, "definitions": true, "dependencies": true, "dependentSchemas": true, "patternProperties": true,
	}
	plainData = map[string]bool{
		"const": true, "default": true, "dependentRequired": true, "enum": true, "examples": true,
	}
)

// A mirrorReader reads a schema once, from one end to the other.
type mirrorReader struct{ dec *jsontext.Decoder }

// schema reads a value that is a schema, holds schemas, or neither. It returns nil where nothing is to be shown.
func (r mirrorReader) schema(at place, depth int) (*mirrorNode, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("the schema is nested deeper than %d levels", maxSchemaDepth)
	}
	switch r.dec.PeekKind() {
	case '{':
		return r.keywords(at, depth)
	case '[':
		return nil, r.elements(depth)
	}
	return nil, r.dec.SkipValue()
}

// elements reads an array, whose elements are not arguments.
func (r mirrorReader) elements(depth int) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for r.dec.PeekKind() != ']' {
		if _, err := r.schema(elsewhere, depth+1); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// keywords reads a schema that is an object. Of keywords that occur twice the last counts, as for every reader.
func (r mirrorReader) keywords(at place, depth int) (*mirrorNode, error) {
	var header, kind jsontext.Value // as they stand there; nil: absent
	inside, err := r.members(func(keyword string) (*mirrorNode, error) {
		var err error
		switch named := r.dec.PeekKind() == '{'; {
		case keyword == mirrorKeyword:
			header, err = r.value()
		case keyword == "type":
			kind, err = r.value()
		case keyword == "properties" && named:
			return r.properties(at, depth+1)
		case namedSchemas[keyword] && named:
			_, err = r.properties(elsewhere, depth+1)
		case plainData[keyword]:
			err = r.dec.SkipValue()
		default:
			_, err = r.schema(elsewhere, depth+1)
		}
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	n := &mirrorNode{}
	if properties := inside["properties"]; properties != nil {
		n.inside = properties.inside
	}
	if header != nil {
		if n.header, err = headerName(at, header, kind); err != nil {
			return nil, fmt.Errorf("%s: %w", cmp.Or(clip(string(r.dec.StackPointer())), "the whole schema"), err)
		}
	}
	if n.header == "" && len(n.inside) == 0 {
		return nil, nil
	}
	return n, nil
}

// properties reads an object that holds schemas by names. The names are no keywords.
func (r mirrorReader) properties(of place, depth int) (*mirrorNode, error) {
	at := atArgument
	if of == elsewhere {
		at = elsewhere
	}
	inside, err := r.members(func(string) (*mirrorNode, error) { return r.schema(at, depth+1) })
	if err != nil || len(inside) == 0 {
		return nil, err
	}
	return &mirrorNode{inside: inside}, nil
}

// members reads an object, member by member, and returns what read returned for the last of each name, nil left out.
func (r mirrorReader) members(read func(name string) (*mirrorNode, error)) (map[string]*mirrorNode, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	all := make(map[string]*mirrorNode)
	for r.dec.PeekKind() != '}' {
		token, err := r.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		n, err := read(name)
		if err != nil {
			return nil, err
		}
		if n == nil {
			delete(all, name)
		} else {
			all[name] = n
		}
	}
	_, err := r.dec.ReadToken()
	return all, err
}

func (r mirrorReader) value() (jsontext.Value, error) {
	v, err := r.dec.ReadValue()
	return v.Clone(), err
}

// headerName returns the name that a schema asks for.
func headerName(at place, value, kind jsontext.Value) (string, error) {
	if at != atArgument {
		return "", errors.New(mirrorKeyword + " is for arguments, which properties alone lead to")
	}
	if value.Kind() != '"' {
		return "", fmt.Errorf("%s is no string but %s", mirrorKeyword, value.Kind())
	}
	name := string(jsonscan.Unquote(value))
	if name == "" || strings.ContainsFunc(name, noTokenRune) {
		return "", fmt.Errorf("%s %.40q can't be a part of a header's name", mirrorKeyword, name)
	}
	if kind.Kind() == '"' {
		switch string(jsonscan.Unquote(kind)) {
		case "integer", "string", "boolean":
			return name, nil
		}
	}
	if kind == nil {
		return "", fmt.Errorf("%s %.40q is on an argument without a type", mirrorKeyword, name)
	}
	return "", fmt.Errorf("%s %.40q is on an argument of type %s, in place of integer, string or boolean",
		mirrorKeyword, name, clip(string(kind)))
}

// noTokenRune reports whether a token can't hold r (RFC 9110, 5.6.2).
func noTokenRune(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// headers returns the arguments that are to be shown, in the order of their names. What is absent, null or no string,
// integer or boolean is left out. An integer that not every reader can hold is an *ArgumentError.
func (m *mirror) headers(args json.RawMessage) ([]transport.Header, error) {
	if m == nil {
		return nil, nil
	}
	return m.show(nil, m.root, nil, bytes.TrimSpace(args))
}

// show appends the headers of n, which has the given value.
func (m *mirror) show(
	headers []transport.Header, n *mirrorNode, path []string, value []byte,
) ([]transport.Header, error) {
	if n.header != "" {
		text, shown, err := headerValue(value)
		if err != nil {
			return nil, &ArgumentError{Server: m.server, Tool: m.tool, Path: pointer(path), Reason: err.Error()}
		}
		if shown {
			headers = append(headers, transport.Header{Name: "Mcp-Param-" + n.header, Value: text})
		}
	}
	if len(n.inside) == 0 || len(value) == 0 || value[0] != '{' {
		return headers, nil
	}
	values := make(map[string][]byte) // of members that occur twice the last counts
	err := jsonscan.Members(value, func(name, value []byte) error {
		if n.inside[string(name)] != nil {
			values[string(name)] = value
		}
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err != nil {
			break
		}
		headers, err = m.show(headers, n.inside[name], append(path, name), values[name])
	}
	return headers, err
}

// headerValue returns a value as a header shows it, before it is encoded.
func headerValue(value []byte) (text string, shown bool, err error) {
	switch jsontext.Value(value).Kind() {
	case '"':
		return string(jsonscan.Unquote(value)), true, nil
	case 't', 'f':
		return string(value), true, nil
	case '0':
		return integerText(string(value))
	}
	return "", false, nil
}

// maxInteger is the largest integer that a double holds together with its neighbours.
const maxInteger = 1<<53 - 1

// integerText returns the decimal digits of a number that is an integer, however it is written.
func integerText(number string) (text string, whole bool, err error) {
	mantissa, power, _ := strings.Cut(strings.ToLower(number), "e")
	// A power that is no int32 is as good as the largest or the smallest one.
	exponent, _ := strconv.ParseInt(power, 10, 32)
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	units, fraction, _ := strings.Cut(mantissa, ".")
	exponent -= int64(len(fraction))
	digits := strings.TrimLeft(units+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(significant))
	if significant == "" {
		return "0", true, nil
	}
	if exponent < 0 {
		return "", false, nil
	}
	beyond := errors.New("an integer that is shown in a header must lie within ±(2^53-1)")
	if int64(len(significant))+exponent > int64(len("9007199254740991")) {
		return "", false, beyond
	}
	significant += strings.Repeat("0", int(exponent))
	if n, err := strconv.ParseInt(significant, 10, 64); err != nil || n > maxInteger {
		return "", false, beyond
	}
	if negative {
		significant = "-" + significant
	}
	return significant, true, nil
}

// mirrors are those of the tools that were listed last. The zero value is ready for use, from several goroutines.
type mirrors struct {
	mu     sync.Mutex
	byTool map[string]judgement
}

// A judgement on a tool is its mirror, or why it is not valid.
type judgement struct {
	mirror *mirror
	fault  string
}

// of returns the mirror of a tool. known is false if the tool was not listed, or is not valid.
func (m *mirrors) of(tool string) (found *mirror, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, listed := m.byTool[tool]
	return j.mirror, listed && j.fault == ""
}

// set takes the place of what was known before. It returns the tools that are valid, and the faults of others by name,
// if they were not the same before.
func (m *mirrors) set(server string, tools []mcp.Tool) (valid []mcp.Tool, faults map[string]string) {
	judged := make(map[string]judgement, len(tools))
	valid = make([]mcp.Tool, 0, len(tools))
	for _, t := range tools {
		found, err := compileMirror(t.InputSchema)
		if err != nil {
			judged[t.Name] = judgement{fault: clip(err.Error())}
			continue
		}
		if found != nil {
			found.server, found.tool = server, t.Name
		}
		judged[t.Name] = judgement{mirror: found}
		valid = append(valid, t)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	faults = make(map[string]string)
	for name, j := range judged {
		if j.fault != "" && j.fault != m.byTool[name].fault {
			faults[name] = j.fault
		}
	}
	m.byTool = judged
	return valid, faults
}

// mirrored notes which arguments of the tools are shown in headers. It returns the tools without those that ask for
// that in a way that is not valid: of each the log is told once. Where there are no tools, perhaps because they could
// not be listed, what is known stays.
func (c *Client) mirrored(tools []mcp.Tool) []mcp.Tool {
	if len(tools) == 0 {
		return tools
	}
	valid, faults := c.mirrors.set(c.options.Server, tools)
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		c.log.Warn("a tool is left out, since its note on headers is not valid", "tool", name, "error", faults[name])
	}
	return valid
}
