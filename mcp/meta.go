package mcp

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Names of members of _meta that the protocol defines.
const (
	MetaProgressToken      = "progressToken"
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"    // from 2026-07-28
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"         // from 2026-07-28
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities" // from 2026-07-28
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"           // from 2026-07-28
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"         // from 2026-07-28
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"     // from 2026-07-28
	MetaRelatedTask        = "io.modelcontextprotocol/related-task"       // 2025-11-25
)

// Params are the params of a request or notification that has none of its own.
type Params struct {
	Meta json.RawMessage `json:"_meta,omitzero"` // RequestMeta or NotificationMeta
}

// A RequestMeta is the _meta of a request. Up to 2025-11-25 only ProgressToken is used. From 2026-07-28 on
// ProtocolVersion and ClientCapabilities are required, and every request carries them.
type RequestMeta struct {
	ProgressToken      json.RawMessage     `json:"progressToken,omitzero"` // a string or integer; progress is wanted
	ProtocolVersion    string              `json:"io.modelcontextprotocol/protocolVersion,omitzero"`
	ClientInfo         *Implementation     `json:"io.modelcontextprotocol/clientInfo,omitzero"`
	ClientCapabilities *ClientCapabilities `json:"io.modelcontextprotocol/clientCapabilities,omitzero"`
	LogLevel           LogLevel            `json:"io.modelcontextprotocol/logLevel,omitzero"` // log messages are wanted
	Extra              jsontext.Value      `json:",embed"`                                    // the other members
}

// A ResultMeta is the _meta of a result.
type ResultMeta struct {
	ServerInfo     *Implementation `json:"io.modelcontextprotocol/serverInfo,omitzero"`     // from 2026-07-28
	SubscriptionID json.RawMessage `json:"io.modelcontextprotocol/subscriptionId,omitzero"` // of subscriptions/listen
	Extra          jsontext.Value  `json:",embed"`                                          // the other members
}

// A NotificationMeta is the _meta of a notification.
type NotificationMeta struct {
	// SubscriptionID is the id of the subscriptions/listen request on whose stream it came (from 2026-07-28).
	SubscriptionID json.RawMessage `json:"io.modelcontextprotocol/subscriptionId,omitzero"`
	Extra          jsontext.Value  `json:",embed"` // the other members
}

func (*RequestMeta) optionalMembers()      {}
func (*ResultMeta) optionalMembers()       {}
func (*NotificationMeta) optionalMembers() {}

// Values of resultType (from 2026-07-28).
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
)

// IsComplete reports whether a result of that type is the answer itself. An absent resultType is complete (2026-07-28,
// base protocol, results).
func IsComplete(resultType string) bool { return resultType == "" || resultType == ResultComplete }

// A Result is a result that has no members of its own, and the head of every other one.
type Result struct {
	ResultType string          `json:"resultType,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"` // ResultMeta
}
