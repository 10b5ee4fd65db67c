package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// applied are the subschemas of a schema, by how often it applies them.
type applied struct {
	whole []*jsonschema.Schema // once, to the value itself
	named []*jsonschema.Schema // each to one member
	each  []*jsonschema.Schema // to every member
}

func appliedBy(s *jsonschema.Schema) (a applied) {
	a.whole = slices.Concat(s.AllOf, s.AnyOf, s.OneOf,
		[]*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else})
	if s.DynamicRef != nil {
		a.whole = append(a.whole, s.DynamicRef.Ref)
	}
	for _, sub := range s.DependentSchemas {
		a.whole = append(a.whole, sub)
	}
	for _, dependency := range s.Dependencies {
		a.whole = appendSchemas(a.whole, dependency)
	}
	a.named = slices.Clone(s.PrefixItems)
	for _, sub := range s.Properties {
		a.named = append(a.named, sub)
	}
	a.each = []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	for _, sub := range s.PatternProperties {
		a.each = append(a.each, sub)
	}
	for _, some := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		a.each = appendSchemas(a.each, some)
	}
	missing := func(s *jsonschema.Schema) bool { return s == nil }
	a.whole, a.each = slices.DeleteFunc(a.whole, missing), slices.DeleteFunc(a.each, missing)
	return a
}

func appendSchemas(all []*jsonschema.Schema, some any) []*jsonschema.Schema {
	switch some := some.(type) {
	case *jsonschema.Schema:
		return append(all, some)
	case []*jsonschema.Schema:
		return append(all, some...)
	}
	return all
}

// A price tells what it costs to apply a schema to a value, without what its subschemas cost when they go on.
type price struct {
	fixed     int // units
	steps     int
	perMember int // units
	stepsEach int // for each member
	unique    bool
}

func priceOf(s *jsonschema.Schema, a applied) price {
	p := price{
		fixed:     len(s.Required) + comparisons(a.whole) + comparisons(a.named),
		steps:     1 + len(a.whole),
		perMember: comparisons(a.each),
		stepsEach: 1 + len(a.each),
		unique:    s.UniqueItems,
	}
	for _, names := range s.DependentRequired {
		p.fixed += len(names)
	}
	for _, dependency := range s.Dependencies {
		if names, ok := dependency.([]string); ok {
			p.fixed += len(names)
		}
	}
	return p
}

// comparisons is what it costs that schemas compare a value before they are asked about the cost themselves.
func comparisons(schemas []*jsonschema.Schema) (units int) {
	for _, s := range schemas {
		if s.Enum != nil {
			units += weight(s.Enum.Values)
		}
		if s.Const != nil {
			units += weight(*s.Const)
		}
	}
	return units
}

func (p price) of(v any, step int) int {
	members := 0
	switch v := v.(type) {
	case map[string]any:
		members = len(v)
	case []any:
		members = len(v)
	case string:
		return p.fixed + p.steps*step + len(v)/16
	}
	units := p.fixed + p.steps*step + members*(p.perMember+p.stepsEach*step)
	if p.unique {
		const comparisonsOfOne = 10 // few are compared each with each, many by their hash
		units += comparisonsOfOne * weight(v)
	}
	return units
}

// weight counts what is in a value.
func weight(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			n += len(name)/64 + weight(member)
		}
	case []any:
		for _, element := range v {
			n += weight(element)
		}
	case string:
		n += len(v) / 64
	case fmt.Stringer: // a number
		n += len(v.String()) / 16
		if strings.ContainsAny(v.String(), "eE") {
			n += 10
		}
	}
	return n
}
