package survival

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"mcpwire/client"
)

// forgotten are the ways to say that a session is lost.
var forgotten = []struct {
	name, does string
	refuse     reply
}{
	{"404", "404 and an error", func(x *Exchange) {
		x.Respond(404, jsonText, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
	}},
	{"404-page", "404 and a page", responds(404)},
	{"404-empty", "404 and nothing", func(x *Exchange) { x.Respond(404, "", "") }},
	{"400", "400 and an error that names the session", func(x *Exchange) {
		x.Respond(400, jsonText, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: no valid session ID"}}`)
	}},
	{"410", "410 and an error that names the session", func(x *Exchange) {
		x.Respond(410, jsonText, `{"jsonrpc":"2.0","id":$id,"error":{"code":-32001,"message":"SESSION expired"}}`)
	}},
}

// lossRows are about sessions that are lost, at each kind of request.
func lossRows() (rows []Row) {
	stages := []struct {
		name, method string
		do           func(t *Trial, c *client.Client) error
	}{
		{"call", "tools/call", func(t *Trial, c *client.Client) error { t.Works(c); return nil }},
		{"list", "tools/list", func(t *Trial, c *client.Client) error { _, err := c.ListTools(t.Context); return err }},
		{"ping", "ping", func(t *Trial, c *client.Client) error { return c.Ping(t.Context) }},
	}
	for _, how := range forgotten {
		for _, stage := range stages {
			rows = append(rows, Row{
				Name: "web/session/" + stage.name + "-" + how.name,
				Does: fmt.Sprintf("has forgotten the session at the first %s, and says so with %s", stage.method, how.does),
				Must: "open one new session, and send that request once more",
				Web: func(w *Web) http.Handler {
					return w.withSessions(how.refuse, func(id, method string) bool { return id == "s1" && method == stage.method }, nil)
				},
				Try: func(t *Trial) {
					c := t.Connect()
					if err := stage.do(t, c); err != nil {
						t.Fail("it fails: %v", err)
					}
					t.Works(c)
					t.Renewed(2, 2)
					t.Seen("refused "+stage.method, 1, 1)
				},
			})
		}
	}
	return rows
}

// sessionRows are about what else becomes of sessions.
func sessionRows() []Row {
	always := func(string, string) bool { return true }
	calls := func(_, method string) bool { return method == "tools/call" }
	return join(lossRows(), []Row{
		{
			Name: "web/session/five-calls", Does: "has forgotten the session when five calls come at once",
			Must: "open one new session for all of them, and run each once",
			Web: func(w *Web) http.Handler {
				return w.withSessions(forgotten[0].refuse, func(id, method string) bool { return id == "s1" && method == "tools/call" }, nil)
			},
			Try: func(t *Trial) {
				c := t.Connect()
				var all sync.WaitGroup
				for range 5 {
					all.Go(func() { t.Works(c) })
				}
				all.Wait()
				t.Renewed(2, 2)
				t.Seen("runs", 5, 5)
			},
		},
		{
			Name: "web/session/lost-again", Does: "forgets each session at its first call",
			Must: "end the call with that after one new session",
			Web:  func(w *Web) http.Handler { return w.withSessions(forgotten[0].refuse, calls, nil) },
			Try: func(t *Trial) {
				c := t.Connect()
				t.Refused(c, "session lost", "HTTP 404")
				t.Renewed(2, 2)
				t.Seen("runs", 0, 0)
			},
		},
		{
			Name: "web/session/never-known", Does: "knows no session, not even right after the handshake",
			Must: "not connect, and say so",
			Web:  func(w *Web) http.Handler { return w.withSessions(forgotten[0].refuse, always, nil) },
			Try: func(t *Trial) {
				_, err := t.Dial()
				t.WantError(err, "HTTP 404")
				t.Renewed(1, 2)
			},
		},
		{
			Name: "web/session/not-renewed", Does: "has forgotten the session and refuses to open another, with 503",
			Must: "end the call with both reasons, and come back when the server does",
			Web: func(w *Web) http.Handler {
				return w.withSessions(forgotten[0].refuse, func(id, method string) bool { return id == "s1" && method == "tools/call" },
					func(x *Exchange, method string) bool {
						if method != "initialize" || w.Counted("initialize") != 2 {
							return false
						}
						responds(503)(x)
						return true
					})
			},
			Try: func(t *Trial) {
				c := t.Connect()
				t.Refused(c, "session lost", "HTTP 503")
				t.Works(c)
				t.Seen("runs", 1, 1)
			},
		},
		{
			Name: "web/session/400-other", Does: "refuses a call with 400 that has nothing to do with the session",
			Must: "end the call with that, and keep the session",
			Web: func(w *Web) http.Handler {
				return w.withSessions(nil, never, func(x *Exchange, method string) bool {
					if method != "tools/call" || w.Counted(method) > 1 {
						return false
					}
					x.Respond(400, jsonText, `{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"Invalid session of parliament"}}`)
					return true
				})
			},
			Try: func(t *Trial) {
				c := t.Connect()
				t.Refused(c, "MCP error -32602")
				t.Works(c)
				t.Renewed(1, 1)
			},
		},
		{
			Name: "web/session/new-id", Does: "names another session with each answer",
			Must: "keep the first",
			Web: func(w *Web) http.Handler {
				return w.Serve(func(x *Exchange, method string) bool {
					if id := x.Request.Header.Get("Mcp-Session-Id"); id != "" && id != "first" {
						w.Count("other")
					}
					x.Header().Set("Mcp-Session-Id", fmt.Sprintf("other-%d", w.Counted(method)))
					if method == "initialize" {
						x.Header().Set("Mcp-Session-Id", "first")
					}
					return false
				})
			},
			With: asSession,
			Try: func(t *Trial) {
				worksTwice(t)
				t.Seen("other", 0, 0)
			},
		},
		{
			Name: "web/session/lost-stream", Does: "has forgotten the session on the standing stream only",
			Must: "work without the stream in the same session", With: listening,
			Web: func(w *Web) http.Handler {
				return w.withSessions(forgotten[0].refuse, func(_, method string) bool { return method == "GET" }, nil)
			},
			Try: func(t *Trial) {
				c := t.Connect()
				t.Works(c)
				if !t.Web.Await(t.Context, "GET", 1) {
					t.Fail("nobody asked for the stream")
				}
				t.Works(c)
				t.Renewed(1, 1)
				t.Seen("GET", 1, 1)
			},
		},
		{
			Name: "web/session/delete-hangs", Does: "never answers the end of its session",
			Must: "close within a few seconds",
			Web: func(w *Web) http.Handler {
				return w.withSessions(nil, never, func(x *Exchange, method string) bool {
					if method != "DELETE" {
						return false
					}
					x.Hang()
					return true
				})
			},
			Try: func(t *Trial) {
				c := t.Connect()
				start := time.Now()
				if err := c.Close(t.Context); err != nil {
					t.Fail("it can't be closed: %v", err)
				}
				if took := time.Since(start); took > 6*time.Second {
					t.Fail("it took %v", took)
				}
			},
		},
		{
			Name: "web/session/lost-running", Does: "forgets the session while a call runs, and never answers that",
			Must: "not run that call again, and open a new session for the next",
			Web: func(w *Web) http.Handler {
				return w.withSessions(forgotten[0].refuse, func(id, method string) bool {
					return id == "s1" && method == "tools/list"
				}, func(x *Exchange, method string) bool {
					if method != "tools/call" || w.Counted(method) > 1 {
						return false
					}
					x.Hang()
					return true
				})
			},
			Try: func(t *Trial) {
				c := t.Connect()
				var running sync.WaitGroup
				running.Go(func() {
					_, err := t.callWithin(c, unhurried)
					t.WantError(err, "session lost")
				})
				if !t.Web.Await(t.Context, "tools/call", 1) {
					t.Fail("the call does not come")
				}
				if _, err := c.ListTools(t.Context); err != nil {
					t.Fail("it can't list: %v", err)
				}
				running.Wait()
				t.Works(c)
				t.Renewed(2, 2)
				t.Seen("runs", 2, 2)
			},
		},
	}, sessionIDRows())
}

// sessionIDRows are about sessions with odd names.
func sessionIDRows() (rows []Row) {
	for _, id := range []struct{ name, does, id, comes string }{
		{"visible", "all visible characters", `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`, `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`},
		{"long", "16 KiB", strings.Repeat("s", 16<<10), strings.Repeat("s", 16<<10)},
		{"blanks", "blanks around it", "  s  ", "s"},
		{"bytes", "letters that are not ASCII", "sé→", "sé→"},
		{"empty", "nothing in it", "", ""},
	} {
		rows = append(rows, Row{
			Name: "web/session/id-" + id.name, Does: "names its session with " + id.does,
			Must: "send back just that",
			Web: func(w *Web) http.Handler {
				return w.Serve(func(x *Exchange, method string) bool {
					if method == "initialize" {
						x.Header().Set("Mcp-Session-Id", id.id)
					} else if got := x.Request.Header.Get("Mcp-Session-Id"); got != id.comes && method != "server/discover" {
						w.Count("another")
					}
					return false
				})
			},
			Try: func(t *Trial) {
				worksTwice(t)
				t.Seen("another", 0, 0)
			},
		})
	}
	return rows
}
