package mcp

import "encoding/json"

// A Resource is something that the server lets the client read.
type Resource struct {
	URI         string          `json:"uri"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitzero"` // from 2025-06-18; to show, before Name
	Description string          `json:"description,omitzero"`
	MIMEType    string          `json:"mimeType,omitzero"`
	Size        *float64        `json:"size,omitzero"` // bytes, before any encoding; nil: unknown
	Icons       []Icon          `json:"icons,omitzero"`
	Annotations *Annotations    `json:"annotations,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// A ResourceTemplate describes resources by a template of their URI (RFC 6570).
type ResourceTemplate struct {
	URITemplate string          `json:"uriTemplate"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitzero"` // from 2025-06-18; to show, before Name
	Description string          `json:"description,omitzero"`
	MIMEType    string          `json:"mimeType,omitzero"` // only if all of them have it
	Icons       []Icon          `json:"icons,omitzero"`
	Annotations *Annotations    `json:"annotations,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// ResourceContents are the contents of a resource, or of a part of it. One of Text and Blob is set.
type ResourceContents struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType,omitzero"`
	Text     *string         `json:"text,omitzero"`
	Blob     *string         `json:"blob,omitzero"` // base64, decoded by Bytes
	Meta     json.RawMessage `json:"_meta,omitzero"`
}

// Bytes returns the contents: Blob decoded as Content.Bytes does, otherwise Text.
func (r *ResourceContents) Bytes() ([]byte, error) {
	switch {
	case r.Blob != nil:
		return decodeBase64(*r.Blob)
	case r.Text != nil:
		return []byte(*r.Text), nil
	}
	return nil, nil
}

// A ListResourcesResult is one page of the resources. See ListToolsResult for the members that it shares with it.
type ListResourcesResult struct {
	ResultType string          `json:"resultType,omitzero"`
	Resources  []Resource      `json:"resources"`
	NextCursor *string         `json:"nextCursor,omitzero"`
	TTLMs      *float64        `json:"ttlMs,omitzero"`
	CacheScope string          `json:"cacheScope,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// A ListResourceTemplatesResult is one page of the templates. See ListToolsResult for the members that it shares with
// it.
type ListResourceTemplatesResult struct {
	ResultType        string             `json:"resultType,omitzero"`
	ResourceTemplates []ResourceTemplate `json:"resourceTemplates"`
	NextCursor        *string            `json:"nextCursor,omitzero"`
	TTLMs             *float64           `json:"ttlMs,omitzero"`
	CacheScope        string             `json:"cacheScope,omitzero"`
	Meta              json.RawMessage    `json:"_meta,omitzero"`
}

// ReadResourceParams read a resource.
type ReadResourceParams struct {
	URI            string          `json:"uri"`
	InputResponses InputResponses  `json:"inputResponses,omitzero"` // see InputRequired
	RequestState   *string         `json:"requestState,omitzero"`   // see InputRequired
	Meta           json.RawMessage `json:"_meta,omitzero"`
}

// A ReadResourceResult holds the contents of a resource, of a directory those of several. See ListToolsResult for TTLMs
// and CacheScope.
type ReadResourceResult struct {
	ResultType string             `json:"resultType,omitzero"`
	Contents   []ResourceContents `json:"contents"`
	TTLMs      *float64           `json:"ttlMs,omitzero"`
	CacheScope string             `json:"cacheScope,omitzero"`
	Meta       json.RawMessage    `json:"_meta,omitzero"`
}

// SubscribeParams are the params of resources/subscribe and resources/unsubscribe (up to 2025-11-25).
type SubscribeParams struct {
	URI  string          `json:"uri"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// ResourceUpdatedParams tell that a resource has changed. URI may be below the one that was subscribed to.
type ResourceUpdatedParams struct {
	URI  string          `json:"uri"`
	Meta json.RawMessage `json:"_meta,omitzero"` // NotificationMeta
}
