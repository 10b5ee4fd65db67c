package mcp

import "encoding/json"

// ProgressParams tell how far a request is.
type ProgressParams struct {
	ProgressToken json.RawMessage `json:"progressToken"`    // that of the request's _meta: a string or integer
	Progress      float64         `json:"progress"`         // grows
	Total         float64         `json:"total,omitzero"`   // what Progress grows to; 0: unknown
	Message       string          `json:"message,omitzero"` // from 2025-03-26
	Meta          json.RawMessage `json:"_meta,omitzero"`
}

// CancelledParams tell that the sender no longer wants an answer.
type CancelledParams struct {
	RequestID json.RawMessage `json:"requestId,omitzero"` // the request's id, as it was sent; absent for a task alone
	Reason    string          `json:"reason,omitzero"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// A LogLevel is how severe a log message is (RFC 5424).
type LogLevel string

// The levels, least severe first.
const (
	LogDebug     LogLevel = "debug"
	LogInfo      LogLevel = "info"
	LogNotice    LogLevel = "notice"
	LogWarning   LogLevel = "warning"
	LogError     LogLevel = "error"
	LogCritical  LogLevel = "critical"
	LogAlert     LogLevel = "alert"
	LogEmergency LogLevel = "emergency"
)

// SetLevelParams set from which level on the server sends log messages (up to 2025-11-25).
type SetLevelParams struct {
	Level LogLevel        `json:"level"`
	Meta  json.RawMessage `json:"_meta,omitzero"`
}

// A LogMessage is the params of notifications/message.
type LogMessage struct {
	Level  LogLevel        `json:"level"`
	Logger string          `json:"logger,omitzero"`
	Data   json.RawMessage `json:"data"` // any JSON value, often a string
	Meta   json.RawMessage `json:"_meta,omitzero"`
}
