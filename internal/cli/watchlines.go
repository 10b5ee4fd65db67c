package cli

import (
	"encoding/json"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/redact"
	"mcpwire/manager"
	"mcpwire/mcp"
)

// The kinds of lines of the command watch, besides those of lists.
const (
	kindState        = "state"
	kindSubscribed   = "subscribed"
	kindLog          = "log"
	kindResource     = "resource"
	kindNotification = "notification" // any other
)

// lineShown is how many bytes of what a server tells go on one line.
const lineShown = 4 << 10

// An observation is one line of the command watch.
type observation struct {
	at     time.Time
	server string
	kind   string
	text   string // on one line, without secrets
	below  string // lines that belong to it, without secrets
	bad    bool   // something has failed
	facts  object // what JSON has behind time, server and kind
}

// object is the observation as JSON, on one line.
func (o observation) object() json.RawMessage {
	var all object
	all.addText("time", o.at.UTC().Format(time.RFC3339Nano))
	all.addText("server", o.server)
	all.addText("kind", o.kind)
	all.members = append(append(all.members, ','), o.facts.members...)
	return onOneLine(all.text())
}

// addText adds a member that is a string.
func (o *object) addText(name, text string) {
	quoted, _ := jsontext.AppendQuote(nil, text) // broken UTF-8 becomes U+FFFD, and the error only says so
	o.add(name, quoted)
}

// addTexts adds a member that is a list of strings.
func (o *object) addTexts(name string, all []string) {
	list, _ := jsonv2.Marshal(all, jsontext.AllowInvalidUTF8(true)) // strings can be encoded
	o.add(name, list)
}

// onOneLine returns JSON without line feeds, which servers on the web may have between its parts.
func onOneLine(text json.RawMessage) json.RawMessage {
	if !strings.ContainsAny(string(text), "\r\n") {
		return text
	}
	v := jsontext.Value(text).Clone()
	if v.Compact(jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true)) != nil {
		return text // it has been checked
	}
	return json.RawMessage(v)
}

// stateSeen tells how a connection stands. What the manager says of servers has no secrets.
func stateSeen(e manager.Event, now manager.Status) observation {
	o := observation{at: e.Time, server: e.Server, kind: kindState, text: e.To.String()}
	o.facts.addText("state", e.To.String())
	switch {
	case e.To == manager.Ready:
		o.text = "connected: " + now.Server.Info.Name + " " + now.Server.Info.Version + ", protocol " + now.Server.Revision
		o.facts.addText("protocol", now.Server.Revision)
	case e.To == manager.Connecting:
		o.text = "connecting again"
	case e.From == manager.Ready && e.To == manager.Waiting:
		o.text, o.bad = "lost", true
	case e.To == manager.Waiting:
		o.text, o.bad = "not connected", true
	default:
		o.bad = true
	}
	if e.Err != nil {
		text := errorText(e.Err)
		o.text += ": " + strings.TrimPrefix(text, e.Server+": ")
		o.facts.addText("error", text)
	}
	if e.To == manager.Waiting && now.State == manager.Waiting {
		o.text += "; tried again at " + now.Next.Format(time.TimeOnly)
		o.facts.addText("next", now.Next.UTC().Format(time.RFC3339Nano))
	}
	o.text = redact.Line(o.text, lineShown)
	return o
}

// A notice is a notification that has come.
type notice struct {
	at     time.Time
	method string
	params json.RawMessage
}

// seen begins the observation of a notice, with what the server sent.
func (n notice) seen(server, kind, text string) observation {
	o := observation{at: n.at, server: server, kind: kind, text: text}
	o.facts.addText("method", n.method)
	if len(n.params) > 0 {
		o.facts.add("params", n.params)
	}
	return o
}

// logged tells of a log message; false where it is none that can be read.
func (n notice) logged(server string, clean func(string) string) (observation, bool) {
	var m struct {
		Level  mcp.LogLevel    `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	if n.method != mcp.NotificationMessage || mcp.Decode(n.params, &m) != nil {
		return observation{}, false
	}
	text := string(m.Level)
	if m.Logger != "" {
		text += " " + m.Logger
	}
	if len(m.Data) > 0 {
		text += ": " + jsonText(m.Data)
	}
	o := n.seen(server, kindLog, clean(text))
	o.bad = severe(m.Level)
	return o, true
}

// updated returns the URI of the resource that has changed; false where the notice tells of none.
func (n notice) updated() (uri string, ok bool) {
	var p struct {
		URI string `json:"uri"`
	}
	if n.method != mcp.NotificationResourceUpdated || mcp.Decode(n.params, &p) != nil {
		return "", false
	}
	return p.URI, true
}

// other tells of a notification that has no line of its own kind.
func (n notice) other(server string, clean func(string) string) observation {
	text := n.method
	if len(n.params) > 0 {
		text += " " + string(n.params)
	}
	return n.seen(server, kindNotification, clean(text))
}
