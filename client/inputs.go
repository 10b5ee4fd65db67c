package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// An InputError tells that a request could not be completed because the input that the server asked for was not to be
// had.
type InputError struct {
	Server string
	Method string // of the request
	Name   string // what it was about
	Key    string // the server's name for the input; empty if the request as a whole is meant
	Err    error
}

// Error returns "<server>: <method> <name>: input <key>: <cause>".
func (e *InputError) Error() string {
	text := e.Method
	if e.Name != "" {
		text += " " + e.Name
	}
	if e.Server != "" {
		text = e.Server + ": " + text
	}
	if e.Key != "" {
		text += fmt.Sprintf(": input %.80q", e.Key)
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// offers reports whether the handler answers a method.
func (h *InputHandler) offers(method string) bool {
	if h == nil {
		return false
	}
	switch method {
	case mcp.MethodListRoots:
		return h.Roots != nil
	case mcp.MethodCreateMessage:
		return h.Sample != nil
	case mcp.MethodElicit:
		return h.Elicit != nil
	}
	return false
}

var errNoInput = errors.New("the server wants input and names none")

// answerInput gathers what a result asks for, and returns the params of the next round: those of the first, with the
// answers, and with the state exactly as the server gave it.
func (s *stateless) answerInput(
	ctx context.Context, method string, params, raw json.RawMessage, name string,
) (json.RawMessage, error) {
	fail := func(key string, err error) error {
		return &InputError{Server: s.client.options.Server, Method: method, Name: name, Key: key, Err: err}
	}
	var asked mcp.InputRequired
	if err := mcp.Decode(raw, &asked); err != nil {
		return nil, s.broken(method, err)
	}
	if asked.InputRequests == nil && asked.RequestState == nil {
		return nil, fail("", errNoInput)
	}
	extra := struct {
		InputResponses mcp.InputResponses `json:"inputResponses,omitzero"`
		RequestState   *string            `json:"requestState,omitzero"`
	}{RequestState: asked.RequestState}
	if asked.InputRequests != nil {
		answers, key, err := s.gather(ctx, asked.InputRequests)
		if err != nil {
			return nil, fail(key, err)
		}
		extra.InputResponses = answers
	}
	more, err := mcp.Encode(extra)
	if err != nil {
		return nil, fail("", err)
	}
	return joinObjects(params, more), nil
}

// gather answers all questions at once, since none depends on another. The first failure ends the others.
func (s *stateless) gather(
	ctx context.Context, asked mcp.InputRequests,
) (answers mcp.InputResponses, failed string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers = make(mcp.InputResponses, len(asked))
	l, input := s.client.current(), s.client.options.Input
	var mu sync.Mutex
	var all sync.WaitGroup
	for key, question := range asked {
		all.Go(func() {
			answer, failure := s.client.serve(ctx, l, jsonrpc.ID{}, question.Method, question.Params, input.answer)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case failure == nil:
				answers[key] = answer
			case err == nil:
				failed, err = key, failure
				cancel()
			}
		})
	}
	all.Wait()
	return answers, failed, err
}
