package mcp

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Tool is something that the server can do for the model.
type Tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"` // from 2025-06-18; to show, before Annotations.Title and Name
	Description string `json:"description,omitzero"`
	// InputSchema is the JSON Schema of the arguments. Where the server sent none, it is {"type":"object"}.
	InputSchema  json.RawMessage  `json:"inputSchema"`
	OutputSchema json.RawMessage  `json:"outputSchema,omitzero"` // from 2025-06-18; of the structured content
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`  // from 2025-03-26
	Icons        []Icon           `json:"icons,omitzero"`        // from 2025-11-25
	Execution    *ToolExecution   `json:"execution,omitzero"`    // 2025-11-25
	Meta         json.RawMessage  `json:"_meta,omitzero"`
}

const anyObject = `{"type":"object"}`

// UnmarshalJSONFrom reads a tool; a missing input schema becomes {"type":"object"}.
func (t *Tool) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain Tool
	if err := jsonv2.UnmarshalDecode(dec, (*plain)(t)); err != nil {
		return err
	}
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(anyObject)
	}
	return nil
}

// MarshalJSONTo writes a tool; a nil input schema becomes {"type":"object"}.
func (t Tool) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Tool
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(anyObject)
	}
	return jsonv2.MarshalEncode(enc, plain(t))
}

// ToolAnnotations are hints about a tool, to be trusted as far as the server is. nil is absent; what that means is said
// at each.
type ToolAnnotations struct {
	Title           string `json:"title,omitzero"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitzero"`    // changes nothing; absent: false
	DestructiveHint *bool  `json:"destructiveHint,omitzero"` // may destroy; absent: true
	IdempotentHint  *bool  `json:"idempotentHint,omitzero"`  // a second same call changes nothing more; absent: false
	OpenWorldHint   *bool  `json:"openWorldHint,omitzero"`   // reaches outside of the server; absent: true
}

// A ToolExecution tells how a tool is run (2025-11-25, tasks).
type ToolExecution struct {
	TaskSupport string `json:"taskSupport,omitzero"` // "forbidden", "optional" or "required"; absent: forbidden
}

func (*ToolAnnotations) optionalMembers() {}
func (*ToolExecution) optionalMembers()   {}

// ListParams are the params of every method that lists.
type ListParams struct {
	Cursor *string         `json:"cursor,omitzero"` // nil: from the start
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// Values of cacheScope (from 2026-07-28).
const (
	CachePublic  = "public"  // may be shared by all
	CachePrivate = "private" // only within the same authorization
)

// A ListToolsResult is one page of the tools.
type ListToolsResult struct {
	ResultType string  `json:"resultType,omitzero"`
	Tools      []Tool  `json:"tools"`
	NextCursor *string `json:"nextCursor,omitzero"` // nil where absent or null; "" is a cursor from 2026-07-28 on
	// TTLMs is for how many milliseconds the page may be kept; 0 is not at all (from 2026-07-28, required there).
	TTLMs      *float64        `json:"ttlMs,omitzero"`
	CacheScope string          `json:"cacheScope,omitzero"` // from 2026-07-28, required there
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// CallToolParams call a tool.
type CallToolParams struct {
	Name           string          `json:"name"`
	Arguments      json.RawMessage `json:"arguments,omitzero"`      // a JSON object
	Task           *TaskMetadata   `json:"task,omitzero"`           // 2025-11-25
	InputResponses InputResponses  `json:"inputResponses,omitzero"` // see InputRequired
	RequestState   *string         `json:"requestState,omitzero"`   // see InputRequired
	Meta           json.RawMessage `json:"_meta,omitzero"`
}

// A CallToolResult is what a tool returned.
type CallToolResult struct {
	ResultType string    `json:"resultType,omitzero"`
	Content    []Content `json:"content"`
	// StructuredContent fits the tool's OutputSchema (from 2025-06-18). It is an object, from 2026-07-28 on any value:
	// null is kept as such, and some servers of older revisions mean absent by it.
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	IsError           bool            `json:"isError,omitzero"` // the tool failed, and Content says how
	Meta              json.RawMessage `json:"_meta,omitzero"`
	// SchemaError is a mark of the client's: why StructuredContent doesn't fit the tool's OutputSchema; nil if it fits or
	// was not checked. It is no part of the message.
	SchemaError error `json:"-"`
}
