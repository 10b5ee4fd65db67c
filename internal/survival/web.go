package survival

import (
	"context"
	"io"
	"log" //nolint:depguard // net/http wants it
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	"mcpwire/jsonrpc"
)

// A Web is the far end of a line over HTTP, and what it has seen. Its methods may be called from several goroutines.
type Web struct {
	server *httptest.Server

	mu      sync.Mutex
	seen    map[string]int
	more    chan struct{} // closed when something is counted; nil if nobody waits
	others  []*httptest.Server
	sockets []net.Conn // that were taken from net/http
	proxy   string     // the address of one that stands before the server; set before it serves
}

// Count counts something that the server has seen, and returns how often it has.
func (w *Web) Count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string]int{}
	}
	w.seen[what]++
	if w.more != nil {
		close(w.more)
		w.more = nil
	}
	return w.seen[what]
}

// Await waits until Count was called so often, and reports whether it was before ctx was done.
func (w *Web) Await(ctx context.Context, what string, times int) bool {
	for {
		w.mu.Lock()
		if w.seen[what] >= times {
			w.mu.Unlock()
			return true
		}
		if w.more == nil {
			w.more = make(chan struct{})
		}
		more := w.more
		w.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// Other starts another server, with an origin of its own, and returns its address. It ends with this one.
func (w *Web) Other(h http.Handler) string {
	other := httptest.NewServer(h)
	w.keep(other)
	return other.URL
}

// keep has another server end with this one.
func (w *Web) keep(other *httptest.Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.others = append(w.others, other)
}

// silent is a log that nobody reads.
func silent() *log.Logger { return log.New(io.Discard, "", 0) } // as net/http wants it

// Counted returns how often Count was called.
func (w *Web) Counted(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[what]
}

// close ends the server with all its connections.
func (w *Web) close() {
	w.mu.Lock()
	servers, sockets := append(slices.Clone(w.others), w.server), w.sockets
	w.mu.Unlock()
	for _, socket := range sockets {
		_ = socket.Close() // most have been closed before
	}
	for _, server := range servers {
		server.CloseClientConnections()
		server.Close()
	}
}

// An Exchange is a request to a server on the web, with the message in it.
type Exchange struct {
	http.ResponseWriter
	Request *http.Request
	Message jsonrpc.Message
	Body    []byte

	web *Web
}

// Serve is an honest server of 2025-11-25 without sessions, but for what other serves: it is asked first, by the method
// of the message, or "GET" and "DELETE", and reports whether it has served the request.
func (w *Web) Serve(other func(x *Exchange, method string) bool) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		x := &Exchange{ResponseWriter: out, Request: r, Body: body, web: w}
		method := r.Method
		if method == http.MethodPost {
			m, err := jsonrpc.Parse(body)
			if err != nil {
				http.Error(out, "no message", http.StatusBadRequest)
				return
			}
			x.Message, method = m, m.Method
		}
		w.Count(method)
		switch {
		case other != nil && other(x, method):
		case r.Method != http.MethodPost:
			http.Error(out, "only POST", http.StatusMethodNotAllowed)
		case x.Message.Kind != jsonrpc.Request:
			out.WriteHeader(http.StatusAccepted)
		default:
			x.JSON(honest(x.Message))
		}
	})
}

// JSON answers with a message.
func (x *Exchange) JSON(message string) {
	x.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(x, message)
}
