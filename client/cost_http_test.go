package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"runtime"
	"strconv"
	"testing"
	"time"

	"mcpwire/client"
	"mcpwire/internal/proc/proctest"
	"mcpwire/transport/streamable"
)

// A cheap server speaks HTTP over bare connections, so that what a call allocates in this process is the client's. It
// answers every request with the same result, as JSON or as an event.
type cheap struct {
	listener net.Listener
	events   bool
}

func serveCheaply(tb testing.TB, events bool) *cheap {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	s := &cheap{listener: l, events: events}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

func (s *cheap) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	var body, out, message []byte
	for {
		size, listens := 0, false
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			listens = listens || bytes.HasPrefix(line, []byte("GET "))
			if line = bytes.TrimSpace(line); len(line) == 0 {
				break
			}
			if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				for _, digit := range text {
					size = 10*size + int(digit-'0')
				}
			}
		}
		if listens {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
			_, _ = io.Copy(io.Discard, r) // until the client closes it
			return
		}
		body = append(body[:0], make([]byte, size)...)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		message = answerCheaply(message[:0], body)
		out = s.envelope(out[:0], message)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// answerCheaply appends the answer to a message, or nothing if it needs none.
func answerCheaply(to, body []byte) []byte {
	_, after, ok := bytes.Cut(body, []byte(`"id":`))
	if !ok {
		return to
	}
	id := after[:bytes.IndexByte(after, ',')]
	to = append(append(append(to, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
	if bytes.Contains(body, []byte(`"initialize"`)) {
		return append(append(to, initialized...), '}')
	}
	return append(to, `{"content":[{"type":"text","text":"hello"}]}}`...)
}

// envelope appends an HTTP answer with the message.
func (s *cheap) envelope(to, message []byte) []byte {
	switch {
	case len(message) == 0:
		return append(to, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"...)
	case !s.events:
		to = append(to, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: cheap\r\nContent-Length: "...)
		to = strconv.AppendInt(to, int64(len(message)), 10)
		return append(append(to, "\r\n\r\n"...), message...)
	}
	to = append(to, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: cheap\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n"...)
	const begin, end = "event: message\ndata: ", "\n\n"
	to = strconv.AppendInt(to, int64(len(begin)+len(message)+len(end)), 16)
	to = append(append(append(to, "\r\n"+begin...), message...), end...)
	return append(to, "\r\n0\r\n\r\n"...)
}

func connectCheaply(tb testing.TB, events bool) *client.Client {
	tb.Helper()
	s := serveCheaply(tb, events)
	c, err := client.Connect(context.Background(), streamable.New(streamable.Options{
		Name: "cheap", URL: "http://" + s.listener.Addr().String(),
	}), client.Options{Server: "cheap", Protocol: client.ProtocolSession})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// What a call over HTTP may allocate; about 45 are net/http's own.
const (
	mostForJSON   = 57
	mostForEvents = 58
)

func TestACallOverHTTPAllocatesLittle(t *testing.T) {
	if raced() {
		t.Skip("with the race detector more is allocated")
	}
	for _, row := range []struct {
		name   string
		events bool
		most   float64
	}{{"JSON", false, mostForJSON}, {"events", true, mostForEvents}} {
		c := connectCheaply(t, row.events)
		got := testing.AllocsPerRun(500, func() { callText(t, c, "any", json.RawMessage(`{"text":"hello"}`)) })
		t.Logf("%s: %v", row.name, got)
		if got > row.most {
			t.Errorf("a call answered with %s allocates %v times, more than %v", row.name, got, row.most)
		}
	}
}

// An idle client that listens holds its stream's reader and net/http's two goroutines; the socket for calls is shared.
func TestAnIdleClientThatListensHoldsFewGoroutines(t *testing.T) {
	const clients, each = 8, 3
	s := serveCheaply(t, false)
	before := runtime.NumGoroutine()
	for range clients {
		c, err := client.Connect(t.Context(), streamable.New(streamable.Options{URL: "http://" + s.listener.Addr().String()}),
			client.Options{
				Protocol: client.ProtocolSession, OnNotification: func(context.Context, string, json.RawMessage) {},
			})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeClient(t, c) })
		callText(t, c, "any", nil)
	}
	const most = clients*(each+1) + 3*(2+1) // the server has one for each socket; dialling may have brought some more
	few := func() bool { return runtime.NumGoroutine()-before <= most }
	if !proctest.Within(5*time.Second, few) {
		t.Errorf("%d clients hold %d goroutines, more than %d", clients, runtime.NumGoroutine()-before, most)
	}
}

func BenchmarkCallOverHTTP(b *testing.B) {
	for name, events := range map[string]bool{"JSON": false, "SSE": true} {
		b.Run(name, func(b *testing.B) {
			c := connectCheaply(b, events)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.CallTool(b.Context(), "any", json.RawMessage(`{"text":"hello"}`), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
