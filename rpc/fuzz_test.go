package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport/transporttest"
)

// FuzzPeerAgainstAModel takes its input for a list of what a host, a server and time do to a conversation, one after
// the other, and compares all that shows with a model after each: every request ends exactly once, when and how the
// model says; every request of the server is answered once or, where it was cancelled, never; callbacks are told
// everything in order; a result never changes; and no goroutine is left.
func FuzzPeerAgainstAModel(f *testing.F) {
	for _, seed := range []string{
		"\x00" + "\x00\x00\x00" + "\x03\x01\x00\x00",                                  // a request and its answer
		"\x01" + "\x00\x01\x00" + "\x0e\x02" + "\x03\x01\x00\x00",                     // a timeout and a late answer
		"\x00" + "\x00\x00\x00" + "\x02\x01" + "\x03\x01\x00\x00",                     // a cancellation and a late answer
		"\x00" + "\x00\x01\x03" + "\x0e\x01\x06\x01\x00" + "\x0e\x01\x03\x01\x00\x05", // progress that extends
		"\x00" + "\x00\x01\x00" + "\x08\x01\x01\x0e\x03" + "\x09\x00\x00\x0e\x03",     // a served request stops the clock
		"\x00" + "\x08\x01\x01\x08\x01\x01\x0a\x01\x00" + "\x08\x01\x01\x09\x02\x01",  // an id used again
		"\x01" + "\x00\x00\x04" + "\x0a\x01\x01",                                      // a stream that the server ends
		"\x00" + "\x11" + "\x00\x01\x00\x0d\x00\x01\x00" + "\x0e\x05\x13",             // a server that reads no more
		"\x00" + "\x00\x00\x10\x00\x00\x20\x0e\x03" + "\x03\x02\x02\x01",              // callers without time
		"\x00" + "\x00\x00\x00\x0b\x01\x0c\x01\x03\x00\x0f\x01\x01\x10\x07\x12",       // noise, a batch, oversize, a fault
		"\x00" + "\x08\x01\x01\x08\x02\x01\x08\x03\x01\x08\x04\x01\x08\x05\x00\x12",   // more than can be served
		"\x00" + "\x00\x00\x08" + "\x02\x01",                                          // no cancel note is wanted
		"\x00" + "\x00\x00\x00" + "\x0a\x01\x00",                                      // not the server's to cancel
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		synctest.Test(t, func(t *testing.T) {
			c := newConversation(t, in)
			for range 200 {
				if len(c.in) == 0 || t.Failed() {
					break
				}
				c.step()
				synctest.Wait()
				c.check()
			}
			c.closeHost()
			synctest.Wait()
			c.check()
			c.checkDelivery()
		})
	})
}

// A conversation is a peer, its server, and the model of both. All but the callbacks and the reader run on the test's
// goroutine, which lets everything come to rest after each step.
type conversation struct {
	model
	t      *testing.T
	in     []byte // what is still to be done
	done   []string
	peer   *rpc.Peer
	server *transporttest.Server
	deafen chan struct{} // closed when the server is to read no more

	told  journal // what callbacks were told
	wire  journal // what the server has read, but for requests
	asked journal // the ids of the requests that the server has read
	notes []*notification
}

// A notification is one of ours.
type notification struct {
	name string
	ends chan error
}

func newConversation(t *testing.T, in []byte) *conversation {
	t.Helper()
	c := &conversation{t: t, in: in, deafen: make(chan struct{})}
	c.inbound = map[string]*serving{}
	servers := make(chan *transporttest.Server, 1)
	o := rpc.Options{
		StringIDs:      c.next()%2 == 1,
		Serving:        servingLimit,
		Instant:        map[string]json.RawMessage{"instant": json.RawMessage(`{"at":"once"}`)},
		OnNotification: func(_ context.Context, method string, _ json.RawMessage) { c.told.add("%s", method) },
		OnRequest:      c.serve,
		OnError:        func(error) { c.told.add("error") },
		OnEnd:          func(err error) { c.told.add("end %t", err == nil) },
		OnClose:        func(err error) { c.told.add("closed %t", err == nil) },
	}
	c.peer = open(t, func(s *transporttest.Server) {
		servers <- s
		c.read(s)
		<-s.Done()
	}, o)
	c.server = <-servers
	return c
}

// read notes what the host sends, until the server is deaf, and one message more.
func (c *conversation) read(s *transporttest.Server) {
	for {
		text, ok := s.Read()
		if !ok {
			return
		}
		m, err := jsonrpc.Parse(text)
		switch {
		case err != nil:
			c.wire.add("malformed: %s", text)
		case m.Kind == jsonrpc.Request:
			n, _ := m.ID.Integer()
			c.asked.add("%d", n)
		case m.Kind == jsonrpc.Notification && m.Method == "notifications/cancelled":
			id := strings.TrimSuffix(strings.TrimPrefix(string(m.Params), `{"requestId":`), "}")
			c.wire.add("cancelled %s", strings.Trim(id, `"`))
		case m.Kind == jsonrpc.Notification:
			c.wire.add("%s", m.Method)
		case m.Error != nil:
			c.wire.add("answer %s error %d", m.ID, jsonrpc.ParseError(m.Error).Code)
		default:
			c.wire.add("answer %s %s", m.ID, m.Result)
		}
		select {
		case <-c.deafen:
			return
		default:
		}
	}
}

