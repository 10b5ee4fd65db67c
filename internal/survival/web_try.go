package survival

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
)

// A reply is how a server on the web serves one request.
type reply = func(x *Exchange)

// spoils makes a server that serves the first request of a method in its own way, and is honest otherwise.
func spoils(method string, f reply) func(w *Web) http.Handler { return spoilsFirst(1, method, f) }

// spoilsAll makes a server that serves all requests of a method in its own way, and is honest otherwise.
func spoilsAll(method string, f reply) func(w *Web) http.Handler {
	return spoilsFirst(1<<30, method, f)
}

func spoilsFirst(n int, method string, f reply) func(w *Web) http.Handler {
	return func(w *Web) http.Handler {
		return w.Serve(func(x *Exchange, m string) bool {
			if m != method || w.Counted(m) > n {
				return false
			}
			f(x)
			return true
		})
	}
}

// Respond answers with a status, a type (none if it is empty) and a body, in which fill has done its work.
func (x *Exchange) Respond(status int, kind, body string) {
	x.Header()["Content-Type"] = nil // keeps net/http from guessing
	if kind != "" {
		x.Header().Set("Content-Type", kind)
	}
	x.WriteHeader(status)
	x.Say(fill(body, x.Message))
}

// Say writes text and sees that it is sent.
func (x *Exchange) Say(text string) {
	_, _ = io.WriteString(x, text) // the client may have gone
	_ = http.NewResponseController(x.ResponseWriter).Flush()
}

// Pieces says text in so many bytes at a time.
func (x *Exchange) Pieces(text string, size int) {
	for len(text) > 0 {
		n := min(size, len(text))
		x.Say(text[:n])
		text = text[n:]
	}
}

// Events begins a stream of events with text, in which fill has done its work.
func (x *Exchange) Events(text string) { x.Respond(http.StatusOK, eventStream, text) }

const (
	jsonText    = "application/json"
	eventStream = "text/event-stream"
	htmlText    = "text/html"
)

// Hang waits until the client has gone.
func (x *Exchange) Hang() { <-x.Request.Context().Done() }

// Still reports whether the client is there a while later.
func (x *Exchange) Still(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.Request.Context().Done():
		return false
	}
}

// Socket takes the connection from net/http. It is closed with the server at the latest.
func (x *Exchange) Socket() net.Conn {
	socket, _, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil {
		panic(err) // the server speaks HTTP/1.1 alone
	}
	x.web.mu.Lock()
	defer x.web.mu.Unlock()
	x.web.sockets = append(x.web.sockets, socket)
	return socket
}

// Raw writes bytes in place of an answer, and closes the connection.
func (x *Exchange) Raw(text string) {
	socket := x.Socket()
	_, _ = io.WriteString(socket, fill(text, x.Message))
	_ = socket.Close()
}

// RawHang writes bytes in place of an answer, and then nothing more until the client has gone.
func (x *Exchange) RawHang(text string) {
	socket := x.Socket()
	_, _ = io.WriteString(socket, fill(text, x.Message))
	_, _ = io.Copy(io.Discard, socket)
	_ = socket.Close()
}

// Reset writes bytes in place of an answer, and resets the connection.
func (x *Exchange) Reset(text string) {
	socket := x.Socket()
	_, _ = io.WriteString(socket, fill(text, x.Message))
	if tcp, ok := socket.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = socket.Close()
}

// responds is a reply with a status and a page.
func responds(status int) reply {
	return func(x *Exchange) { x.Respond(status, htmlText, "<html>no</html>") }
}

// raw is a reply of bytes, after which the connection is closed.
func raw(text string) reply { return func(x *Exchange) { x.Raw(text) } }

// streams is a reply of events, after which the stream ends.
func streams(text string) reply { return func(x *Exchange) { x.Events(text) } }

// jsonHead begins an answer of JSON.
const jsonHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

// event is an event with the answer; see fill.
const event = "event: message\ndata: $answer\n\n"

// Seen checks how often the server has seen something.
func (t *Trial) Seen(what string, least, most int) {
	if n := t.Web.Counted(what); n < least || n > most {
		t.Fail("%s came %d times", what, n)
	}
}

