package transporttest

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

// NewSSEServer returns a handler that shows a behaviour over HTTP with SSE, for behaviours that need no process. GET
// opens the stream of events, on which everything comes from the server; its first event names the address that POSTs
// go to. It serves one connection.
func NewSSEServer(b Behaviour) http.Handler {
	return &sseServer{script: NewScript(b), ready: make(chan struct{}, 1)}
}

// sseAddress is where POSTs go, as the endpoint event names it.
const sseAddress = "messages?session=1"

type sseServer struct {
	ready chan struct{} // has room for one: there may be steps to take

	mu     sync.Mutex
	script *Script
	opened bool
	steps  []Step
	gone   bool // it has exited, or will when it has taken its steps
}

// ServeHTTP implements http.Handler.
func (h *sseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && r.URL.RequestURI() == "/"+sseAddress:
		h.post(w, r)
	case r.Method == http.MethodGet && h.open():
		h.stream(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (h *sseServer) open() (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first, h.opened = !h.opened, true
	return first
}

// post takes a message. Nobody answers for a server that has gone.
func (h *sseServer) post(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if !h.play(func(s *Script) []Step { return s.Next(text) }) {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// play lets the script go on, and reports whether the server was still there.
func (h *sseServer) play(next func(*Script) []Step) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return false
	}
	for _, step := range next(h.script) {
		h.gone = h.gone || step.Do == Exit
		h.steps = append(h.steps, step)
	}
	select {
	case h.ready <- struct{}{}:
	default:
	}
	return true
}

// stream takes the steps, until the server hangs up or exits or the client has gone.
func (h *sseServer) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	write := func(text []byte) {
		_, _ = w.Write(text) // the client may have gone
		_ = http.NewResponseController(w).Flush()
	}
	write([]byte("event: endpoint\ndata: " + sseAddress + "\n\n"))
	h.play((*Script).Begin)
	for {
		for _, step := range h.take() {
			switch step.Do {
			case Say:
				write(Event(step.Data))
			case Raw:
				write(append([]byte("data: "), step.Data...))
			case Complain:
			case HangUp, Exit:
				return
			default:
				panic(fmt.Sprintf("a behaviour that HTTP can't show: %+v", step))
			}
		}
		select {
		case <-h.ready:
		case <-r.Context().Done():
			return
		}
	}
}

func (h *sseServer) take() (steps []Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	steps, h.steps = h.steps, nil
	return steps
}
