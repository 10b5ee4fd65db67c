package mcpwire

import (
	"sync"

	"mcpwire/trace"
	"mcpwire/transport"
	"mcpwire/transport/stdio"
)

// tap returns what listens to a server's lines; nil where nobody wants that.
func (o Options) tap(server string) *trace.Tap {
	if o.Trace == nil {
		return nil
	}
	return o.taps.of(trace.Options{Server: server, Sink: o.Trace, MaxMessage: o.TraceMax})
}

// taps are those of a manager's servers: one for each name, so that the lines of a server that is connected anew are
// told apart. Nil makes a new one each time.
type taps struct {
	mu  sync.Mutex
	all map[string]*trace.Tap
}

func (t *taps) of(o trace.Options) *trace.Tap {
	if t == nil {
		return trace.New(o)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	tap := t.all[o.Server]
	if tap == nil {
		tap = trace.New(o)
		t.all[o.Server] = tap
	}
	return tap
}

// tapped puts the tap, if there is one, around a transport.
func tapped(tap *trace.Tap, t transport.Transport) transport.Transport {
	if tap == nil {
		return t
	}
	return tap.Around(t)
}

// both returns what tells the tap and the host, if it wants to know.
func both(tap, host func(line []byte)) func(line []byte) {
	if host == nil {
		return tap
	}
	return func(line []byte) {
		tap(line)
		host(line)
	}
}

// tapProcess tells the tap, if there is one, how a server's process begins and ends, and what it writes besides
// messages.
func tapProcess(tap *trace.Tap, o *stdio.Options) {
	if tap == nil {
		return
	}
	o.OnStderr, o.OnNoise = both(tap.Stderr, o.OnStderr), both(tap.Noise, o.OnNoise)
	o.OnStart = tap.Started
	o.OnExit = func(x stdio.Exit) {
		tap.Exited(trace.ExitFacts{Code: x.Code, Signal: x.Signal, After: string(x.After), Left: x.Left}, x.Took)
	}
}

// tapHTTP tells the tap, if there is one, of what the host is told too.
func tapHTTP(tap *trace.Tap, host func(HTTPTrace)) func(HTTPTrace) {
	if tap == nil {
		return host
	}
	return func(x HTTPTrace) {
		tap.HTTP(x.Exchange, trace.HTTPFacts{
			Method: x.Method, URL: x.URL, Status: x.Status, Request: x.Request, Response: x.Response,
		}, x.Took, x.Err)
		if host != nil {
			host(x)
		}
	}
}
