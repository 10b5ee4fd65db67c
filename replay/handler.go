package replay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	bodyLimit     = 64 << 20 // bytes
	maxWaiting    = 1000     // messages that wait for a standing stream
	eventStream   = "text/event-stream"
	jsonType      = "application/json"
)

// A web is what a Server knows of its clients over HTTP.
type web struct {
	server *Server

	mu       sync.Mutex
	sessions map[string]*session
	none     *session // of all that belongs to no session
}

// A session is a conversation over HTTP, and what waits for a standing stream of it.
type session struct {
	*conversation
	mu      sync.Mutex
	waiting [][]byte
	more    chan struct{} // has room for one: there may be something in waiting
}

// Handler returns the server for clients of Streamable HTTP, on every path: with sessions for the revisions that open
// one, without for the others. Requests from elsewhere than its own machine are up to whoever listens. Close ends the
// streams that it holds.
func (s *Server) Handler() http.Handler {
	w := &web{server: s, sessions: map[string]*session{}}
	w.none = w.open()
	w.none.alone = func([]byte) {} // there is no stream for that
	return w
}

func (h *web) open() *session {
	s := &session{more: make(chan struct{}, 1)}
	s.conversation = h.server.converse(h.server.ctx, s.put)
	context.AfterFunc(s.ctx, s.wake)
	return s
}

// put keeps a message for the standing stream.
func (s *session) put(message []byte) {
	s.mu.Lock()
	if len(s.waiting) < maxWaiting {
		s.waiting = append(s.waiting, message)
	}
	s.mu.Unlock()
	s.wake()
}

func (s *session) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *session) taken() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting
	s.waiting = nil
	return all
}

// ServeHTTP implements http.Handler.
func (h *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.server.ctx.Err() != nil {
		http.Error(w, "the replay has ended", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.server.ctx, cancel)()
	r = r.WithContext(ctx)
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.listen(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		http.Error(w, "POST, GET or DELETE is wanted", http.StatusMethodNotAllowed)
	}
}

// session returns the session that a request names. Without a name it is that of all who have none.
func (h *web) session(r *http.Request) *session {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		return h.none
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

func (h *web) listen(w http.ResponseWriter, r *http.Request) {
	s := h.session(r)
	switch {
	case s == nil:
		http.Error(w, "there is no such session", http.StatusNotFound)
	case s == h.none || !strings.Contains(r.Header.Get("Accept"), eventStream):
		w.Header().Set("Allow", "POST")
		http.Error(w, "streams belong to sessions", http.StatusMethodNotAllowed)
	default:
		stand(w, r, s)
	}
}

// stand writes what comes by itself until the client or the session ends.
func stand(w http.ResponseWriter, r *http.Request, s *session) {
	events := newEvents(w)
	events.begin()
	for {
		for _, message := range s.taken() {
			events.send(message)
		}
		select {
		case <-s.more:
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
}

func (h *web) delete(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	h.mu.Lock()
	s := h.sessions[id]
	delete(h.sessions, id)
	h.mu.Unlock()
	if s == nil {
		http.Error(w, "there is no such session", http.StatusNotFound)
		return
	}
	s.close()
	w.WriteHeader(http.StatusNoContent)
}

func (h *web) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		http.Error(w, "the body can't be read, or is too large", http.StatusRequestEntityTooLarge)
		return
	}
	s := h.session(r)
	if s == nil {
		refuse(w, http.StatusNotFound, jsonrpc.NullID, &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidRequest, Message: "there is no such session",
		})
		return
	}
	if jsonrpc.IsBatch(body) {
		h.batch(w, r, s, body)
		return
	}
	m, err := jsonrpc.Parse(body)
	switch {
	case err != nil:
		id := m.ID
		if id.IsAbsent() {
			id = jsonrpc.NullID
		}
		refuse(w, http.StatusBadRequest, id, notJSON)
	case m.Kind != jsonrpc.Request:
		s.heard(m)
		w.WriteHeader(http.StatusAccepted)
	default:
		h.request(w, r, s, m)
	}
}

// batch answers several messages at once (2025-03-26, transports), on a stream.
func (h *web) batch(w http.ResponseWriter, r *http.Request, s *session, body []byte) {
	var plays []*play
	var refused [][]byte
	err := jsonrpc.SplitBatch(body, func(text []byte) {
		m, err := jsonrpc.Parse(text)
		switch {
		case err != nil:
			refused = append(refused, jsonrpc.AppendError(nil, jsonrpc.NullID, notJSON))
		case m.Kind != jsonrpc.Request:
			s.heard(m)
		default:
			p, refusal := s.begin(r.Context(), m)
			if refusal != nil {
				refused = append(refused, jsonrpc.AppendError(nil, m.ID, refusal))
				return
			}
			plays = append(plays, p)
		}
	})
	switch {
	case err != nil && plays == nil && refused == nil:
		refuse(w, http.StatusBadRequest, jsonrpc.NullID, notJSON)
	case plays == nil && refused == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		events := newEvents(w)
		defer events.end()
		events.begin()
		for _, message := range refused {
			events.send(message)
		}
		for _, p := range plays {
			p.run(events.send)
		}
	}
}

func (h *web) request(w http.ResponseWriter, r *http.Request, s *session, m jsonrpc.Message) {
	revision := text(metaOf(m.Params, mcp.MetaProtocolVersion))
	if why := contradiction(r, m, revision); why != "" {
		refuse(w, http.StatusBadRequest, m.ID, &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: why})
		return
	}
	if m.Method == mcp.MethodInitialize && s == h.none {
		s = h.open()
	}
	p, refusal := s.begin(r.Context(), m)
	if refusal != nil {
		if s != h.session(r) {
			s.close()
		}
		status := http.StatusOK
		if refusal.Code == jsonrpc.CodeMethodNotFound && revision != "" {
			status = http.StatusNotFound // 2026-07-28, Streamable HTTP, responses
		}
		refuse(w, status, m.ID, refusal)
		return
	}
	if m.Method == mcp.MethodInitialize && p.request.result != nil {
		w.Header().Set(sessionHeader, h.enter(s))
	}
	if p.request.lost != "" && p.request.status >= http.StatusBadRequest {
		p.refuse(w)
		return
	}
	events := newEvents(w)
	defer events.end()
	if !p.talks() || !strings.Contains(r.Header.Get("Accept"), eventStream) {
		events.plain, events.id, events.status = true, p.id, p.status()
		events.aside = s.put
	} else {
		p.opens(events.send)
		events.begin()
	}
	p.run(events.send)
}

