package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mcpwire/internal/jsonscan"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// inbound is a request of the server that is being served.
type inbound struct {
	cancel context.CancelCauseFunc
}

type requestKey struct{}

// RequestID returns the id of the server's request that OnRequest was called for with ctx; absent where there is none.
func RequestID(ctx context.Context) jsonrpc.ID {
	id, _ := ctx.Value(requestKey{}).(jsonrpc.ID)
	return id
}

// asked handles a request of the server that came on call's own stream, or on a shared channel.
func (p *Peer) asked(call *transport.Call, id jsonrpc.ID, method string, params json.RawMessage) {
	if result, ok := p.options.Instant[method]; ok {
		p.answerLater(jsonrpc.AppendResult(nil, id, result))
		return
	}
	if p.options.OnRequest == nil {
		p.refuse(id, jsonrpc.CodeMethodNotFound, "Method not found: "+method)
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(p.base, requestKey{}, id))
	in := &inbound{cancel: cancel}
	p.mu.Lock()
	busy := len(p.inbound) >= p.options.Serving
	_, twice := p.inbound[id]
	gone := p.base.Err() != nil
	if busy || twice || gone {
		p.mu.Unlock()
		cancel(nil)
		switch {
		case gone:
		case twice:
			p.refuse(id, jsonrpc.CodeInvalidRequest, "a request with this id is already open")
		default:
			p.refuse(id, jsonrpc.CodeInternalError, "too many open requests")
		}
		return
	}
	if p.inbound == nil {
		p.inbound = make(map[jsonrpc.ID]*inbound)
	}
	p.inbound[id] = in
	held := p.hold(call)
	p.serving.Add(1)
	p.mu.Unlock()
	go func() {
		defer p.serving.Done()
		p.serve(ctx, id, method, params)
		cancel(nil)
		for _, c := range held {
			c.Release()
		}
	}()
}

// hold stops the idle clocks of the calls on whose behalf the server may be asking: the one on whose stream it asks,
// or all that are open. The lock is held.
func (p *Peer) hold(call *transport.Call) (held []*transport.Call) {
	if call != nil {
		call.Hold()
		return []*transport.Call{call}
	}
	for _, r := range p.pending {
		r.call.Hold()
		held = append(held, &r.call)
	}
	return held
}

// serve has one request of the server answered.
func (p *Peer) serve(ctx context.Context, id jsonrpc.ID, method string, params json.RawMessage) {
	result, err := p.options.OnRequest(ctx, method, params)
	if err == nil && len(result) > 0 && !jsonscan.Valid(result) {
		err = errors.New("the result is not valid JSON")
	}
	p.mu.Lock()
	delete(p.inbound, id)
	p.mu.Unlock()
	conn := p.carrier()
	if conn == nil || ctx.Err() != nil || errors.Is(err, ErrNoAnswer) {
		return // the server has cancelled it, or is gone
	}
	body := jsonrpc.AppendResult(nil, id, result)
	if err != nil {
		body = jsonrpc.AppendError(nil, id, refusal(err))
	}
	if err := conn.Send(ctx, &transport.Call{Body: body}); err != nil && ctx.Err() == nil {
		p.report(fmt.Errorf("the answer to the server's %s could not be sent: %w", method, err))
	}
}

// refusal is the error as the server gets it.
func refusal(err error) *jsonrpc.Error {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return &jsonrpc.Error{Code: r.Code, Message: r.Message, Data: r.Data}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

func (p *Peer) refuse(id jsonrpc.ID, code int64, message string) {
	p.answerLater(jsonrpc.AppendError(nil, id, &jsonrpc.Error{Code: code, Message: message}))
}

// answerLater sends an answer from the answers' own lane, since the goroutine that reads must never wait for a write.
func (p *Peer) answerLater(body []byte) {
	p.answers.push(job{size: len(body), run: func() {
		conn := p.carrier()
		if conn == nil {
			return
		}
		if err := conn.Send(p.base, &transport.Call{Body: body}); err != nil && p.base.Err() == nil {
			p.report(fmt.Errorf("an answer to the server could not be sent: %w", err))
		}
	}})
}

// cancelled ends the request of the server that it has cancelled, or the stream of ours.
func (p *Peer) cancelled(params json.RawMessage) {
	id := member(params, "requestId")
	p.mu.Lock()
	defer p.mu.Unlock()
	if in := p.inbound[id]; in != nil {
		in.cancel(errCancelledByServer)
	} else if r := p.find(nil, id, true); r != nil && r.stream {
		p.finish(r, nil, ErrEnded)
	}
}
