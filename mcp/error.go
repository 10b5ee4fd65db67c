package mcp

// Codes of errors that MCP defines on top of those of JSON-RPC.
const (
	CodeResourceNotFound        = -32002 // up to 2025-11-25; data: ResourceNotFoundData
	CodeURLElicitationRequired  = -32042 // 2025-11-25; data: URLElicitationData
	CodeHeaderMismatch          = -32020 // from 2026-07-28; a header contradicts the body
	CodeMissingClientCapability = -32021 // from 2026-07-28; data: MissingCapabilityData
	CodeUnsupportedVersion      = -32022 // from 2026-07-28; data: UnsupportedVersionData
)

// UnsupportedVersionData is the data of the error that refuses a revision. Up to 2025-11-25 the error has the code
// -32602.
type UnsupportedVersionData struct {
	Supported []string `json:"supported"`
	Requested string   `json:"requested"`
}

// MissingCapabilityData is the data of the error that asks for capabilities of the client.
type MissingCapabilityData struct {
	RequiredCapabilities ClientCapabilities `json:"requiredCapabilities"`
}

// URLElicitationData is the data of the error that asks for visits to URLs before the request is repeated.
type URLElicitationData struct {
	Elicitations []ElicitParams `json:"elicitations"` // all of mode ElicitURL
}

// ResourceNotFoundData is the data of the error that a resource does not exist.
type ResourceNotFoundData struct {
	URI string `json:"uri"`
}
