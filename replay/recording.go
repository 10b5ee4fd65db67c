// Package replay is a server that answers from a recording: a file of package trace, as "mcpwire record" or the flag
// --trace of any command writes it. Load reads one; a Server answers over pipes, in memory, or as an http.Handler, from
// the same requests in the same order.
package replay

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"mcpwire/internal/jsonscan"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/trace"
)

// A Recording is what one server has said, and in answer to what. It is never changed, and may be used by several
// Servers.
type Recording struct {
	server   string
	notes    []string
	requests []*request
	groups   map[string]*group // by groupKey
	methods  map[string][]*group
	cues     []*cue
	session  bool // an initialize was answered
}

// Server returns the name that the server has in the recording.
func (r *Recording) Server() string { return r.server }

// Notes returns what whoever replays a recording should know of it, a line each: what was chosen, what is missing.
func (r *Recording) Notes() []string { return r.notes }

// A group are the requests that are all the same to whoever matches them, in the order of the recording.
type group struct {
	params   value
	masked   bool // there are masks in params
	requests []*request
}

// A request is one of the host's, with what the server said to it.
type request struct {
	number int // 1, 2, ... in the recording
	method string
	group  *group
	id     jsonrpc.ID
	token  string // the JSON text of the progress token; empty: none

	steps         []*step // what the server said before it answered
	result, fault json.RawMessage
	after         []*step // what came by itself afterwards
	lost          string  // why it has no answer; empty: nothing is known
	status        int     // of HTTP; 0: none is known

	sent, answered time.Time
	began, ended   int // positions in the recording; without an answer ended is the largest int
	listens        bool
}

func (r *request) hasAnswer() bool { return r.lost == "" && (r.result != nil || r.fault != nil) }

// A step is something that the server says by itself.
type step struct {
	at       time.Time
	method   string
	params   json.RawMessage
	id       jsonrpc.ID // of a request; absent: it is a notification
	answered bool       // the host has answered it
	progress *request   // whose progress it is
	stream   *request   // the subscription that it belongs to
}

// A cue is a notification of the host, with what followed.
type cue struct {
	method string
	params value
	at     time.Time
	after  []*step
}

// A builder makes a Recording of events.
type builder struct {
	recording *Recording
	lines     map[int]*lineState
	position  int
}

// A lineState is what is known of a line in the middle of a recording.
type lineState struct {
	open      []*request // that are neither answered nor given up
	ids       map[jsonrpc.ID]*request
	exchanges map[int]*request
	tokens    map[string]*request
	asked     map[jsonrpc.ID]*step
	tail      *[]*step // where what comes by itself goes; nil: nothing was asked yet
	early     []*step  // what came before
}

func newBuilder() *builder {
	return &builder{
		recording: &Recording{groups: map[string]*group{}, methods: map[string][]*group{}},
		lines:     map[int]*lineState{},
	}
}

func (b *builder) line(number int) *lineState {
	l := b.lines[number]
	if l == nil {
		l = &lineState{
			ids: map[jsonrpc.ID]*request{}, exchanges: map[int]*request{}, tokens: map[string]*request{},
			asked: map[jsonrpc.ID]*step{},
		}
		b.lines[number] = l
	}
	return l
}

// add takes the next event.
func (b *builder) add(e *trace.Event) {
	b.position++
	l := b.line(e.Line)
	switch e.Kind { //nolint:exhaustive // the others say nothing of requests
	case trace.Sent, trace.Received:
		take := b.sent
		if e.Kind == trace.Received {
			take = b.received
		}
		if !jsonrpc.IsBatch(e.Message) {
			take(l, e, e.Message)
			return
		}
		_ = jsonrpc.SplitBatch(e.Message, func(message []byte) { take(l, e, message) }) // what follows a fault is lost
	case trace.Failed:
		if r := l.exchanges[e.Exchange]; r != nil {
			l.giveUp(r, "failed: "+e.Error)
		}
	case trace.HTTP:
		if r := l.exchanges[e.Exchange]; r != nil && e.HTTP != nil {
			r.status = e.HTTP.Status
		}
	}
}

func (b *builder) sent(l *lineState, e *trace.Event, text []byte) {
	m, err := jsonrpc.Parse(text)
	if err != nil {
		return
	}
	switch m.Kind {
	case jsonrpc.Request:
		b.request(l, e, m)
	case jsonrpc.Response:
		if s := l.asked[m.ID]; s != nil {
			s.answered = true
		}
	default:
		c := &cue{method: m.Method, params: cueParams(m), at: e.Time}
		b.recording.cues = append(b.recording.cues, c)
		l.tail = &c.after
		if id, ok := cancelled(m); ok && l.ids[id] != nil {
			l.giveUp(l.ids[id], "was cancelled")
		}
	}
}

// cueParams are what has to be the same in a notification of the host.
func cueParams(m jsonrpc.Message) value {
	if m.Method == mcp.NotificationCancelled || m.Method == mcp.NotificationProgress {
		return value{} // they name ids
	}
	return valueOf(m.Params).without("_meta")
}

