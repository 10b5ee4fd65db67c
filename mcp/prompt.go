package mcp

import "encoding/json"

// A Prompt is a template of messages that the server offers.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitzero"` // from 2025-06-18; to show, before Name
	Description string           `json:"description,omitzero"`
	Arguments   []PromptArgument `json:"arguments,omitzero"`
	Icons       []Icon           `json:"icons,omitzero"` // from 2025-11-25
	Meta        json.RawMessage  `json:"_meta,omitzero"`
}

// A PromptArgument is what a prompt can be filled in with.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"` // from 2025-06-18; to show, before Name
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
}

// A ListPromptsResult is one page of the prompts. See ListToolsResult for the members that it shares with it.
type ListPromptsResult struct {
	ResultType string          `json:"resultType,omitzero"`
	Prompts    []Prompt        `json:"prompts"`
	NextCursor *string         `json:"nextCursor,omitzero"`
	TTLMs      *float64        `json:"ttlMs,omitzero"`
	CacheScope string          `json:"cacheScope,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// GetPromptParams fill a prompt in.
type GetPromptParams struct {
	Name           string            `json:"name"`
	Arguments      map[string]string `json:"arguments,omitzero"`
	InputResponses InputResponses    `json:"inputResponses,omitzero"` // see InputRequired
	RequestState   *string           `json:"requestState,omitzero"`   // see InputRequired
	Meta           json.RawMessage   `json:"_meta,omitzero"`
}

// A GetPromptResult is a prompt, filled in.
type GetPromptResult struct {
	ResultType  string          `json:"resultType,omitzero"`
	Description string          `json:"description,omitzero"`
	Messages    []PromptMessage `json:"messages"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// A PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
}

// Values of CompletionReference.Type.
const (
	RefPrompt   = "ref/prompt"
	RefResource = "ref/resource"
)

// CompleteParams ask how an argument could be completed.
type CompleteParams struct {
	Ref      CompletionReference `json:"ref"`
	Argument CompletionArgument  `json:"argument"`
	Context  *CompletionContext  `json:"context,omitzero"` // from 2025-06-18
	Meta     json.RawMessage     `json:"_meta,omitzero"`
}

// A CompletionReference names a prompt, or a resource template by its URI.
type CompletionReference struct {
	Type  string `json:"type"`           // RefPrompt or RefResource
	Name  string `json:"name,omitzero"`  // of the prompt
	Title string `json:"title,omitzero"` // of the prompt; from 2025-06-18
	URI   string `json:"uri,omitzero"`   // of the resource or its template
}

// A CompletionArgument is the argument to complete.
type CompletionArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"` // as far as it is typed
}

// A CompletionContext holds the arguments that are settled already.
type CompletionContext struct {
	Arguments map[string]string `json:"arguments,omitzero"`
}

// A CompleteResult holds completions.
type CompleteResult struct {
	ResultType string          `json:"resultType,omitzero"`
	Completion Completion      `json:"completion"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// A Completion lists possible values of an argument, at most 100 of them.
type Completion struct {
	Values  []string `json:"values"`
	Total   *float64 `json:"total,omitzero"` // how many there are; nil: unknown
	HasMore bool     `json:"hasMore,omitzero"`
}
