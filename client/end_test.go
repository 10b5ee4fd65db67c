package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// lingering is a carrier whose Send takes a second after the message was written.
type lingering struct{ transport.Transport }

type lingeringConn struct{ transport.Conn }

func (l lingering) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	conn, err := l.Transport.Open(ctx, r)
	return lingeringConn{conn}, err
}

func (c lingeringConn) Send(ctx context.Context, call *transport.Call) error {
	err := c.Conn.Send(ctx, call)
	time.Sleep(time.Second)
	return err
}

func TestALineThatEndsRightAfterTheHandshakeIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("exit status 2")
		var closed []error
		f := &fake{hook: func(s *transporttest.Server, text []byte) {
			if strings.Contains(string(text), "notifications/initialized") {
				s.End(reason)
			}
		}}
		carrier := lingering{transporttest.NewMemory(f.serve)}
		c, err := client.Connect(t.Context(), carrier, client.Options{
			OnClose: func(err error) { closed = append(closed, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		closeClient(t, c)
		if !errors.Is(c.Err(), reason) || len(closed) != 1 || !errors.Is(closed[0], reason) {
			t.Errorf("Err is %v, OnClose was told %v", c.Err(), closed)
		}
	})
}

func TestTheHostIsToldOfCloseAlsoWhenTheSessionWasLostBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed []error
		f := &fake{answers: map[string]func(jsonrpc.Message) string{"tools/call": silence}}
		f.hook = func(s *transporttest.Server, text []byte) {
			if strings.Contains(string(text), "tools/call") {
				s.End(transport.ErrSessionLost)
			}
		}
		c := connect(t, f, client.Options{OnClose: func(err error) { closed = append(closed, err) }})
		if _, err := c.CallTool(t.Context(), "x", nil, nil); !errors.Is(err, transport.ErrSessionLost) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if len(closed) != 0 || c.Err() != nil {
			t.Errorf("a lost session ended the client: %v, OnClose was told %v", c.Err(), closed)
		}
		closeClient(t, c)
		closeClient(t, c)
		_, err := c.CallTool(t.Context(), "x", nil, nil)
		if err == nil || !strings.HasSuffix(err.Error(), "; a new session could not be opened: transport closed") {
			t.Errorf("after Close: %v", err)
		}
		if len(closed) != 1 || closed[0] != nil {
			t.Errorf("OnClose was told %v", closed)
		}
	})
}

func TestAHostMayCloseWhenItHearsOfARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		serve := func(s *transporttest.Server) {
			connections++
			first := connections == 1
			f := &fake{answers: map[string]func(jsonrpc.Message) string{"tools/call": always(`{"content":[]}`)}}
			f.hook = func(s *transporttest.Server, text []byte) {
				if first && strings.Contains(string(text), "notifications/initialized") {
					s.End(transport.ErrSessionLost)
				}
			}
			f.serve(s)
		}
		var c *client.Client
		closed := make(chan error, 1)
		c, err := client.Connect(t.Context(), transporttest.NewMemory(serve), client.Options{
			OnRenewed: func(ctx context.Context) { closed <- c.Close(ctx) },
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, _ = c.CallTool(t.Context(), "x", nil, nil) // it may be answered before Close
		if err := <-closed; err != nil || connections != 2 {
			t.Errorf("after %d connections Close gave %v", connections, err)
		}
		closeClient(t, c)
	})
}
