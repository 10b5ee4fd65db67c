package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"mcpwire/internal/jsonscan"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport"
)

// RequestOptions configure one request. The zero value works.
type RequestOptions struct {
	// Timeout is how long to wait for the answer (0: the carrier's default, 30 s unless configured; negative: no limit).
	Timeout time.Duration
	// Limit is a total that nothing extends (0: 10 min, but never less than Timeout; negative: none).
	Limit time.Duration
	// Extend restarts Timeout at each progress notification (2025-11-25, lifecycle, timeouts). It asks for progress.
	Extend bool
	// OnProgress gets the params of the request's progress notifications, in order with Options.OnNotification. If set
	// the request asks for progress. All that came before the answer have been handled when Request returns, unless
	// Request was called with a callback's context, or they take more than a second.
	OnProgress func(params json.RawMessage)
	// Meta is an object whose members go into the params' _meta; may be nil.
	Meta json.RawMessage
	// Name is what the request is about: the tool's or prompt's name, the resource's URI. Carriers and errors show it.
	Name string
	// Revision is set for a request that describes itself; Headers are what carriers show of it then. See
	// transport.Envelope.
	Revision string
	Headers  []transport.Header
	// Stream is set for a request whose answer is a stream of notifications that the server may end by cancelling the
	// request (2026-07-28, subscriptions): Request then returns ErrEnded. It is told the request's id before it is sent.
	Stream func(id jsonrpc.ID)
	// ID, if set, gets the request's id before the request is sent.
	ID *jsonrpc.ID
	// NoCancel keeps the request from being cancelled on the wire when it ends unanswered.
	NoCancel bool
}

// limit is the total of a request. The default must not cut short a timeout that somebody has asked for.
func (o *RequestOptions) limit() time.Duration {
	switch {
	case o.Limit != 0:
		return o.Limit
	case o.Timeout < 0:
		return -1
	}
	return max(o.Timeout, transport.DefaultLimit)
}

// pending is a request that waits for its answer. The peer's lock guards all but call and note.
type pending struct {
	call       transport.Call
	note       [noteSize]byte // the call's Abandon
	id         int64
	onProgress func(params json.RawMessage)
	extend     bool
	stream     bool
	progressed bool
	flushed    chan struct{} // closed when all progress has been handled; set when the answer has come, if there was any

	result json.RawMessage
	err    error
}

// noteSize is what a cancel note takes, with an id of any length, in bytes.
const noteSize = 112

// spare are requests of any peer that are over, for later ones.
var spare sync.Pool

// retire takes back a request that was settled. The lock is not held, but has been taken since: whoever settled it is
// done with it. One that others may still use is left to them.
func (r *pending) retire() {
	if !r.call.Renew() {
		return
	}
	r.id, r.onProgress, r.extend, r.stream, r.progressed = 0, nil, false, false, false
	r.flushed, r.result, r.err = nil, nil, nil
	spare.Put(r)
}

// Request sends a request and waits for its answer, on the caller's goroutine. Params are one JSON object without
// _meta, or empty. The errors are: a *jsonrpc.Error when the server refused; a *DecodeError when its answer was no
// message; context.Cause(ctx) itself when the caller ended it; otherwise a *transport.Error, which says whether the
// server may have got the request, and wraps a *transport.TimeoutError, transport.ErrClosed or transport.ErrTooLarge.
// When a request that was sent ends unanswered, the server is told (2025-11-25, cancellation).
func (p *Peer) Request(
	ctx context.Context, method string, params json.RawMessage, o RequestOptions,
) (json.RawMessage, error) {
	if err := checkParams(method, params); err != nil {
		return nil, err
	}
	if len(o.Meta) > 0 {
		if err := checkParams("_meta of "+method, o.Meta); err != nil {
			return nil, err
		}
	}
	r, ok := spare.Get().(*pending)
	if !ok {
		r = &pending{}
	}
	r.onProgress, r.extend, r.stream = o.OnProgress, o.Extend, o.Stream != nil
	r.call.Timeout, r.call.Limit = o.Timeout, o.limit()
	r.call.Envelope = transport.Envelope{Method: method, Name: o.Name, Revision: o.Revision, Headers: o.Headers}
	r.call.Clocks = &p.clocks

	p.mu.Lock()
	p.lastID++
	r.id = p.lastID
	strays := p.stray.count
	p.pending[r.id] = r
	p.mu.Unlock()

	if o.ID != nil {
		*o.ID = p.ownID(r.id)
	}
	if o.Stream != nil {
		o.Stream(p.ownID(r.id))
	}
	p.encode(r, method, params, o)
	err := p.conn.Exchange(ctx, &r.call)
	if err == nil {
		p.mu.Lock() // whoever has settled the call may not be done with it
		result, refusal, flushed := r.result, r.err, r.flushed
		p.mu.Unlock()
		r.retire()
		p.flush(ctx, flushed)
		return result, p.masked(refusal)
	}
	p.mu.Lock()
	delete(p.pending, r.id)
	p.abandoned.add(r.id)
	seen := p.stray
	p.mu.Unlock()
	return nil, p.explain(callerEnded(ctx, err), r, seen, strays)
}

