package survival

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A webFault is a way to answer a call, and what its error says: nothing where the call must succeed.
type webFault struct {
	name, does, want string
	serve            reply
}

// callRows makes rows of servers that answer their first call in odd ways.
func callRows(prefix string, faults []webFault) (rows []Row) {
	for _, f := range faults {
		rows = append(rows, Row{
			Name: prefix + f.name, Does: f.does, Must: ends(f.want),
			Web: spoils("tools/call", f.serve), Try: callEnds(f.want),
		})
	}
	return rows
}

// page is a reply with 200, a type and a body.
func page(kind, body string) reply { return func(x *Exchange) { x.Respond(http.StatusOK, kind, body) } }

// packed is a reply with a body that is said to be packed, made of the honest answer by pack.
func packed(kind, encoding string, pack func(answer string) string) reply {
	return func(x *Exchange) {
		x.Header().Set("Content-Encoding", encoding)
		x.Header().Set("Content-Type", kind)
		x.Say(pack(fill("$answer", x.Message)))
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // to memory
	_ = w.Close()
	return b.String()
}

// bodyRows are about the bodies that answers come in.
func bodyRows() []Row {
	half := func(s string) string { return s[:len(s)/2] }
	return callRows("web/body/", []webFault{
		{"empty", "answers a call with an empty body", "the answer is empty", page(jsonText, "")},
		{"blank", "answers a call with white space", "the answer is empty", page(jsonText, " \r\n\t ")},
		{"html", "answers a call with a page", "HTTP 200 with text/html", page(htmlText, "<html>welcome</html>")},
		{"text", "answers a call as plain text", "HTTP 200 with text/plain", page("text/plain", "$answer")},
		{
			"octets", "answers a call as application/octet-stream", "application/octet-stream",
			page("application/octet-stream", "$answer"),
		},
		{"no-type", "answers a call without saying in what form", "", page("", "$answer")},
		{"no-type-blank", "answers a call without a type, white space first", "", page("", "\r\n  $answer")},
		{"no-type-events", "answers a call with an event, without a type", "", page("", "id: 1\n"+event)},
		{"no-type-comment", "answers a call with a comment and an event, without a type", "", page("", ": hi\n\n"+event)},
		{"no-type-html", "answers a call with a page without a type", "HTTP 200 with no type", page("", "<html>")},
		{"type-case", "says Application/JSON;Charset=UTF-8", "", page("Application/JSON;Charset=UTF-8", "$answer")},
		{"type-odd", "says application/json; charset", "", page("application/json; charset", "$answer")},
		{"type-bare", "says application/json;;", "", page("application/json;;", "$answer")},
		{"type-events-case", "says TEXT/EVENT-STREAM;charset=UTF-8", "", page("TEXT/EVENT-STREAM;charset=UTF-8", event)},
		{"type-long", "names a type of 500 KiB", "HTTP 200 with text/mmm", func(x *Exchange) {
			x.Respond(http.StatusOK, "text/"+strings.Repeat("m", 500<<10), "no")
		}},
		{
			"json-as-events", "answers a call with JSON and calls it events", "no response received for request ID",
			page(eventStream, "$answer"),
		},
		{"events-as-json", "answers a call with an event and calls it JSON", "no JSON-RPC message", page(jsonText, event)},
		{"truncated", "answers a call with half of a message", "no JSON-RPC message", func(x *Exchange) {
			x.Respond(http.StatusOK, jsonText, half(fill("$answer", x.Message)))
		}},
		{"short", "promises more than it sends of an answer", "unexpected EOF", raw(jsonHead + "Content-Length: 9999\r\n\r\n$answer")},
		{
			"long", "sends more than it promises of an answer", "no JSON-RPC message",
			raw(jsonHead + "Connection: close\r\nContent-Length: 30\r\n\r\n$answer"),
		},
		{
			"length-and-chunks", "says both how long its answer is and that it comes in chunks", "",
			func(x *Exchange) {
				answer := honest(x.Message)
				x.Raw(jsonHead + "Connection: close\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" +
					fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(answer), answer))
			},
		},
		{
			"chunk-cut", "breaks off in the middle of a chunk", "unexpected EOF",
			raw(jsonHead + "Transfer-Encoding: chunked\r\n\r\nffff\r\n{\"jsonrpc\":"),
		},
		{
			"chunk-end", "breaks off before the last chunk", "unexpected EOF",
			raw(jsonHead + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"jso\r\n"),
		},
		{
			"chunk-odd", "has a chunk of a size that is no number", "invalid byte in chunk length",
			raw(jsonHead + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n$answer"),
		},
		{
			"chunk-huge", "has a chunk of a size beyond all numbers", "chunk length too large",
			raw(jsonHead + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n$answer"),
		},
		{"length-odd", "names a length that is no number", "bad Content-Length", raw(jsonHead + "Content-Length: -5\r\n\r\n$answer")},
		{
			"lengths", "names two lengths", "Content-Length",
			raw(jsonHead + "Content-Length: 5\r\nContent-Length: 7\r\n\r\n$answer"),
		},
		{"until-close", "ends its answer by hanging up", "", raw(jsonHead + "\r\n$answer")},
		{"http-1.0", "speaks HTTP/1.0", "", raw("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n$answer")},
		{"gzip", "packs its answer although nobody asked for it", "", packed(jsonText, "gzip", gzipped)},
		{"gzip-events", "packs its events", "", packed(eventStream, "GZIP", func(s string) string {
			return gzipped("data: " + s + "\n\n")
		})},
		{"gzip-corrupt", "packs its answer and spoils that", "gzip", packed(jsonText, "gzip", func(s string) string {
			return strings.Replace(gzipped(s), "\x1f\x8b", "\x1f\x8c", 1)
		})},
		{"gzip-checksum", "packs its answer with a wrong checksum", "gzip", packed(jsonText, "gzip", func(s string) string {
			p := []byte(gzipped(s))
			p[len(p)-5] ^= 1
			return string(p)
		})},
		{"gzip-cut", "packs its answer and sends half of that", "unexpected EOF", packed(jsonText, "gzip", func(s string) string {
			return half(gzipped(s))
		})},
		{
			"gzip-plain", "says that its answer is packed, and it is not", "gzip",
			packed(jsonText, "gzip", func(s string) string { return s }),
		},
		{
			"brotli", "packs its answer in a way that nobody asked for", "no JSON-RPC message",
			packed(jsonText, "br", func(string) string { return "\x0b\x02\x80\x03" }),
		},
		{"batch", "answers a call with a batch", "", page(jsonText, "[$answer]")},
		{"batch-empty", "answers a call with an empty batch", "no JSON-RPC message", page(jsonText, "[]")},
		{"number", "answers a call with a number", "no JSON-RPC message", page(jsonText, "42")},
		{"null", "answers a call with null", "no JSON-RPC message", page(jsonText, "null")},
		{"twice", "answers a call twice in one body", "no JSON-RPC message", page(jsonText, "$answer\n$answer")},
		{"tail", "answers a call with something behind the message", "no JSON-RPC message", page(jsonText, "$answer oops")},
		{"mark", "begins its answer with a byte order mark", "", page(jsonText, "\ufeff$answer")},
		{"utf16", "answers a call in UTF-16", "no JSON-RPC message", func(x *Exchange) {
			x.Respond(http.StatusOK, jsonText, "\xff\xfe"+strings.Join(strings.Split(honest(x.Message), ""), "\x00")+"\x00")
		}},
		{"other-id", "answers another request", "another request", page(jsonText, `{"jsonrpc":"2.0","id":"x","result":{}}`)},
		{"null-id", "answers a call with a result for no id", "another request", page(jsonText, `{"jsonrpc":"2.0","id":null,"result":{}}`)},
		{"question", "answers a call with a request", "another request", page(jsonText, `{"jsonrpc":"2.0","id":7,"method":"ping"}`)},
		{"note", "answers a call with a notification", "another request", page(jsonText, `{"jsonrpc":"2.0","method":"notifications/x"}`)},
		{
			"deep", "answers a call with a hundred thousand brackets", "no JSON-RPC message",
			page(jsonText, `{"jsonrpc":"2.0","id":$id,"result":`+strings.Repeat("[", 100_000)),
		},
		{"large", "answers a call with eight mebibytes more", "", page(jsonText, `{"jsonrpc":"2.0","x":"$mib$mib$mib$mib$mib$mib$mib$mib","id":$id,"result":$result}`)},
		{"trickle", "sends a byte of its answer each 100 ms, for ever", "request timeout after 1000ms", func(x *Exchange) {
			x.Respond(http.StatusOK, jsonText, "{")
			for x.Still(100 * time.Millisecond) {
				x.Say(" ")
			}
		}},
		{"slow", "sends its answer in three pieces", "", func(x *Exchange) {
			x.Header().Set("Content-Type", jsonText)
			x.Pieces(honest(x.Message), 30)
		}},
		{"hang", "sends half of its answer, and then nothing", "request timeout after 1000ms", func(x *Exchange) {
			x.Respond(http.StatusOK, jsonText, `{"jsonrpc":"2.0","id":$id,`)
			x.Hang()
		}},
	})
}

// connectionRows are about connections that break, and about what comes in place of HTTP.
func connectionRows() []Row {
	const closed = "closed the connection without an answer"
	const broken = "it: tools/call echo: " // the rest is in the words of the system
	slow := func(text string) reply {
		return func(x *Exchange) {
			ctx, socket := x.Request.Context(), x.Socket()
			defer socket.Close()
			for i := 0; ctx.Err() == nil; i = (i + 1) % len(text) {
				if _, err := fmt.Fprintf(socket, "%c", text[i]); err != nil {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	return callRows("web/connection/", []webFault{
		{"closed", "hangs up when it is called", closed, raw("")},
		{"reset", "resets the connection when it is called", broken, func(x *Exchange) { x.Reset("") }},
		{"reset-headers", "resets the connection in the middle of the headers", broken, func(x *Exchange) { x.Reset(jsonHead) }},
		{"reset-body", "resets the connection in the middle of the answer", broken, func(x *Exchange) {
			x.Reset(jsonHead + "Content-Length: 9999\r\n\r\n{\"json")
		}},
		{"closed-status", "hangs up in the middle of the status line", broken, raw("HTTP/1.1 20")},
		{"closed-headers", "hangs up in the middle of the headers", broken, raw(jsonHead)},
		{"silent", "does not answer at all", "request timeout after 1000ms", func(x *Exchange) { x.Hang() }},
		{"silent-headers", "stops in the middle of the headers", "request timeout after 1000ms", func(x *Exchange) {
			x.RawHang(jsonHead)
		}},
		{
			"slow-headers", "sends a byte of endless headers each 50 ms", "request timeout after 1000ms",
			slow("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 1000)),
		},
		{"large-headers", "sends 900 KiB of headers", "", func(x *Exchange) {
			x.Header().Set("X-Much", strings.Repeat("m", 900<<10))
			x.JSON(honest(x.Message))
		}},
		{"many-headers", "sends ten thousand headers", "", func(x *Exchange) {
			for i := range 10_000 {
				x.Header().Add("X-Many", fmt.Sprint(i))
			}
			x.JSON(honest(x.Message))
		}},
		{"huge-headers", "sends 4 MiB of headers", "headers exceeded", func(x *Exchange) {
			x.RawHang(jsonHead + strings.Repeat("X: $mib\r\n", 4) + "\r\n$answer")
		}},
		{"endless-line", "answers with one line of 4 MiB", "headers exceeded", func(x *Exchange) {
			x.RawHang("HTTP/1.1 200 " + strings.Repeat("$mib", 4))
		}},
		{"ssh", "is an SSH server", "malformed HTTP", raw("SSH-2.0-OpenSSH_9.9\r\n")},
		{"binary", "answers with bytes that are no text", "malformed HTTP", raw("\x15\x03\x03\x00\x02\x02\x28\x1b[31m\r\n\r\n")},
		{"long-nonsense", "answers with 500 KiB of something else", "malformed HTTP", raw(strings.Repeat("m", 500<<10) + "\r\n\r\n")},
		{"nonsense-status", "answers with a status that is no number", "malformed HTTP", raw("HTTP/1.1 two-hundred OK\r\n\r\n")},
		{"nonsense-header", "has a header without a name", "malformed MIME header", raw("HTTP/1.1 200 OK\r\n: x\r\n\r\n")},
		{
			"control-header", "has a control sequence in a header", "malformed MIME header",
			raw("HTTP/1.1 200 OK\r\nX: \x1b[31m\r\n\r\n"),
		},
		{"long-header", "has a header of 500 KiB that is none", "malformed MIME header", raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("m", 500<<10) + "\r\n\r\n")},
		{"http-2", "answers in HTTP/2", "malformed HTTP", raw("\x00\x00\x12\x04\x00\x00\x00\x00\x00\r\n\r\n")},
	})
}
