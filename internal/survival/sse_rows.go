package survival

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"mcpwire/jsonrpc"
)

// eventRows are about the events that a call's answer comes in.
func eventRows() []Row {
	const broken = "no response received for request ID"
	whole := "data: $answer\n\n"
	bytewise := func(text string) reply {
		return func(x *Exchange) {
			x.Events("")
			x.Pieces(fill(text, x.Message), 1)
		}
	}
	return join(callRows("sse/events/", []webFault{
		{"lf", "ends its lines with LF", "", streams(event)},
		{"crlf", "ends its lines with CR LF", "", streams(strings.ReplaceAll(event, "\n", "\r\n"))},
		{"cr", "ends its lines with CR", "", streams(strings.ReplaceAll(event, "\n", "\r"))},
		{"mixed", "ends its lines in all three ways", "", streams(": a\r\r\n: b\nevent: message\r\ndata: $answer\r\n\r")},
		{"cr-hang", "ends its event with a lone CR, and then says nothing", "", func(x *Exchange) {
			x.Events("data: $answer\r\r")
			x.Hang()
		}},
		{"bytewise", "sends its events byte by byte, lines ending with CR LF", "", bytewise("\ufeff: é\r\ndata: $answer\r\n\r\n")},
		{"bytewise-cr", "sends its events byte by byte, lines ending with CR", "", bytewise("id: 1\rdata: $answer\r\r")},
		{"mark", "begins with a byte order mark", "", streams("\ufeff" + whole)},
		{"marks", "begins with two byte order marks", broken, streams("\ufeff\ufeff" + whole)},
		{"no-name", "names no type of event", "", streams(whole)},
		{"empty-name", "names an empty type of event", "", streams("event\n" + whole)},
		{"other-name", "sends the answer as another type of event", broken, streams("event: ping\n" + whole)},
		{"name-case", "sends the answer as an event of type Message", broken, streams("event: Message\n" + whole)},
		{"ping", "sends events of a type that nobody knows before its answer", "", streams("event: ping\ndata: {\"t\":1}\n\n" + whole)},
		{"endpoint", "sends an endpoint event before its answer", "", streams("event: endpoint\ndata: http://evil.example/\n\n" + whole)},
		{"priming", "sends an id, a wait and empty data before its answer", "", streams("id: a\nretry: 50\ndata:\n\n" + whole)},
		{"priming-blank", "sends an id and a blank before its answer", "", streams("id: a\ndata: \n\n" + whole)},
		{"id-only", "sends an event that is an id alone before its answer", "", streams("id: a\n\n" + whole)},
		{"fields", "sends fields that nobody knows", "", streams("foo: bar\nfoo\n:\nDATA: x\n" + whole)},
		{"no-blank", "leaves out the blank behind the colon", "", streams("data:$answer\n\n")},
		{"lines", "sends its answer in many data fields", "", streams(
			"data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\ndata:$id,\ndata\ndata: \"result\":$result}\n\n")},
		{"retry-odd", "sends waits that are no numbers", "", streams("retry: soon\nretry: -1\nretry: 1e3\nretry\n" + whole)},
		{"retry-huge", "asks for a wait of ages", "", streams("retry: 99999999999999999999\n" + whole)},
		{"id-nul", "sends an id with NUL", "", streams("id: a\x00b\n" + whole)},
		{"unended", "ends the stream before the blank line behind its answer", "", streams("data: $answer")},
		{"unended-line", "ends the stream behind the line with its answer", "", streams("data: $answer\n")},
		{"half", "ends the stream in the middle of its answer", broken, streams(`data: {"jsonrpc":"2.0","id":$id,"res`)},
		{"nothing", "ends the stream before its answer", broken, streams("")},
		{"comments", "sends comments and ends the stream", broken, streams(": a\n\n: b\n\n:\n\n")},
		{
			"note", "sends a notification and ends the stream", broken,
			streams("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n"),
		},
		{"other-id", "answers another request and ends the stream", broken, streams("data: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n\n")},
		{
			"other-first", "answers another request before the one that was asked", "",
			streams("data: {\"jsonrpc\":\"2.0\",\"id\":99999,\"result\":{}}\n\n" + whole),
		},
		{"twice", "answers twice", "", streams(whole + whole)},
		{
			"then-error", "answers, and then refuses", "",
			streams(whole + "data: {\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":1,\"message\":\"no\"}}\n\n"),
		},
		{"open", "answers and leaves the stream open", "", func(x *Exchange) {
			x.Events(whole)
			x.Hang()
		}},
		{"talkative", "answers and goes on with comments for ever", "", func(x *Exchange) {
			x.Events(whole)
			for x.Still(10 * time.Millisecond) {
				x.Say(": still here\n\n")
			}
		}},
		{"bad-json", "sends an event that is no JSON in place of its answer", "no JSON-RPC message", streams("data: oops\n\n")},
		{"batch", "sends its answer in a batch", "", streams("data: [$answer]\n\n")},
		{"html", "calls a page events", broken, page(eventStream, "<html>welcome</html>")},
		{
			"large", "answers with an event of eight mebibytes", "",
			streams("data: {\"jsonrpc\":\"2.0\",\"x\":\"" + strings.Repeat("$mib", 8) + "\",\"id\":$id,\"result\":$result}\n\n"),
		},
		{"long-comment", "sends a comment of four mebibytes before its answer", "", streams(": " + strings.Repeat("$mib", 4) + "\n\n" + whole)},
		{"long-name", "names a type of event of a mebibyte", broken, streams("event: $mib\n" + whole)},
		{"long-id", "sends an id of a mebibyte", "", streams("id: $mib\n" + whole)},
		{"keep-alive", "sends comments for ever in place of its answer", "SSE response timeout after 1000ms", func(x *Exchange) {
			x.Events("")
			for x.Still(50 * time.Millisecond) {
				x.Say(": still here\n\n")
			}
		}},
		{"pings", "sends events of a type that nobody knows for ever", "SSE response timeout after 1000ms", func(x *Exchange) {
			x.Events("")
			for x.Still(50 * time.Millisecond) {
				x.Say("event: ping\ndata: {}\n\n")
			}
		}},
		{"silent", "begins a stream and says nothing", "SSE response timeout after 1000ms", func(x *Exchange) {
			x.Events("")
			x.Hang()
		}},
		{"stops", "stops in the middle of its answer", "SSE response timeout after 1000ms", func(x *Exchange) {
			x.Events(`data: {"jsonrpc":`)
			x.Hang()
		}},
		{"progress", "reports progress for ever that nobody asked for", "SSE response timeout after 1000ms", func(x *Exchange) {
			x.Events("")
			for x.Still(20 * time.Millisecond) {
				x.Say(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n\n")
			}
		}},
		{"flood", "sends ten thousand notifications before its answer", "", func(x *Exchange) {
			x.Events("")
			note := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n"
			x.Say(strings.Repeat(note, 10_000))
			x.Say(fill(whole, x.Message))
		}},
		{"cut", "breaks off in the middle of a chunk of events", broken, raw(
			"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nff\r\ndata: {")},
		{"reset", "resets the connection in the middle of an event", broken, func(x *Exchange) {
			x.Reset("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {")
		}},
	}), splitEventRows(), questionRows(), resumeRows())
}

// splitEventRows are about events in pieces.
func splitEventRows() []Row {
	const text = "\ufeffid: é\r\nretry: 5\r\ndata:\r\n\r\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":$id,\"result\":" +
		"{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}}\n\n"
	const most = 12
	return []Row{{
		Name: "sse/events/every-split",
		Does: fmt.Sprintf("sends the same events in pieces of 1 to %d bytes, and cut in two at every byte", most),
		Must: "read the same each time",
		Web: func(w *Web) http.Handler {
			return w.Serve(func(x *Exchange, method string) bool {
				if method != "tools/call" {
					return false
				}
				x.Events("")
				n, whole := w.Counted(method), fill(text, x.Message)
				if n <= most {
					x.Pieces(whole, n)
					return true
				}
				at := (n - most) % len(whole)
				x.Say(whole[:at])
				x.Say(whole[at:])
				return true
			})
		},
		Try: func(t *Trial) {
			c := t.Connect()
			for range most + len(text) + 8 {
				t.Works(c)
			}
		},
	}}
}

// questionRows are about what else comes on a call's stream.
func questionRows() []Row {
	asks := func(question string) func(w *Web) http.Handler {
		return func(w *Web) http.Handler {
			return w.Serve(func(x *Exchange, method string) bool {
				switch {
				case method == "tools/call" && w.Counted(method) == 1:
					x.Events(question)
					ctx, cancel := context.WithTimeout(x.Request.Context(), 5*time.Second)
					defer cancel()
					if w.Await(ctx, "answers", 1) {
						x.Say(fill(event, x.Message))
					}
				case method == "":
					w.Count("answers")
					w.Count(string(x.Body))
					return false
				default:
					return false
				}
				return true
			})
		}
	}
	const deep = `"9007199254740993"`
	return []Row{
		{
			Name: "sse/questions/ping",
			Does: "pings the client on the stream of a call, and answers the call only then",
			Must: "answer in a message of its own, under the same id",
			Web:  asks("data: {\"jsonrpc\":\"2.0\",\"id\":" + deep + ",\"method\":\"ping\"}\n\n"),
			Try: func(t *Trial) {
				callEnds("")(t)
				t.Seen(`{"jsonrpc":"2.0","id":`+deep+`,"result":{}}`, 1, 1)
			},
		},
		{
			Name: "sse/questions/unknown",
			Does: "asks for something that nobody knows on the stream of a call, and answers the call only then",
			Must: "refuse it",
			Web:  asks("data: {\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"nope/x\"}\n\n"),
			Try:  callEnds(""),
		},
		{
			Name: "sse/questions/elsewhere",
			Does: "answers a call on the standing stream",
			Must: "take the answer",
			With: listening,
			Web: func(w *Web) http.Handler {
				answers := make(chan string, 1)
				return w.Serve(func(x *Exchange, method string) bool {
					switch {
					case method == "GET":
						x.Events("")
						select {
						case text := <-answers:
							x.Say(text)
						case <-x.Request.Context().Done():
						}
						x.Hang()
					case method == "tools/call" && w.Counted(method) == 1:
						if w.Await(x.Request.Context(), "GET", 1) {
							answers <- fill(event, x.Message)
						}
						x.Events("")
						x.Hang()
					default:
						return false
					}
					return true
				})
			},
			Try: callEnds(""),
		},
	}
}

// resumeRows are about calls whose stream breaks off with an id, so that it may be asked for again.
func resumeRows() []Row {
	const primed = "id: s-0\nretry: 20\ndata:\n\n"
	// resumed serves a call's stream, and what it is resumed with: the nth time, from 1 on.
	resumed := func(first string, then func(x *Exchange, n int, call jsonrpc.Message)) func(w *Web) http.Handler {
		return func(w *Web) http.Handler {
			var call jsonrpc.Message // written before the client can ask for the rest
			var mu sync.Mutex
			return w.Serve(func(x *Exchange, method string) bool {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case method == "tools/call" && w.Counted(method) == 1:
					call = x.Message
					x.Events(first)
				case method == "GET":
					if x.Request.Header.Get("Last-Event-Id") == "" {
						w.Count("GET without an id")
					}
					m := call
					mu.Unlock()
					then(x, w.Counted(method), m)
					mu.Lock()
				default:
					return false
				}
				return true
			})
		}
	}
	whole := func(m jsonrpc.Message) string { return fill(event, m) }
	rows := []struct {
		name, does, want string
		first            string
		then             func(x *Exchange, n int, call jsonrpc.Message)
		least, most      int // GETs
	}{
		{
			"works", "breaks off a call's stream and answers when it is asked for the rest", "", primed,
			func(x *Exchange, _ int, m jsonrpc.Message) { x.Events(whole(m)) }, 1, 1,
		},
		{
			"pieces", "breaks off a call's stream five times, each time with a new id", "", primed,
			func(x *Exchange, n int, m jsonrpc.Message) {
				if n < 5 {
					x.Events(fmt.Sprintf("id: s-%d\nretry: 20\ndata:\n\n", n))
					return
				}
				x.Events(whole(m))
			}, 5, 5,
		},
		{
			"refused", "breaks off a call's stream and refuses to go on with 405", "no response received", primed,
			func(x *Exchange, _ int, _ jsonrpc.Message) { responds(405)(x) }, 1, 1,
		},
		{
			"gone", "breaks off a call's stream and has forgotten it", "no response received", primed,
			func(x *Exchange, _ int, _ jsonrpc.Message) { responds(404)(x) }, 1, 1,
		},
		{
			"page", "breaks off a call's stream and goes on with a page", "no response received", primed,
			func(x *Exchange, _ int, _ jsonrpc.Message) { page(htmlText, "hi")(x) }, 1, 1,
		},
		{"answered", "answers a call and ends the stream, which had an id", "", primed + event, nil, 0, 0},
		{"id-nul", "breaks off a call's stream whose id has NUL", "no response received", "id: a\x00\ndata:\n\n", nil, 0, 0},
		{"unended-id", "breaks off a call's stream in the middle of the event with the id", "no response received", "id: a\n", nil, 0, 0},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "sse/resume/" + row.name, Does: row.does, Must: "ask for the rest as often as there is hope, and " + ends(row.want),
			Web: resumed(row.first, row.then),
			Try: func(t *Trial) {
				callEnds(row.want)(t)
				t.Seen("GET", row.least, row.most)
				t.Seen("GET without an id", 0, 0)
			},
		})
	}
	storm := func(t *Trial) {
		c := t.Connect()
		t.Fails(c, "SSE response timeout after 1000ms")
		t.Seen("GET", 1, 20)
		t.Works(c)
		t.Seen("tools/call", 2, 2)
	}
	return join(all, []Row{
		{
			Name: "sse/resume/storm-empty", Does: "breaks off a call's stream again and again, with nothing new, and asks for no wait",
			Must: "ask for the rest a few times, and end the call by its clock",
			Web:  resumed("id: a\nretry: 0\ndata:\n\n", func(x *Exchange, _ int, _ jsonrpc.Message) { x.Events("") }),
			Try:  storm,
		},
		{
			Name: "sse/resume/storm-ids", Does: "breaks off a call's stream again and again, with a new id, and asks for no wait",
			Must: "ask for the rest a few times, and end the call by its clock",
			Web: resumed("id: a\nretry: 0\ndata:\n\n", func(x *Exchange, n int, _ jsonrpc.Message) {
				x.Events(fmt.Sprintf("id: a%d\nretry: 0\ndata:\n\n", n))
			}),
			Try: storm,
		},
		{
			Name: "sse/resume/ages", Does: "breaks off a call's stream and asks for a wait of ages",
			Must: "end the call by its clock",
			Web:  resumed("id: a\nretry: 99999999999999999999\ndata:\n\n", nil),
			Try:  expiresOnce("SSE response timeout after 1000ms"),
		},
		{
			Name: "sse/resume/silent", Does: "breaks off a call's stream and says nothing when it is asked for the rest",
			Must: "end the call by its clock",
			Web:  resumed(primed, func(x *Exchange, _ int, _ jsonrpc.Message) { x.Hang() }),
			Try:  expiresOnce("SSE response timeout after 1000ms"),
		},
	})
}