// encode writes the request, and its cancel note into memory that is used again: carriers let go of it when the call is
// settled.
func (p *Peer) encode(r *pending, method string, params json.RawMessage, o RequestOptions) {
	id := p.ownID(r.id)
	var digits [24]byte
	own := id.Append(digits[:0])
	const frame, metaFrame = 45, 28 // what the request has around its parts in bytes, and _meta
	size := frame + len(own) + len(method) + len(params)
	token := o.OnProgress != nil || o.Extend
	described := token || len(o.Meta) > 0
	if described {
		size += metaFrame + len(o.Meta) + len(own)
	}
	buf := make([]byte, 0, size)
	if described {
		buf = jsonrpc.AppendRequest(buf, id, method, nil)
		buf = append(buf[:len(buf)-1], `,"params":`...) // without the closing brace
		buf = append(appendWithMeta(buf, params, o.Meta, own, token), '}')
	} else {
		buf = jsonrpc.AppendRequest(buf, id, method, params)
	}
	r.call.Body = buf
	if !o.NoCancel {
		var note [64]byte
		about := append(append(append(note[:0], `{"requestId":`...), own...), '}')
		r.call.Abandon = jsonrpc.AppendNotification(r.note[:0], mcp.NotificationCancelled, about)
	}
}

// ownID returns the id of request n as it stands on the wire; the request's progress token is the same.
func (p *Peer) ownID(n int64) jsonrpc.ID {
	if p.options.StringIDs {
		return jsonrpc.StringID(strconv.FormatInt(n, 10))
	}
	return jsonrpc.IntID(n)
}

// appendWithMeta appends params with _meta put first: the members of meta, and the progress token if it is wanted.
func appendWithMeta(buf, params, meta, token []byte, wanted bool) []byte {
	buf = append(buf, `{"_meta":{`...)
	extra := members(meta)
	buf = append(buf, extra...)
	if wanted {
		if len(extra) > 0 {
			buf = append(buf, ',')
		}
		buf = append(append(buf, `"progressToken":`...), token...)
	}
	buf = append(buf, '}')
	if rest := members(params); len(rest) > 0 {
		buf = append(append(buf, ','), rest...)
	}
	return append(buf, '}')
}

// members returns what stands between the braces of an object, without white space around it.
func members(object json.RawMessage) []byte {
	inner := bytes.TrimSpace(object)
	if len(inner) == 0 {
		return nil
	}
	return bytes.TrimSpace(inner[1 : len(inner)-1])
}

// flush waits until the progress that came before the answer has been handled.
func (p *Peer) flush(ctx context.Context, flushed <-chan struct{}) {
	if flushed == nil || ctx.Value(callbackKey{}) == p {
		return
	}
	select {
	case <-flushed:
	case <-ctx.Done():
	case <-time.After(closeGrace):
	}
}

// checkParams refuses params that would make the message malformed.
func checkParams(what string, params json.RawMessage) error {
	if len(params) == 0 {
		return nil
	}
	if i := jsonscan.Space(params, 0); i == len(params) || params[i] != '{' || !jsonscan.Valid(params) {
		return fmt.Errorf("params of %s: not a JSON object", what)
	}
	return nil
}

// callerEnded returns the cause of ctx itself where that is what ended the call, and err otherwise.
func callerEnded(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	var timeout *transport.TimeoutError
	// A timeout of ours is a deadline exceeded too, and may not be taken for the caller's.
	ours := errors.As(err, &timeout) && error(timeout) != cause //nolint:errorlint // identity is meant
	if ours || !errors.Is(err, cause) {
		return err
	}
	return cause
}

// explain adds to a failure of the carrier what only the conversation knows.
func (p *Peer) explain(err error, r *pending, seen stray, before int) error {
	carriage, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return err
	}
	if malformed, ok := errors.AsType[*transport.MalformedError](err); ok {
		return &DecodeError{Server: p.options.Server, Method: r.call.Envelope.Method, Err: malformed}
	}
	id := p.ownID(r.id).String()
	explained := *carriage
	if missing, ok := errors.AsType[*transport.NoResponseError](err); ok {
		explained.Err = &transport.NoResponseError{ID: id, Err: missing.Err}
		return &explained
	}
	if _, ok := errors.AsType[*transport.TimeoutError](err); ok && seen.count > before {
		// A server that gets ids wrong is hard to see otherwise.
		explained.Err = fmt.Errorf("%w (meanwhile the server answered id %s; this request was id %s)",
			carriage.Err, seen.id, id)
		return &explained
	}
	return err
}
