package survival

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// once makes a server that answers the first request of a method with a text of its own, and is honest otherwise. See
// fill for what the text may hold.
func once(method, text string) func(p *Pipe) {
	return first(method, func(p *Pipe, m jsonrpc.Message) { p.Write("%s", fill(text, m)+"\n") })
}

// first makes a server that does something of its own at the first request of a method, and is honest otherwise.
func first(method string, f func(p *Pipe, m jsonrpc.Message)) func(p *Pipe) {
	return func(p *Pipe) {
		done := false
		p.Serve(map[string]on{method: func(m jsonrpc.Message) bool {
			if done {
				p.Write("%s\n", honest(m))
				return true
			}
			done = true
			f(p, m)
			return true
		}})
	}
}

// fill puts the id of a request for $id, the honest result for $result, the whole honest answer for $answer, and a
// mebibyte of letters for $mib.
func fill(text string, m jsonrpc.Message) string {
	whole := honest(m)
	_, result, _ := strings.Cut(strings.TrimSuffix(whole, "}"), `"result":`)
	return mebibyte(strings.NewReplacer("$id", m.ID.String(), "$result", result, "$answer", whole).Replace(text))
}

// mebibyte puts a mebibyte of letters for $mib. Rows name it, since each server process makes all rows.
func mebibyte(text string) string {
	if !strings.Contains(text, "$mib") {
		return text
	}
	return strings.ReplaceAll(text, "$mib", strings.Repeat("m", 1<<20))
}

// costsACall is the Try of a server that spoils its first call: that ends with an error, the next one is fine.
func costsACall(parts ...string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		t.Refused(c, parts...)
		t.Works(c)
	}
}

// expires is the Try of a server that leaves its first call without an answer: that ends by its clock, of a second.
func expires(parts ...string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		t.Fails(c, append(parts, unmatched)...)
		t.Works(c)
	}
}

// unmatched is what is said of a call to which no answer fits.
const unmatched = "request timeout after 1000ms"

// worksTwice is the Try of a server that does nothing that matters.
func worksTwice(t *Trial) {
	c := t.Connect()
	t.Works(c)
	t.Works(c)
}

// Refused makes a call, whose error must have all the parts in its text. No clock of its own ends it.
func (t *Trial) Refused(c *client.Client, parts ...string) {
	_, err := t.callWithin(c, unhurried)
	t.WantError(err, parts...)
}

// cannotConnect is the Try of a server to which there is no connecting.
func cannotConnect(parts ...string) func(t *Trial) {
	return func(t *Trial) {
		_, err := t.Dial()
		t.WantError(err, parts...)
	}
}

// tries returns the Try of a server whose first call ends with this error: none where it is empty.
func tries(want string) func(t *Trial) {
	switch {
	case want == "":
		return worksTwice
	case strings.Contains(want, "this request was id"), want == unmatched:
		return expires(want)
	}
	return costsACall(want)
}

// lists is the Try of a server that has so many tools, and works.
func lists(n int) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		tools, err := c.ListTools(t.Context)
		if err != nil || len(tools) != n {
			t.Fail("there are %d tools and error %v", len(tools), err)
		}
		t.Works(c)
	}
}

// cannotList is the Try of a server whose list of tools can't be read, or not to the end, and that works otherwise.
func cannotList(parts ...string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		_, err := c.ListTools(t.Context)
		t.WantError(err, parts...)
		t.Works(c)
	}
}

// says is the Try of a server whose calls return these texts.
func says(texts ...string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		for _, text := range texts {
			t.Says(c, text)
		}
	}
}

// Says makes a call, which must return this text.
func (t *Trial) Says(c *client.Client, text string) {
	result, err := t.callWithin(c, unhurried)
	switch {
	case err != nil:
		t.Fail("a call that must work fails: %v", err)
	case len(result.Content) != 1 || result.Content[0].Text != text:
		t.Fail("a call returns %.300s", fmt.Sprint(result.Content))
	}
}

// Lacks checks that the text of an error has none of the parts.
func (t *Trial) Lacks(err error, parts ...string) {
	if err == nil {
		return
	}
	for _, part := range parts {
		if strings.Contains(err.Error(), part) {
			t.Fail("the error has %q: %q", part, err)
		}
	}
}

// Delivered checks that an error says so of the delivery.
func (t *Trial) Delivered(err error, want transport.Delivery) {
	if carriage, ok := errors.AsType[*transport.Error](err); !ok || carriage.Delivery != want {
		t.Fail("the error does not say %q: %#v", want, err)
	}
}

// Gone checks that the line has ended and that a further call says why, at once and undelivered.
func (t *Trial) Gone(c *client.Client, parts ...string) {
	select {
	case <-c.Done():
	case <-t.Context.Done():
		t.Fail("the line has not ended")
		return
	}
	_, err := t.callWithin(c, unhurried)
	t.WantError(err, parts...)
	t.Delivered(err, transport.NotDelivered)
}

// patiently gives connecting this time (0: the default), of which the probe takes little.
func patiently(connect time.Duration) func(*config.Server, *mcpwire.Options) {
	return func(_ *config.Server, o *mcpwire.Options) {
		o.ConnectTimeout, o.ProbeTimeout = connect, 200*time.Millisecond
	}
}

// withSession has the client open a session without asking what else is spoken, in this time.
func withSession(connect time.Duration) func(*config.Server, *mcpwire.Options) {
	return func(s *config.Server, o *mcpwire.Options) {
		s.Protocol, o.ConnectTimeout = client.ProtocolSession, connect
	}
}

// stateless has the client speak a stateless revision alone.
func stateless(s *config.Server, _ *mcpwire.Options) { s.Protocol = client.ProtocolStateless }

// ServeStateless is an honest server of 2026-07-28, but for the methods in other: those report false to end the server.
func (p *Pipe) ServeStateless(other map[string]on) {
	p.Serve(both(map[string]on{
		"server/discover": p.answers(discovered),
		"initialize":      func(m jsonrpc.Message) bool { p.Refuse(m, -32601, "Method not found"); return true },
		"subscriptions/listen": func(m jsonrpc.Message) bool {
			p.Acknowledge(m)
			return true
		},
	}, other))
}

const discovered = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},` +
	`"resultType":"complete"}`

// acknowledged agrees to a subscription to the list of tools; see fill.
const acknowledged = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{` +
	`"io.modelcontextprotocol/subscriptionId":$id},"notifications":{"toolsListChanged":true}}}` + "\n"

// Acknowledge agrees to a subscription to the list of tools.
func (p *Pipe) Acknowledge(m jsonrpc.Message) { p.Write("%s", fill(acknowledged, m)) }

// both returns what is in either; where a method is in both, what the second has.
func both(a, b map[string]on) map[string]on {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// Drain reads what the client writes until there will be no more.
func (p *Pipe) Drain() {
	for {
		if _, more := p.Read(); !more {
			return
		}
	}
}

// Pieces writes text with a pause at each "|", so that it is read in pieces.
func (p *Pipe) Pieces(text string) {
	for i, piece := range strings.Split(text, "|") {
		if i > 0 {
			time.Sleep(20 * time.Millisecond)
		}
		p.Write("%s", piece)
	}
}

// closeFile closes a standard file of the server process.
func closeFile(file any) {
	if c, ok := file.(io.Closer); ok {
		_ = c.Close()
	}
}

// join returns the rows of several lists.
func join(lists ...[]Row) []Row { return slices.Concat(lists...) }
