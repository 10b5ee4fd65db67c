// Package transport is the contract between a conversation and what carries it: subprocess pipes, HTTP, memory. A
// carrier frames messages, keeps the clocks and tears connections down; it knows nothing of ids and methods. Package
// rpc is the conversation.
package transport

import "context"

// A Transport opens connections of one kind to one server. It may be used from several goroutines.
type Transport interface {
	// Open starts the carrier. ctx bounds opening only: it may be cancelled afterwards without effect on the
	// connection. r receives everything inbound, from the first byte on, possibly before Open returns. After an error
	// nothing is left running, and r is not called any more.
	Open(ctx context.Context, r Receiver) (Conn, error)
}

// A Receiver is told what arrives. Its methods run on the goroutine that read, one at a time for each channel that is
// read, in order, and must not block.
type Receiver interface {
	// Receive takes one message. call is the Call on whose own stream it came, nil on a channel that all calls share.
	Receive(call *Call, msg []byte) Verdict
	// Oversize reports a message above the cap, which was skipped: its first and last bytes (up to 4 KiB each, valid
	// during the call only) and its size in bytes. call is as for Receive.
	Oversize(call *Call, head, tail []byte, size int64)
	// Fault reports what went wrong without ending the connection, or just before it ends.
	Fault(err error)
	// Closed reports the end, exactly once, after the last Receive. err is nil after Close.
	Closed(err error)
}

// A Verdict is a Receiver's word on a message and the memory that it stands in.
type Verdict uint8

// The verdicts. The zero value is the safe one.
const (
	Kept      Verdict = iota // the receiver keeps the memory; the carrier must not touch it again
	Reuse                    // the memory may be reused
	Malformed                // no message of the protocol; the memory may be reused
)

// A Conn is one open connection. All methods may be called from several goroutines at once.
type Conn interface {
	// Exchange sends call.Body and reads whatever belongs to it until the receiver settles the call. nil means settled;
	// otherwise the error is a *Error that tells what happened and whether the server may have got the message. A done
	// ctx and the clocks of the call end it promptly, whatever the server does. The carrier may hold on to Body after it
	// has returned, and to Abandon if the call was not settled: they must never be changed. It holds on to nothing else,
	// as a call that was settled may be used again.
	Exchange(ctx context.Context, call *Call) error
	// Send hands over a message that has no answer: a notification, or our answer to the server. It returns when the
	// message is written, with the same promises as Exchange.
	Send(ctx context.Context, call *Call) error
	// Listen carries the server's standing stream until it ends, reopening it as its protocol says; opened is called
	// when it first stands. It returns ErrNoStream where there is none.
	Listen(ctx context.Context, opened func()) error
	// Negotiated tells the carrier what the handshake settled.
	Negotiated(w Wire)
	// Traits tells what kind of carrier this is. It is constant.
	Traits() Traits
	// Done is closed when the connection can carry nothing more.
	Done() <-chan struct{}
	// Err tells why Done is closed: a *Error, or nil before. It satisfies errors.Is(err, ErrClosed).
	Err() error
	// Close first ends every Exchange and Send with ErrClosed, then shuts down, and returns with every goroutine and
	// process gone. A done ctx makes it hurry, not leave things behind. It is idempotent, and every caller waits.
	Close(ctx context.Context) error
}

// A Witness is a Conn that knows what the server wrote beside messages.
type Witness interface {
	// Output returns the end of what the server has written to standard error so far, and the last lines of its standard
	// output that were no messages, both without control sequences. It may be called at any time.
	Output() (stderr string, noise []string)
}

// A Masker is a Conn that knows secrets of its configuration.
type Masker interface {
	// Mask returns a text of the server with them masked. It may be called at any time.
	Mask(text string) string
}

// A Sessioned is a Conn that may have a session over HTTP.
type Sessioned interface {
	// SessionID returns the id that the server has given; empty where it has given none. Who knows it may speak in the
	// session, so it is not for logs.
	SessionID() string
}

// Traits are the properties of a carrier that the protocol side goes by.
type Traits struct {
	Name     string // "stdio", "http", "sse", "memory"
	Standing bool   // Listen carries a stream
	Status   bool   // a refused message is answered with an HTTP status, so that it can be told from silence
	Sessions bool   // carries only revisions that have sessions
}

// A Wire is what a handshake settled between client and server.
type Wire struct {
	Revision string // the protocol revision, such as "2025-11-25"
	Resume   bool   // event streams that break off may be resumed
}

// An Envelope holds the facts of a Body that a carrier may show outside it.
type Envelope struct {
	Method string // the JSON-RPC method; empty for an answer
	Name   string // what it is about: the tool's or prompt's name, the resource's URI; empty where there is none

	// Revision is set where a message describes itself in place of belonging to a session: the revision that it is
	// written in. A carrier over HTTP then shows Method, Name and Headers outside the Body, sends no session's id, does
	// not resume, and tells the server of the end of the exchange by ending it, not by Abandon.
	Revision string
	Headers  []Header // values of the Body that the server wants to see outside it
}

// A Header is a name and a value that a carrier may show outside a message, encoded as it needs.
type Header struct{ Name, Value string }

// String returns the method with the name behind it, for error texts.
func (e Envelope) String() string {
	if e.Name == "" {
		return e.Method
	}
	return e.Method + " " + e.Name
}