// standingRows are about the standing stream.
func standingRows() []Row {
	serves := func(f reply) func(w *Web) http.Handler { return spoilsAll("GET", f) }
	// few checks that the stream is asked for a few times at most, in more than a second.
	few := func(most int) func(t *Trial) {
		return func(t *Trial) {
			c := t.Connect()
			t.Works(c)
			select {
			case <-time.After(1200 * time.Millisecond):
			case <-t.Context.Done():
			}
			t.Works(c)
			t.Seen("GET", 1, most)
		}
	}
	rows := []struct {
		name, does string
		serve      reply
		try        func(t *Trial)
	}{
		{"closed", "opens the standing stream and closes it at once", streams(""), few(6)},
		{"closed-hasty", "opens the standing stream, asks for no wait, and closes it at once", streams("retry: 0\n\n"), few(6)},
		{
			"closed-events", "closes the standing stream after each event, and asks for no wait",
			streams("retry: 0\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"), few(20),
		},
		{"closed-ids", "closes the standing stream after each id, and asks for no wait", func(x *Exchange) {
			x.Events(fmt.Sprintf("retry: 0\nid: %d\ndata:\n\n", x.web.Counted("GET")))
		}, few(20)},
		{"reset", "resets the connection of the standing stream", func(x *Exchange) { x.Reset("") }, few(6)},
		{"page", "answers with a page where the standing stream is asked for", page(htmlText, "<html>"), few(1)},
		{"json", "answers with JSON where the standing stream is asked for", page(jsonText, "{}"), few(1)},
		{"garbage", "sends events on the standing stream that are no messages", func(x *Exchange) {
			x.Events("data: oops\n\ndata: 42\n\ndata: {\n\n")
			x.Hang()
		}, few(1)},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "sse/standing/" + row.name, Does: row.does, Must: "work, and not ask for it time and again",
			With: listening, Web: serves(row.serve), Try: row.try,
		})
	}
	prompt := func(t *Trial) {
		start := time.Now()
		worksTwice(t)
		if took := time.Since(start); took > 4*time.Second {
			t.Fail("it took %v", took)
		}
	}
	return join(all, []Row{
		{
			Name: "sse/standing/hang", Does: "never answers where the standing stream is asked for",
			Must: "not wait for it", With: listening, Web: serves(func(x *Exchange) { x.Hang() }), Try: prompt,
		},
		{
			Name: "sse/standing/silent", Does: "opens the standing stream and says nothing on it",
			Must: "work", With: listening, Web: serves(func(x *Exchange) { x.Events(""); x.Hang() }), Try: prompt,
		},
		{
			Name: "sse/standing/flood", Does: "floods the standing stream while it is called",
			Must: "work, whatever it has to drop", With: listening,
			Web: serves(func(x *Exchange) {
				x.Events("")
				note := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"
				for range 200 {
					x.Say(strings.Repeat(note, 50))
				}
				x.Hang()
			}),
			Try: prompt,
		},
	})
}