// costsOne is costsACall on the web, where no call may come twice.
func costsOne(parts ...string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		_, err := t.callWithin(c, unhurried)
		t.WantError(err, parts...)
		t.Fit(err)
		t.Works(c)
		t.Seen("tools/call", 2, 2)
	}
}

// longestError is how long, in bytes, the text of an error may be at most that a server on the web has a hand in.
const longestError = 4 << 10

// Fit checks that the text of an error is fit to be shown: neither long nor with control sequences.
func (t *Trial) Fit(err error) {
	if err == nil {
		return
	}
	text := err.Error()
	if len(text) > longestError {
		t.Fail("the error has %d bytes", len(text))
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		t.Fail("the error has control characters: %.500q", text)
	}
}

// expiresOnce is expires on the web, where no call may come twice.
func expiresOnce(parts ...string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		start := time.Now()
		t.Fails(c, parts...)
		if took := time.Since(start); took > 4*time.Second {
			t.Fail("it took %v", took)
		}
		t.Works(c)
		t.Seen("tools/call", 2, 2)
	}
}

// callEnds is the Try of a server whose first call ends with such an error: with none if it is empty, by its clock if it is
// a timeout.
func callEnds(want string) func(t *Trial) {
	switch {
	case want == "":
		return func(t *Trial) {
			worksTwice(t)
			t.Seen("tools/call", 2, 2)
		}
	case byClock(want):
		return expiresOnce(want)
	}
	return costsOne(want)
}

// byClock reports whether an error is that of a call's clock.
func byClock(want string) bool { return strings.HasSuffix(want, "timeout after 1000ms") }

// ends says what callEnds does.
func ends(want string) string {
	switch {
	case want == "":
		return "take the answer"
	case byClock(want):
		return "end the call by its clock, and keep the line"
	}
	return "end the call with an error that says so, and keep the line"
}

// typed sets the type of an entry.
func typed(kind string) func(*config.Server, *mcpwire.Options) {
	return func(s *config.Server, _ *mcpwire.Options) { s.Type = kind }
}

// within gives connecting this time.
func within(connect time.Duration) func(*config.Server, *mcpwire.Options) {
	return func(_ *config.Server, o *mcpwire.Options) { o.ConnectTimeout = connect }
}

// withSessions gives each handshake a session, s1, s2 and so on, and refuses what comes in another than the latest, or
// in one that lost says is lost. other may be nil; see Serve.
func (w *Web) withSessions(refuse reply, lost func(session, method string) bool, other func(x *Exchange, method string) bool,
) http.Handler {
	return w.Serve(func(x *Exchange, method string) bool {
		id := x.Request.Header.Get("Mcp-Session-Id")
		switch {
		case method == "initialize":
			if id != "" {
				w.Count("handshakes in a session")
			}
			x.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", w.Count("sessions")))
		case id != "" && (id != fmt.Sprintf("s%d", w.Counted("sessions")) || lost(id, method)):
			w.Count("refused " + method)
			refuse(x)
			return true
		}
		if method == "tools/call" {
			w.Count("runs")
		}
		return other != nil && other(x, method)
	})
}

// never is a server that has lost no session.
func never(_, _ string) bool { return false }

// Renewed checks what has come of a lost session: how many there were, and that none was opened in another.
func (t *Trial) Renewed(least, most int) {
	t.Seen("sessions", least, most)
	t.Seen("handshakes in a session", 0, 0)
}

// isRequest reports whether a message wants an answer.
func (x *Exchange) isRequest() bool { return x.Message.Kind == jsonrpc.Request }

// protocol pins what is spoken.
func protocol(p string) func(*config.Server, *mcpwire.Options) {
	return func(s *config.Server, _ *mcpwire.Options) { s.Protocol = p }
}

// asSession has the client open a session without asking what else is spoken.
var asSession = protocol(client.ProtocolSession)

// ServeStateless is an honest server of 2026-07-28, but for what other serves; see Serve.
func (w *Web) ServeStateless(other func(x *Exchange, method string) bool) http.Handler {
	return w.Serve(func(x *Exchange, method string) bool {
		switch {
		case other != nil && other(x, method):
		case method == "server/discover":
			x.JSON(answer(x.Message, discovered))
		case method == "initialize":
			x.Respond(http.StatusBadRequest, jsonText, refusal(x.Message, -32022, "Unsupported protocol version"))
		default:
			return false
		}
		return true
	})
}
