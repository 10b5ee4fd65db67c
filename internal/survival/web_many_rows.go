package survival

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/oneshot"
)

// repeatRows are about calls that end in the dark: the server counts how often its tool is run.
func repeatRows() (rows []Row) {
	for _, f := range []struct {
		name, does string
		unknown    bool // whether the host is told that the tool may have run
		serve      reply
	}{
		{"closed", "runs a tool and hangs up", true, raw("")},
		{"reset", "runs a tool and resets the connection", true, func(x *Exchange) { x.Reset("") }},
		{"headers", "runs a tool and hangs up within the headers", true, raw(jsonHead)},
		{"body", "runs a tool and hangs up within the answer", true, raw(jsonHead + "Content-Length: 9999\r\n\r\n{")},
		{"events", "runs a tool and ends its stream before the answer", true, streams(": hi\n\n")},
		{"gzip", "runs a tool and packs half of the answer", true, packed(jsonText, "gzip", func(s string) string {
			return gzipped(s)[:20]
		})},
		{"silent", "runs a tool and never answers", true, func(x *Exchange) { x.Hang() }},
		{"silent-events", "runs a tool and says nothing on its stream", true, func(x *Exchange) { x.Events(""); x.Hang() }},
		{"502", "runs a tool behind a gateway that gives up", true, responds(502)},
		{"504", "runs a tool behind a gateway that gives up waiting", true, responds(504)},
		{"503-later", "runs a tool and asks to be called again at once", false, func(x *Exchange) {
			x.Header().Set("Retry-After", "0")
			responds(503)(x)
		}},
		{"408", "runs a tool and says that it took too long", false, responds(408)},
		{"garbage", "runs a tool and answers with what is no message", false, page(jsonText, "oops")},
		{"page", "runs a tool and answers with a page", false, page(htmlText, "<html>")},
		{"refused", "runs a tool and says that there is no such tool", false, page(jsonText,
			`{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"Unknown tool"}}`)},
		{"is-error", "runs a tool, which fails", false, page(jsonText, `{"jsonrpc":"2.0","id":$id,"result":{"content":[],"isError":true}}`)},
	} {
		must := "not run it again"
		if f.unknown {
			must += ", and tell its outcome as unknown"
		}
		rows = append(rows, Row{
			Name: "web/repeat/" + f.name, Does: f.does, Must: must,
			Web: spoils("tools/call", f.serve),
			Try: managed(func(t *Trial, m *manager.Manager) {
				_, err := m.CallTool(t.Context, "it", "echo", map[string]string{"text": "hello"},
					&manager.CallOptions{CallOptions: client.CallOptions{Timeout: time.Second}})
				_, unknown := errors.AsType[*manager.OutcomeUnknown](err)
				if unknown != f.unknown {
					t.Fail("the call ended with %v", err)
				}
				t.Seen("tools/call", 1, 1)
				t.works(m)
				t.Seen("tools/call", 2, 2)
			}),
		})
	}
	return append(rows, dialRows()...)
}

