package survival

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/transport"
)

// refusals are statuses with which a request may be refused.
var refusals = []int{400, 401, 403, 404, 405, 406, 408, 410, 413, 415, 421, 422, 429, 500, 501, 502, 503, 504, 302, 303, 599}

// A stage is a kind of request that may be refused, and what comes of that.
type stage struct {
	name, method, does string
	statuses           []int
	with               func(*config.Server, *mcpwire.Options)
	must               func(status int) string
	try                func(status int) func(t *Trial)
}

// stages are where a status may come.
func stages() []stage {
	some := []int{400, 401, 404, 405, 410, 429, 500, 503}
	goesOn := func(status int) bool { return status >= 400 && status < 500 && status != 401 && status != 403 }
	fails := func(status int) func(t *Trial) { return cannotConnect(fmt.Sprintf("HTTP %d", status)) }
	return []stage{
		{
			"discover", "server/discover", "the question what it speaks", refusals, nil,
			func(status int) string {
				if goesOn(status) {
					return "open a session with it"
				}
				return "report the status, and not take it for an older server"
			},
			func(status int) func(t *Trial) {
				if !goesOn(status) {
					return func(t *Trial) {
						fails(status)(t)
						t.Seen("initialize", 0, 0)
						t.Seen("GET", 0, 0)
					}
				}
				return worksTwice
			},
		},
		{
			"initialize", "initialize", "the handshake", refusals, asSession,
			func(status int) string {
				if status == 400 || status == 404 || status == 405 {
					return "try it as an older server, and report the first status first"
				}
				return "report the status, and try nothing else"
			},
			func(status int) func(t *Trial) {
				gets := 0
				if status == 400 || status == 404 || status == 405 {
					gets = 1
				}
				return func(t *Trial) {
					fails(status)(t)
					t.Seen("GET", gets, gets)
					t.Seen("initialize", 1, 1)
				}
			},
		},
		{
			"initialized", "notifications/initialized", "the note that ends the handshake", some, asSession,
			func(int) string { return "report the status" }, fails,
		},
		{
			"list", "tools/list", "the first request for its tools", refusals, nil,
			func(int) string { return "end that request with the status, and keep the line" },
			func(status int) func(t *Trial) { return cannotList(fmt.Sprintf("HTTP %d", status)) },
		},
		{
			"call", "tools/call", "the first call", refusals, nil,
			func(int) string { return "end that call with the status, not repeat it, and keep the line" }, callRefused,
		},
		{
			"get", "GET", "the standing stream", refusals, listening,
			func(status int) string {
				if mayComeBack(status) {
					return "work without it, and ask for it again only after a while"
				}
				return "work without it, and not ask for it again"
			},
			standingRefused,
		},
		{
			"delete", "DELETE", "the end of its session", some, nil,
			func(int) string { return "close all the same" }, deleteRefused,
		},
		{
			"cancel", "notifications/cancelled", "the note that a call was given up", some[:3], nil,
			func(int) string { return "keep the line" }, cancelRefused,
		},
	}
}

// statusRows are about every status at every stage.
func statusRows() (rows []Row) {
	for _, s := range stages() {
		for _, status := range s.statuses {
			rows = append(rows, Row{
				Name: fmt.Sprintf("web/status/%s-%d", s.name, status),
				Does: fmt.Sprintf("answers %s with %d and a page", s.does, status),
				Must: s.must(status), With: s.with, Try: s.try(status),
				Web: s.server(status),
			})
		}
	}
	return join(rows, oddStatusRows())
}

// server refuses what the stage is about, once, or each time where it is about what is tried again.
func (s stage) server(status int) func(w *Web) http.Handler {
	switch s.method {
	case "DELETE":
		return func(w *Web) http.Handler {
			return w.withSessions(nil, never, func(x *Exchange, method string) bool {
				if method == "DELETE" {
					responds(status)(x)
				}
				return method == "DELETE"
			})
		}
	case "notifications/cancelled":
		return func(w *Web) http.Handler {
			return w.Serve(func(x *Exchange, method string) bool {
				switch {
				case method == s.method:
					responds(status)(x)
				case method == "tools/call" && w.Counted(method) == 1:
					x.Hang()
				default:
					return false
				}
				return true
			})
		}
	case "tools/list", "tools/call":
		return spoils(s.method, responds(status))
	}
	return spoilsAll(s.method, responds(status))
}

// listening has the client want the standing stream.
func listening(_ *config.Server, o *mcpwire.Options) {
	o.OnNotification = func(context.Context, string, json.RawMessage) {}
}

// mayComeBack reports whether a standing stream that is refused with a status may be had later.
func mayComeBack(status int) bool {
	return status >= 500 && status != 501 || slices.Contains([]int{408, 429}, status)
}

