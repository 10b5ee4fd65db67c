package tracing

import (
	"net/http"
	"strings"

	"mcpwire/trace"
	"mcpwire/transport"
)

// Bad reports whether something has gone wrong with an event: a message that refuses or is none, a failure, a status of
// HTTP from 400 on, an end that is not of our making. What a server is free to answer is not wrong: it may have no
// standing stream.
func (i *Item) Bad() bool {
	for _, n := range i.Notes {
		if n.Error != "" {
			return true
		}
	}
	switch i.Kind {
	case trace.Noise, trace.Oversize, trace.Fault:
		return true
	case trace.Failed:
		return !i.Line.closing && !i.GivenUp
	case trace.Opened, trace.Closed:
		return i.Error != ""
	case trace.Stream:
		return i.Error != "" && !i.Line.closing && !strings.Contains(i.Error, transport.ErrNoStream.Error())
	case trace.HTTP:
		x := i.HTTP()
		return i.Error != "" || x.Status >= http.StatusBadRequest &&
			(x.Method != http.MethodGet || x.Status != http.StatusMethodNotAllowed)
	case trace.Exited:
		return i.Exit != nil && badExit(i.Exit)
	default:
		return false
	}
}

// HTTP returns the facts of an exchange over HTTP, which are empty where there are none.
func (i *Item) HTTP() trace.HTTPFacts {
	if i.Event.HTTP == nil {
		return trace.HTTPFacts{}
	}
	return *i.Event.HTTP
}

// badExit reports whether a process has ended as none should: by itself with a status, or by force.
func badExit(x *trace.ExitFacts) bool {
	if x.After == "term" && (x.Signal == "SIGTERM" || x.Code == 128+15) {
		return false
	}
	return x.Code != 0 || x.Signal != "" || x.After == "kill"
}
