package mcp

import "encoding/json"

// An InputRequired is a result that asks for input instead of answering (from 2026-07-28, resultType "input_required").
// The client gathers an answer to each of InputRequests and repeats the request under a new id, with the answers in
// InputResponses, under the same keys, and RequestState as it came. At least one of the two is present.
type InputRequired struct {
	ResultType    string          `json:"resultType"`
	InputRequests InputRequests   `json:"inputRequests,omitzero"`
	RequestState  *string         `json:"requestState,omitzero"` // opaque; nil: none is sent back
	Meta          json.RawMessage `json:"_meta,omitzero"`
}

// InputRequests are what a server asks, by keys of its own.
type InputRequests map[string]InputRequest

func (*InputRequests) optionalMembers() {}

// An InputRequest is one thing that a server asks.
type InputRequest struct {
	Method string          `json:"method"`          // MethodCreateMessage, MethodElicit or MethodListRoots
	Params json.RawMessage `json:"params,omitzero"` // CreateMessageParams, ElicitParams or Params
}

// InputResponses are the answers to InputRequests: encoded CreateMessageResult, ElicitResult and ListRootsResult.
type InputResponses map[string]json.RawMessage
