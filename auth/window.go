package auth

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"mcpwire/internal/redact"
)

// What a client of a window may take.
const (
	windowHeaders     = 32 << 10         // bytes of a request's head
	windowConnections = 16               // at a time; more wait to be accepted
	windowPatience    = 10 * time.Second // a connection lives
	windowReading     = 5 * time.Second  // until the head of a request is there
	windowAnswering   = 5 * time.Second  // until somebody takes a redirect
	windowReason      = 500              // bytes of a reason that a page shows
)

// A windowServer serves the pages of a window.
type windowServer struct {
	path       string
	host, port string // "127.0.0.1:4321" and "4321"
	hand       func(context.Context, url.Values) error
	http       *http.Server
	failed     chan error     // why it serves no more, unless it was closed
	serving    sync.WaitGroup // of the goroutine that accepts
	open       sync.WaitGroup // of connections

	mu      sync.Mutex
	closing bool
	answers sync.WaitGroup // of requests that are being answered; begun only while not closing
}

// serveWindow begins to serve. hand is given the parameters of each redirect, and returns nil if it was the right one.
func serveWindow(l net.Listener, path string, hand func(context.Context, url.Values) error) *windowServer {
	s := &windowServer{path: path, host: l.Addr().String(), hand: hand, failed: make(chan error, 1)}
	_, s.port, _ = net.SplitHostPort(s.host) // the address of a listener has a port
	s.http = &http.Server{
		Handler: s, MaxHeaderBytes: windowHeaders, ReadHeaderTimeout: windowReading, ReadTimeout: windowPatience,
		WriteTimeout: windowPatience, IdleTimeout: windowReading, ConnState: s.count,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	s.http.SetKeepAlivesEnabled(false)
	s.serving.Go(func() {
		if err := s.http.Serve(netutil.LimitListener(l, windowConnections)); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	})
	return s
}

func (s *windowServer) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed:
		s.open.Done()
	case http.StateActive, http.StateIdle, http.StateHijacked:
	}
}

// close ends all connections, those that are being answered after their answers.
func (s *windowServer) close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.answers.Wait()
	_ = s.http.Close() // closes the listener, whose error helps nobody
	s.serving.Wait()
	s.open.Wait()
}

// begin reports whether a request is still answered.
func (s *windowServer) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.answers.Add(1)
	}
	return !s.closing
}

// ServeHTTP answers one request. A page in the browser that tries to reach us under a name of its own (DNS rebinding)
// finds nothing.
func (s *windowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		panic(http.ErrAbortHandler)
	}
	defer s.answers.Done()
	switch {
	case !s.ours(r.Host), r.URL.EscapedPath() != s.path:
		page{http.StatusNotFound, "Not found", "There is nothing here."}.write(w)
		return
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		page{http.StatusMethodNotAllowed, "Not allowed", "There is nothing to send here."}.write(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), windowAnswering)
	defer cancel()
	values, err := readRedirect(r.URL.RawQuery)
	if err == nil {
		err = s.hand(ctx, values)
	}
	switch {
	case errors.Is(err, errNobodyWaits):
		page{http.StatusGone, "No login is waiting", "It has ended, or it has not begun."}.write(w)
	case err != nil:
		page{http.StatusBadRequest, "This answer was not taken", err.Error()}.write(w)
	case values.Has("error"):
		page{http.StatusOK, "No access was granted", "You can close this window."}.write(w)
	default:
		page{http.StatusOK, "The answer has arrived", "You can close this window."}.write(w)
	}
}

// ours reports whether a request was meant for this machine by the one who sent it.
func (s *windowServer) ours(host string) bool {
	if host == s.host {
		return true
	}
	name, port, err := net.SplitHostPort(host)
	return err == nil && port == s.port && strings.EqualFold(name, "localhost")
}

// A page is what a window shows: text without script, and without anything from elsewhere.
type page struct {
	status      int
	title, text string
}

// write writes the page and hands it to the system, so that it arrives whatever happens to the connection then. One
// that nobody reads is no concern of ours.
func (p page) write(w http.ResponseWriter) {
	title, text := html.EscapeString(p.title), html.EscapeString(redact.Excerpt([]byte(p.text), windowReason))
	body := fmt.Sprintf("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title></head>\n"+
		"<body><h1>%[1]s</h1><p>%[2]s</p></body></html>\n", title, text)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	w.WriteHeader(p.status)
	_, _ = io.WriteString(w, body)
	_ = http.NewResponseController(w).Flush()
}
