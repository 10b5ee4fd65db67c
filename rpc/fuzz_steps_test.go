package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mcpwire/rpc"
)

// progress has the server report progress of a request, which may not be open.
func (c *conversation) progress() {
	n := int64(c.next()) % (c.last() + 2)
	token, same := idForm(n, c.next())
	c.serial++
	params := fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, token, c.serial)
	c.did("progress %s", params)
	if r := c.open(n); same && r != nil {
		c.progressed(r, params)
	}
	c.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":` + params + `}`)
}

// notifyHost has the server send a notification.
func (c *conversation) notifyHost() {
	c.write(c.notificationText())
}

func (c *conversation) notificationText() string {
	c.serial++
	method := fmt.Sprintf("note%d", c.serial)
	c.did("the server sends %s", method)
	c.tell(method)
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method)
}

// ask has the server send a request.
func (c *conversation) ask() {
	n, form := int64(c.next()%5), c.next()
	id, method, params := fmt.Sprint(n), "ask", fmt.Sprintf("[%d]", len(c.servings))
	if form&2 != 0 {
		id = fmt.Sprintf(`"%d"`, n)
	}
	if form&1 == 0 {
		method = "instant"
	}
	if c.isDeaf {
		return
	}
	c.did("the server asks %s %s", method, id)
	c.asks(id, method)
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
}

// finish has one of the servings end.
func (c *conversation) finish() {
	n, kind := c.next(), c.next()%6
	if c.isDeaf || len(c.inbound) == 0 {
		return
	}
	var open []*serving
	for _, s := range c.servings {
		if c.inbound[s.id] == s {
			open = append(open, s)
		}
	}
	s := open[int(n)%len(open)]
	var r reply
	var want string
	switch kind {
	case 0:
		r.result = fmt.Appendf(nil, `{"n":%d}`, n)
		want = string(r.result)
	case 1:
		r.err, want = &rpc.Refusal{Code: -7, Message: "not now"}, "error -7"
	case 2:
		r.err, want = errors.New("broken"), "error -32603"
	case 3:
		r.err = rpc.ErrNoAnswer
	case 4:
		r.result, want = json.RawMessage(`{"half":`), "error -32603"
	case 5:
		want = `{}`
	}
	c.did("serving of %s ends with %d", s.id, kind)
	c.served(s, want)
	s.reply <- r
}

// cancelByServer has the server cancel a request of its own, or a stream of ours.
func (c *conversation) cancelByServer() {
	id, same := idForm(int64(c.next())%(c.last()+2), c.next())
	c.did("the server cancels %s", id)
	if s := c.inbound[id]; s != nil {
		c.served(s, "")
	} else if r := c.open(idNumber(id)); same && r != nil && r.stream {
		c.end(r, "ended")
	}
	c.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
}

// noise has the server write what is no message, or a message that means nothing.
func (c *conversation) noise() {
	texts := []string{
		"", "{", "[]", "42", `{"jsonrpc":"2.0","id":1,"result":{"half":`, "\xff\x00", `[{"jsonrpc":"2.0"},1]`,
		`{"jsonrpc":"2.0","id":1e400,"result":{}}`, `{"jsonrpc":"2.0","id":{},"result":{}}`, `{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{"jsonrpc":"2.0","method":7,"id":1}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":[1]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","result":{}}`,
	}
	text := texts[int(c.next())%len(texts)]
	c.did("noise %q", text)
	c.write(text)
}

// batch has the server write an array of messages.
func (c *conversation) batch() {
	first := c.answerText()
	c.write("[" + first + "," + c.notificationText() + `,{"no":"message"}]`)
}

// notify has the host send a notification.
func (c *conversation) notify() {
	n := &notification{name: fmt.Sprintf("ours%d", len(c.notes)), ends: make(chan error, 1)}
	c.notes = append(c.notes, n)
	c.did("the host sends %s", n.name)
	if !c.over {
		c.sent(n.name)
	}
	go func() { n.ends <- c.peer.Notify(context.Background(), n.name, nil) }()
}

// pass lets time pass.
func (c *conversation) pass() {
	d := []time.Duration{
		10 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond, time.Second, 5 * time.Second, 31 * time.Second,
		11 * time.Minute,
	}[c.next()%7]
	c.did("%v pass", d)
	time.Sleep(d)
	c.passed(time.Now())
}

// oversize has the carrier report an answer above its cap.
func (c *conversation) oversize() {
	n := int64(c.next()) % (c.last() + 2)
	id, same := idForm(n, c.next())
	c.did("an oversized answer to %s", id)
	if r := c.open(n); same && r != nil {
		c.end(r, "too large")
	} else {
		c.tell("error")
	}
	c.server.Oversize([]byte(`{"jsonrpc":"2.0","id":`+id+`,"result":{"a":"bc`), []byte(`de"}}`), 1<<30)
}

// fault has the carrier report a failure.
func (c *conversation) fault() {
	c.did("a fault")
	c.tell("error")
	c.server.Fault(errors.New("a fault"))
}

// deaf makes the server read one message more, and then none.
func (c *conversation) deaf() {
	if !c.isDeaf {
		c.did("the server reads no more")
		c.isDeaf = true
		close(c.deafen)
	}
}

// endByServer ends the connection.
func (c *conversation) endByServer() {
	c.did("the server ends the connection")
	c.ended(false)
	c.server.End(nil)
}

// closeHost closes the peer.
func (c *conversation) closeHost() {
	c.did("the host closes")
	c.ended(true)
	closePeer(c.t, c.peer)
}
