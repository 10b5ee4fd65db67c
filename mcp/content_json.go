package mcp

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/jsonscan"
)

// UnmarshalJSONFrom reads one block, or an array of blocks.
func (b *Blocks) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return decodeOneOrMany(dec, (*[]Content)(b))
}

// MarshalJSONTo writes a single block as an object, anything else as an array.
func (b Blocks) MarshalJSONTo(enc *jsontext.Encoder) error {
	if len(b) == 1 {
		return jsonv2.MarshalEncode(enc, b[0])
	}
	return jsonv2.MarshalEncode(enc, []Content(b))
}

// plainContent has the members of a Content and none of its methods.
type plainContent Content

// flatContent leaves nested content raw. Decoding that once, and never what is nested in it, keeps the cost of content
// that nests without end in proportion to its length.
type flatContent struct {
	plainContent
	Content jsontext.Value `json:"content,omitzero"`
}

// unknownContent is content of a kind that no revision knows.
type unknownContent struct {
	Type  string         `json:"type"`
	Extra jsontext.Value `json:",embed"`
}

// UnmarshalJSONFrom reads content of any kind. Members that don't fit are an error only in the kinds that are known. A
// tool_result within a tool_result, which no revision allows, counts as unknown.
func (c *Content) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return c.decode(text, false)
}

func (c *Content) decode(text []byte, nested bool) error {
	var known flatContent
	err := Decode(text, &known)
	if isKnown(known.Type, nested) && err == nil {
		*c = Content(known.plainContent)
		return c.decodeNested(known.Content)
	}
	var unknown unknownContent
	if kindErr := Decode(text, &unknown); kindErr != nil {
		return kindErr
	}
	if isKnown(unknown.Type, nested) {
		return err
	}
	*c = Content{Type: unknown.Type, Extra: unknown.Extra}
	return nil
}

func isKnown(kind string, nested bool) bool {
	switch kind {
	case ContentText, ContentImage, ContentAudio, ContentResource, ContentResourceLink, ContentToolUse:
		return true
	case ContentToolResult:
		return !nested
	}
	return false
}

func (c *Content) decodeNested(list jsontext.Value) error {
	if len(list) == 0 || string(list) == "null" {
		return nil
	}
	c.Content = []Content{}
	return jsonscan.Elements(list, func(text []byte) error {
		var inner Content
		if err := inner.decode(text, true); err != nil {
			return err
		}
		c.Content = append(c.Content, inner)
		return nil
	})
}

// MarshalJSONTo writes content with the members that its kind requires, even where they are empty.
func (c Content) MarshalJSONTo(enc *jsontext.Encoder) error {
	plain := plainContent(c)
	switch c.Type {
	case ContentText:
		return jsonv2.MarshalEncode(enc, struct {
			plainContent
			Text string `json:"text"`
		}{plain, c.Text})
	case ContentImage, ContentAudio:
		return jsonv2.MarshalEncode(enc, struct {
			plainContent
			Data     string `json:"data"`
			MIMEType string `json:"mimeType"`
		}{plain, c.Data, c.MIMEType})
	case ContentResource:
		if c.Resource == nil {
			plain.Resource = &ResourceContents{}
		}
	case ContentResourceLink:
		return jsonv2.MarshalEncode(enc, struct {
			plainContent
			URI  string `json:"uri"`
			Name string `json:"name"`
		}{plain, c.URI, c.Name})
	case ContentToolUse:
		if c.Input == nil {
			plain.Input = json.RawMessage(`{}`)
		}
		return jsonv2.MarshalEncode(enc, struct {
			plainContent
			ID   string `json:"id"`
			Name string `json:"name"`
		}{plain, c.ID, c.Name})
	case ContentToolResult:
		return jsonv2.MarshalEncode(enc, struct {
			plainContent
			ToolUseID string `json:"toolUseId"`
			Content   []any  `json:"content"`
		}{plain, c.ToolUseID, nestedContent(c.Content)})
	}
	return jsonv2.MarshalEncode(enc, plain)
}

// nestedContent returns the blocks as the content of a tool_result: a tool_result among them is of an unknown kind.
func nestedContent(blocks []Content) []any {
	nested := make([]any, len(blocks))
	for i, block := range blocks {
		nested[i] = block
		if block.Type == ContentToolResult {
			nested[i] = plainContent(block)
		}
	}
	return nested
}
