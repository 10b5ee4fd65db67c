package survival

import (
	"io"
	"net/http"
	"strings"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// A legacy is a server of HTTP+SSE (2024-11-05). What is not set is honest.
type legacy struct {
	endpoint string // the first event, with $base for the server's own address
	// post serves a message, and reports whether it has; say puts text on the stream.
	post func(x *Exchange, method string, say func(text string)) bool
	// stream serves the GET after the endpoint event, and reports whether it has.
	stream func(x *Exchange) bool
}

// endpointEvent is how the server names where messages go.
const endpointEvent = "event: endpoint\ndata: /messages?id=1\n\n"

// server makes the server.
func (l legacy) server(w *Web) http.Handler {
	said := make(chan string, 1000)
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		x := &Exchange{ResponseWriter: out, Request: r, Body: body, web: w}
		w.Count(r.Method)
		switch {
		case r.Method == http.MethodGet:
			l.serveStream(x, said)
		case r.URL.Path == "/mcp":
			x.Respond(http.StatusNotFound, "", "")
		default:
			x.Message, _ = jsonrpc.Parse(body) // the client has made it
			w.Count(x.Message.Method)
			say := func(text string) { said <- fill(text, x.Message) }
			if l.post != nil && l.post(x, x.Message.Method, say) {
				return
			}
			if x.isRequest() {
				say(event)
			}
			x.Respond(http.StatusAccepted, "", "")
		}
	})
}

func (l legacy) serveStream(x *Exchange, said chan string) {
	first := l.endpoint
	if first == "" {
		first = endpointEvent
	}
	x.Events(strings.ReplaceAll(first, "$base", "http://"+x.Request.Host))
	if l.stream != nil && l.stream(x) {
		return
	}
	for {
		select {
		case text := <-said:
			if text == hangUp {
				return
			}
			x.Say(text)
		case <-x.Request.Context().Done():
			return
		}
	}
}

// hangUp is what is said to end the stream.
const hangUp = "<end>"

// legacyRows are about servers of HTTP+SSE.
func legacyRows() []Row {
	return join(endpointRows(), legacyCallRows(), legacyEndRows())
}

// endpointRows are about where the messages are to go.
func endpointRows() (all []Row) {
	const elsewhere, notSSE = "leads to another origin, which is not followed", "not an HTTP+SSE server"
	rows := []struct{ name, does, event, want string }{
		{"relative", "names an address without a slash", "event: endpoint\ndata: messages\n\n", ""},
		{"path", "names a path", endpointEvent, ""},
		{"absolute", "names a whole address", "event: endpoint\ndata: $base/messages\n\n", ""},
		{"blanks", "names an address with blanks around it", "event: endpoint\ndata:   /messages  \n\n", ""},
		{"comments", "sends comments and pings first", ": hi\n\nevent: ping\ndata: {}\n\n" + endpointEvent, ""},
		{"mark", "begins with a byte order mark, in lines that end with CR", "\ufeffevent: endpoint\rdata: /messages\r\r", ""},
		{"fragment", "names an address with a fragment", "event: endpoint\ndata: /messages#here\n\n", ""},
		{"other-origin", "names another server", "event: endpoint\ndata: http://evil.example/messages\n\n", elsewhere},
		{"other-port", "names another port", "event: endpoint\ndata: http://127.0.0.1:1/messages\n\n", elsewhere},
		{"no-scheme", "names another host without a scheme", "event: endpoint\ndata: //evil.example/messages\n\n", elsewhere},
		{"user", "names another host behind what looks like this one", "event: endpoint\ndata: $base@evil.example/x\n\n", elsewhere},
		{"scheme", "names a file", "event: endpoint\ndata: file:///etc/passwd\n\n", elsewhere},
		{"private", "names an address of a private network", "event: endpoint\ndata: http://10.0.0.1/\n\n", elsewhere},
		{"garbage", "names no address", "event: endpoint\ndata: http://[::1\n\n", "the endpoint event holds no address"},
		{"control", "names an address with control sequences", "event: endpoint\ndata: /a\x1b[31m\n\n", "the endpoint event holds no address"},
		{"empty", "names nothing", "event: endpoint\ndata:  \n\n", "the endpoint event is empty"},
		{"message", "begins with a message", "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", notSSE},
	}
	for _, row := range rows {
		must := "post there"
		try := worksTwice
		if row.want != "" {
			must = "not post anything there, and say so"
			try = func(t *Trial) {
				_, err := t.Dial()
				t.WantError(err, row.want)
				t.Fit(err)
			}
		}
		all = append(all, Row{
			Name: "legacy/endpoint/" + row.name, Does: row.does, Must: must, With: typed("sse"),
			Web: legacy{endpoint: row.event}.server,
			Try: try,
		})
	}
	return all
}

