package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// A streaming carrier gives each exchange a stream of its own, on which exchange writes.
type streaming struct {
	transport.Transport
	exchange func(r transport.Receiver, call *transport.Call) error
}

type streamingConn struct {
	transport.Conn
	receiver transport.Receiver
	exchange func(r transport.Receiver, call *transport.Call) error
}

func (s streaming) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	conn, err := s.Transport.Open(ctx, r)
	return streamingConn{conn, r, s.exchange}, err
}

func (c streamingConn) Exchange(_ context.Context, call *transport.Call) error {
	call.Start("request", time.Second)
	err := c.exchange(c.receiver, call)
	if call.Stop() {
		return nil
	}
	return err
}

func openStreaming(
	t *testing.T, o rpc.Options, exchange func(r transport.Receiver, call *transport.Call) error,
) *rpc.Peer {
	t.Helper()
	p, err := rpc.Open(t.Context(), streaming{transporttest.NewMemory(drain), exchange}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnErrorWithoutAnIDOnARequestsOwnStreamIsItsAnswer(t *testing.T) {
	for _, id := range []string{``, `"id":null,`} {
		synctest.Test(t, func(t *testing.T) {
			var faults journal
			p := openStreaming(t, rpc.Options{OnError: faults.fail}, func(r transport.Receiver, call *transport.Call) error {
				r.Receive(call, []byte(`{"jsonrpc":"2.0",`+id+`"error":{"code":-32700,"message":"Parse error"}}`))
				return errors.New("it was not settled")
			})
			defer closePeer(t, p)
			_, err := p.Request(t.Context(), "x", nil, none)
			if refusal, ok := errors.AsType[*jsonrpc.Error](err); !ok || refusal.Code != jsonrpc.CodeParseError {
				t.Errorf("got %v", err)
			}
			synctest.Wait()
			wantLines(t, &faults, "")
		})
	}
}

func TestARequestOnOnesOwnStreamHoldsThatCallAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openStreaming(t, rpc.Options{OnRequest: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(time.Minute)
			return nil, nil
		}}, func(r transport.Receiver, call *transport.Call) error {
			if call.Envelope.Method == "asks" {
				r.Receive(call, []byte(`{"jsonrpc":"2.0","id":"a","method":"ask"}`))
			}
			<-call.Ended()
			return &transport.Error{Err: call.Err()}
		})
		start := time.Now()
		asks := make(chan time.Duration)
		go func() {
			_, _ = p.Request(t.Context(), "asks", nil, none)
			asks <- time.Since(start)
		}()
		_, err := p.Request(t.Context(), "other", nil, none)
		if took := time.Since(start); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the other call ended after %v: %v", took, err)
		}
		if took := <-asks; took != time.Minute+time.Second {
			t.Errorf("the call on whose behalf it asked ended after %v", took)
		}
		closePeer(t, p)
	})
}

func TestATimeoutIsNotTakenForTheCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openStreaming(t, rpc.Options{}, func(_ transport.Receiver, call *transport.Call) error {
			<-call.Ended()
			time.Sleep(time.Second) // meanwhile the caller's deadline passes too
			return &transport.Error{Op: "x", Err: call.Err()}
		})
		defer closePeer(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err := p.Request(ctx, "x", nil, none)
		if err == nil || err.Error() != "x: request timeout after 1000ms" {
			t.Errorf("got %v", err)
		}
	})
}
