package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/trace"
)

// A Choice says what to take of a recording in which there is more than one server or line. The zero value takes the
// server with a handshake and the most messages, and all of its lines, one after the other as they were opened anew.
type Choice struct {
	Server string // its name; empty: any
	Line   int    // one line alone; 0: all
}

// Load reads a recording. Lines of the file that are no events are left out, and told in Notes. The error says, on one
// line, why there is nothing to answer from.
func Load(r io.Reader, c Choice) (*Recording, error) {
	events, broken, err := readEvents(r)
	if err != nil {
		return nil, err
	}
	server, notes, err := c.choose(events)
	if err != nil {
		return nil, err
	}
	b := newBuilder()
	for _, e := range events {
		if e.Server == server && (c.Line == 0 || e.Line == c.Line) {
			b.add(e)
		}
	}
	recording := b.recording
	recording.server, recording.notes = server, notes
	if broken != nil {
		recording.notes = append(recording.notes, "some of it is left out: "+broken.Error())
	}
	if !slices.ContainsFunc(recording.requests, (*request).hasAnswer) {
		return nil, errors.New("no request of it has an answer: there is nothing to answer from")
	}
	return recording, nil
}

// readEvents returns all events that hold something, and what was wrong with the first line that is none.
func readEvents(r io.Reader) (events []*trace.Event, broken, err error) {
	for e, err := range trace.Read(r) {
		switch {
		case err == nil:
			events = append(events, e)
		case broken == nil:
			broken = err
		}
	}
	switch {
	case len(events) > 0:
		return events, broken, nil
	case broken != nil:
		return nil, nil, fmt.Errorf("it is no recording: %w", broken)
	}
	return nil, nil, errors.New("it is empty")
}

// content is what a server has in a recording.
type content struct {
	server            string
	messages, answers int
	handshake         bool
	lines             []int
}

// choose returns the server that is meant.
func (c Choice) choose(events []*trace.Event) (server string, notes []string, err error) {
	all := contents(events)
	if c.Server != "" {
		i := slices.IndexFunc(all, func(s *content) bool { return s.server == c.Server })
		if i < 0 {
			return "", nil, fmt.Errorf("it has no server %q; it has %s", c.Server, names(all))
		}
		all = all[i : i+1]
	}
	if len(all) == 0 {
		return "", nil, errors.New("it holds no message")
	}
	best := slices.MaxFunc(all, func(a, b *content) int {
		return cmp.Or(boolean(a.handshake)-boolean(b.handshake), a.messages-b.messages)
	})
	switch {
	case best.answers == 0:
		return "", nil, errors.New("it holds no message of a server: there is nothing to answer from")
	case c.Line != 0 && !slices.Contains(best.lines, c.Line):
		return "", nil, fmt.Errorf("the server %q has no line %d; it has %s", best.server, c.Line,
			strings.Trim(fmt.Sprint(best.lines), "[]"))
	case len(all) > 1:
		notes = append(notes, fmt.Sprintf("it has %d servers, %s; %q is taken", len(all), names(all), best.server))
	}
	return best.server, notes, nil
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func names(all []*content) string {
	var quoted []string
	for _, s := range all {
		quoted = append(quoted, fmt.Sprintf("%q", s.server))
	}
	return strings.Join(quoted, ", ")
}

func contents(events []*trace.Event) (all []*content) {
	of := map[string]*content{}
	for _, e := range events {
		if len(e.Message) == 0 {
			continue
		}
		s := of[e.Server]
		if s == nil {
			s = &content{server: e.Server}
			of[e.Server] = s
			all = append(all, s)
		}
		if !slices.Contains(s.lines, e.Line) {
			s.lines = append(s.lines, e.Line)
		}
		s.messages++
		if e.Kind == trace.Received {
			s.answers++
		}
		m, _ := jsonrpc.Parse(e.Message)
		s.handshake = s.handshake || m.Method == mcp.MethodInitialize || m.Method == mcp.MethodDiscover
	}
	return all
}