// dialRows are about servers that can't be reached at first.
func dialRows() []Row {
	return []Row{{
		Name: "web/repeat/restarted", Does: "closes the connection after each answer, as a server does that is restarted",
		Must: "make a new connection, and run each call once",
		Web: spoilsAll("tools/call", func(x *Exchange) {
			answer := honest(x.Message)
			socket := x.Socket()
			_, _ = fmt.Fprintf(socket, "%sContent-Length: %d\r\n\r\n%s", jsonHead, len(answer), answer)
			if tcp, ok := socket.(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
			_, _ = io.Copy(io.Discard, socket) // until the client has seen it
			x.web.Count("closed")
		}),
		Try: func(t *Trial) {
			c := t.Connect()
			for i := range 5 {
				t.Works(c)
				if !t.Web.Await(t.Context, "closed", i+1) {
					t.Fail("the client keeps a connection that its server has closed")
				}
			}
			t.Seen("tools/call", 5, 5)
		},
	}}
}

// networkRows are about what stands between.
func networkRows() []Row {
	proxy := func(f http.HandlerFunc) func(w *Web) http.Handler {
		return func(w *Web) http.Handler {
			address := w.Other(f)
			w.proxy = address
			return w.Serve(nil)
		}
	}
	through := func(t *Trial) { t.Server.Proxy = t.Web.proxy }
	fails := func(parts ...string) func(t *Trial) {
		return func(t *Trial) {
			through(t)
			t.Options.ConnectTimeout = 2 * time.Second
			_, err := t.Dial()
			t.WantError(err, parts...)
			t.Fit(err)
			t.Seen("server/discover", 0, 0)
			t.Seen("initialize", 0, 0)
		}
	}
	return []Row{
		{
			Name: "web/network/refused", Does: "is not there", Must: "say so at once",
			Web:  func(w *Web) http.Handler { return w.Serve(nil) },
			With: func(s *config.Server, _ *mcpwire.Options) { s.URL = "http://" + unused() + "/mcp" },
			Try: func(t *Trial) {
				start := time.Now()
				_, err := t.Dial()
				t.WantError(err, "connect")
				if took := time.Since(start); took > 5*time.Second {
					t.Fail("it took %v", took)
				}
			},
		},
		{
			Name: "web/network/tls", Does: "speaks HTTP where HTTPS is wanted", Must: "say so",
			Web:  func(w *Web) http.Handler { return w.Serve(nil) },
			With: func(s *config.Server, _ *mcpwire.Options) { s.URL = strings.Replace(s.URL, "http:", "https:", 1) },
			Try:  cannotConnect("HTTP"),
		},
		{
			Name: "web/network/proxy-502", Does: "stands behind a proxy that answers with 502", Must: "report the status",
			Web: proxy(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no route", http.StatusBadGateway) }),
			Try: fails("HTTP 502"),
		},
		{
			Name: "web/network/proxy-407", Does: "stands behind a proxy that wants a password", Must: "report the status",
			Web: proxy(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who?", http.StatusProxyAuthRequired) }),
			Try: fails("HTTP 407"),
		},
		{
			Name: "web/network/proxy-silent", Does: "stands behind a proxy that does not answer", Must: "end connecting by its clock",
			Web: proxy(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			}),
			Try: fails("connect timeout after 2000ms"),
		},
		{
			Name: "web/network/proxy-gone", Does: "stands behind a proxy that is not there", Must: "name the proxy, and not go past it",
			Web: func(w *Web) http.Handler {
				w.proxy = "http://user:passw0rd@" + unused()
				return w.Serve(nil)
			},
			Try: fails("via proxy http://***@127.0.0.1"),
		},
		{
			Name: "web/network/loopback", Does: "is on this machine, while the environment names a proxy",
			Must: "go past the proxy", Alone: true,
			Web: func(w *Web) http.Handler { return w.Serve(nil) },
			Try: func(t *Trial) {
				defer setenv("HTTP_PROXY", "http://127.0.0.1:1")()
				defer setenv("http_proxy", "http://127.0.0.1:1")()
				worksTwice(t)
			},
		},
	}
}

// unused returns a local address at which nobody listens.
func unused() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:1"
	}
	defer l.Close()
	return l.Addr().String()
}

// webMemoryRows are about bodies that are larger than any answer may be. The cap is 64 MiB, and as much is allowed
// besides, or little where nothing is to be kept.
func webMemoryRows() []Row {
	const within, little = 128 << 20, 32 << 20
	// sends is a reply of so many MiB, each made of the same letters, or of as many as the client takes where it is 0.
	sends := func(status int, kind, head, piece string, mib int) reply {
		return func(x *Exchange) {
			x.Header().Set("Content-Type", kind)
			x.WriteHeader(status)
			x.Say(fill(head, x.Message))
			part := []byte(strings.Repeat(piece, (1<<20)/len(piece)))
			for i := 0; mib == 0 || i < mib; i++ {
				if _, err := x.Write(part); err != nil {
					x.web.Count("stopped")
					return
				}
			}
		}
	}
	const begun = `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"`
	stopped := func(want string) func(t *Trial) {
		return func(t *Trial) {
			callEnds(want)(t)
			if !t.Web.Await(t.Context, "stopped", 1) {
				t.Fail("it takes all that comes")
			}
		}
	}
	var rows []Row
	for _, f := range []struct {
		name, does, want string
		memory           int64
		serve            reply
		try              func(t *Trial)
	}{
		{"json", "answers with 300 MiB of JSON", "message too large", within, sends(200, jsonText, begun, "m", 300), nil},
		{
			"json-endless", "answers with JSON that does not end", "message too large", within, sends(200, jsonText, begun, "m", 0),
			stopped("message too large"),
		},
		{
			"blanks", "answers with white space that does not end", "message too large", within, sends(200, jsonText, "", " ", 0),
			stopped("message too large"),
		},
		{"declared", "promises 300 MiB of JSON", "message too large", within, func(x *Exchange) {
			x.Header().Set("Content-Length", "314572800")
			sends(200, jsonText, begun, "m", 0)(x)
		}, nil},
		{"error", "fails with a body of 160 MiB", "HTTP 500", little, sends(500, "text/plain", "", "m", 160), nil},
		{"error-json", "refuses with a message that does not end", "HTTP 400", little, sends(400, jsonText,
			`{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"`, "m", 0), stopped("HTTP 400")},
		{
			"page", "answers with a page that does not end", "HTTP 200 with text/html", little, sends(200, htmlText, "", "m", 0),
			stopped("HTTP 200 with text/html"),
		},
		{"gzip", "packs an answer that is 160 MiB of blanks", "message too large", within, packed(jsonText, "gzip", bomb), nil},
		{"gzip-error", "packs a failure that is 160 MiB of blanks", "HTTP 500", little, func(x *Exchange) {
			x.Header().Set("Content-Encoding", "gzip")
			x.WriteHeader(500)
			x.Say(bomb(""))
		}, nil},
		{"event", "answers with an event of 160 MiB", "message too large", within, func(x *Exchange) {
			sends(200, eventStream, "data: "+begun, "m", 160)(x)
			x.Say("\"}]}}\n\n")
		}, nil},
		{"event-lines", "answers with an event of 160 MiB in short lines", "message too large", within, func(x *Exchange) {
			sends(200, eventStream, "data: "+begun+"\n", "data: "+strings.Repeat("m", 1017)+"\n", 160)(x)
			x.Say("data: \"}]}}\n\n")
		}, nil},
		{"comment", "sends a comment of 160 MiB before its answer", "", little, func(x *Exchange) {
			sends(200, eventStream, ": ", "m", 160)(x)
			x.Say("\n\n" + fill(event, x.Message))
		}, nil},
	} {
		row := Row{
			Name: "web/memory/" + f.name, Does: f.does, Must: ends(f.want) + ", within the cap", Memory: f.memory,
			Web: spoils("tools/call", f.serve), Try: callEnds(f.want), Within: 30 * time.Second,
		}
		if f.try != nil {
			row.Try = f.try
		}
		rows = append(rows, row)
	}
	const notes = 80 // in each call
	note := `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"$mib"}}` + "\n\n"
	rows = append(rows, slow(2*notes, Row{
		Name: "web/memory/notes", Memory: (16 + 64) << 20,
		Does: fmt.Sprintf("sends %d notifications of 1 MiB in each call to a host that takes none", notes),
		Must: "lose no answer, and hold 16 MiB of notifications at most",
		Web: spoilsAll("tools/call", func(x *Exchange) {
			x.Events("")
			large := mebibyte(note)
			for range notes {
				x.Say(large)
			}
			x.Say(fill(event, x.Message))
		}),
	}))
	return append(rows, Row{
		Name: "web/memory/notification", Does: "answers a notification with a body that does not end", Memory: little,
		Must: "connect and work all the same", Try: worksTwice, Within: 30 * time.Second,
		Web: spoils("notifications/initialized", sends(200, jsonText, "", "m", 0)),
	})
}

