package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A DecodeError tells that the answer to one request could not be read. The conversation goes on.
type DecodeError struct {
	Server string
	Method string // of the request
	Err    error
}

// Error returns "<server>: <method>: cannot decode the answer: <cause>".
func (e *DecodeError) Error() string {
	text := fmt.Sprintf("%s: cannot decode the answer: %v", e.Method, e.Err)
	if e.Server != "" {
		text = e.Server + ": " + text
	}
	return text
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// A Refusal is our refusal of a request of the server. OnRequest returns it.
type Refusal struct {
	Code    int64
	Message string
	Data    json.RawMessage // may be nil
}

// Error returns "refused with <code>: <message>".
func (r *Refusal) Error() string { return fmt.Sprintf("refused with %d: %s", r.Code, r.Message) }

// ErrNoAnswer is returned by OnRequest where the server is to get no answer at all.
var ErrNoAnswer = errors.New("no answer")

// ErrEnded tells that the server has ended a stream of notifications by cancelling the request that had opened it.
var ErrEnded = errors.New("the server ended the stream")

// ErrDropped tells OnError that notifications were dropped: see Options.Queue.
var ErrDropped = errors.New("the callbacks did not keep up")

// errCancelledByServer is the cause of the context of a request that the server has cancelled.
var errCancelledByServer = errors.New("cancelled by the server")
