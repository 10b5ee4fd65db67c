package mcp

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kinds of content.
const (
	ContentText         = "text"
	ContentImage        = "image"
	ContentAudio        = "audio"         // from 2025-03-26
	ContentResource     = "resource"      // an embedded resource
	ContentResourceLink = "resource_link" // from 2025-06-18
	ContentToolUse      = "tool_use"      // from 2025-11-25, sampling alone
	ContentToolResult   = "tool_result"   // from 2025-11-25, sampling alone
)

// A Content is one block of content of any kind. Only the members of its kind are used. Content of a kind that no
// revision knows has only its Type, and all of its members in Extra.
type Content struct {
	Type string `json:"type"`

	Text string `json:"text,omitzero"` // text

	Data     string `json:"data,omitzero"`     // image, audio: base64, decoded by Bytes
	MIMEType string `json:"mimeType,omitzero"` // image, audio, resource_link

	Resource *ResourceContents `json:"resource,omitzero"` // resource

	URI         string   `json:"uri,omitzero"`         // resource_link
	Name        string   `json:"name,omitzero"`        // resource_link; tool_use: the tool's name
	Title       string   `json:"title,omitzero"`       // resource_link
	Description string   `json:"description,omitzero"` // resource_link
	Size        *float64 `json:"size,omitzero"`        // resource_link: bytes
	Icons       []Icon   `json:"icons,omitzero"`       // resource_link

	ID                string          `json:"id,omitzero"`                // tool_use
	Input             json.RawMessage `json:"input,omitzero"`             // tool_use: the arguments, an object
	ToolUseID         string          `json:"toolUseId,omitzero"`         // tool_result: ID of the tool_use
	Content           []Content       `json:"content,omitzero"`           // tool_result
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"` // tool_result
	IsError           bool            `json:"isError,omitzero"`           // tool_result

	Annotations *Annotations    `json:"annotations,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"` // from 2025-06-18
	Extra       jsontext.Value  `json:",embed"`         // members that no revision knows, as one object
}

// Text returns s as content.
func Text(s string) Content { return Content{Type: ContentText, Text: s} }

// Bytes decodes Data. Padding may be missing, and the alphabet may be that of URLs (RFC 4648, section 5).
func (c *Content) Bytes() ([]byte, error) { return decodeBase64(c.Data) }

var toStandard = strings.NewReplacer("-", "+", "_", "/", "=", "")

func decodeBase64(s string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(s)
	if err == nil {
		return data, nil
	}
	if data, err := base64.RawStdEncoding.DecodeString(toStandard.Replace(s)); err == nil {
		return data, nil
	}
	return nil, err
}

// A Role is whose turn of a conversation it is.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Annotations are hints about content or a resource.
type Annotations struct {
	Audience     []Role   `json:"audience,omitzero"`     // for whom it is
	Priority     *float64 `json:"priority,omitzero"`     // from 0, least, to 1, as good as required
	LastModified string   `json:"lastModified,omitzero"` // from 2025-06-18; ISO 8601
}

func (*Annotations) optionalMembers() {}

// Blocks are the content of a message of sampling: one object up to 2025-06-18, one or an array from 2025-11-25 on. A
// single block is encoded as an object, which every revision understands.
type Blocks []Content
