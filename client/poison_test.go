package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"mcpwire/client"
	"mcpwire/internal/ndjson"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// callers is how many calls are answered at once, so that their answers stand in one buffer.
const callers = 3

// A poisoner is a carrier whose messages pass through a reader of lines: memory that the client gives back is
// overwritten, and what it keeps is the reader's own.
type poisoner struct {
	transport.Transport
}

func (p poisoner) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	stream := &bytes.Buffer{}
	return p.Transport.Open(ctx, &poisonedReceiver{Receiver: r, stream: stream, lines: ndjson.NewReader(endlessly{stream}, 0)})
}

// endlessly makes the end of what has been written look like a pause.
type endlessly struct{ *bytes.Buffer }

func (e endlessly) Read(b []byte) (int, error) {
	n, err := e.Buffer.Read(b)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

type poisonedReceiver struct {
	transport.Receiver

	stream  *bytes.Buffer
	lines   *ndjson.Reader
	waiting int // messages in stream
}

// Receive holds answers to calls back until all callers have theirs.
func (r *poisonedReceiver) Receive(_ *transport.Call, msg []byte) transport.Verdict {
	r.stream.Write(append(msg, '\n'))
	r.waiting++
	if bytes.Contains(msg, []byte(`"content"`)) && r.waiting < callers {
		return transport.Reuse
	}
	for ; r.waiting > 0; r.waiting-- {
		line, err := r.lines.Next()
		if err != nil {
			return transport.Malformed
		}
		if r.Receiver.Receive(nil, line) == transport.Kept {
			r.lines.Keep()
			continue
		}
		for i := range line {
			line[i] = '!'
		}
	}
	return transport.Reuse
}

// poisonText is the text of a result: plain or with much to unescape.
func poisonText(size int) string {
	if size%2 == 0 {
		return strings.Repeat("x", size)
	}
	return strings.Repeat("\"a\"\n→ ", size/8+1)
}

func poisonResult(size int) string {
	text, _ := mcp.Encode(poisonText(size))
	raw := strings.Repeat("7", size%1000+1)
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s,"_meta":{"n":%s}}],"structuredContent":{"n":%s},"_meta":[%s]}`,
		text, raw, raw, raw)
}

func checkPoisoned(t *testing.T, size int, got *mcp.CallToolResult) {
	t.Helper()
	raw := strings.Repeat("7", size%1000+1)
	block := got.Content[0]
	if block.Type != "text" || block.Text != poisonText(size) || string(block.Meta) != `{"n":`+raw+`}` ||
		string(got.StructuredContent) != `{"n":`+raw+`}` || string(got.Meta) != `[`+raw+`]` {
		t.Errorf("a result of %d bytes has become %.300q", size, fmt.Sprint(*got))
	}
}

func FuzzNoResultSharesMemoryThatIsUsedAgain(f *testing.F) {
	f.Add([]byte{1, 2, 3, 50, 51, 52}, uint16(100))
	f.Add([]byte{255, 1, 2, 254, 9, 255, 3, 3, 3}, uint16(1200))
	f.Fuzz(func(t *testing.T, sizes []byte, unit uint16) {
		sizes = sizes[:min(len(sizes), 30)/callers*callers]
		sizeOf := func(name string) (size int) {
			var i int
			_, _ = fmt.Sscan(name, &i)
			return int(sizes[i]) * int(unit%2000)
		}
		server := &fake{answers: map[string]func(jsonrpc.Message) string{
			"tools/list": always(`{"tools":[{"name":"a","description":"b\n","inputSchema":{"c":"d"},"_meta":{"e":1}}]}`),
			"tools/call": func(m jsonrpc.Message) string {
				var params mcp.CallToolParams
				_ = mcp.Decode(m.Params, &params)
				return result(m, poisonResult(sizeOf(params.Name)))
			},
		}}
		c, err := client.Connect(t.Context(), poisoner{transporttest.NewMemory(server.serve)},
			client.Options{Protocol: client.ProtocolSession})
		if err != nil {
			t.Fatal(err)
		}
		defer closeClient(t, c)
		tools, err := c.ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		results := make([]*mcp.CallToolResult, len(sizes))
		for first := 0; first < len(sizes); first += callers {
			var running sync.WaitGroup
			for i := first; i < first+callers; i++ {
				running.Go(func() {
					got, err := c.CallTool(t.Context(), fmt.Sprint(i), nil, nil)
					if err != nil {
						t.Error(err)
						return
					}
					results[i] = got
				})
			}
			running.Wait()
		}
		for i, got := range results {
			if got != nil {
				checkPoisoned(t, sizeOf(fmt.Sprint(i)), got)
			}
		}
		want := mcp.Tool{Name: "a", Description: "b\n", InputSchema: json.RawMessage(`{"c":"d"}`), Meta: json.RawMessage(`{"e":1}`)}
		if len(tools) != 1 || fmt.Sprint(tools[0]) != fmt.Sprint(want) {
			t.Errorf("the tools have become %v", tools)
		}
	})
}
