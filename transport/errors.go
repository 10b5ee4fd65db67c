package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors that tell what became of a connection or a message.
var (
	// ErrClosed: the connection can carry nothing more.
	ErrClosed = errors.New("transport closed")
	// ErrNoStream: the carrier has no standing stream.
	ErrNoStream = errors.New("no standing stream")
	// ErrLoginRequired: the server refuses us until somebody logs in. The error that wraps it says how.
	ErrLoginRequired = errors.New("login required")
	// ErrTooLarge: a message is above a cap.
	ErrTooLarge = errors.New("message too large")
	// ErrCongested: the bytes that wait to be sent are at their cap.
	ErrCongested = errors.New("too many bytes are waiting to be sent")
)

// A Delivery tells whether the server may have got a message.
type Delivery uint8

// The deliveries. The zero value is the cautious one, so that a forgotten field can't cause a second execution.
const (
	MaybeDelivered Delivery = iota // the server may have got it, whole or in part
	NotDelivered                   // not a byte of it was sent
	Answered                       // the server answered it
)

// String returns "maybe delivered", "not delivered" or "answered".
func (d Delivery) String() string {
	return [...]string{"maybe delivered", "not delivered", "answered"}[d]
}

// An Error is a failure of carriage: the message or the connection failed, and the server did not refuse.
type Error struct {
	Op       string   // what was tried: "open", or the method and name
	Server   string   // the server's name; may be empty
	Delivery Delivery // whether the server may have got it
	Err      error    // the cause
}

// Error returns "<server>: <op>: <cause>".
func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []string{e.Server, e.Op} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	return b.String() + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// A TimeoutError tells that a clock of ours ran out. It satisfies errors.Is(err, context.DeadlineExceeded); the end of
// the caller's own context is never reported as one.
type TimeoutError struct {
	What  string        // what was waited for: "request", "SSE response", "notify"
	After time.Duration // the limit that ran out
}

// Error returns "<what> timeout after <n>ms".
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s timeout after %dms", e.What, e.After.Milliseconds())
}

// Is reports whether target is context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout reports true, as net.Error has it.
func (e *TimeoutError) Timeout() bool { return true }

// An ExitError tells how a server's process ended, or that it closed its output or input while it still ran.
type ExitError struct {
	Command string   // what was started
	Code    int      // the exit status; -1 if a signal ended it or it still runs
	Signal  string   // the signal that ended it, such as "SIGKILL"; empty if none did
	Running bool     // the process had closed its output, or its input, and had not exited
	Input   bool     // it was its input
	Stderr  string   // the tail of its standard error, at most 32 KiB unless configured, control sequences removed
	Noise   []string // the last lines on its standard output that were no messages
}

// linesQuoted is how many lines Quote shows.
const linesQuoted = 12

// Error returns the way the process ended, with the last lines of its standard error or, if it wrote none, the last
// lines of noise behind it.
func (e *ExitError) Error() string {
	var how string
	switch {
	case e.Running && e.Input:
		how = "the server closed its input"
	case e.Running:
		how = "the server closed its output"
	case e.Signal != "":
		how = "killed by " + e.Signal
	default:
		how = fmt.Sprintf("exit status %d", e.Code)
	}
	if e.Command != "" {
		how += " (" + e.Command + ")"
	}
	said := Quote("stderr", e.Stderr)
	if said == "" {
		said = Quote("stdout", strings.Join(e.Noise, "\n"))
	}
	return how + said
}

// Quote returns the last lines of what a server wrote in a form that fits behind an error text: "; <from>: <line>", or
// the lines below, indented. It returns nothing for nothing.
func Quote(from, text string) string {
	lines := lastLines(text, linesQuoted)
	switch {
	case lines == "":
		return ""
	case !strings.Contains(lines, "\n"):
		return "; " + from + ": " + lines
	}
	return "; " + from + ":\n  " + strings.ReplaceAll(lines, "\n", "\n  ")
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
