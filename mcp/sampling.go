package mcp

import "encoding/json"

// CreateMessageParams ask the client's model for a message.
type CreateMessageParams struct {
	Messages         []SamplingMessage `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitzero"`
	SystemPrompt     string            `json:"systemPrompt,omitzero"`
	IncludeContext   string            `json:"includeContext,omitzero"` // "none", "thisServer", "allServers"
	Temperature      *float64          `json:"temperature,omitzero"`
	MaxTokens        float64           `json:"maxTokens"`
	StopSequences    []string          `json:"stopSequences,omitzero"`
	Metadata         json.RawMessage   `json:"metadata,omitzero"`   // for the model's provider
	Tools            []Tool            `json:"tools,omitzero"`      // from 2025-11-25
	ToolChoice       *ToolChoice       `json:"toolChoice,omitzero"` // from 2025-11-25
	Task             *TaskMetadata     `json:"task,omitzero"`       // 2025-11-25
	Meta             json.RawMessage   `json:"_meta,omitzero"`
}

// A SamplingMessage is one message of the conversation that the model is to continue.
type SamplingMessage struct {
	Role    Role            `json:"role"`
	Content Blocks          `json:"content"`
	Meta    json.RawMessage `json:"_meta,omitzero"` // from 2025-11-25
}

// ModelPreferences are wishes about the model; the client is free to ignore them. Priorities are from 0 to 1.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitzero"` // the first that fits counts
	CostPriority         *float64    `json:"costPriority,omitzero"`
	SpeedPriority        *float64    `json:"speedPriority,omitzero"`
	IntelligencePriority *float64    `json:"intelligencePriority,omitzero"`
}

// A ModelHint is a part of a model's name.
type ModelHint struct {
	Name string `json:"name,omitzero"`
}

// A ToolChoice tells whether the model may use tools.
type ToolChoice struct {
	Mode string `json:"mode,omitzero"` // "auto", "required" or "none"; absent: auto
}

func (*ModelPreferences) optionalMembers() {}
func (*ToolChoice) optionalMembers()       {}

// Values of CreateMessageResult.StopReason; others are allowed.
const (
	StopEndTurn      = "endTurn"
	StopStopSequence = "stopSequence"
	StopMaxTokens    = "maxTokens"
	StopToolUse      = "toolUse" // from 2025-11-25
)

// A CreateMessageResult is the message of the client's model.
type CreateMessageResult struct {
	Role       Role            `json:"role"`
	Content    Blocks          `json:"content"`
	Model      string          `json:"model"` // the name of the model that was used
	StopReason string          `json:"stopReason,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// A Root is a directory or file that the server may work in.
type Root struct {
	URI  string          `json:"uri"` // file:// up to now
	Name string          `json:"name,omitzero"`
	Meta json.RawMessage `json:"_meta,omitzero"` // from 2025-06-18
}

// A ListRootsResult holds the client's roots.
type ListRootsResult struct {
	Roots []Root          `json:"roots"`
	Meta  json.RawMessage `json:"_meta,omitzero"` // up to 2025-11-25
}
