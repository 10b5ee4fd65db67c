// Package jsonrpc reads and writes the messages of JSON-RPC 2.0, as MCP uses them. It splits a message into its members
// in one pass and leaves the payloads raw. It does no I/O; all of its functions may be used from several goroutines.
package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"

	"mcpwire/internal/jsonscan"
)

// A Kind tells what a message is. It follows from the members that the message has, never from its id.
type Kind uint8

// The kinds of messages.
const (
	Invalid      Kind = iota // not a JSON-RPC message
	Request                  // method and id
	Notification             // method, no id
	Response                 // result or error, no method
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	return [...]string{"invalid message", "request", "notification", "response"}[k]
}

// A Message is one message, split into its members. The raw members share the memory of the text that was parsed.
type Message struct {
	Kind   Kind
	ID     ID
	Method string
	Params json.RawMessage // nil where absent
	Result json.RawMessage // nil where absent; null is a result
	Error  json.RawMessage // nil where absent or null
}

// Errors of Parse.
var (
	ErrVersion = errors.New(`no "jsonrpc":"2.0"`)
	ErrNeither = errors.New("neither a method nor a result nor an error")
	ErrBoth    = errors.New("more than one of method, result and error")
	ErrMethod  = errors.New("method: not a string")
)

// Parse splits the message that is the whole of text. Names are matched by case; members that JSON-RPC doesn't know are
// passed over; of members that occur twice the last counts. "error":null counts as absent.
//
// On an error the message has Kind Invalid. Its ID is then set if the text is a JSON object that has one, so that a
// broken answer can still be told to whom it belongs.
func Parse(text []byte) (Message, error) {
	var m Message
	var version, hasMethod bool
	var badID, badMethod error
	err := jsonscan.Members(text, func(name, value []byte) error {
		switch string(name) {
		case "jsonrpc":
			version = string(value) == `"2.0"`
		case "id":
			m.ID, badID = ParseID(value)
		case "method":
			if value[0] != '"' {
				badMethod = ErrMethod
				break
			}
			hasMethod, m.Method, badMethod = true, methodName(value), nil
		case "params":
			if m.Params = value; string(value) == "null" {
				m.Params = nil
			}
		case "result":
			m.Result = value
		case "error":
			if m.Error = value; string(value) == "null" {
				m.Error = nil
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return Message{}, fmt.Errorf("not a JSON object: %w", err)
	case badMethod != nil:
		err = badMethod
	case badID != nil:
		err = fmt.Errorf("id: %w", badID)
	case !version:
		err = ErrVersion
	case hasMethod && (m.Result != nil || m.Error != nil) || m.Result != nil && m.Error != nil:
		err = ErrBoth
	case hasMethod && m.ID.IsAbsent():
		m.Kind = Notification
	case hasMethod:
		m.Kind = Request
	case m.Result != nil || m.Error != nil:
		m.Kind = Response
	default:
		err = ErrNeither
	}
	return m, err
}

// methodName returns a method's name; those that servers send often are not allocated.
func methodName(quoted []byte) string {
	switch string(quoted) {
	case `"notifications/progress"`:
		return "notifications/progress"
	case `"notifications/message"`:
		return "notifications/message"
	}
	return string(jsonscan.Unquote(quoted))
}

// IsBatch reports whether text begins like an array: a batch, which 2025-03-26 alone allows (2025-03-26, base protocol,
// batching).
func IsBatch(text []byte) bool {
	i := jsonscan.Space(text, 0)
	return i < len(text) && text[i] == '['
}

// SplitBatch calls f for each message of the batch that is the whole of text.
func SplitBatch(text []byte, f func(message []byte)) error {
	return jsonscan.Elements(text, func(value []byte) error {
		f(value)
		return nil
	})
}
