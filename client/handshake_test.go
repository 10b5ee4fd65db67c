package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// noting is a carrier that notes for each method whether its exchange is to be cancelled on the wire.
type noting struct {
	transport.Transport
	cancelled map[string]bool
}

type notingConn struct {
	transport.Conn
	cancelled map[string]bool
}

func (n noting) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	conn, err := n.Transport.Open(ctx, r)
	return notingConn{conn, n.cancelled}, err
}

func (c notingConn) Exchange(ctx context.Context, call *transport.Call) error {
	c.cancelled[call.Envelope.Method] = len(call.Abandon) > 0
	return c.Conn.Exchange(ctx, call)
}

func TestTheHandshakeIsNeverCancelledOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"initialize": silence}}
		carrier := noting{transporttest.NewMemory(f.serve), map[string]bool{}}
		_, err := client.Connect(t.Context(), carrier, client.Options{ConnectTimeout: time.Second})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if cancelled, asked := carrier.cancelled["initialize"]; cancelled || !asked {
			t.Errorf("to be cancelled: %v", carrier.cancelled)
		}
	})
}

func TestACallerWhoHasGivenUpBeforeConnectGetsTheirOwnError(t *testing.T) {
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	_, err := client.Connect(ctx, transporttest.NewMemory((&fake{}).serve), client.Options{})
	if err != stop { //nolint:errorlint // it itself is promised
		t.Errorf("got %#v", err)
	}
}

func TestOnlyTheConnectTimeoutBoundsTheHandshake(t *testing.T) {
	for _, row := range []struct{ timeout, answer time.Duration }{
		{0, 50 * time.Second}, // the default is a minute
		{-1, 20 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: map[string]func(jsonrpc.Message) string{"initialize": func(m jsonrpc.Message) string {
				time.Sleep(row.answer)
				return result(m, initialized)
			}}}
			c := connect(t, f, client.Options{ConnectTimeout: row.timeout, Timeout: time.Second})
			closeClient(t, c)
		})
	}
}
