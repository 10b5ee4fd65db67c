package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mcpwire/mcp"
)

// A formDialog has somebody fill in a form.
type formDialog struct {
	*dialog
	fields []formField
	values []json.RawMessage // of the fields; nil: left out
}

var errBack = errors.New("the field before is wanted again")

const backWord = "!back"

// fillIn has a form filled in, and shows all of it before it is sent (2025-11-25, elicitation, user interaction model).
// The errors are those of dialog.line.
func (d *dialog) fillIn(server string, p *mcp.ElicitParams) (json.RawMessage, error) {
	f := &formDialog{dialog: d, fields: formFields(p.RequestedSchema)}
	f.values = make([]json.RawMessage, len(f.fields))
	lines := append([]string{d.console.bold(visible(server)) + " asks you:"}, said(p.Message)...)
	if len(f.fields) > 0 {
		lines = append(lines, "Enter takes what stands in [], or leaves out what is optional. "+backWord+
			" goes back to the field before,", declineWord+" says no, "+cancelWord+" or Ctrl-D leaves without an answer.")
	}
	if err := d.tell(lines...); err != nil {
		return nil, err
	}
	for i := 0; i < len(f.fields); i++ {
		switch err := f.ask(i); {
		case errors.Is(err, errBack):
			i = max(i-2, -1)
		case err != nil:
			return nil, err
		}
	}
	return f.review(server)
}

// ask has one field filled in.
func (f *formDialog) ask(i int) error {
	field := &f.fields[i]
	usual := field.usual
	if f.values[i] != nil {
		usual = f.values[i]
	}
	if err := f.tell(field.heading()...); err != nil {
		return err
	}
	prompt := "  > "
	if usual != nil {
		prompt = "  [" + brief(field.shown(usual)) + "] > "
	}
	for {
		text, err := f.line(prompt)
		switch {
		case err != nil:
			return err
		case strings.TrimSpace(text) == backWord:
			return errBack
		case text == "" && (usual != nil || !field.required):
			f.values[i] = usual
			return nil
		}
		value, err := field.parse(text)
		if text == "" {
			err = errors.New("it is required" + field.emptied())
		}
		if err == nil {
			f.values[i] = value
			return nil
		}
		if err := f.tell("  " + visible(err.Error())); err != nil {
			return err
		}
	}
}

// emptied tells how to give nothing where that is an answer.
func (f *formField) emptied() string {
	if f.check(json.RawMessage(nothing)) == nil {
		return "; " + nothing + " is an empty text"
	}
	if f.check(json.RawMessage("[]")) == nil {
		return "; " + nothing + " is none of them"
	}
	return ""
}

// heading tells what is wanted in a field.
func (f *formField) heading() []string {
	required := "optional"
	if f.required {
		required = "required"
	}
	lines := []string{"", brief(f.title()) + " (" + f.wanted() + "; " + required + ")"}
	lines = append(lines, said(f.description)...)
	for i, c := range f.choices {
		lines = append(lines, fmt.Sprintf("  %d) %s", i+1, brief(c.title)))
	}
	return lines
}

// review shows what will be sent, and has it changed until it is right.
func (f *formDialog) review(server string) (json.RawMessage, error) {
	for {
		if err := f.tell(f.summary(server)...); err != nil {
			return nil, err
		}
		change := ""
		if len(f.fields) > 0 {
			change = ", or the number of a field to change it"
		}
		text, err := f.line("Send it? [y: yes, n: decline, c: cancel" + change + "] ")
		if err != nil {
			return nil, err
		}
		switch text = strings.ToLower(strings.TrimSpace(text)); text {
		case "y", "yes":
			return f.content(), nil
		case "n", "no":
			return nil, errDeclined
		case "c":
			return nil, errCanceled
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(f.fields) {
			if err := f.ask(n - 1); err != nil && !errors.Is(err, errBack) {
				return nil, err
			}
		}
	}
}

func (f *formDialog) summary(server string) []string {
	lines := []string{"", visible(server) + " gets:"}
	for i, value := range f.values {
		shown := "(left out)"
		if value != nil {
			shown = f.fields[i].shown(value)
		}
		lines = append(lines, fmt.Sprintf("  %d) %s: %s", i+1, brief(f.fields[i].title()), shown))
	}
	if len(f.values) == 0 {
		lines = append(lines, "  your yes, and nothing else")
	}
	return lines
}

func (f *formDialog) content() json.RawMessage {
	var o object
	for i, value := range f.values {
		if value != nil {
			o.add(f.fields[i].name, value)
		}
	}
	return o.text()
}
