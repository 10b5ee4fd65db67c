package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
	"mcpwire/mcp"
)

// elicit has the user asked, and completes the answer.
func (h *InputHandler) elicit(ctx context.Context, params json.RawMessage) (*mcp.ElicitResult, error) {
	var p mcp.ElicitParams
	if err := mcp.Decode(params, &p); err != nil {
		return nil, badQuestion("%v", err)
	}
	form := p.Mode == "" || p.Mode == mcp.ElicitForm
	var err error
	switch {
	case form:
		err = checkForm(p.RequestedSchema)
	case p.Mode != mcp.ElicitURL:
		err = badQuestion("unknown elicitation mode %.40q", p.Mode)
	case !h.ElicitURL:
		err = badQuestion("elicitation mode %q is not supported", p.Mode)
	default:
		err = checkURL(p.URL)
	}
	if err != nil {
		return nil, err
	}
	// The host may change what it is handed.
	schema := append(json.RawMessage(nil), p.RequestedSchema...)
	answer, err := h.Elicit(ctx, &p)
	if err != nil {
		return nil, err
	}
	return completeAnswer(answer, form, schema)
}

func checkForm(schema json.RawMessage) error {
	if kind := jsontext.Value(schema).Kind(); len(schema) > 0 && kind != '{' {
		return badQuestion("requestedSchema must be an object, not %s", kind)
	}
	return nil
}

// checkURL refuses what is no address that a user could be shown. Where it leads is for the host to judge.
func checkURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme == "" {
		return badQuestion("%.80q is not a URL", text)
	}
	return nil
}

// completeAnswer returns the host's answer as the server gets it. Only an accepted form has content (2025-11-25,
// elicitation, response actions).
func completeAnswer(answer *mcp.ElicitResult, form bool, schema json.RawMessage) (*mcp.ElicitResult, error) {
	if answer == nil {
		return nil, errors.New("the host gave no answer to the elicitation")
	}
	complete := *answer
	switch complete.Action {
	case mcp.ElicitDecline, mcp.ElicitCancel:
		complete.Content = nil
		return &complete, nil
	case mcp.ElicitAccept:
	default:
		return nil, fmt.Errorf("the host answered the elicitation with the unknown action %.40q", complete.Action)
	}
	if !form {
		complete.Content = nil
		return &complete, nil
	}
	if len(complete.Content) == 0 {
		complete.Content = json.RawMessage(`{}`)
	}
	filled := map[string]bool{}
	err := jsonscan.Members(complete.Content, func(name, _ []byte) error {
		filled[string(name)] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the content of the host's answer to the elicitation is not a JSON object: %w", err)
	}
	complete.Content = joinObjects(complete.Content, defaults(schema, filled))
	return &complete, nil
}

// defaults returns an object of the default values of a form's fields, as they stand in the schema, without those that
// are filled in already. A default that can't be a value of its field is no default.
func defaults(schema json.RawMessage, filled map[string]bool) json.RawMessage {
	object := []byte{'{'}
	for _, field := range membersOf(member(schema, "properties")) {
		value := member(field.value, "default")
		if filled[field.name] || !fits(value, typeName(field.value)) {
			continue
		}
		object = appendMember(object, field.name, value)
	}
	return append(object, '}')
}

// typeName returns the type of a field; empty where the schema names none, or several.
func typeName(schema json.RawMessage) string {
	var name string
	if mcp.Decode(member(schema, "type"), &name) != nil {
		return ""
	}
	return name
}

// fits reports whether a value can be that of a form's field (2025-11-25, elicitation, requested schema). A field
// without a type takes a value of any of the types that fields have.
func fits(value json.RawMessage, fieldType string) bool {
	var actual string
	switch jsontext.Value(value).Kind() {
	case '"':
		actual = "string"
	case 't', 'f':
		actual = "boolean"
	case '0':
		actual = "number"
		if fieldType == "integer" && isInteger(value) {
			actual = fieldType
		}
	case '[':
		actual = "array"
		if !onlyStrings(value) {
			return false
		}
	default:
		return false
	}
	return fieldType == "" || fieldType == actual
}

func onlyStrings(list json.RawMessage) bool {
	err := jsonscan.Elements(list, func(element []byte) error {
		if element[0] != '"' {
			return errors.New("not a string")
		}
		return nil
	})
	return err == nil
}

// isInteger takes 1.0 for an integer, as JSON Schema does.
func isInteger(number json.RawMessage) bool {
	_, whole, tooLarge := integerText(string(number))
	return whole || tooLarge != nil
}

// A rawMember is a member of an object.
type rawMember struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of an object in order; of those that occur twice the last counts. What is no object has
// none.
func membersOf(object json.RawMessage) []rawMember {
	var all []rawMember
	at := map[string]int{}
	err := jsonscan.Members(object, func(name, value []byte) error {
		i, twice := at[string(name)]
		if !twice {
			i = len(all)
			at[string(name)] = i
			all = append(all, rawMember{name: string(name)})
		}
		all[i].value = value
		return nil
	})
	if err != nil {
		return nil
	}
	return all
}

// member returns a member of an object; nil where there is none, or no object.
func member(object json.RawMessage, name string) json.RawMessage {
	for _, m := range membersOf(object) {
		if m.name == name {
			return m.value
		}
	}
	return nil
}
