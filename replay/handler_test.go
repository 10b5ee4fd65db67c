package replay_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcpwire/replay"
)

// A host talks to a server over HTTP.
type host struct {
	t       *testing.T
	url     string
	session string
}

func overHTTP(t *testing.T, recording string) *host {
	t.Helper()
	s := replay.NewServer(recorded(t, recording), replay.Options{File: "f"})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		http.DefaultClient.CloseIdleConnections()
		web.Close()
	})
	return &host{t: t, url: web.URL}
}

func (h *host) do(method, body string, headers ...string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if h.session != "" {
		r.Header.Set("Mcp-Session-Id", h.session)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	return response
}

// post posts the members of a message, or a text, and returns the status and the body.
func (h *host) post(message string, headers ...string) (status int, kind, body string) {
	h.t.Helper()
	if strings.HasPrefix(message, `"`) {
		message = `{"jsonrpc":"2.0",` + message + "}"
	}
	response := h.do(http.MethodPost, message, headers...)
	defer func() { _ = response.Body.Close() }()
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		h.session = id
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), strings.ReplaceAll(string(text), `"jsonrpc":"2.0",`, "")
}

func (h *host) wants(message string, status int, kind, body string, headers ...string) {
	h.t.Helper()
	s, k, b := h.post(message, headers...)
	if s != status || k != kind || strings.TrimSpace(b) != body {
		h.t.Errorf("%s: got %d %s\n%s\nwant %d %s\n%s", message, s, k, b, status, kind, body)
	}
}

func TestASessionOverHTTPGoesFromInitializeToDelete(t *testing.T) {
	h := overHTTP(t, handshake+`> "id":2,"method":"a","params":{"_meta":{"progressToken":1}}
		< "method":"notifications/progress","params":{"progressToken":1,"progress":1}
		< "id":2,"result":2
		< "method":"notifications/tools/list_changed"`)
	h.wants(`"id":1,"method":"initialize"`, 200, "application/json", `{"id":1,"result":{"protocolVersion":"2025-11-25"}}`)
	if h.session == "" {
		t.Fatal("there is no session")
	}
	h.wants(`"method":"notifications/initialized"`, 202, "", "")
	stream := h.do(http.MethodGet, "")
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream has status %d", stream.StatusCode)
	}
	h.wants(`"id":7,"method":"a","params":{"_meta":{"progressToken":"t"}}`, 200, "text/event-stream",
		`event: message
data: {"method":"notifications/progress","params":{"progressToken":"t","progress":1}}

event: message
data: {"id":7,"result":2}`)
	h.wants(`"id":8,"method":"a"`, 200, "application/json", `{"id":8,"result":2}`)
	lines := bufio.NewScanner(stream.Body)
	for range 2 {
		lines.Scan()
	}
	if lines.Text() != `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("the stream has %s", lines.Text())
	}
	h.wants(`[{"jsonrpc":"2.0","id":9,"method":"a"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":3,"method":"b"}]`,
		200, "text/event-stream", `event: message
data: {"id":3,"error":{"code":-32601,"message":"f has no b; it has a, initialize"}}

event: message
data: {"id":9,"result":2}`)
	if got := h.do(http.MethodDelete, ""); got.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE has status %d", got.StatusCode)
	}
	if lines.Scan(); lines.Scan() && lines.Text() != "" && !strings.Contains(lines.Text(), "list_changed") &&
		!strings.HasPrefix(lines.Text(), "event") {
		t.Errorf("the stream goes on with %s", lines.Text())
	}
	_ = stream.Body.Close()
	h.wants(`"id":9,"method":"a"`, 404, "application/json",
		`{"id":null,"error":{"code":-32600,"message":"there is no such session"}}`)
}

func TestAQuestionOverHTTPIsAnsweredByAnotherPost(t *testing.T) {
	h := overHTTP(t, handshake+`> "id":2,"method":"a"
		< "id":1,"method":"roots/list"
		> "id":1,"result":{"roots":[]}
		< "id":2,"result":2`)
	h.post(`"id":1,"method":"initialize"`)
	response := h.do(http.MethodPost, `{"jsonrpc":"2.0","id":5,"method":"a"}`)
	lines := bufio.NewScanner(response.Body)
	for range 2 {
		lines.Scan()
	}
	if lines.Text() != `data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}` {
		t.Errorf("got %s", lines.Text())
	}
	h.wants(`"id":1,"result":{"roots":[]}`, 202, "", "")
	for range 3 {
		lines.Scan()
	}
	if lines.Text() != `data: {"jsonrpc":"2.0","id":5,"result":2}` {
		t.Errorf("got %s", lines.Text())
	}
	_ = response.Body.Close()
}

func TestStatelessRequestsOverHTTPAreChecked(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	h := overHTTP(t, `>1 "id":1,"method":"tools/call","params":{"name":"a"}
		<1 "id":1,"result":{"resultType":"complete"}
		>2 "id":2,"method":"tools/call","params":{"name":"b"}
		failed 2`)
	h.wants(`"id":1,"method":"tools/call","params":{"name":"a",`+meta+`}`, 200, "application/json",
		`{"id":1,"result":{"resultType":"complete"}}`, "Mcp-Method", "tools/call", "Mcp-Protocol-Version", "2026-07-28")
	h.wants(`"id":1,"method":"tools/call","params":{"name":"a",`+meta+`}`, 400, "application/json",
		`{"id":1,"error":{"code":-32020,"message":"the header Mcp-Method says \"x\", the message \"tools/call\""}}`,
		"Mcp-Method", "x")
	h.wants(`"id":1,"method":"x","params":{`+meta+`}`, 404, "application/json",
		`{"id":1,"error":{"code":-32601,"message":"f has no x; it has tools/call"}}`)
	h.wants(`{"a":1}`, 400, "application/json",
		`{"id":null,"error":{"code":-32700,"message":"this is no message of JSON-RPC 2.0"}}`)
	if h.session != "" {
		t.Error("there is a session")
	}
	if got := h.do(http.MethodGet, ""); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET has status %d", got.StatusCode)
	}
	if got := h.do(http.MethodPut, ""); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("PUT has status %d", got.StatusCode)
	}
}

func TestASubscriptionOverHTTPStaysOpen(t *testing.T) {
	h := overHTTP(t, `>1 "id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}
		<1 "method":"notifications/subscriptions/acknowledged","params":{}
		>2 "id":1,"method":"a"
		<2 "id":1,"result":1
		<1 "method":"notifications/tools/list_changed"`)
	stream := h.do(http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen",`+
		`"params":{"notifications":{"toolsListChanged":true}}}`)
	h.wants(`"id":8,"method":"a"`, 200, "application/json", `{"id":8,"result":1}`)
	lines := bufio.NewScanner(stream.Body)
	var got []string
	for len(got) < 2 && lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			got = append(got, data)
		}
	}
	_ = stream.Body.Close()
	const named = `"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`
	if len(got) != 2 || got[0] != `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",`+named ||
		got[1] != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed",`+named {
		t.Errorf("got %q", got)
	}
}

func TestANeverAnsweredRequestOverHTTPEndsWithTheServer(t *testing.T) {
	h := overHTTP(t, `> "id":1,"method":"a"
		< "id":1,"result":1
		> "id":2,"method":"b"`)
	response := h.do(http.MethodPost, `{"jsonrpc":"2.0","id":5,"method":"b"}`)
	t.Cleanup(func() { _ = response.Body.Close() })
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("got %s", got)
	}
}
