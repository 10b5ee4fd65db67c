// Package legacysse is the carrier for the older HTTP transport: a GET opens one stream of events on which everything
// from the server comes, the first of them names the address that messages are posted to (2024-11-05, transports, HTTP
// with SSE). The stream is the connection: when it ends the connection ends, and nothing here opens it again.
package legacysse

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
)

// ErrNotSSE tells that an address is not that of a server of this kind: the answer to the GET is no event stream, or
// the stream does not begin with an endpoint event.
var ErrNotSSE = errors.New("not an HTTP+SSE server")

// Defaults of Options.
const (
	DefaultMaxMessage   = 64 << 20         // bytes
	DefaultEndpointWait = 10 * time.Second // of Options.EndpointWait
)

// Options describe a server. Only URL is needed.
type Options struct {
	Name    string            // the server's name in errors
	URL     string            // the address of the event stream
	Headers map[string]string // sent with each request; an empty one is left out; those of the protocol win
	Secrets []string          // kept out of error texts and traces, besides the values of headers whose names look secret
	TLS     *tls.Config       // nil: the system's roots
	// Proxy chooses the proxy of a request (nil: HTTP_PROXY, HTTPS_PROXY and NO_PROXY; never for loopback addresses).
	Proxy func(*url.URL) (*url.URL, error)
	// Wrap is put around the connections' round tripper; may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Discreet says that Wrap's round tripper changes nothing in a request, not even its headers.
	Discreet bool
	// ShowCalls has Wrap's round tripper find the call that a request is for with transport.CallOf.
	ShowCalls bool
	// Timeout is the default of Call.Timeout (0: 30 s; negative: none).
	Timeout time.Duration
	// EndpointWait is how long Open waits for the endpoint event, dialling included (0: 10 s; negative: as long as its
	// context lets it). Comments and other events don't extend it.
	EndpointWait time.Duration
	// MaxMessage bounds one message from the server, in bytes, unpacked (0: 64 MiB).
	MaxMessage int
	// OnTrace is told of each HTTP exchange when its headers have come, or it has failed; may be nil. It must be quick.
	OnTrace func(Trace)
}

// A Trace is one HTTP exchange, without secrets.
type Trace = httpwire.Trace

// New returns the transport to a server. Nothing is dialled before Open.
//
// Open waits for the endpoint event. Its errors are *transport.Error; where the server refuses the GET they wrap its
// *transport.StatusError, where it answers as no server of this kind does they wrap ErrNotSSE, and where it is silent a
// *transport.TimeoutError.
func New(o Options) transport.Transport {
	if o.Timeout == 0 {
		o.Timeout = transport.DefaultTimeout
	}
	if o.EndpointWait == 0 {
		o.EndpointWait = DefaultEndpointWait
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	return opener(o)
}
