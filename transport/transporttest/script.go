package transporttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mcpwire/jsonrpc"
)

// A Step is one thing that a fake server does.
type Step struct {
	Do   Action
	Data []byte        // of Say, Raw, Trickle and Complain
	Wait time.Duration // of Pause
	Code int           // of Exit
}

// An Action is a kind of Step.
type Action uint8

// The actions.
const (
	Say      Action = iota // send Data, framed as one message; it may be none
	Raw                    // write Data as it is
	Trickle                // write Data as it is, in single bytes
	Complain               // write Data to the standard error
	Pause                  // do nothing, and read nothing, for Wait
	Stall                  // read nothing more
	HangUp                 // close the output and go on reading
	Exit                   // end with the status Code
)

// A Script is the protocol of a fake server, without its carrier: it tells what the server does. It serves one
// connection and is not safe for concurrent use.
type Script struct {
	behaviour Behaviour
	silent    []jsonrpc.ID
	notes     [][]byte
	kept      []Step // answers of Reverses
}

// NewScript returns the script of b.
func NewScript(b Behaviour) *Script { return &Script{behaviour: b} }

// Begin returns what the server does before it reads anything.
func (s *Script) Begin() []Step {
	switch s.behaviour.Name {
	case Windows:
		return []Step{{Do: Raw, Data: []byte("\xef\xbb\xbf")}}
	case ExitsBefore:
		return s.exit()
	}
	return nil
}

// Next returns what the server does on a message of the client.
func (s *Script) Next(msg []byte) []Step {
	m, err := jsonrpc.Parse(msg)
	switch {
	case err != nil:
		return []Step{{Do: Complain, Data: fmt.Appendf(nil, "not a message: %.100q: %v\n", msg, err)}}
	case m.Kind == jsonrpc.Notification:
		s.notes = append(s.notes, bytes.Clone(msg))
		return s.answerSilent()
	case m.Kind != jsonrpc.Request:
		return nil
	}
	switch m.Method {
	case "silent":
		s.silent = append(s.silent, m.ID)
		return nil
	case "seen":
		return []Step{answer(m.ID, fmt.Appendf(nil, `{"silent":%d,"notes":[%s]}`,
			len(s.silent), bytes.Join(s.notes, []byte(","))))}
	case "exit":
		return s.end(m)
	}
	return s.echo(m)
}

func answer(id jsonrpc.ID, result json.RawMessage) Step {
	return Step{Do: Say, Data: jsonrpc.AppendResult(nil, id, result)}
}

func (s *Script) answerSilent() (steps []Step) {
	if s.behaviour.Name != Late {
		return nil
	}
	for _, id := range s.silent {
		steps = append(steps, answer(id, nil))
	}
	s.silent = nil
	return steps
}

// echo answers in the way that the behaviour says.
func (s *Script) echo(m jsonrpc.Message) (steps []Step) {
	reply := answer(m.ID, m.Params)
	switch s.behaviour.Name {
	case Reverses:
		if s.kept = append(s.kept, reply); len(s.kept) < s.behaviour.N {
			return nil
		}
		steps, s.kept = s.kept, nil
		slices.Reverse(steps)
		return steps
	case Windows:
		return []Step{{Do: Raw, Data: append(reply.Data, "\r\n"...)}}
	case Trickles:
		return []Step{{Do: Trickle, Data: append(reply.Data, '\n')}}
	case Naps:
		return []Step{say(deafness, "{}"), {Do: Pause, Wait: 3 * time.Second}, reply}
	case Deaf:
		return []Step{say(deafness, "{}"), {Do: Pause, Wait: time.Second}, reply, {Do: Stall}}
	}
	return append(s.prelude(), reply)
}

// prelude returns what comes before an answer.
func (s *Script) prelude() (steps []Step) {
	switch s.behaviour.Name {
	case Notifies:
		for i := range s.behaviour.N {
			steps = append(steps, say(numbered, fmt.Sprintf(`{"n":%d}`, i)))
		}
	case Large:
		for _, text := range LargeMessages() {
			steps = append(steps, Step{Do: Say, Data: text})
		}
	case Oversized:
		steps = []Step{{Do: Say, Data: OversizedMessage(s.behaviour.N)}}
	case Noise:
		for _, text := range noise {
			steps = append(steps, Step{Do: Say, Data: []byte(text)})
		}
	case Floods:
		steps = []Step{{Do: Complain, Data: bytes.Repeat([]byte("E"), s.behaviour.N)}}
	}
	return steps
}

func say(method, params string) Step {
	return Step{Do: Say, Data: jsonrpc.AppendNotification(nil, method, json.RawMessage(params))}
}

// end does what the behaviour does at "exit".
func (s *Script) end(m jsonrpc.Message) []Step {
	reply := answer(m.ID, nil)
	switch s.behaviour.Name {
	case ClosesOutput:
		return []Step{{Do: HangUp}}
	case ExitsDuring:
		return append([]Step{{Do: Raw, Data: reply.Data[:len(reply.Data)/2]}}, s.exit()...)
	case ExitsAfter:
		return append([]Step{distraction(), reply}, s.exit()...)
	case ExitsUnended:
		reply.Do = Raw
		return append([]Step{distraction(), reply}, s.exit()...)
	}
	return s.exit()
}

// distraction returns a message that keeps the receiver busy until the server that sends it has gone.
func distraction() Step { return Step{Do: Say, Data: OversizedMessage(4 << 20)} }

// exit returns the last words and the exit.
func (s *Script) exit() []Step {
	return []Step{
		{Do: Complain, Data: []byte(lastWords + "\n")},
		{Do: Exit, Code: s.behaviour.N},
	}
}
