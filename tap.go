package mcpwire

import (
	"mcpwire/trace"
	"mcpwire/transport"
)

// tap returns what listens to a server's lines; nil where nobody wants that.
func (o Options) tap(server string) *trace.Tap {
	if o.Trace == nil {
		return nil
	}
	return trace.New(trace.Options{Server: server, Sink: o.Trace, MaxMessage: o.TraceMax})
}

// tapped puts the tap, if there is one, around a transport.
func tapped(tap *trace.Tap, t transport.Transport) transport.Transport {
	if tap == nil {
		return t
	}
	return tap.Around(t)
}

// tapStderr tells the tap, if there is one, of what the host is told too.
func tapStderr(tap *trace.Tap, host func(line []byte)) func(line []byte) {
	switch {
	case tap == nil:
		return host
	case host == nil:
		return tap.Stderr
	}
	return func(line []byte) {
		tap.Stderr(line)
		host(line)
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
