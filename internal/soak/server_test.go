package soak_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport/transporttest"
)

// An honest server of one era with the tool echo. What is wrong with its line is the faults' work.
const (
	handshake = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"honest","version":"1"}}`
	discovery = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"honest","version":"1"}}}`
)

// answer returns the answer to a message; nil where none is due.
func answer(era string, m jsonrpc.Message) []byte {
	if m.Kind != jsonrpc.Request {
		return nil
	}
	switch {
	case m.Method == mcp.MethodInitialize && era == "session":
		return jsonrpc.AppendResult(nil, m.ID, json.RawMessage(handshake))
	case m.Method == mcp.MethodDiscover && era == "stateless":
		return jsonrpc.AppendResult(nil, m.ID, json.RawMessage(discovery))
	case m.Method == mcp.MethodCallTool:
		return jsonrpc.AppendResult(nil, m.ID, echo(m.Params))
	}
	return jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"})
}

func echo(params json.RawMessage) json.RawMessage {
	var p struct {
		Arguments struct {
			Text string `json:"text"`
		} `json:"arguments"`
	}
	_ = mcp.Decode(params, &p) // what can't be read is echoed as nothing
	text, _ := mcp.Encode(p.Arguments.Text)
	return fmt.Appendf(nil, `{"resultType":"complete","content":[{"type":"text","text":%s}]}`, text)
}

// serveLines serves pipes until they end, with faults both ways.
func serveLines(era string, in io.Reader, out io.Writer, toServer, toClient transporttest.Faults) {
	lines := bufio.NewReader(toServer.Reader(in))
	out = toClient.Writer(out)
	for {
		line, err := lines.ReadBytes('\n')
		if m, bad := jsonrpc.Parse(line); bad == nil {
			if text := answer(era, m); text != nil {
				if _, err := out.Write(append(text, '\n')); err != nil {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// A webServer serves HTTP: /ERA/json and /ERA/events over Streamable HTTP, and /ERA/sse over HTTP with SSE.
type webServer struct {
	mu      sync.Mutex
	last    int
	streams map[string]chan []byte // by session, of HTTP with SSE
}

func (w *webServer) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	era, kind, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if r.Method == http.MethodGet && kind == "sse" {
		w.stream(out, r)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(out, "only POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := jsonrpc.Parse(body)
	if err != nil {
		http.Error(out, "no message", http.StatusBadRequest)
		return
	}
	text := answer(era, m)
	switch {
	case kind == "messages":
		w.post(out, r, text)
	case text == nil:
		out.WriteHeader(http.StatusAccepted)
	case kind == "json":
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write(text) // the client may have gone, here and below
	default:
		out.Header().Set("Content-Type", "text/event-stream")
		_, _ = out.Write(transporttest.Event(text))
	}
}

// stream is the one stream of an HTTP+SSE connection.
func (w *webServer) stream(out http.ResponseWriter, r *http.Request) {
	messages := make(chan []byte)
	w.mu.Lock()
	w.last++
	session := fmt.Sprint(w.last)
	w.streams[session] = messages
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.streams, session)
	}()
	out.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(out, "event: endpoint\ndata: messages?session=%s\n\n", session)
	for {
		_ = http.NewResponseController(out).Flush()
		select {
		case text := <-messages:
			_, _ = out.Write(transporttest.Event(text))
		case <-r.Context().Done():
			return
		}
	}
}

// post hands an answer to the stream of the session.
func (w *webServer) post(out http.ResponseWriter, r *http.Request, text []byte) {
	w.mu.Lock()
	messages := w.streams[r.URL.Query().Get("session")]
	w.mu.Unlock()
	if messages == nil {
		http.NotFound(out, r)
		return
	}
	out.WriteHeader(http.StatusAccepted)
	if text == nil {
		return
	}
	_ = http.NewResponseController(out).Flush()
	select {
	case messages <- text:
	case <-r.Context().Done():
	}
}

// role is the variable that makes the test binary play a server: "lines ERA" or "web".
const role = "SOAK_TEST_ROLE"

// playServer plays a server whose faults are in its environment.
func playServer(as string) {
	toServer, toClient := faultsFrom(os.Getenv(faultsVariable))
	if era, ok := strings.CutPrefix(as, "lines "); ok {
		serveLines(era, os.Stdin, os.Stdout, toServer, toClient)
		return
	}
	if err := playWeb(toServer, toClient); err != nil {
		panic(err)
	}
}
