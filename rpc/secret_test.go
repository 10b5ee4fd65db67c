package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// knowing is a carrier that knows a secret.
type knowing struct{ transport.Transport }

func (k knowing) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	conn, err := k.Transport.Open(ctx, r)
	return discreet{conn}, err
}

type discreet struct{ transport.Conn }

func (discreet) Mask(text string) string { return strings.ReplaceAll(text, "5ecret", "***") }

func TestSecretsThatTheCarrierKnowsAreMaskedInRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		carrier := knowing{transporttest.NewMemory(func(s *transporttest.Server) {
			id := next(t, s).ID
			writef(s, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"of no request: 5ecret"}}`)
			writef(s, `{"jsonrpc":"2.0","id":%s,"error":{"code":7,"message":"no 5ecret","data":{"a":["\u0035ecret", 1.0]}}}`, id)
			drain(s)
		})}
		p, err := rpc.Open(t.Context(), carrier, rpc.Options{Server: "demo", OnError: j.fail})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Request(t.Context(), "x", nil, rpc.RequestOptions{})
		refusal, ok := errors.AsType[*jsonrpc.Error](err)
		if !ok || refusal.Code != 7 || refusal.Message != "no ***" || string(refusal.Data) != `{"a":["***",1.0]}` {
			t.Errorf("got %+v", err)
		}
		synctest.Wait() // Close drops what nobody has been told of
		closePeer(t, p)
		wantLines(t, j, "error: the server reported an error for no request: MCP error 1: of no request: ***")
	})
}

// hasty is a carrier whose server speaks before it is open.
type hasty struct{ knowing }

func (h hasty) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	r.Receive(nil, json.RawMessage(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no 5ecret"}}`))
	return h.knowing.Open(ctx, r)
}

func TestWhatIsRefusedBeforeTheCarrierIsOpenIsMaskedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		p, err := rpc.Open(t.Context(), hasty{knowing{transporttest.NewMemory(drain)}}, rpc.Options{OnError: j.fail})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		closePeer(t, p)
		wantLines(t, j, "error: the server reported an error for no request: MCP error 1: no ***")
	})
}
