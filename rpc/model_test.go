package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// servingLimit is how many requests of the server are served at once.
const servingLimit = 3

// A model is what a conversation must show: it knows no carrier, no goroutines and no timers.
type model struct {
	requests []*request
	servings []*serving
	inbound  map[string]*serving // those that are open, by the id as it stands on the wire
	serial   int                 // of what the server writes
	isDeaf   bool                // the server reads no more, and asks nothing either
	over     bool                // the connection has ended

	wantTold []string // what callbacks must be told
	wantWire []string // what the server must read, but for requests
}

// A request is one of the host's: what the model says of it, and what has come of it.
type request struct {
	id                       int64
	idle, limit              time.Duration // <=0: none
	extend, stream, noCancel bool
	progress                 bool // somebody wants to be told of it
	idleAt, limitAt          time.Time
	callerAt                 time.Time // zero: none
	held                     int
	want                     string // how it ended; empty: it is open
	wantTold                 []string

	cancel   context.CancelCauseFunc
	told     journal
	streamID int64
	ends     chan reply // what Request has returned
	returned bool
	got      reply
}

// A serving is a request of the server that OnRequest has got.
type serving struct {
	id    string
	held  []*request
	reply chan reply
}

type reply struct {
	result json.RawMessage
	err    error
}

// last returns the number of the newest request.
func (m *model) last() int64 { return int64(len(m.requests)) }

// pick returns a request; nil if there is none.
func (m *model) pick(b byte) *request {
	if len(m.requests) == 0 {
		return nil
	}
	return m.requests[int(b)%len(m.requests)]
}

// open returns the open request of that number; nil if there is none.
func (m *model) open(n int64) *request {
	if n < 1 || n > m.last() || m.requests[n-1].want != "" {
		return nil
	}
	return m.requests[n-1]
}

// begin enters a request.
func (m *model) begin(o rpc.RequestOptions, progress, stream bool) *request {
	r := &request{
		id: m.last() + 1, idle: o.Timeout, limit: o.Limit,
		ends: make(chan reply, 1), extend: o.Extend, noCancel: o.NoCancel, progress: progress, stream: stream,
	}
	if r.idle == 0 {
		r.idle = transport.DefaultTimeout
	}
	switch {
	case r.limit == 0 && r.idle < 0:
		r.limit = -1
	case r.limit == 0:
		r.limit = transport.DefaultLimit
	}
	r.idleAt, r.limitAt = time.Now().Add(r.idle), time.Now().Add(r.limit)
	m.requests = append(m.requests, r)
	if m.over {
		r.want = "closed"
	}
	return r
}

// end ends a request; nil stands for one that is not open.
func (m *model) end(r *request, how string) {
	if r != nil && r.want == "" && !m.over {
		r.want = how
	}
}

// refused ends a request whose caller had given up before it began.
func (m *model) refused(r *request) { r.want = "cancelled" }

// gaveUp ends a request that the host gives up, of which the server is told.
func (m *model) gaveUp(r *request, how string) {
	if r.want != "" {
		return
	}
	r.want = how
	if !r.noCancel {
		m.sent(fmt.Sprintf("cancelled %d", r.id))
	}
}

// sent enters what the server gets to read.
func (m *model) sent(what string) { m.wantWire = append(m.wantWire, what) }

// tell enters what callbacks are told.
func (m *model) tell(what string) {
	if !m.over {
		m.wantTold = append(m.wantTold, what)
	}
}

func (m *model) progressed(r *request, params string) {
	if m.over {
		return
	}
	if r.extend {
		r.idleAt = time.Now().Add(r.idle)
	}
	if r.progress {
		r.wantTold = append(r.wantTold, params)
	}
}

// asks enters a request of the server.
func (m *model) asks(id, method string) {
	switch {
	case m.over:
	case method == "instant":
		m.sent("answer " + id + ` {"at":"once"}`)
	case m.inbound[id] != nil:
		m.sent("answer " + id + " error -32600")
	case len(m.inbound) == servingLimit:
		m.sent("answer " + id + " error -32603")
	default:
		s := &serving{id: id, reply: make(chan reply, 1)}
		for _, r := range m.requests {
			if r.want == "" {
				r.held++
				s.held = append(s.held, r)
			}
		}
		m.inbound[id] = s
		m.servings = append(m.servings, s)
	}
}

// served ends a serving. An empty answer is none.
func (m *model) served(s *serving, answer string) {
	delete(m.inbound, s.id)
	if answer != "" {
		m.sent("answer " + s.id + " " + answer)
	}
	for _, r := range s.held {
		if r.held--; r.held == 0 {
			r.idleAt = time.Now().Add(r.idle)
		}
	}
}

