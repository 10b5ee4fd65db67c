package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"mcpwire/internal/jsonscan"
	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport"
)

// receiver is the side of a Peer that the carrier sees. Nothing here blocks.
type receiver Peer

// keepFrom is the size in bytes from which a message's memory is kept rather than copied.
const keepFrom = 16 << 10

// Receive implements transport.Receiver.
func (r *receiver) Receive(call *transport.Call, msg []byte) transport.Verdict {
	p := (*Peer)(r)
	if !jsonrpc.IsBatch(msg) {
		return p.take(call, msg, len(msg) >= keepFrom)
	}
	verdict := transport.Malformed
	err := jsonrpc.SplitBatch(msg, func(element []byte) {
		if p.take(call, element, true) != transport.Malformed {
			verdict = transport.Kept
		}
	})
	if err != nil && verdict != transport.Malformed {
		p.report(fmt.Errorf("the rest of a batch is lost: %w", err))
	}
	return verdict
}

// take handles one message. If keep is set its memory is the peer's for good; otherwise what outlives it is copied.
func (p *Peer) take(call *transport.Call, msg []byte, keep bool) transport.Verdict {
	m, err := jsonrpc.Parse(msg)
	own := func(raw json.RawMessage) json.RawMessage {
		if keep || raw == nil {
			return raw
		}
		return append(json.RawMessage(nil), raw...)
	}
	switch m.Kind {
	case jsonrpc.Response:
		if m.Error != nil {
			p.settle(call, m.ID, nil, jsonrpc.ParseError(m.Error))
		} else {
			p.settle(call, m.ID, own(m.Result), nil)
		}
	case jsonrpc.Notification:
		p.notified(m.Method, own(m.Params))
	case jsonrpc.Request:
		p.asked(call, m.ID, m.Method, own(m.Params))
	default:
		if m.ID.IsAbsent() || m.Method != "" || foreign(m, err) || !p.broken(call, m.ID, err) {
			return transport.Malformed
		}
		return transport.Reuse
	}
	if keep {
		return transport.Kept
	}
	return transport.Reuse
}

// masked masks in an error what the carrier knows as secret: servers like to show what they were given. It is not for
// goroutines that read, since what comes with an error may be large, and the carrier must be known.
func (p *Peer) masked(err error) error {
	carrier, knows := p.conn.(transport.Masker)
	refusal, ok := err.(*jsonrpc.Error) //nolint:errorlint // nobody has wrapped it yet
	if !knows || !ok {
		return err
	}
	return &jsonrpc.Error{
		Code: refusal.Code, Message: carrier.Mask(refusal.Message), Data: redact.JSON(refusal.Data, carrier.Mask),
	}
}

// foreign reports whether an object that is no message has nothing of an answer but an id, as lines of logs may, or is
// a broken request of the server.
func foreign(m jsonrpc.Message, err error) bool {
	return errors.Is(err, jsonrpc.ErrMethod) || errors.Is(err, jsonrpc.ErrVersion) && m.Result == nil && m.Error == nil
}

// settle ends the request that an answer is for.
func (p *Peer) settle(call *transport.Call, id jsonrpc.ID, result json.RawMessage, err error) {
	p.mu.Lock()
	r := p.find(call, id, err != nil)
	if r == nil {
		known := p.knownLate(id)
		p.mu.Unlock()
		p.strayed(id, known, err)
		return
	}
	settled := p.finish(r, result, err)
	p.mu.Unlock()
	if !settled {
		p.strayed(id, true, err)
	}
}

// finish stores the outcome of r and wakes its caller. It reports false if r has given up, but has not been forgotten
// yet. The lock is held, so that a late answer can't meet a request that has just given up.
func (p *Peer) finish(r *pending, result json.RawMessage, err error) (settled bool) {
	r.result, r.err = result, err
	if r.progressed {
		flushed := make(chan struct{})
		r.flushed = flushed
		p.callbacks.push(job{run: func() { close(flushed) }, keep: true})
	}
	settled = r.call.Settle()
	if settled {
		delete(p.pending, r.id)
	}
	return settled
}

// find returns the open request that an answer with this id is for. A failure without an id on a request's own stream
// is that request's. An id that denotes the same integer exactly but is of another type is accepted. The lock is held.
func (p *Peer) find(call *transport.Call, id jsonrpc.ID, failure bool) *pending {
	if call != nil && failure && (id.IsNull() || id.IsAbsent()) {
		for _, r := range p.pending {
			if &r.call == call {
				return r
			}
		}
		return nil
	}
	n, ok := id.Integer()
	r := p.pending[n]
	if !ok || r == nil {
		return nil
	}
	if own := p.ownID(n); id != own && !p.warned {
		p.warned = true
		p.log.Warn("the server answers with an id of another type", "sent", own.String(), "answered", id.String())
	}
	return r
}

// A stray is the last answer that nobody had asked for, and how many there were.
type stray struct {
	id    jsonrpc.ID
	count int
}

// knownLate reports whether the id is that of a request that has given up, and otherwise remembers the id as stray.
// The lock is held.
func (p *Peer) knownLate(id jsonrpc.ID) bool {
	if n, ok := id.Integer(); ok && p.abandoned.has(n) {
		return true
	}
	p.stray = stray{id: id, count: p.stray.count + 1}
	return false
}

func (p *Peer) strayed(id jsonrpc.ID, late bool, err error) {
	switch {
	case late:
		p.log.Debug("a late answer is ignored", "id", id.String())
	case err != nil && (id.IsNull() || id.IsAbsent()):
		p.complained(err)
	default:
		p.log.Debug("an answer that nobody had asked for is ignored", "id", id.String())
	}
}

