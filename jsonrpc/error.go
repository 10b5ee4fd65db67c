package jsonrpc

import (
	"encoding/json"
	"fmt"

	"mcpwire/internal/jsonscan"
)

// Codes of errors that JSON-RPC 2.0, section 5.1, defines.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// An Error is the other side's refusal of a request (JSON-RPC 2.0, section 5.1). It comes from the wire only: a failure
// of our own is never dressed up as one.
type Error struct {
	Code    int64
	Message string
	Data    json.RawMessage // nil where absent
}

// Error returns "MCP error <code>: <message>".
func (e *Error) Error() string { return fmt.Sprintf("MCP error %d: %s", e.Code, e.Message) }

// ParseError reads the error member of a response. It is lenient, since an error that can't be shown helps nobody: what
// is missing or of another type is left at its zero value, and an error that is no object becomes the message. The
// result shares no memory with text.
func ParseError(text []byte) *Error {
	var e Error
	err := jsonscan.Members(text, func(name, value []byte) error {
		switch string(name) {
		case "code":
			e.Code, _ = exactInt(string(value))
		case "message":
			e.Message = plainText(value)
		case "data":
			e.Data = append(json.RawMessage(nil), value...)
		}
		return nil
	})
	if err != nil {
		return &Error{Message: plainText(text)}
	}
	return &e
}

// plainText returns a string's value and any other value's JSON text.
func plainText(value []byte) string {
	if len(value) > 0 && value[0] == '"' && jsonscan.Valid(value) {
		return string(jsonscan.Unquote(value))
	}
	return string(value)
}