// serve is OnRequest. The params are the number of the serving; it waits for what the step finish says.
func (c *conversation) serve(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	var n int
	if _, err := fmt.Sscanf(string(params), "[%d]", &n); err != nil {
		return nil, err
	}
	select {
	case reply := <-c.servings[n].reply:
		return reply.result, reply.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// next takes a byte of the input; 0 at its end.
func (c *conversation) next() byte {
	if len(c.in) == 0 {
		return 0
	}
	b := c.in[0]
	c.in = c.in[1:]
	return b
}

// did notes a step, for the report of a failure.
func (c *conversation) did(format string, args ...any) {
	c.done = append(c.done, fmt.Sprintf(format, args...))
}

// step does what the next bytes say. The first of them chooses; what is frequent stands more than once.
func (c *conversation) step() {
	steps := []func(){
		c.request, c.request, c.cancel, c.answer, c.answer, c.answer, c.progress, c.notifyHost, c.ask, c.finish,
		c.cancelByServer, c.noise, c.batch, c.notify, c.pass, c.oversize, c.fault, c.deaf, c.endByServer, c.closeHost,
	}
	steps[int(c.next())%len(steps)]()
}

var errGaveUp = errors.New("the caller gave up")

// request starts a request.
func (c *conversation) request() {
	clocks, flags := c.next(), c.next()
	o := rpc.RequestOptions{
		Timeout:  []time.Duration{0, 200 * time.Millisecond, time.Second, 5 * time.Second, -1}[clocks%5],
		Limit:    []time.Duration{0, 2 * time.Second, -1}[clocks/5%3],
		Extend:   flags&1 != 0,
		NoCancel: flags&8 != 0,
	}
	r := c.begin(o, flags&2 != 0, flags&4 != 0)
	if flags&2 != 0 {
		o.OnProgress = func(params json.RawMessage) { r.told.add("%s", params) }
	}
	if flags&4 != 0 {
		o.Stream = func(id jsonrpc.ID) { r.streamID, _ = id.Integer() }
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel = cancel
	switch flags >> 4 % 4 {
	case 1:
		cancel(errGaveUp)
		c.refused(r)
	case 2:
		// No clock of the request can run out at the same time.
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, callerTime)
		c.t.Cleanup(stop)
		r.callerAt = time.Now().Add(callerTime)
	}
	c.did("request %d %+v", r.id, o)
	go func() {
		result, err := c.peer.Request(ctx, "do", nil, o)
		r.ends <- reply{result, err}
	}()
}

// callerTime is how long a caller's own deadline lets a request run: all other times are multiples of 10 ms.
const callerTime = 733 * time.Millisecond

// cancel has a caller give up.
func (c *conversation) cancel() {
	if r := c.pick(c.next()); r != nil {
		c.did("cancel %d", r.id)
		c.gaveUp(r, "cancelled")
		r.cancel(errGaveUp)
	}
}

// idForm is the id n in one of the forms that servers send it back in, and whether it denotes n.
func idForm(n int64, form byte) (text string, same bool) {
	switch form % 7 {
	case 1:
		return fmt.Sprintf(`"%d"`, n), true
	case 2:
		return fmt.Sprintf(`%d.0`, n), true
	case 3:
		return fmt.Sprintf(`%d.00e0`, n), true
	case 4:
		return fmt.Sprintf(`"0%d"`, n), false
	case 5:
		return fmt.Sprintf(`%d.5`, n), false
	}
	return fmt.Sprint(n), true
}

// answer has the server answer a request, which may be one that was never made or has ended.
func (c *conversation) answer() {
	c.write(c.answerText())
}

// answerText makes an answer and tells the model of it.
func (c *conversation) answerText() string {
	n := int64(c.next()) % (c.last() + 2)
	id, same := idForm(n, c.next())
	head := `{"jsonrpc":"2.0","id":` + id
	kind := c.next() % 8
	c.did("answer %s with %d", id, kind)
	var r *request
	if same {
		r = c.open(n)
	}
	c.serial++
	switch kind {
	case 1:
		c.end(r, "refused -5")
		return head + `,"error":{"code":-5,"message":"no"}}`
	case 2:
		c.end(r, "undecodable")
		return head + `,"error":{"code":1,"message":"both"},"result":{}}`
	case 3:
		c.end(r, "undecodable")
		return head + `}`
	case 4:
		return `{"level":"info","id":` + id + `}` // a line of a log
	case 5:
		result := fmt.Sprintf(`{"serial":%d,"pad":%q}`, c.serial, strings.Repeat("x", 20<<10))
		c.end(r, "result "+result)
		return head + `,"result":` + result + `}`
	case 6:
		c.tell("error")
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`
	}
	result := fmt.Sprintf(`{"serial":%d}`, c.serial)
	c.end(r, "result "+result)
	return head + `,"result":` + result + `}`
}

// write has the server write a message.
func (c *conversation) write(text string) { c.server.Write([]byte(text)) }