// legacyCallRows are about calls whose message is posted one way and answered another.
func legacyCallRows() (all []Row) {
	rows := []struct {
		name, does, want string
		post             func(x *Exchange, say func(text string))
	}{
		{"400", "refuses a call's POST with 400", "HTTP 400", func(x *Exchange, _ func(string)) { responds(400)(x) }},
		{"404", "refuses a call's POST with 404", "HTTP 404", func(x *Exchange, _ func(string)) { responds(404)(x) }},
		{"401", "refuses a call's POST with 401", "HTTP 401", func(x *Exchange, _ func(string)) { responds(401)(x) }},
		{"500", "fails a call's POST with 500", "HTTP 500", func(x *Exchange, _ func(string)) { responds(500)(x) }},
		{"302", "redirects a call's POST to another server", "redirected to another origin", func(x *Exchange, _ func(string)) {
			http.Redirect(x, x.Request, "http://evil.example/", http.StatusFound)
		}},
		{"200-json", "answers a call in the POST itself", "", func(x *Exchange, _ func(string)) { x.JSON(honest(x.Message)) }},
		{"200-both", "answers a call in the POST and on the stream", "", func(x *Exchange, say func(string)) {
			say(event)
			x.JSON(honest(x.Message))
		}},
		{"200-text", "says ok in the POST and answers on the stream", "", func(x *Exchange, say func(string)) {
			x.Respond(http.StatusOK, "text/plain", "ok")
			say(event)
		}},
		{"200-null", "says null in the POST and answers on the stream", "", func(x *Exchange, say func(string)) {
			x.Respond(http.StatusOK, jsonText, "null")
			say(event)
		}},
		{"204", "says 204 in the POST and answers on the stream", "", func(x *Exchange, say func(string)) {
			x.Respond(http.StatusNoContent, "", "")
			say(event)
		}},
		{"early", "answers on the stream, and the POST only when nobody waits any more", "", func(x *Exchange, say func(string)) {
			say(event)
			x.Hang()
		}},
		{"silent", "accepts a call and never answers on the stream", "request timeout after 1000ms", func(x *Exchange, _ func(string)) {
			x.Respond(http.StatusAccepted, "", "")
		}},
		{"hang", "never answers a call's POST, nor on the stream", "request timeout after 1000ms", func(x *Exchange, _ func(string)) {
			x.Hang()
		}},
		{"other", "answers another request on the stream", "request timeout after 1000ms", func(x *Exchange, say func(string)) {
			x.Respond(http.StatusAccepted, "", "")
			say("data: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n\n")
		}},
		{"twice", "answers a call twice on the stream", "", func(x *Exchange, say func(string)) {
			x.Respond(http.StatusAccepted, "", "")
			say(event + event)
		}},
		{"garbage", "sends what is no message before its answer", "", func(x *Exchange, say func(string)) {
			x.Respond(http.StatusAccepted, "", "")
			say("data: oops\n\ndata: 42\n\n: hi\n\nevent: ping\ndata: {}\n\n" + event)
		}},
		{"closed", "hangs up on a call's POST", "closed the connection without an answer", func(x *Exchange, _ func(string)) { x.Raw("") }},
		{"moves", "names a new address for its messages, and answers", "", func(x *Exchange, say func(string)) {
			x.Respond(http.StatusAccepted, "", "")
			say("event: endpoint\ndata: /elsewhere\n\n" + event)
		}},
		{"moves-away", "names another server for its messages, and answers", "", func(x *Exchange, say func(string)) {
			x.Respond(http.StatusAccepted, "", "")
			say("event: endpoint\ndata: http://evil.example/\n\n" + event)
		}},
		{"flood", "sends ten thousand notifications before its answer", "", func(x *Exchange, say func(string)) {
			x.Respond(http.StatusAccepted, "", "")
			say(strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", 10_000) + event)
		}},
	}
	for _, row := range rows {
		all = append(all, Row{
			Name: "legacy/call/" + row.name, Does: row.does, Must: ends(row.want), With: typed("sse"), Try: callEnds(row.want),
			Web: func(w *Web) http.Handler {
				return legacy{post: func(x *Exchange, method string, say func(string)) bool {
					if method != "tools/call" || w.Counted(method) > 1 {
						return false
					}
					row.post(x, say)
					return true
				}}.server(w)
			},
		})
	}
	return all
}

// legacyEndRows are about streams that do not begin, or end.
func legacyEndRows() []Row {
	return []Row{
		{
			Name: "legacy/end/silent", Does: "never names an address for messages",
			Must: "end connecting by its clock", Web: legacy{endpoint: ": hi\n\n"}.server,
			With: func(s *config.Server, o *mcpwire.Options) { s.Type, o.ConnectTimeout = "sse", time.Second },
			Try:  cannotConnect("connect timeout after 1000ms"),
		},
		{
			Name: "legacy/end/at-once", Does: "ends the stream before it names an address",
			Must: "say so, and try it as a newer server", With: typed("sse"),
			Web: legacy{endpoint: ": hi\n\n", stream: func(*Exchange) bool { return true }}.server,
			Try: cannotConnect("the stream ended before the endpoint event", "HTTP 404"),
		},
		{
			Name: "legacy/end/handshake", Does: "ends the stream when it has named an address",
			Must: "say so", With: typed("sse"),
			Web: legacy{stream: func(*Exchange) bool { return true }}.server,
			Try: cannotConnect("the server ended the event stream"),
		},
		{
			Name: "legacy/end/call", Does: "ends the stream when it is called",
			Must: "end the call and the line, and not call again", With: typed("sse"),
			Web: legacy{post: func(x *Exchange, method string, say func(string)) bool {
				if method == "tools/call" {
					say(hangUp)
					x.Respond(http.StatusAccepted, "", "")
				}
				return method == "tools/call"
			}}.server,
			Try: func(t *Trial) {
				c := t.Connect()
				_, err := t.callWithin(c, unhurried)
				t.WantError(err, "transport closed", "the server ended the event stream")
				t.Delivered(err, transport.MaybeDelivered)
				t.Gone(c, "transport closed")
				t.Seen("tools/call", 1, 1)
			},
		},
		{
			Name: "legacy/end/idle", Does: "ends the stream while nobody asks for anything",
			Must: "notice", With: typed("sse"),
			Web: legacy{post: func(x *Exchange, method string, say func(string)) bool {
				if method == "notifications/initialized" {
					x.Respond(http.StatusAccepted, "", "")
					say(hangUp)
					return true
				}
				return false
			}}.server,
			Try: func(t *Trial) {
				c, err := t.Dial()
				if err != nil { // it may end before the handshake is over
					t.WantError(err, "transport closed")
					return
				}
				t.Gone(c, "transport closed")
			},
		},
		{
			Name: "legacy/fallback/unnamed", Does: "refuses newer messages with 404, and its entry names no type",
			Must: "find out what it is", Web: legacy{}.server, Try: worksTwice,
		},
		{
			Name: "legacy/fallback/http", Does: "refuses newer messages with 404, and its entry says http",
			Must: "not try it as an older server", Web: legacy{}.server, With: typed("http"),
			Try: func(t *Trial) {
				cannotConnect("HTTP 404")(t)
				t.Seen("GET", 0, 0)
			},
		},
	}
}
