package client

import (
	"errors"
	"fmt"
	"strings"

	"mcpwire/jsonrpc"
)

// A VersionError tells that client and server have no protocol revision in common.
type VersionError struct {
	Server  string
	Ours    []string       // what the client speaks
	Theirs  []string       // what the server answered or said it speaks
	Refusal *jsonrpc.Error // the server's error, if it refused with one
}

// Error names both sides' revisions.
func (e *VersionError) Error() string {
	name := e.Server
	if name == "" {
		name = "the server"
	}
	return fmt.Sprintf("no common protocol revision: %s speaks %s, this client speaks %s",
		name, strings.Join(quoted(e.Theirs), ", "), strings.Join(e.Ours, ", "))
}

// quoted shows revisions from the wire so that odd ones can be told.
func quoted(revisions []string) []string {
	shown := make([]string, len(revisions))
	for i, r := range revisions {
		shown[i] = fmt.Sprintf("%.40q", r)
	}
	return shown
}

// Unwrap returns the server's refusal, if there was one.
func (e *VersionError) Unwrap() error {
	if e.Refusal == nil {
		return nil
	}
	return e.Refusal
}

// Reasons of a ListError.
var (
	ErrCursorRepeats = errors.New("the server handed back a cursor that was already used")
	ErrTooManyPages  = errors.New("the list has too many pages")
)

// A ListError tells that a list is incomplete: what was read before comes with it.
type ListError struct {
	Server string
	Method string
	Pages  int   // how many were read
	Err    error // why the walk ended
}

// Error returns "<server>: <method>: incomplete after <n> pages: <cause>".
func (e *ListError) Error() string {
	pages := fmt.Sprintf("%d pages", e.Pages)
	if e.Pages == 1 {
		pages = "1 page"
	}
	text := fmt.Sprintf("%s: incomplete after %s: %v", e.Method, pages, e.Err)
	if e.Server != "" {
		text = e.Server + ": " + text
	}
	return text
}

// Unwrap returns the cause.
func (e *ListError) Unwrap() error { return e.Err }