// refuse answers as a server did that said nothing of the protocol.
func (p *play) refuse(w http.ResponseWriter) {
	p.cancel()
	p.c.ended(p)
	http.Error(w, http.StatusText(p.request.status), p.request.status)
}

// talks reports whether something comes before the answer, or instead of it.
func (p *play) talks() bool {
	if !p.request.hasAnswer() {
		return true
	}
	for _, s := range p.request.steps {
		if s.progress == nil || p.token != nil {
			return true
		}
	}
	return false
}

// status is that of an answer that goes alone.
func (p *play) status() int {
	if p.request.fault != nil && p.request.status >= 400 {
		return p.request.status
	}
	return http.StatusOK
}

// enter gives a session a name.
func (h *web) enter(s *session) (id string) {
	id = rand.Text()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[id] = s
	return id
}

// contradiction tells where the headers, as far as they are there, say something else than the message (2026-07-28,
// Streamable HTTP, standard request headers); nothing where they don't.
func contradiction(r *http.Request, m jsonrpc.Message, revision string) string {
	if revision == "" {
		return ""
	}
	for _, pair := range [...]struct{ header, value string }{{versionHeader, revision}, {methodHeader, m.Method}} {
		if said := r.Header.Get(pair.header); said != "" && said != pair.value {
			return fmt.Sprintf("the header %s says %.80q, the message %.80q", pair.header, said, pair.value)
		}
	}
	return ""
}

// text returns the string that a JSON text is; empty if it is none.
func text(raw json.RawMessage) string {
	v := valueOf(raw)
	if v.kind != '"' {
		return ""
	}
	return v.text
}

func refuse(w http.ResponseWriter, status int, id jsonrpc.ID, e *jsonrpc.Error) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(jsonrpc.AppendError(nil, id, e)) // the client may have gone
}

// events is an answer over HTTP: a stream of events, or the one message that a plain answer is.
type events struct {
	w      http.ResponseWriter
	flush  *http.ResponseController
	plain  bool
	id     jsonrpc.ID
	status int
	aside  func([]byte) // of a plain answer: takes what is not the answer

	mu    sync.Mutex
	ended bool
}

func newEvents(w http.ResponseWriter) *events {
	return &events{w: w, flush: http.NewResponseController(w)}
}

func (e *events) begin() {
	e.w.Header().Set("Content-Type", eventStream)
	e.w.Header().Set("Cache-Control", "no-cache")
	e.w.WriteHeader(http.StatusOK)
	_ = e.flush.Flush() // the client may have gone
}

func (e *events) send(message []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch m, _ := jsonrpc.Parse(message); {
	case e.ended:
	case !e.plain:
		_, _ = fmt.Fprintf(e.w, "event: message\ndata: %s\n\n", message) // the client may have gone
		_ = e.flush.Flush()
	case m.Kind == jsonrpc.Response && m.ID == e.id:
		e.w.Header().Set("Content-Type", jsonType)
		e.w.WriteHeader(e.status)
		_, _ = e.w.Write(message)
	default:
		e.aside(message)
	}
}

// end keeps others from writing when the exchange is over.
func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
}
