package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of validation (2026-07-28, base protocol, JSON Schema usage). Both the schema and the value come from the
// server, and neither a long run nor a stack that is used up could be stopped from outside.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 100
	maxSchemaParts = 200_000 // names, values and brackets
	maxSubschemas  = 5000
	maxValueBytes  = 8 << 20
	// maxFrames bounds the depth of a value times the number of subschemas, which the stack may get as deep as.
	maxFrames = 50_000
	// maxExponent and maxDigits bound numbers, which are computed with exactly.
	maxExponent = 400
	maxDigits   = 1000
)

// maxWork is what one check may cost; only tests change it. A unit is at most about a microsecond and 100 bytes of
// failures.
var maxWork = 3_000_000

// schemaURL is where schemas seem to come from, so that relative references lead nowhere.
const schemaURL = "mcpwire:///schema.json"

var (
	errWork   = errors.New("it takes too long")
	errFrames = errors.New("value and schema are nested too deeply")
)

// A compiled schema. It checks one value at a time.
type compiled struct {
	root  *jsonschema.Schema
	nodes map[*jsonschema.Schema]bool
	step  int // what it costs that a subschema meets a value
	left  int // of maxWork
}

// nowhere refuses to fetch anything.
type nowhere struct{}

func (nowhere) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not followed")
}

// CheckSchema returns why a schema, such as a tool's input schema, can't be used to check values; nil if it can.
// Nothing is fetched: references to other documents are faults.
func CheckSchema(schema json.RawMessage) error {
	_, err := compileSchema(string(schema))
	return err
}

// compileSchema compiles a schema with nothing but what is in it and the metaschemas of JSON Schema.
func compileSchema(text string) (c *compiled, err error) {
	defer recoverAs(&err)
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("%d bytes are too many", len(text))
	}
	size, err := measure([]byte(text))
	switch {
	case err != nil:
		return nil, err
	case size.depth > maxSchemaDepth:
		return nil, fmt.Errorf("nested deeper than %d levels", maxSchemaDepth)
	case size.parts > maxSchemaParts:
		return nil, fmt.Errorf("more than %d parts", maxSchemaParts)
	case size.schemas > maxSubschemas:
		return nil, fmt.Errorf("more than %d subschemas", maxSubschemas)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c = &compiled{nodes: make(map[*jsonschema.Schema]bool)}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(nowhere{})
	compiler.UseRegexpEngine(c.compilePattern)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	if c.root, err = compiler.Compile(schemaURL); err != nil {
		return nil, err
	}
	c.meter(c.root)
	// A dynamic reference may lead to where no other does.
	for _, at := range size.anchors {
		if s, err := compiler.Compile(schemaURL + "#" + escapeFragment(at)); err == nil {
			c.meter(s)
		}
	}
	return c, nil
}

// check tells how a value doesn't fit, or why that can't be told.
func (c *compiled) check(value json.RawMessage) (m *mismatch, err error) {
	defer recoverAs(&err)
	if len(value) > maxValueBytes {
		return nil, fmt.Errorf("%d bytes are too many", len(value))
	}
	size, err := measure(value)
	switch {
	case err != nil:
		return nil, err
	case (size.depth+1)*len(c.nodes) > maxFrames:
		return nil, errFrames
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return nil, err
	}
	// For each subschema that meets a value the library looks at those that led to it without going deeper into the
	// value, and may note a failure with the whole path.
	c.step, c.left = 2+len(c.nodes)/64+size.depth/6, maxWork
	if failure, ok := errors.AsType[*jsonschema.ValidationError](c.root.Validate(instance)); ok {
		return firstMismatch(failure), nil
	}
	return nil, nil
}

// recoverAs turns a panic, of the library or of spend, into an error.
func recoverAs(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = p
	default:
		*err = fmt.Errorf("the validator failed: %v", p)
	}
}

func (c *compiled) spend(units int) {
	c.left -= units
	if c.left < 0 {
		panic(errWork)
	}
}

// meter makes a schema, and all that it leads to, tell before it goes into a value what that will cost. A format is the
// only keyword that the library asks others about before it goes on.
func (c *compiled) meter(s *jsonschema.Schema) {
	pending := []*jsonschema.Schema{s}
	for len(pending) > 0 {
		s, pending = pending[len(pending)-1], pending[:len(pending)-1]
		if c.nodes[s] {
			continue
		}
		c.nodes[s] = true
		a := appliedBy(s)
		pending = slices.Concat(pending, a.whole, a.named, a.each)
		p := priceOf(s, a)
		format := jsonschema.Format{Name: "cost"}
		if s.Format != nil {
			format = *s.Format
		}
		judge := format.Validate
		format.Validate = func(v any) error {
			c.spend(p.of(v, c.step))
			if judge == nil {
				return nil
			}
			return judge(v)
		}
		s.Format = &format
	}
}

// A pattern is a regular expression that tells what a match costs.
type pattern struct {
	*regexp.Regexp
	size int // in instructions
	c    *compiled
}

func (p *pattern) MatchString(s string) bool {
	p.c.spend(1 + p.size*len(s)/64)
	return p.Regexp.MatchString(s)
}

func (c *compiled) compilePattern(text string) (jsonschema.Regexp, error) {
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	return &pattern{expression, len(program.Inst), c}, nil
}

// A measurement is what bounds look at.
type measurement struct {
	depth   int
	parts   int // tokens
	schemas int // as many as there can be
	anchors []string
}

// measure reads JSON text once. A number that would take long to compute with is an error.
func measure(text []byte) (m measurement, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return m, nil
		case err != nil:
			return m, err
		}
		m.parts++
		m.depth = max(m.depth, dec.StackDepth())
		switch token.Kind() {
		case '{', 't', 'f':
			m.schemas++
		case '0':
			if !computable(token.String()) {
				return m, fmt.Errorf("the number at %s is too long or too large", clip(string(dec.StackPointer())))
			}
		case '"':
			if token.String() == "$dynamicAnchor" && m.depth <= maxSchemaDepth {
				m.anchors = append(m.anchors, string(dec.StackPointer().Parent()))
			}
		}
	}
}

func computable(number string) bool {
	if len(number) > maxDigits {
		return false
	}
	_, exponent, found := strings.Cut(strings.ToLower(number), "e")
	if !found {
		return true
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && -maxExponent <= e && e <= maxExponent
}

// escapeFragment writes a JSON Pointer as the fragment of a URI.
func escapeFragment(pointer string) string {
	var b strings.Builder
	for _, c := range []byte(pointer) {
		if c == '/' || c == '~' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