// passed ends the requests whose time has run out, in the order in which it did.
func (m *model) passed(now time.Time) {
	type ending struct {
		r   *request
		at  time.Time
		how string
	}
	var endings []ending
	for _, r := range m.requests {
		if r.want != "" {
			continue
		}
		var first *ending
		clock := func(at time.Time, how string) {
			if !at.After(now) && (first == nil || at.Before(first.at)) {
				first = &ending{r, at, how}
			}
		}
		if r.limit > 0 {
			clock(r.limitAt, "timeout "+r.limit.String())
		}
		if r.idle > 0 && r.held == 0 {
			clock(r.idleAt, "timeout "+r.idle.String())
		}
		if !r.callerAt.IsZero() {
			clock(r.callerAt, "deadline")
		}
		if first != nil {
			endings = append(endings, *first)
		}
	}
	slices.SortStableFunc(endings, func(a, b ending) int { return a.at.Compare(b.at) })
	for _, e := range endings {
		m.gaveUp(e.r, e.how)
	}
}

// ended ends the connection, and all that is open.
func (m *model) ended(byHost bool) {
	if m.over {
		return
	}
	for _, r := range m.requests {
		m.end(r, "closed")
	}
	m.tell(fmt.Sprintf("end %t", byHost))
	m.tell(fmt.Sprintf("closed %t", byHost))
	m.over = true
	clear(m.inbound)
}

// check compares what shows with the model.
func (c *conversation) check() {
	for _, r := range c.requests {
		select {
		case r.got = <-r.ends:
			r.returned = true
		default:
		}
		got := ""
		if r.returned {
			got = outcome(r.got)
		}
		if got != r.want {
			c.fail("request %d ended with %q, want %q", r.id, got, r.want)
		}
		if told := r.told.String(); told != strings.Join(r.wantTold, "\n") {
			c.fail("request %d was told %q, want %q", r.id, told, r.wantTold)
		}
		if r.stream && r.streamID != r.id {
			c.fail("stream %d was told the id %d", r.id, r.streamID)
		}
	}
	if told := c.told.String(); told != strings.Join(c.wantTold, "\n") {
		c.fail("the callbacks were told %q, want %q", told, c.wantTold)
	}
	missing, excess := compare(c.wire.String(), strings.Join(c.wantWire, "\n"))
	if len(excess) > 0 || len(missing) > 0 && !c.isDeaf {
		c.fail("the server has not read %q, and has read %q", missing, excess)
	}
	if c.peer.Connected() == c.over {
		c.fail("connected is %t", !c.over)
	}
}

// compare returns the lines that are in one of the texts only. Their order is left open: what ends at the same time is
// told in any order.
func compare(got, want string) (missing, excess []string) {
	count := map[string]int{}
	for line := range strings.SplitSeq(want, "\n") {
		count[line]++
	}
	for line := range strings.SplitSeq(got, "\n") {
		if count[line]--; count[line] < 0 && line != "" {
			excess = append(excess, line)
		}
	}
	for line, n := range count {
		if n > 0 && line != "" {
			missing = append(missing, line)
		}
	}
	return missing, excess
}

func (c *conversation) fail(format string, args ...any) {
	c.t.Errorf("%s\nafter\n%s", fmt.Sprintf(format, args...), strings.Join(c.done, "\n"))
}

// outcome tells how a request ended in the words of the model.
func outcome(r reply) string {
	var refusal *jsonrpc.Error
	var undecodable *rpc.DecodeError
	var timeout *transport.TimeoutError
	switch err := r.err; {
	case err == nil:
		return "result " + string(r.result)
	case err == errGaveUp: //nolint:errorlint // the cause itself is promised
		return "cancelled"
	case err == context.DeadlineExceeded: //nolint:errorlint // the cause itself is promised
		return "deadline"
	case errors.As(err, &refusal):
		return fmt.Sprintf("refused %d", refusal.Code)
	case errors.As(err, &undecodable):
		return "undecodable"
	case errors.As(err, &timeout):
		return "timeout " + timeout.After.String()
	case errors.Is(err, rpc.ErrEnded):
		return "ended"
	case errors.Is(err, transport.ErrTooLarge):
		return "too large"
	case errors.Is(err, transport.ErrClosed):
		return "closed"
	default:
		return err.Error()
	}
}

// checkDelivery compares what errors say of delivery with what the server has read, when all has ended.
func (c *conversation) checkDelivery() {
	read := strings.Split(c.asked.String(), "\n")
	seen := map[string]bool{}
	for _, id := range read {
		if seen[id] && id != "" {
			c.fail("request %s was sent twice", id)
		}
		seen[id] = true
	}
	for _, r := range c.requests {
		if carriage, ok := errors.AsType[*transport.Error](r.got.err); ok && carriage.Delivery != transport.Answered {
			if got := seen[fmt.Sprint(r.id)]; got != (carriage.Delivery == transport.MaybeDelivered) {
				c.fail("request %d was %v, and the server has read it: %t", r.id, carriage.Delivery, got)
			}
		}
	}
	wire := strings.Split(c.wire.String(), "\n")
	for _, n := range c.notes {
		if got, err := slices.Contains(wire, n.name), <-n.ends; got != (err == nil) {
			c.fail("%s ended with %v, and the server has read it: %t", n.name, err, got)
		}
	}
}

// idNumber returns the number that an id stands for.
func idNumber(text string) int64 {
	id, _ := jsonrpc.ParseID([]byte(text))
	n, _ := id.Integer()
	return n
}
