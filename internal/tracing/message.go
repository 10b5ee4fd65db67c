package tracing

import (
	"encoding/json"
	"fmt"

	"mcpwire/internal/jsonscan"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/trace"
)

// messages enters the message of an event, or those of its batch.
func (b *Book) messages(i *Item) {
	switch {
	case len(i.Message) == 0:
		b.message(i, cut(i.Cut), i.Size)
	case jsonrpc.IsBatch(i.Message):
		_ = jsonrpc.SplitBatch(i.Message, func(text []byte) { // what can't be read has been told by Parse
			m, _ := jsonrpc.Parse(text)
			b.message(i, m, int64(len(text)))
		})
	default:
		m, _ := jsonrpc.Parse(i.Message)
		b.message(i, m, i.Size)
	}
}

// cut is what is known of a message that is not recorded whole.
func cut(facts *trace.CutFacts) (m jsonrpc.Message) {
	if facts == nil {
		return m
	}
	m.Method = facts.Method
	m.ID, _ = jsonrpc.ParseID(facts.ID)
	switch {
	case m.Method != "" && m.ID.IsAbsent():
		m.Kind = jsonrpc.Notification
	case m.Method != "":
		m.Kind = jsonrpc.Request
	case facts.Error:
		m.Kind, m.Error = jsonrpc.Response, []byte(`{"message":"too long to be recorded"}`)
	default:
		m.Kind, m.Result = jsonrpc.Response, []byte(`{}`)
	}
	return m
}

// message enters one message.
func (b *Book) message(i *Item, m jsonrpc.Message, size int64) {
	n := Note{Kind: m.Kind, ID: m.ID, Method: m.Method, Size: size}
	switch m.Kind {
	case jsonrpc.Request:
		n.Name = about(m.Params)
		n.Call = b.request(i, n, m.Params)
	case jsonrpc.Notification:
		n.Call = i.notification(m)
		if n.Call != nil {
			n.Name = n.Call.Title()
		}
	case jsonrpc.Response:
		n.Error, n.Tool = refusal(m)
		if n.Call = i.answer(m, n); n.Call != nil {
			n.Method, n.Name = n.Call.Method, n.Call.Name
		}
	case jsonrpc.Invalid:
	}
	i.Notes = append(i.Notes, n)
	if n.Call != nil {
		i.Calls = append(i.Calls, n.Call)
	}
}

func (b *Book) request(i *Item, n Note, params json.RawMessage) *Call {
	c := &Call{
		Line: i.Line, Out: i.Out(), ID: n.ID, Method: n.Method, Name: n.Name, Start: i.Time, Outcome: Unanswered,
		Asked: i.Index, Answered: -1, HTTP: -1, Sent: n.Size,
	}
	b.Calls = append(b.Calls, c)
	l := i.Line
	l.calls[keyOf(c.Out, c.ID)] = c
	if i.Exchange != 0 && c.Out {
		l.exchanges[i.Exchange] = append(l.exchanges[i.Exchange], c)
	}
	meta := member(params, "_meta")
	c.revision = text(member(meta, mcp.MetaProtocolVersion))
	if token, err := jsonrpc.ParseID(member(meta, mcp.MetaProgressToken)); err == nil {
		l.tokens[keyOf(c.Out, token)] = c
	}
	return c
}

// notification finds the call that a notification is about, and has it told.
func (i *Item) notification(m jsonrpc.Message) *Call {
	switch m.Method {
	case mcp.NotificationProgress:
		token, err := jsonrpc.ParseID(member(m.Params, mcp.MetaProgressToken))
		if err != nil {
			return nil
		}
		c := i.Line.tokens[keyOf(!i.Out(), token)]
		if c != nil {
			c.Progress++
		}
		return c
	case mcp.NotificationCancelled:
		id, err := jsonrpc.ParseID(member(m.Params, "requestId"))
		if err != nil {
			return nil
		}
		c := i.Line.calls[keyOf(i.Out(), id)]
		if c != nil && c.Outcome == Unanswered {
			c.settle(i.Time, i.Index, Cancelled, text(member(m.Params, "reason")))
		}
		return c
	}
	return nil
}

// answer finds the call that a response belongs to, and settles it. An error without an id on a call's own stream is
// that call's.
func (i *Item) answer(m jsonrpc.Message, n Note) *Call {
	key := keyOf(!i.Out(), m.ID)
	c := i.Line.calls[key]
	if c == nil && (m.ID.IsNull() || m.ID.IsAbsent()) && !i.Out() {
		if own := i.Line.exchanges[i.Exchange]; len(own) == 1 {
			c = own[0]
			key = keyOf(true, c.ID)
		}
	}
	if c == nil {
		return nil
	}
	delete(i.Line.calls, key)
	c.Got = n.Size
	if c.Outcome != Unanswered {
		c.Late = true
		return c
	}
	outcome := OK
	switch {
	case n.Tool:
		outcome = ToolError
	case n.Error != "":
		outcome = Refused
	}
	c.settle(i.Time, i.Index, outcome, n.Error)
	if outcome == OK && string(member(m.Result, "resultType")) == `"`+mcp.ResultInputRequired+`"` {
		c.Detail = "asks for input"
	}
	if outcome == OK && c.Out {
		i.Line.learn(c, m.Result)
	}
	return c
}

// learn takes what an answer tells of the line: the revision and the server's name.
func (l *Line) learn(c *Call, result json.RawMessage) {
	if c.Method == mcp.MethodInitialize {
		l.Revision, l.settled = text(member(result, "protocolVersion")), true
		l.named(member(result, "serverInfo"))
		return
	}
	if l.About == "" {
		l.named(member(member(result, "_meta"), mcp.MetaServerInfo))
	}
	if !l.settled && c.revision != "" {
		l.Revision = c.revision
	}
}

func (l *Line) named(info json.RawMessage) {
	if name := text(member(info, "name")); name != "" {
		l.About = name
		if version := text(member(info, "version")); version != "" {
			l.About += " " + version
		}
	}
}

// about returns what a request is about: the name of a tool or prompt, or a resource.
func about(params json.RawMessage) string {
	for _, name := range []string{"name", "uri"} {
		if said := text(member(params, name)); said != "" {
			return said
		}
	}
	return ""
}

// refusal returns how an answer refuses; tool tells that it is a result.
func refusal(m jsonrpc.Message) (said string, tool bool) {
	if m.Error != nil {
		e := jsonrpc.ParseError(m.Error)
		return fmt.Sprintf("%d: %s", e.Code, e.Message), false
	}
	if string(member(m.Result, "isError")) != "true" {
		return "", false
	}
	said = "isError"
	_ = jsonscan.Elements(member(m.Result, "content"), func(value []byte) error {
		if t := text(member(value, "text")); t != "" && said == "isError" {
			said = t
		}
		return nil
	})
	return said, true
}

// member returns a member of an object; nil where there is none.
func member(object json.RawMessage, name string) (found json.RawMessage) {
	if len(object) == 0 {
		return nil
	}
	if err := jsonscan.Members(object, func(key, value []byte) error {
		if string(key) == name {
			found = value
		}
		return nil
	}); err != nil {
		return nil
	}
	return found
}

// text returns a string's value; empty where it is none.
func text(value json.RawMessage) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	return string(jsonscan.Unquote(value))
}
