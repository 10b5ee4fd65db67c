package transport

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrSessionLost tells that the server has forgotten the HTTP session (2025-11-25, transports, session management).
// The connection has ended with it; a new one opens a new session.
var ErrSessionLost = errors.New("session lost")

// A StatusError is an HTTP answer that is no success. Where the body is a JSON-RPC error, it is wrapped.
type StatusError struct {
	Status     int           // the HTTP status code
	Text       string        // the status' reason phrase
	Excerpt    string        // the body's beginning on one line, bounded and redacted; empty if Err is set
	Challenge  string        // WWW-Authenticate; empty if absent
	AuthServer string        // Mcp-Auth-Server; empty if absent
	RetryAfter time.Duration // from Retry-After of a 429 or 503; 0 if absent
	Err        error         // the JSON-RPC error of the body, or nil
	// Login tells why the login that there is, if any, does not help; it satisfies errors.Is(err, ErrLoginRequired) where
	// logging in would; it has a method Temporary that returns true where nobody need log in, since the login could only
	// not be refreshed just now. Nil where nothing is known of logins.
	Login error
}

// Error returns "HTTP <status>: <text>", with the hints for logging in and the body behind it.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP %d: %s", e.Status, e.Text)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	} else if e.Excerpt != "" {
		fmt.Fprintf(&b, ": %s", e.Excerpt)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (try again after %v)", e.RetryAfter)
	}
	if e.Challenge != "" {
		fmt.Fprintf(&b, " (WWW-Authenticate: %s)", e.Challenge)
	}
	if e.AuthServer != "" {
		fmt.Fprintf(&b, " (Mcp-Auth-Server: %s)", e.AuthServer)
	}
	if e.Login != nil {
		fmt.Fprintf(&b, "; %v", e.Login)
	}
	return b.String()
}

// Unwrap returns the JSON-RPC error of the body and what is known of logins, as far as there is either.
func (e *StatusError) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Err, e.Login}, func(err error) bool { return err == nil })
}

// A MalformedError tells that an answer on a call's own stream was no message.
type MalformedError struct {
	Excerpt string // of the answer, on one line, bounded and redacted
}

// Error returns "the answer is no JSON-RPC message: <excerpt>".
func (e *MalformedError) Error() string {
	if e.Excerpt == "" {
		return "the answer is empty"
	}
	return "the answer is no JSON-RPC message: " + e.Excerpt
}

// A NoResponseError tells that the stream on which an answer was to come ended early.
type NoResponseError struct {
	ID  string // the id of the request that was not answered; empty where it is not known
	Err error  // what ended the stream; nil if it ended in order
}

// Error returns "no response received for request ID <id>", with the cause behind it.
func (e *NoResponseError) Error() string {
	text := "no response received"
	if e.ID != "" {
		text += " for request ID " + e.ID
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns what ended the stream.
func (e *NoResponseError) Unwrap() error { return e.Err }
