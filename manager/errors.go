package manager

import (
	"errors"
	"fmt"
	"net/http"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/proc"
	"mcpwire/transport"
)

// Errors of a Manager.
var (
	// ErrUnknownServer: no server of that name is configured.
	ErrUnknownServer = errors.New("unknown server")
	// ErrUnknownTool: no server has a tool of that name.
	ErrUnknownTool = errors.New("unknown tool")
	// ErrDenied: the server's configuration does not let the tool through.
	ErrDenied = errors.New("the tool is not allowed by the server's configuration")
	// ErrClosed: the manager is closed. It is transport.ErrClosed.
	ErrClosed = transport.ErrClosed
	// ErrUnheeded: a server does not tell of a resource that it was asked to tell of.
	ErrUnheeded = errors.New("the server does not tell of changes of this resource")
	// ErrSilent: a server did not answer pings.
	ErrSilent = errors.New("the server does not answer pings")
)

// A ServerError tells why a server can't be used now.
type ServerError struct {
	Server string
	State  State // in which it was met
	Starts int   // how often it was started in vain before it was given up; 0 where it was not given up
	Err    error // what happened last; may be nil
}

// Error returns "<server>: <state>: <cause>", and after how many starts it was given up.
func (e *ServerError) Error() string {
	text := e.Server + ": " + e.State.String()
	if e.Starts > 1 {
		text += fmt.Sprintf(", given up after %d starts", e.Starts)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns what happened last.
func (e *ServerError) Unwrap() error { return e.Err }

// An OutcomeUnknown tells that a call got no answer and that the tool may have run: the request was, or may have been,
// delivered. It is never returned where the request can't have reached the server. Whether to call again is for whoever
// knows what the tool does.
type OutcomeUnknown struct {
	Server, Tool string
	Err          error // how the call ended: a *transport.Error
}

// Error returns the cause, and that the tool may have run.
func (e *OutcomeUnknown) Error() string {
	return fmt.Sprintf("%v (outcome unknown: the tool %s of %s may have run)", e.Err, e.Tool, e.Server)
}

// Unwrap returns how the call ended.
func (e *OutcomeUnknown) Unwrap() error { return e.Err }

// A stormError tells that a server is not tried now because it was tried so often, and how it ended the last time.
type stormError struct{ last error }

// tooOften returns a stormError for what happened last, which may be nil or a stormError itself.
func tooOften(last error) error {
	if before, ok := errors.AsType[*stormError](last); ok {
		return before
	}
	return &stormError{last}
}

// Error returns how often the server was tried, and the cause.
func (e *stormError) Error() string {
	text := fmt.Sprintf("tried %d times within %v", startLimit, startWindow)
	if e.last != nil {
		text += ": " + e.last.Error()
	}
	return text
}

// Unwrap returns how the server ended the last time.
func (e *stormError) Unwrap() error { return e.last }

// hopeless reports whether another attempt would fail in the same way: the configuration must change, or a program be
// installed.
func hopeless(err error) bool {
	_, unstartable := errors.AsType[*proc.StartError](err)
	_, misconfigured := errors.AsType[*config.Problem](err)
	_, unset := errors.AsType[*config.ExpandError](err)
	_, foreign := errors.AsType[*client.VersionError](err)
	return unstartable || misconfigured || unset || foreign
}

// wantsLogin reports whether a server refuses us until somebody logs in.
func wantsLogin(err error) bool {
	if errors.Is(err, transport.ErrLoginRequired) {
		return true
	}
	status, ok := errors.AsType[*transport.StatusError](err)
	if !ok || status.Status != http.StatusUnauthorized {
		return false
	}
	later, ok := status.Login.(interface{ Temporary() bool })
	return !ok || !later.Temporary()
}
