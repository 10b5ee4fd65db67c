package mcp

import "encoding/json"

// Values of ElicitParams.Mode (from 2025-11-25).
const (
	ElicitForm = "form"
	ElicitURL  = "url"
)

// ElicitParams ask the client's user: for the fields of a form, or to visit a URL.
type ElicitParams struct {
	Mode            string          `json:"mode,omitzero"` // absent: ElicitForm
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitzero"` // form: a flat JSON Schema of an object
	URL             string          `json:"url,omitzero"`             // url
	ElicitationID   string          `json:"elicitationId,omitzero"`   // url; 2025-11-25
	Task            *TaskMetadata   `json:"task,omitzero"`            // 2025-11-25
	Meta            json.RawMessage `json:"_meta,omitzero"`
}

// Values of ElicitResult.Action.
const (
	ElicitAccept  = "accept"
	ElicitDecline = "decline" // the user said no
	ElicitCancel  = "cancel"  // the user did not answer
)

// An ElicitResult is the user's answer.
type ElicitResult struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitzero"` // an accepted form's fields, an object
	Meta    json.RawMessage `json:"_meta,omitzero"`   // up to 2025-11-25
}

// ElicitationCompleteParams tell that the user is done at a URL (2025-11-25).
type ElicitationCompleteParams struct {
	ElicitationID string          `json:"elicitationId"`
	Meta          json.RawMessage `json:"_meta,omitzero"`
}
