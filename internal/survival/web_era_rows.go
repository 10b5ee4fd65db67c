package survival

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"mcpwire/client"
	"mcpwire/mcp"
)

// eraRows are about finding out what a server speaks, and about servers of 2026-07-28.
func eraRows() []Row { return join(discoveryRows(), newerRows(), listenRows()) }

// discoveryRows are about the answer to server/discover.
func discoveryRows() (rows []Row) {
	const session, newer = mcp.Rev20251125, mcp.Rev20260728
	const clock = "connect timeout after 1000ms"
	refuses := func(status, code int, data string) reply {
		return func(x *Exchange) {
			x.Respond(status, jsonText, fmt.Sprintf(`{"jsonrpc":"2.0","id":$id,"error":{"code":%d,"message":"no","data":%s}}`, code, data))
		}
	}
	result := func(text string) reply { return page(jsonText, `{"jsonrpc":"2.0","id":$id,"result":`+text+`}`) }
	for _, f := range []struct {
		name, does, speaks, fails string
		serve                     reply
	}{
		{"400-empty", "with 400 and nothing", session, "", func(x *Exchange) { x.Respond(400, "", "") }},
		{"400-32000", "with 400 and -32000", session, "", refuses(400, -32000, "null")},
		{"400-32022-old", "with -32022 and older revisions", session, "", refuses(400, -32022, `{"supported":["2025-06-18"]}`)},
		{"400-32022-bare", "with -32022 and no more", session, "", refuses(400, -32022, "null")},
		{
			"400-32022-new", "with -32022 and revisions that nobody knows", "", "no common protocol revision",
			refuses(400, -32022, `{"supported":["2099-01-01"]}`),
		},
		{
			"400-32022-same", "with -32022 and the revision that was asked for", "", "MCP error -32022",
			refuses(400, -32022, `{"supported":["2026-07-28"]}`),
		},
		{"400-32020", "with a complaint about headers", "", "MCP error -32020", refuses(400, -32020, "null")},
		{"400-32021", "with a complaint about capabilities", "", "MCP error -32021", refuses(400, -32021, "null")},
		{"404-32601", "with 404 and -32601", session, "", refuses(404, -32601, "null")},
		{"200-32601", "with -32601", session, "", refuses(200, -32601, "null")},
		{"500-32603", "with 500 and -32603", session, "", refuses(500, -32603, "null")},
		{"200-empty", "with an empty object", session, "", result("{}")},
		{"200-null", "with null", session, "", result("null")},
		{"200-array", "with an array", session, "", result("[]")},
		{"200-old", "with older revisions alone", session, "", result(`{"supportedVersions":["2025-11-25","2024-11-05"]}`)},
		{"200-garbage", "with what is no JSON", session, "", page(jsonText, "oops")},
		{"200-page", "with a page", session, "", page(htmlText, "<html>welcome</html>")},
		{"200-batch", "with an empty batch", session, "", page(jsonText, "[]")},
		{"events-nothing", "with a stream that ends at once", session, "", streams("")},
		{"events-other", "with the answer to another request", session, "", streams("data: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n\n")},
		{"events", "on a stream", newer, "", streams("data: {\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":" + discovered + "}\n\n")},
		{
			"many", "with many revisions, known and unknown", newer, "",
			result(`{"supportedVersions":["2099-01-01","2026-07-28","2025-11-25"],"capabilities":{}}`),
		},
		{
			"odd-members", "with members of wrong types", newer, "",
			result(`{"supportedVersions":["2026-07-28"],"capabilities":[],"_meta":"x","instructions":null}`),
		},
		{"silent", "never", "", clock, func(x *Exchange) { x.Hang() }},
		{"keep-alive", "with comments for ever", "", clock, func(x *Exchange) {
			x.Events("")
			for x.Still(50 * time.Millisecond) {
				x.Say(": hi\n\n")
			}
		}},
		{"closed", "by hanging up", "", "closed the connection without an answer", raw("")},
	} {
		row := Row{
			Name: "web/discover/" + f.name, Does: "answers the question what it speaks " + f.does,
			Web: spoilsAll("server/discover", f.serve),
		}
		switch {
		case f.fails != "":
			row.Must = "say so, and not take it for an older server"
			row.Try = func(t *Trial) {
				cannotConnect(f.fails)(t)
				t.Seen("initialize", 0, 0)
				t.Seen("GET", 0, 0)
			}
		default:
			row.Must = "speak " + f.speaks
			row.Try = func(t *Trial) {
				c := t.Connect()
				if r := c.Server().Revision; r != f.speaks {
					t.Fail("they speak %s", r)
				}
				t.Works(c)
			}
		}
		if f.fails == clock {
			row.With = within(time.Second)
		}
		rows = append(rows, row)
	}
	return rows
}

// newerRows are about the answers of a server of 2026-07-28.
func newerRows() (rows []Row) {
	result := func(text string) reply { return page(jsonText, `{"jsonrpc":"2.0","id":$id,"result":`+text+`}`) }
	const broken = "no response received for request ID"
	for _, f := range []webFault{
		{"result-type", "says that its result is half-done", `unknown resultType "half-done"`, result(`{"resultType":"half-done","content":[]}`)},
		{"result-type-odd", "says that its result is 7", "cannot decode", result(`{"resultType":7,"content":"x"}`)},
		{"no-result-type", "does not say of what type its result is", "", page(jsonText, "$answer")},
		{"input-nothing", "asks for input, and names none", "wants input and names none", result(`{"resultType":"input_required"}`)},
		{
			"input-unknown", "asks for input of a kind that nobody knows", "input",
			result(`{"resultType":"input_required","inputRequests":{"a":{"method":"x/y"}}}`),
		},
		{"input-odd", "asks for input that is a number", "cannot decode", result(`{"resultType":"input_required","inputRequests":7}`)},
		{"unfinished", "breaks off its stream, which had an id", broken, streams("id: a\nretry: 0\ndata:\n\n")},
		{
			"question", "asks the client on the stream of a call, and then answers", "",
			streams("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n" + event),
		},
		{"capability", "complains about capabilities", "MCP error -32021", func(x *Exchange) {
			x.Respond(400, jsonText, `{"jsonrpc":"2.0","id":$id,"error":{"code":-32021,"message":"no"}}`)
		}},
		{"session", "names a session", "", func(x *Exchange) {
			x.Header().Set("Mcp-Session-Id", "s1")
			x.Respond(200, jsonText, "$answer")
		}},
		{"404", "answers a call with 404", "HTTP 404", responds(404)},
		{"502", "answers a call with 502", "HTTP 502", responds(502)},
		{"closed", "hangs up when it is called", "closed the connection", raw("")},
	} {
		rows = append(rows, Row{
			Name: "web/newer/" + f.name, Does: f.does, Must: ends(f.want),
			Web: func(w *Web) http.Handler {
				return w.ServeStateless(func(x *Exchange, method string) bool {
					if x.Request.Header.Get("Mcp-Session-Id") != "" {
						w.Count("session")
					}
					if method != "tools/call" || w.Counted(method) > 1 {
						return false
					}
					f.serve(x)
					return true
				})
			},
			Try: func(t *Trial) {
				callEnds(f.want)(t)
				t.Seen("session", 0, 0)
				t.Seen("GET", 0, 0)
				t.Seen("initialize", 0, 0)
			},
		})
	}
	return append(rows, mismatchRow(), inputRow(), cancelRow())
}

// mismatchRow is about a server that is never content with the headers.
func mismatchRow() Row {
	return Row{
		Name: "web/newer/mismatch", Does: "says of each call that its headers contradict its body",
		Must: "list the tools again, send the call once more, and report the refusal",
		Web: func(w *Web) http.Handler {
			return w.ServeStateless(func(x *Exchange, method string) bool {
				if method == "tools/call" {
					x.Respond(400, jsonText, refusal(x.Message, mcp.CodeHeaderMismatch, "Header mismatch"))
				}
				return method == "tools/call"
			})
		},
		Try: func(t *Trial) {
			t.Refused(t.Connect(), "MCP error -32020")
			t.Seen("tools/call", 2, 2)
			t.Seen("tools/list", 1, 1)
		},
	}
}

// inputRow is about a server that is never content with its input.
func inputRow() Row {
	return Row{
		Name: "web/newer/input-endless", Does: "asks for the same again and again in place of a result",
		Must: "give up after ten times",
		Web: func(w *Web) http.Handler {
			return w.ServeStateless(func(x *Exchange, method string) bool {
				if method == "tools/call" {
					x.JSON(answer(x.Message, `{"resultType":"input_required","requestState":"again"}`))
				}
				return method == "tools/call"
			})
		},
		Try: func(t *Trial) {
			t.Refused(t.Connect(), "the server asked for input 10 times and is still not content")
			t.Seen("tools/call", 11, 11)
		},
	}
}

// cancelRow is about a call that is given up, which its server notices by the end of the connection.
func cancelRow() Row {
	return Row{
		Name: "web/newer/cancel", Does: "never answers a call",
		Must: "end the call by its clock, and hang up in place of a note",
		Web: func(w *Web) http.Handler {
			return w.ServeStateless(func(x *Exchange, method string) bool {
				if method != "tools/call" || w.Counted(method) > 1 {
					return false
				}
				x.Hang()
				w.Count("hung up")
				return true
			})
		},
		Try: func(t *Trial) {
			c := t.Connect()
			t.Fails(c, "request timeout after 1000ms")
			if !t.Web.Await(t.Context, "hung up", 1) {
				t.Fail("the server is not told that the call was given up")
			}
			t.Works(c)
			t.Seen("notifications/cancelled", 0, 0)
		},
	}
}

// listenRows are about subscriptions.
func listenRows() (rows []Row) {
	filter := mcp.SubscriptionFilter{ToolsListChanged: true}
	// ended is what is wanted of a subscription that stood.
	const ended = "ended"
	for _, f := range []webFault{
		{"refused", "refuses a subscription", "MCP error -32601", func(x *Exchange) {
			x.Respond(200, jsonText, refusal(x.Message, -32601, "no"))
		}},
		{"404", "answers a subscription with 404", "HTTP 404", responds(404)},
		{"page", "answers a subscription with a page", "HTTP 200 with text/html", page(htmlText, "<html>")},
		{"at-once", "ends a subscription before it has agreed to it", "no response received", streams("")},
		{"agreed", "agrees to a subscription and ends the stream at once", ended, func(x *Exchange) {
			x.Events("data: " + acknowledged + "\n")
		}},
		{"flood", "tells ten thousand times that its tools have changed, and ends the stream", ended, func(x *Exchange) {
			x.Events("data: " + acknowledged + "\n")
			for range 10_000 {
				x.Pieces(fill("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":{"+
					"\"io.modelcontextprotocol/subscriptionId\":$id}}}\n\n", x.Message), 1<<10)
			}
		}},
		{"silent", "never agrees to a subscription", "context deadline exceeded", func(x *Exchange) {
			x.Events("")
			x.Hang()
		}},
	} {
		rows = append(rows, Row{
			Name: "web/listen/" + f.name, Does: f.does, Must: "say so, and keep the line", With: stateless,
			Web: func(w *Web) http.Handler {
				return w.ServeStateless(func(x *Exchange, method string) bool {
					if method == "subscriptions/listen" {
						f.serve(x)
					}
					return method == "subscriptions/listen"
				})
			},
			Try: func(t *Trial) {
				c := t.Connect()
				watch, err := t.watch(c, filter)
				switch {
				case f.want != ended:
					t.WantError(err, f.want)
				case err != nil:
					t.WantError(err, "no response received") // it ended before the host heard of its beginning
				default:
					t.drain(watch)
				}
				t.Works(c)
				t.Seen("subscriptions/listen", 1, 1)
			},
		})
	}
	return rows
}

// watch opens a subscription, and waits a second for it.
func (t *Trial) watch(c *client.Client, filter mcp.SubscriptionFilter) (*client.Watch, error) {
	ctx, cancel := context.WithTimeout(t.Context, time.Second)
	defer cancel()
	return c.Watch(ctx, filter)
}

// drain waits until a subscription has ended.
func (t *Trial) drain(w *client.Watch) {
	for {
		select {
		case _, more := <-w.Changes:
			if !more {
				if w.Err() == nil {
					t.Fail("the subscription ended, and nobody says why")
				}
				return
			}
		case <-t.Context.Done():
			t.Fail("the subscription does not end")
			return
		}
	}
}
