package httpwire

import (
	"maps"
	"net/http"
)

// Headers are those of requests of one kind. They are made once, for many requests at the same time, and never changed.
// The zero value are the configured ones.
type Headers struct {
	all  http.Header
	host string // in place of the address's; empty: none
}

// Headers returns the configured headers with the protocol's put on top. A configured header that is empty is left out.
func (e *Endpoint) Headers(protocol http.Header) Headers {
	all := make(http.Header, len(e.options.Headers)+len(protocol)+1)
	for name, value := range e.options.Headers {
		if value != "" {
			all.Set(name, value)
		}
	}
	maps.Copy(all, protocol)
	h := Headers{all: all, host: all.Get("Host")}
	all.Del("Host")
	// net/http asks for it itself where nobody has, at the cost of a second set of headers for each request; undoGzip does
	// what it would do then. A round tripper that is put around it is to see what it expects.
	if e.untouched() && all.Get("Accept-Encoding") == "" && all.Get("Range") == "" {
		all["Accept-Encoding"] = []string{"gzip"}
	}
	return h
}

// With returns headers of which some are others, by canonical names.
func (h Headers) With(others http.Header) Headers {
	all := make(http.Header, len(h.all)+len(others))
	maps.Copy(all, h.all)
	maps.Copy(all, others)
	return Headers{all: all, host: h.host}
}

// untouched reports whether requests reach net/http as they are.
func (e *Endpoint) untouched() bool { return e.options.Wrap == nil || e.options.Discreet }

// of returns the headers for one request. A round tripper of somebody else may write into them.
func (e *Endpoint) of(r Request) Headers {
	h := r.Headers
	if h.all == nil {
		h = e.Headers(nil)
	}
	if !e.untouched() {
		h.all = h.all.Clone()
	}
	return h
}