// bomb is 160 MiB of blanks, packed.
func bomb(string) string { return strings.Repeat(gzipped(strings.Repeat(" ", 1<<20)), 160) }

// oneshotRows are about servers that are asked one thing, without a handshake.
func oneshotRows() (rows []Row) {
	const clock = "deadline exceeded"
	for _, f := range []webFault{
		{"refused", "refuses the request", "", page(jsonText, `{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"no"}}`)},
		{"events", "answers in an event, after a priming one", "", streams("id: a\ndata:\n\n" + event)},
		{"500", "answers with 500", "HTTP 500", responds(500)},
		{"page", "answers with a page", "HTTP 200 with text/html", page(htmlText, "<html>")},
		{"empty", "answers with nothing", "the answer is empty", page(jsonText, "")},
		{"other", "answers another request", "another request", page(jsonText, `{"jsonrpc":"2.0","id":"x","result":{}}`)},
		{"unended", "ends its stream before the answer", "no response received", streams(": hi\n\n")},
		{"closed", "hangs up", "closed the connection without an answer", raw("")},
		{"cut", "hangs up within the answer", "unexpected EOF", raw("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{")},
		{"stranger", "redirects to another server", "redirected to another origin", func(x *Exchange) {
			http.Redirect(x, x.Request, "http://evil.example/", http.StatusPermanentRedirect)
		}},
		{"switch", "switches to another protocol, and then says nothing", "HTTP 101", func(x *Exchange) {
			x.RawHang("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		}},
		{"silent", "never answers", clock, func(x *Exchange) { x.Hang() }},
		{"keep-alive", "sends comments for ever", clock, func(x *Exchange) {
			x.Events("")
			for x.Still(50 * time.Millisecond) {
				x.Say(": hi\n\n")
			}
		}},
	} {
		rows = append(rows, Row{
			Name: "oneshot/answer/" + f.name, Does: f.does,
			Must: map[bool]string{true: "return what it says", false: "say so, and ask once only"}[f.want == ""],
			Web:  spoils("tools/call", f.serve),
			Try: func(t *Trial) {
				ctx := t.Context
				if f.want == clock {
					short, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					ctx = short
				}
				text, err := oneshot.Call(ctx, nil, t.Server.URL, "tools/call", []byte(`{"name":"echo"}`))
				switch _, bad := jsonrpc.Parse(text); {
				case f.want != "":
					t.WantError(err, f.want)
					t.Fit(err)
				case err != nil || bad != nil:
					t.Fail("got %s, %v", text, err)
				}
				t.Seen("tools/call", 1, 1)
			},
		})
	}
	return rows
}

// setenv sets a variable of the environment, and returns what sets it back.
func setenv(name, value string) (back func()) {
	before, set := os.LookupEnv(name)
	_ = os.Setenv(name, value)
	return func() {
		if _ = os.Unsetenv(name); set {
			_ = os.Setenv(name, before)
		}
	}
}