// broken fails the request that a malformed answer is for, if there is one.
func (p *Peer) broken(call *transport.Call, id jsonrpc.ID, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.find(call, id, true)
	if r == nil {
		return false
	}
	method := r.call.Envelope.Method
	p.finish(r, nil, &DecodeError{Server: p.options.Server, Method: method, Err: err})
	return true
}

// Oversize implements transport.Receiver: the request that the skipped message answers fails, if it can be told.
func (r *receiver) Oversize(call *transport.Call, head, tail []byte, size int64) {
	p := (*Peer)(r)
	tooLarge := fmt.Errorf("%w: %d bytes", transport.ErrTooLarge, size)
	p.mu.Lock()
	var found *pending
	if call != nil {
		found = p.find(call, jsonrpc.NullID, true)
	} else if id := idOfParts(head, tail); !id.IsAbsent() {
		found = p.find(nil, id, true)
	}
	if found == nil {
		p.mu.Unlock()
		p.report(fmt.Errorf("a message of the server was skipped: %w", tooLarge))
		return
	}
	p.finish(found, nil, &transport.Error{
		Op: found.call.Envelope.String(), Server: p.options.Server, Delivery: transport.Answered, Err: tooLarge,
	})
	p.mu.Unlock()
}

// lastID finds an id among the last members of a message. Nothing but the message's own closing brace may follow.
var lastID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2.0"\s*)?\}\s*$`)
})

// idOfParts returns the id of an answer of which only the first and last bytes are known.
func idOfParts(head, tail []byte) (id jsonrpc.ID) {
	request := false
	// The head breaks off in the middle of a member, so an error is what it ends with; a number may go on behind it.
	head = bytes.TrimRight(head, "0123456789")
	_ = jsonscan.Members(head, func(name, value []byte) error {
		switch string(name) {
		case "id":
			id, _ = jsonrpc.ParseID(value)
		case "method":
			request = true
		}
		return nil
	})
	if request {
		return jsonrpc.ID{}
	}
	if match := lastID().FindSubmatch(tail); id.IsAbsent() && match != nil {
		id, _ = jsonrpc.ParseID(match[1])
	}
	return id
}

// notified handles a notification.
func (p *Peer) notified(method string, params json.RawMessage) {
	switch method {
	case mcp.NotificationProgress:
		p.progressed(params)
		return
	case mcp.NotificationCancelled:
		p.cancelled(params)
		return
	}
	if f := p.options.OnNotification; f != nil {
		p.callbacks.push(job{size: len(params), run: func() { f(p.base, method, params) }})
	}
}

// progressed hands progress to the request whose token it bears.
func (p *Peer) progressed(params json.RawMessage) {
	n, ok := member(params, "progressToken").Integer()
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.pending[n]
	if !ok || r == nil {
		p.log.Debug("progress for no open request is ignored", "bytes", len(params))
		return
	}
	if r.extend {
		r.call.Touch()
	}
	if f := r.onProgress; f != nil {
		r.progressed = true
		p.callbacks.push(job{size: len(params), run: func() { f(params) }})
	}
}

// member returns the member of params that is an id of some kind.
func member(params json.RawMessage, want string) (id jsonrpc.ID) {
	// A notification whose params are malformed is about nothing.
	_ = jsonscan.Members(params, func(name, value []byte) error {
		if string(name) == want {
			id, _ = jsonrpc.ParseID(value)
		}
		return nil
	})
	return id
}

// Fault implements transport.Receiver.
func (r *receiver) Fault(err error) { (*Peer)(r).report(err) }

// Closed implements transport.Receiver.
func (r *receiver) Closed(err error) {
	p := (*Peer)(r)
	p.clocks.Close()
	if f := p.options.OnEnd; f != nil {
		f(err) // before callbacks see that their context is done, which may ask
	}
	p.end()
	p.callbacks.push(job{keep: true, run: func() {
		if f := p.options.OnClose; f != nil {
			f(err)
		}
	}})
	p.callbacks.seal()
}

// report hands an error that ends nothing to OnError.
func (p *Peer) report(err error) {
	p.log.Debug("fault", "error", err)
	if f := p.options.OnError; f != nil {
		p.callbacks.push(job{run: func() { f(err) }})
	}
}

// complained reports an error of the server that is for no request. It may come before the carrier is known, which
// knows what must be masked.
func (p *Peer) complained(err error) {
	f := p.options.OnError
	if f == nil {
		return
	}
	p.callbacks.push(job{run: func() {
		if p.carrier() != nil {
			f(fmt.Errorf("the server reported an error for no request: %w", p.masked(err)))
		}
	}})
}

// dropped reports notifications that were dropped.
func (p *Peer) dropped(n int) {
	if f := p.options.OnError; f != nil {
		f(fmt.Errorf("%d notifications were dropped: %w", n, ErrDropped))
	}
}

// unanswered reports answers that were dropped.
func (p *Peer) unanswered(n int) {
	p.report(fmt.Errorf("%d answers were dropped: the server does not read them", n))
}

// remembered is how many numbers a ring holds.
const remembered = 64

// A ring remembers the last few of the numbers added to it.
type ring struct {
	numbers []int64
	next    int // the oldest, once there are all
}

func (r *ring) add(n int64) {
	if len(r.numbers) < remembered {
		r.numbers = append(r.numbers, n)
		return
	}
	r.numbers[r.next] = n
	r.next = (r.next + 1) % remembered
}

func (r *ring) has(n int64) bool { return slices.Contains(r.numbers, n) }
