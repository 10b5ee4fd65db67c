package transporttest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"

	"mcpwire/jsonrpc"
)

// NewHTTPServer returns a handler that shows a behaviour over Streamable HTTP, for behaviours that need no channel of
// their own and no process. It answers each POST with a stream of events, or with JSON, in which case it sends nothing
// but answers. It has no sessions and no standing stream.
func NewHTTPServer(b Behaviour, events bool) http.Handler {
	return &httpServer{script: NewScript(b), events: events, waiting: map[jsonrpc.ID]chan []byte{}}
}

type httpServer struct {
	events bool

	mu      sync.Mutex
	script  *Script
	waiting map[jsonrpc.ID]chan []byte // the POSTs that wait for their answers
}

// ServeHTTP implements http.Handler.
func (h *httpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := jsonrpc.Parse(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := make(chan []byte, 1)
	notes := h.play(m, text, answer)
	if m.Kind != jsonrpc.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if h.events {
		h.stream(w, r, notes, answer)
		return
	}
	select {
	case reply := <-answer:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(reply) // the client may have gone
	case <-r.Context().Done():
	}
}

// play has the script take a message. It hands answers to the POSTs that they are for, and returns the rest.
func (h *httpServer) play(m jsonrpc.Message, text []byte, answer chan []byte) (notes [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.Kind == jsonrpc.Request {
		h.waiting[m.ID] = answer
	}
	for _, step := range h.script.Next(text) {
		if step.Do != Say {
			panic(fmt.Sprintf("a behaviour that HTTP can't show: %+v", step))
		}
		said, err := jsonrpc.Parse(step.Data)
		if err != nil || said.Kind != jsonrpc.Response {
			notes = append(notes, step.Data)
		} else if post := h.waiting[said.ID]; post != nil {
			delete(h.waiting, said.ID)
			post <- step.Data
		}
	}
	return notes
}

func (h *httpServer) stream(w http.ResponseWriter, r *http.Request, notes [][]byte, answer chan []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	say := func(text []byte) {
		_, _ = w.Write(Event(text)) // the client may have gone
	}
	for _, note := range notes {
		say(note)
	}
	_ = flush()
	select {
	case reply := <-answer:
		say(reply)
	case <-r.Context().Done():
	}
}

// Event returns a message as an event of a stream.
func Event(text []byte) []byte {
	return bytes.Join([][]byte{[]byte("event: message\ndata: "), text, []byte("\n\n")}, nil)
}
