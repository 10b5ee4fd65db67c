package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
)

// An InputHandler answers what a server asks of the host, however the asking arrives: as a request of the server (up
// to 2025-11-25), or in a result that is not complete yet (2026-07-28, multi round-trip requests). A nil function is
// not advertised, and what the server asks for all the same is refused with -32601. The functions may be called from
// several goroutines at once, may block and may use the Client. ctx is done when the answer is no longer wanted. To
// refuse with a code of its own, such as -1 when the user said no to sampling, a function returns a *rpc.Refusal.
type InputHandler struct {
	// Roots returns the directories and files that the server may work in. Whenever it would return others,
	// Client.RootsChanged is to be called.
	Roots func(ctx context.Context) ([]mcp.Root, error)
	// Sample has the host's model write a message. An answer without a Role is the assistant's.
	Sample func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)
	// Elicit asks the user. Fields of a form that an accepted answer leaves out get the defaults of the form's schema
	// (2025-11-25, elicitation, requested schema). Content counts only in an accepted form.
	Elicit func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// SampleTools says that Sample understands tools; without it, requests with tools are refused with -32602.
	SampleTools bool
	// ElicitURL says that Elicit understands mcp.ElicitURL besides forms; without it, that mode is refused with -32602.
	// Elicit must show the whole URL, and never open or fetch it before the user agrees (2025-11-25, elicitation,
	// safe URL handling).
	ElicitURL bool
}

// capabilities returns base, and what the handler offers. An elicitation of forms alone is an empty object, which means
// the same as naming the mode and which older servers read too.
func (h *InputHandler) capabilities(base mcp.ClientCapabilities) mcp.ClientCapabilities {
	if h == nil {
		return base
	}
	if h.Roots != nil {
		base.Roots = &mcp.RootsCapability{ListChanged: true}
	}
	if h.Sample != nil {
		sampling := orZero(base.Sampling)
		if h.SampleTools && sampling.Tools == nil {
			sampling.Tools = &mcp.Capability{}
		}
		base.Sampling = &sampling
	}
	if h.Elicit != nil {
		elicitation := orZero(base.Elicitation)
		if h.ElicitURL {
			form, byURL := orZero(elicitation.Form), orZero(elicitation.URL)
			elicitation.Form, elicitation.URL = &form, &byURL
		}
		base.Elicitation = &elicitation
	}
	return base
}

func orZero[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// answer answers one question of the server. What is not offered, and what is asked wrongly, is a *rpc.Refusal.
func (h *InputHandler) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if !h.offers(method) {
		return nil, &rpc.Refusal{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + method}
	}
	var result any
	var err error
	switch method {
	case mcp.MethodListRoots:
		result, err = h.listRoots(ctx)
	case mcp.MethodCreateMessage:
		result, err = h.sample(ctx, params)
	case mcp.MethodElicit:
		result, err = h.elicit(ctx, params)
	}
	if err != nil {
		return nil, err
	}
	raw, err := mcp.Encode(result)
	if err != nil {
		return nil, fmt.Errorf("the host's answer to %s can't be encoded: %w", method, err)
	}
	return raw, nil
}

func (h *InputHandler) listRoots(ctx context.Context) (*mcp.ListRootsResult, error) {
	roots, err := h.Roots(ctx)
	return &mcp.ListRootsResult{Roots: roots}, err
}

func (h *InputHandler) sample(ctx context.Context, params json.RawMessage) (*mcp.CreateMessageResult, error) {
	var p mcp.CreateMessageParams
	if err := mcp.Decode(params, &p); err != nil {
		return nil, badQuestion("%v", err)
	}
	if (p.Tools != nil || p.ToolChoice != nil) && !h.SampleTools {
		return nil, badQuestion("tools are not supported in sampling")
	}
	message, err := h.Sample(ctx, &p)
	switch {
	case err != nil:
		return nil, err
	case message == nil:
		return nil, errors.New("the host gave no message")
	case message.Role != "":
		return message, nil
	}
	complete := *message
	complete.Role = mcp.RoleAssistant
	return &complete, nil
}

// badQuestion refuses a question that the server has asked wrongly.
func badQuestion(format string, args ...any) error {
	return &rpc.Refusal{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}
