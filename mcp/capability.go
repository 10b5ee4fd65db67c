package mcp

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// ClientCapabilities tell what the client can do for the server. A nil member means that it can't.
type ClientCapabilities struct {
	Roots        *RootsCapability           `json:"roots,omitzero"`
	Sampling     *SamplingCapability        `json:"sampling,omitzero"`
	Elicitation  *ElicitationCapability     `json:"elicitation,omitzero"` // from 2025-06-18
	Tasks        *ClientTasksCapability     `json:"tasks,omitzero"`       // 2025-11-25
	Experimental json.RawMessage            `json:"experimental,omitzero"`
	Extensions   map[string]json.RawMessage `json:"extensions,omitzero"` // from 2026-07-28; the settings by identifier
	Extra        jsontext.Value             `json:",embed"`              // members that no revision knows, as one object
}

// ServerCapabilities tell what the server offers. A nil member means that it doesn't.
type ServerCapabilities struct {
	Tools        *ToolsCapability           `json:"tools,omitzero"`
	Resources    *ResourcesCapability       `json:"resources,omitzero"`
	Prompts      *PromptsCapability         `json:"prompts,omitzero"`
	Logging      *Capability                `json:"logging,omitzero"`
	Completions  *Capability                `json:"completions,omitzero"` // from 2025-03-26
	Tasks        *ServerTasksCapability     `json:"tasks,omitzero"`       // 2025-11-25
	Experimental json.RawMessage            `json:"experimental,omitzero"`
	Extensions   map[string]json.RawMessage `json:"extensions,omitzero"` // from 2026-07-28; the settings by identifier
	Extra        jsontext.Value             `json:",embed"`              // members that no revision knows, as one object
}

// A Capability says all by being there.
type Capability struct {
	Extra jsontext.Value `json:",embed"` // settings that no revision knows, as one object
}

// ToolsCapability says that there are tools.
type ToolsCapability struct {
	ListChanged bool `json:"listChanged,omitzero"` // changes of the list are notified
}

// PromptsCapability says that there are prompts.
type PromptsCapability struct {
	ListChanged bool `json:"listChanged,omitzero"` // changes of the list are notified
}

// ResourcesCapability says that there are resources.
type ResourcesCapability struct {
	Subscribe   bool `json:"subscribe,omitzero"`   // updates of one resource can be subscribed to
	ListChanged bool `json:"listChanged,omitzero"` // changes of the list are notified
}

// RootsCapability says that the client lists its roots.
type RootsCapability struct {
	ListChanged bool `json:"listChanged,omitzero"` // changes of the list are notified; up to 2025-11-25
}

// SamplingCapability says that the client lets the server ask its model.
type SamplingCapability struct {
	Context *Capability `json:"context,omitzero"` // from 2025-11-25: includeContext is understood
	Tools   *Capability `json:"tools,omitzero"`   // from 2025-11-25: tools and toolChoice are understood
}

// ElicitationCapability says that the client lets the server ask its user. With neither member it means forms alone
// (2025-11-25, elicitation, capabilities).
type ElicitationCapability struct {
	Form *Capability `json:"form,omitzero"` // from 2025-11-25
	URL  *Capability `json:"url,omitzero"`  // from 2025-11-25
}

// ClientTasksCapability says for which requests of the server the client creates tasks (2025-11-25, tasks).
type ClientTasksCapability struct {
	List     *Capability         `json:"list,omitzero"`
	Cancel   *Capability         `json:"cancel,omitzero"`
	Requests *ClientTaskRequests `json:"requests,omitzero"`
}

// ClientTaskRequests are the requests that a client augments with tasks.
type ClientTaskRequests struct {
	Sampling    *SamplingTaskRequests    `json:"sampling,omitzero"`
	Elicitation *ElicitationTaskRequests `json:"elicitation,omitzero"`
}

// SamplingTaskRequests are the requests of sampling that a client augments with tasks.
type SamplingTaskRequests struct {
	CreateMessage *Capability `json:"createMessage,omitzero"`
}

// ElicitationTaskRequests are the requests of elicitation that a client augments with tasks.
type ElicitationTaskRequests struct {
	Create *Capability `json:"create,omitzero"`
}

// ServerTasksCapability says for which requests the server creates tasks (2025-11-25, tasks).
type ServerTasksCapability struct {
	List     *Capability         `json:"list,omitzero"`
	Cancel   *Capability         `json:"cancel,omitzero"`
	Requests *ServerTaskRequests `json:"requests,omitzero"`
}

// ServerTaskRequests are the requests that a server augments with tasks.
type ServerTaskRequests struct {
	Tools *ToolTaskRequests `json:"tools,omitzero"`
}

// ToolTaskRequests are the requests about tools that a server augments with tasks.
type ToolTaskRequests struct {
	Call *Capability `json:"call,omitzero"`
}

func (*ClientCapabilities) optionalMembers()      {}
func (*ServerCapabilities) optionalMembers()      {}
func (*Capability) optionalMembers()              {}
func (*ToolsCapability) optionalMembers()         {}
func (*PromptsCapability) optionalMembers()       {}
func (*ResourcesCapability) optionalMembers()     {}
func (*RootsCapability) optionalMembers()         {}
func (*SamplingCapability) optionalMembers()      {}
func (*ElicitationCapability) optionalMembers()   {}
func (*ClientTasksCapability) optionalMembers()   {}
func (*ClientTaskRequests) optionalMembers()      {}
func (*SamplingTaskRequests) optionalMembers()    {}
func (*ElicitationTaskRequests) optionalMembers() {}
func (*ServerTasksCapability) optionalMembers()   {}
func (*ServerTaskRequests) optionalMembers()      {}
func (*ToolTaskRequests) optionalMembers()        {}