// cancelled returns the id of the request that a notification gives up.
func cancelled(m jsonrpc.Message) (id jsonrpc.ID, ok bool) {
	if m.Method != mcp.NotificationCancelled {
		return id, false
	}
	id, err := jsonrpc.ParseID(memberOf(m.Params, "requestId"))
	return id, err == nil
}

func (b *builder) request(l *lineState, e *trace.Event, m jsonrpc.Message) {
	r := &request{
		number: len(b.recording.requests) + 1, method: m.Method, id: m.ID, sent: e.Time,
		token: string(metaOf(m.Params, mcp.MetaProgressToken)),
		began: b.position, ended: math.MaxInt,
		listens: m.Method == mcp.MethodListen,
	}
	b.recording.requests = append(b.recording.requests, r)
	b.recording.join(r, m.Params)
	r.steps, l.early = l.early, nil
	l.open = append(l.open, r)
	l.ids[m.ID] = r
	if e.Exchange != 0 {
		l.exchanges[e.Exchange] = r
	}
	if r.token != "" {
		l.tokens[r.token] = r
	}
}

// join puts a request beside those that are the same.
func (r *Recording) join(one *request, params json.RawMessage) {
	v := paramsOf(one.method, params)
	key := groupKey(one.method, v)
	g := r.groups[key]
	if g == nil {
		g = &group{params: v, masked: v.masked()}
		r.groups[key] = g
		r.methods[one.method] = append(r.methods[one.method], g)
	}
	g.requests = append(g.requests, one)
	one.group = g
}

func groupKey(method string, params value) string { return method + "\x00" + params.key() }

// paramsOf returns of params what counts: of a handshake nothing does, since each client introduces itself.
func paramsOf(method string, params json.RawMessage) value {
	switch method {
	case mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodPing:
		return value{}
	}
	return valueOf(params).without("_meta")
}

func (l *lineState) close(r *request) {
	for i, other := range l.open {
		if other == r {
			l.open = append(l.open[:i:i], l.open[i+1:]...)
			return
		}
	}
}

// giveUp marks a request that the host has stopped to wait for. An answer that comes too late is none.
func (l *lineState) giveUp(r *request, why string) {
	if r.hasAnswer() || r.lost != "" {
		return
	}
	r.lost = why
	l.close(r)
}

func (b *builder) received(l *lineState, e *trace.Event, text []byte) {
	m, err := jsonrpc.Parse(text)
	if err != nil {
		return
	}
	if m.Kind == jsonrpc.Response {
		b.answer(l, e, m)
		return
	}
	s := &step{at: e.Time, method: m.Method, params: m.Params, id: m.ID}
	if m.Kind == jsonrpc.Request {
		l.asked[m.ID] = s
	}
	*l.place(s, e.Exchange) = append(*l.place(s, e.Exchange), s)
	if s.method == mcp.NotificationSubscriptionsAcknowledged && s.stream != nil {
		l.tail = &s.stream.steps
	}
}

func (b *builder) answer(l *lineState, e *trace.Event, m jsonrpc.Message) {
	r := l.exchanges[e.Exchange]
	if e.Exchange == 0 || r == nil || r.id != m.ID {
		r = l.ids[m.ID]
	}
	if r == nil && m.ID.IsNull() {
		r = l.exchanges[e.Exchange] // a refusal of what the server could not read
	}
	if r == nil || r.lost != "" || r.hasAnswer() {
		return
	}
	r.result, r.fault, r.answered, r.ended = m.Result, m.Error, e.Time, b.position
	b.recording.session = b.recording.session || r.method == mcp.MethodInitialize && r.result != nil
	l.close(r)
	l.tail = &r.after
}

// place returns where something belongs that the server says by itself.
func (l *lineState) place(s *step, exchange int) *[]*step {
	if s.method == mcp.NotificationProgress {
		if r := l.tokens[string(memberOf(s.params, "progressToken"))]; r != nil {
			s.progress = r
			if r.hasAnswer() || r.lost != "" {
				return &r.after
			}
			return &r.steps
		}
	}
	if id, err := jsonrpc.ParseID(metaOf(s.params, mcp.MetaSubscriptionID)); err == nil {
		if r := l.ids[id]; r != nil && r.listens {
			s.stream = r
		}
	}
	if r := l.exchanges[exchange]; exchange != 0 && r != nil && r.listens {
		s.stream = r
	}
	if s.method == mcp.NotificationSubscriptionsAcknowledged && s.stream != nil {
		return &s.stream.steps
	}
	if r := l.exchanges[exchange]; exchange != 0 && r != nil && !r.listens && !r.hasAnswer() {
		return &r.steps
	}
	for _, r := range slices.Backward(l.open) {
		if !r.listens {
			return &r.steps
		}
	}
	switch {
	case l.tail != nil:
		return l.tail
	case s.stream != nil:
		return &s.stream.steps
	}
	return &l.early
}

// memberOf returns the value of an object's member; nil if it has none.
func memberOf(object json.RawMessage, name string) (found json.RawMessage) {
	_ = jsonscan.Members(object, func(n, v []byte) error { // what is no object has none
		if string(n) == name {
			found = v
		}
		return nil
	})
	return found
}

func metaOf(params json.RawMessage, name string) json.RawMessage {
	return memberOf(memberOf(params, "_meta"), name)
}
