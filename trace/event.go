// Package trace records what goes over a line: every message in either direction, and the facts of what carries it. A
// Tap is put around a transport.Transport and tells a sink of each Event; a Writer is a sink that writes them as JSON
// lines, which Read reads. Secrets are masked before a sink sees them: what the line knows as secret, what has the
// shape of a token, and members whose names look secret.
package trace

import (
	"encoding/json"
	"net/http"
	"time"
)

// A Kind tells what an event is about.
type Kind string

// The kinds of events.
const (
	Opening  Kind = "opening"  // a line is being opened: a process starts, nothing yet happens over HTTP
	Started  Kind = "started"  // the server's process runs: Text is the file that was started
	Opened   Kind = "opened"   // it is open: Carrier is set; Error, if it failed
	Sent     Kind = "sent"     // Message goes out
	Received Kind = "received" // Message has come in
	Noise    Kind = "noise"    // Text came where a message was due
	Oversize Kind = "oversize" // a message above the cap was skipped: Text is its beginning, Size its size
	Stderr   Kind = "stderr"   // Text is a line of the server's standard error
	HTTP     Kind = "http"     // an exchange has got its headers, or failed
	Failed   Kind = "failed"   // what was Sent has come to Error; Message is the cancel note, where one may go out
	Stream   Kind = "stream"   // the server's standing stream stands; with Error or Took: it has ended
	Fault    Kind = "fault"    // Error went wrong without ending the line
	Exited   Kind = "exited"   // the server's process and all that it had started have gone: Exit is set
	Closing  Kind = "closing"  // our side ends the line
	Closed   Kind = "closed"   // the line has ended; Error is empty if our side ended it
)

// An Event is one thing that happened on a line, and one line of a file.
type Event struct {
	Time     time.Time       `json:"time"`            // when; written in UTC with microseconds
	Server   string          `json:"server,omitzero"` // the server's name
	Line     int             `json:"line,omitzero"`   // which line of this tap: 1, 2 after it was opened anew, ...
	Kind     Kind            `json:"event"`
	Carrier  string          `json:"carrier,omitzero"`  // "stdio", "http" or "sse"
	Exchange int             `json:"exchange,omitzero"` // joins what is Sent, what came on its own stream, and its HTTP
	Message  json.RawMessage `json:"message,omitzero"`  // one JSON-RPC message or batch
	Cut      *CutFacts       `json:"cut,omitzero"`      // of a message that is too large: Text is its beginning
	Text     string          `json:"text,omitzero"`     // what is no message, bounded
	Size     int64           `json:"size,omitzero"`     // of the message in bytes, as it was on the wire
	HTTP     *HTTPFacts      `json:"http,omitzero"`
	Exit     *ExitFacts      `json:"exit,omitzero"`
	Took     float64         `json:"ms,omitzero"`       // how long what has ended took, in milliseconds
	Error    string          `json:"error,omitzero"`    // with its causes
	Delivery string          `json:"delivery,omitzero"` // of what has Failed: see transport.Delivery
	GivenUp  bool            `json:"givenUp,omitzero"`  // what has Failed was ended by who had asked
}

// CutFacts tell which message it was that is not recorded whole. A message without a method is an answer.
type CutFacts struct {
	ID     json.RawMessage `json:"id,omitzero"`
	Method string          `json:"method,omitzero"`
	Error  bool            `json:"error,omitzero"` // the answer is an error
}

// HTTPFacts are those of one exchange over HTTP.
type HTTPFacts struct {
	Method   string      `json:"method"`
	URL      string      `json:"url"`
	Status   int         `json:"status,omitzero"` // 0 if it failed
	Request  http.Header `json:"request,omitzero"`
	Response http.Header `json:"response,omitzero"`
}

// ExitFacts tell how a server's process ended.
type ExitFacts struct {
	Code   int    `json:"code"`            // the exit status; -1 if a signal ended it
	Signal string `json:"signal,omitzero"` // the signal that ended it, such as "SIGKILL"
	// After is the last step of the shutdown that was taken before it went: "" where it went by itself, "eof" when its
	// input was closed, "term" when it was asked to end, "kill" when it was killed.
	After string `json:"after,omitzero"`
	Left  bool   `json:"left,omitzero"` // others that it had started still ran then, and had to be ended
}
