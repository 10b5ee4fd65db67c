package mcp

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// An Implementation names a client or a server. What it says is the sender's own claim; nobody has checked it.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"` // from 2025-06-18
	Version     string `json:"version"`
	Description string `json:"description,omitzero"` // from 2025-11-25
	WebsiteURL  string `json:"websiteUrl,omitzero"`  // from 2025-11-25
	Icons       []Icon `json:"icons,omitzero"`       // from 2025-11-25
}

// An Icon is a picture that a host may show (from 2025-11-25).
type Icon struct {
	Src      string `json:"src"` // an http, https or data URI
	MIMEType string `json:"mimeType,omitzero"`
	Sizes    Sizes  `json:"sizes,omitzero"` // such as "48x48", or "any"
	Theme    string `json:"theme,omitzero"` // "light", "dark", or empty for both
}

// Sizes are the sizes of an icon. One string alone, as some servers write it, is decoded too.
type Sizes []string

// UnmarshalJSONFrom reads an array of strings or one string.
func (s *Sizes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return decodeOneOrMany(dec, (*[]string)(s))
}

// InitializeParams open a session (up to 2025-11-25, lifecycle, initialization).
type InitializeParams struct {
	ProtocolVersion string             `json:"protocolVersion"` // the newest session revision that the client speaks
	Capabilities    ClientCapabilities `json:"capabilities"`
	ClientInfo      Implementation     `json:"clientInfo"`
	Meta            json.RawMessage    `json:"_meta,omitzero"`
}

// An InitializeResult tells what the session speaks and what the server offers.
type InitializeResult struct {
	ProtocolVersion string             `json:"protocolVersion"` // the server's choice
	Capabilities    ServerCapabilities `json:"capabilities"`
	ServerInfo      Implementation     `json:"serverInfo"`
	Instructions    string             `json:"instructions,omitzero"` // a hint for the model
	Meta            json.RawMessage    `json:"_meta,omitzero"`
}

// A DiscoverResult tells what a server speaks and offers (from 2026-07-28). Its name is in ResultMeta.ServerInfo.
type DiscoverResult struct {
	ResultType        string             `json:"resultType,omitzero"`
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	Instructions      string             `json:"instructions,omitzero"` // a hint for the model
	TTLMs             *float64           `json:"ttlMs,omitzero"`        // see ListToolsResult
	CacheScope        string             `json:"cacheScope,omitzero"`   // see ListToolsResult
	Meta              json.RawMessage    `json:"_meta,omitzero"`
}
