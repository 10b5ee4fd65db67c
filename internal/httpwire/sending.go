package httpwire

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"mcpwire/transport"
)

// A sending is what net/http works with while it sends one request: it reads the body and tells how far it has got.
type sending struct {
	attempts atomic.Int32 // connections that the request was to be written on
	begun    atomic.Bool  // its first bytes have been written, or may have been
	written  atomic.Bool  // all of it has been written: net/http has no more use for the body
	trace    httptrace.ClientTrace
	shared   bool // the trace has been joined with one of the caller

	text    []byte
	reader  bytes.Reader
	body    io.ReadCloser // of reader; of a type that net/http knows, which it writes together with the headers
	another func() (io.ReadCloser, error)
}

// sendings are those that are not in use.
var sendings = sync.Pool{New: func() any {
	s := &sending{}
	s.body = io.NopCloser(&s.reader)
	s.another = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.text)), nil }
	s.trace = httptrace.ClientTrace{
		// net/http begins anew on another connection only if not a byte was written on the one before, which had been
		// closed while it was idle.
		GetConn: func(string) {
			s.attempts.Add(1)
			s.begun.Store(false)
		},
		WroteHeaders: func() { s.begun.Store(true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) { s.written.Store(info.Err == nil) },
	}
	return s
}}

func newSending(text []byte) *sending {
	s := sendings.Get().(*sending) //nolint:errcheck,forcetypeassert // nothing else is in it
	s.attempts.Store(0)
	s.begun.Store(false)
	s.written.Store(false)
	s.text = text
	return s
}

// recycle lends it to other requests, if it is sure that net/http is through with it.
func (s *sending) recycle() {
	if s.shared || s.attempts.Load() != 1 || !s.written.Load() {
		return
	}
	s.text = nil
	s.reader.Reset(nil)
	sendings.Put(s)
}

func (s *sending) delivery() transport.Delivery {
	if s.begun.Load() {
		return transport.MaybeDelivered
	}
	return transport.NotDelivered
}

// request returns req with a context that tells s how the sending goes, and with the body.
func (s *sending) request(ctx context.Context, req *http.Request) *http.Request {
	s.shared = s.shared || httptrace.ContextClientTrace(ctx) != nil
	out := req.WithContext(httptrace.WithClientTrace(ctx, &s.trace))
	if s.text != nil {
		out.ContentLength = int64(len(s.text))
		out.GetBody = s.another
		if s.attempts.Load() == 0 {
			s.reader.Reset(s.text)
			out.Body = s.body
		} else { // a connection that was redirected may still read the first one
			out.Body, _ = s.another()
		}
	}
	return out
}