func callRefused(status int) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		_, err := t.callWithin(c, unhurried)
		t.WantError(err, fmt.Sprintf("HTTP %d", status))
		t.Delivered(err, transport.Answered)
		t.Seen("tools/call", 1, 1)
		t.Works(c)
	}
}

func standingRefused(status int) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		t.Works(c)
		if !t.Web.Await(t.Context, "GET", 1) {
			t.Fail("nobody asked for the stream")
		}
		for range 20 {
			t.Works(c)
		}
		most := 1
		if mayComeBack(status) {
			most = 6
		}
		t.Seen("GET", 1, most)
	}
}

func deleteRefused(int) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		t.Works(c)
		if err := c.Close(t.Context); err != nil {
			t.Fail("it can't be closed: %v", err)
		}
		t.Seen("DELETE", 1, 1)
	}
}

func cancelRefused(int) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		t.Fails(c, "request timeout after 1000ms")
		if !t.Web.Await(t.Context, "notifications/cancelled", 1) {
			t.Fail("the server is not told that the call was given up")
		}
		t.Works(c)
		t.Seen("tools/call", 2, 2)
	}
}

// oddStatusRows are about statuses that are no refusals, and about what comes with some.
func oddStatusRows() []Row {
	rows := []struct {
		name, does, want string
		serve            reply
	}{
		{"202", "accepts a call with 202, and no answer", "HTTP 202: the server accepted", responds(202)},
		{"204", "answers a call with 204", "HTTP 204 with no type", func(x *Exchange) { x.Respond(204, "", "") }},
		{"205", "answers a call with 205", "HTTP 205", func(x *Exchange) { x.Respond(205, "", "") }},
		{"200-empty", "answers a call with 200, no type and no body", "HTTP 200 with no type", func(x *Exchange) {
			x.Respond(200, "", "")
		}},
		{"206", "answers a call with 206 and the whole answer", "", func(x *Exchange) { x.Respond(206, jsonText, "$answer") }},
		{"304", "answers a call with 304", "HTTP 304", func(x *Exchange) { x.Respond(304, "", "") }},
		{"300", "answers a call with 300", "HTTP 300", responds(300)},
		{"999", "answers a call with 999", "HTTP 999: status without a name", responds(999)},
		{"103", "sends 103 before its answer", "", func(x *Exchange) {
			x.WriteHeader(http.StatusEarlyHints)
			x.JSON(honest(x.Message))
		}},
		{"100", "sends 100 before its answer, unasked", "", raw("HTTP/1.1 100 Continue\r\n\r\n" +
			jsonHead + "\r\n$answer")},
		{"101", "switches to another protocol, and then says nothing", "HTTP 101", func(x *Exchange) {
			x.RawHang("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		}},
		{"101-closed", "switches to another protocol, and hangs up", "HTTP 101", raw(
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")},
		{"103-endless", "sends 103 for ever", "headers exceeded", func(x *Exchange) {
			socket, hint := x.Socket(), []byte("HTTP/1.1 103 Early Hints\r\nLink: </"+long(16<<10)+">\r\n\r\n")
			for {
				if _, err := socket.Write(hint); err != nil {
					_ = socket.Close()
					return
				}
			}
		}},
		{"429-later", "answers a call with 429, to try again in 7 s", "(try again after 7s)", func(x *Exchange) {
			x.Header().Set("Retry-After", "7")
			responds(429)(x)
		}},
		{"503-later", "answers a call with 503, to try again in a thousand years", "HTTP 503", func(x *Exchange) {
			x.Header().Set("Retry-After", "Fri, 31 Dec 3026 23:59:59 GMT")
			responds(503)(x)
		}},
		{"429-odd", "answers a call with 429, to try again soon, it says", "HTTP 429: Too Many Requests: <html>no", func(x *Exchange) {
			x.Header().Set("Retry-After", "soon")
			responds(429)(x)
		}},
		{"400-error", "refuses a call with 400 and a JSON-RPC error", "MCP error -32602", func(x *Exchange) {
			x.Respond(400, jsonText, `{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"no"}}`)
		}},
		{"500-error", "fails a call with 500 and a JSON-RPC error without an id", "MCP error -32603", func(x *Exchange) {
			x.Respond(500, jsonText, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no"}}`)
		}},
		{"500-result", "answers a call with 500 and a result", "HTTP 500", func(x *Exchange) {
			x.Respond(500, jsonText, "$answer")
		}},
		{"500-endless", "answers a call with 500 and a body that does not end", "HTTP 500: Internal Server Error: half", func(x *Exchange) {
			x.Respond(500, htmlText, "half")
			x.Hang()
		}},
		{"500-silent", "answers a call with 500 and a body that does not come", "HTTP 500", func(x *Exchange) {
			x.Respond(500, htmlText, "")
			x.Hang()
		}},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "web/status/" + row.name, Does: row.does, Must: ends(row.want),
			Web: spoils("tools/call", row.serve), Try: callEnds(row.want),
		})
	}
	return all
}
