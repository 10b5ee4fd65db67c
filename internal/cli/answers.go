package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/tailscale/hujson"

	"mcpwire/internal/jsonscan"
	"mcpwire/mcp"
)

// answers are those of the files of --answer, in order. It may be used from several goroutines.
type answers struct {
	mu      sync.Mutex
	elicits []*prepared
	samples []*prepared
}

// A prepared is an answer to a question that a server may ask: to one, unless it repeats.
type prepared struct {
	Server  string          `json:"server"` // whose question; empty: any
	Match   string          `json:"match"`  // a part of the question; empty: any
	Repeat  bool            `json:"repeat"`
	Action  string          `json:"action"`  // empty: accept
	Content json.RawMessage `json:"content"` // elicit: the fields of the form, an object
	Text    string          `json:"text"`    // sample: what the model says
	Model   string          `json:"model"`   // sample: its name; empty: prepared

	place string // "answers.json: elicit 1"
	used  bool
}

// load reads a file of answers: JSON, in which comments are fine.
func (a *answers) load(path string, stdin io.Reader) error {
	var text []byte
	var err error
	if path == "-" {
		path = "standard input"
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(path)
	}
	switch {
	case err != nil:
		return usagef("--answer: %w", err)
	case len(bytes.TrimSpace(text)) == 0:
		return usagef("--answer: %s is empty", path)
	}
	var file struct {
		Elicit []*prepared `json:"elicit"`
		Sample []*prepared `json:"sample"`
	}
	if text, err = hujson.Standardize(text); err == nil {
		err = jsonv2.Unmarshal(text, &file, jsonv2.RejectUnknownMembers(true))
	}
	if err != nil {
		return usagef("--answer: %s: %w", path, unreadable(err))
	}
	for _, list := range []struct {
		name  string
		all   []*prepared
		wrong func(*prepared) string
	}{{"elicit", file.Elicit, (*prepared).wrongElicit}, {"sample", file.Sample, (*prepared).wrongSample}} {
		for i, p := range list.all {
			if p == nil {
				return usagef("--answer: %s: %s %d is null", path, list.name, i+1)
			}
			p.place = fmt.Sprintf("%s: %s %d", path, list.name, i+1)
			if wrong := list.wrong(p); wrong != "" {
				return usagef("--answer: %s: %s", p.place, wrong)
			}
		}
	}
	a.elicits = append(a.elicits, file.Elicit...)
	a.samples = append(a.samples, file.Sample...)
	return nil
}

// unreadable tells in plain words why a file of answers can't be read.
func unreadable(err error) error {
	e, ok := errors.AsType[*jsonv2.SemanticError](err)
	switch {
	case !ok:
		return errors.New("not valid JSON: " + strings.TrimPrefix(err.Error(), "hujson: "))
	case errors.Is(err, jsonv2.ErrUnknownName):
		return fmt.Errorf("%s is unknown", e.JSONPointer)
	case e.GoType == nil:
		return err
	}
	wanted := "an object"
	switch e.GoType.Kind() {
	case reflect.Slice:
		wanted = "a list"
	case reflect.String:
		wanted = "a text"
	case reflect.Bool:
		wanted = "true or false"
	}
	if e.JSONPointer == "" {
		return fmt.Errorf("%s is wanted", wanted)
	}
	return fmt.Errorf("%s must be %s", e.JSONPointer, wanted)
}

// wrongElicit tells what is wrong with an answer to an elicitation, whatever is asked.
func (p *prepared) wrongElicit() string {
	switch {
	case !slices.Contains([]string{"", mcp.ElicitAccept, mcp.ElicitDecline, mcp.ElicitCancel}, p.Action):
		return `action must be "accept", "decline" or "cancel"`
	case p.Text != "" || p.Model != "":
		return "text and model are for sample"
	case p.Content != nil && p.Action != "" && p.Action != mcp.ElicitAccept:
		return "content goes with the action accept alone"
	case p.Content != nil && typeOf(p.Content) != "object":
		return "content must be an object"
	}
	return ""
}

// wrongSample tells what is wrong with an answer for a model, whatever is asked.
func (p *prepared) wrongSample() string {
	switch {
	case p.Action != "" && p.Action != mcp.ElicitAccept && p.Action != mcp.ElicitDecline:
		return `action must be "accept" or "decline"`
	case p.Content != nil:
		return "content is for elicit; write text"
	case (p.Action == mcp.ElicitDecline) == (p.Text != ""):
		return `either text or "action": "decline" is wanted`
	}
	return ""
}

// sample reports whether there are answers for a model.
func (a *answers) sample() bool { return len(a.samples) > 0 }

func (a *answers) elicitation(server string, p *mcp.ElicitParams) *prepared {
	return a.take(a.elicits, server, p.Message)
}

func (a *answers) sampling(server string, p *mcp.CreateMessageParams) *prepared {
	return a.take(a.samples, server, sampledText(p))
}

// take returns the first answer that is for a question and not used up; nil if there is none.
func (a *answers) take(from []*prepared, server, question string) *prepared {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range from {
		if p.used && !p.Repeat || p.Server != "" && p.Server != server || !strings.Contains(question, p.Match) {
			continue
		}
		p.used = true
		return p
	}
	return nil
}

// elicited returns the answer to an elicitation. The error tells how the content does not fit the form.
func (p *prepared) elicited(asked *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	result := &mcp.ElicitResult{Action: p.Action, Content: p.Content}
	if p.Action == "" {
		result.Action = mcp.ElicitAccept
	}
	switch {
	case result.Action != mcp.ElicitAccept:
		return result, nil
	case asked.Mode != mcp.ElicitURL:
		if err := checkContent(formFields(asked.RequestedSchema), p.Content); err != nil {
			return nil, fmt.Errorf("--answer: %s: %w", p.place, err)
		}
	case p.Content != nil:
		return nil, fmt.Errorf("--answer: %s: there is content, but the server wants an address visited", p.place)
	}
	return result, nil
}

// checkContent tells how a filled-in form does not fit what was asked for. A field that is left out gets the default of
// its schema.
func checkContent(fields []formField, content json.RawMessage) error {
	given := map[string]bool{}
	var names []string
	for i := range fields {
		names = append(names, fields[i].name)
	}
	err := jsonscan.Members(content, func(name, value []byte) error {
		i := slices.Index(names, string(name))
		if i < 0 {
			return fmt.Errorf("the form has no field %q%s", name, didYouMean(string(name), names))
		}
		given[string(name)] = true
		if err := fields[i].check(value); err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		return nil
	})
	if err != nil && content != nil {
		return err
	}
	for i := range fields {
		if f := &fields[i]; f.required && f.usual == nil && !given[f.name] {
			return fmt.Errorf("field %q: it is required", f.name)
		}
	}
	return nil
}

// sampled returns the answer to a question to a model.
func (p *prepared) sampled() (*mcp.CreateMessageResult, error) {
	if p.Action == mcp.ElicitDecline {
		return nil, refusedSampling
	}
	model := p.Model
	if model == "" {
		model = "prepared"
	}
	return message(p.Text, model), nil
}
