package recorder_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mcpwire/internal/recorder"
)

// proxied starts a server and a proxy to it, and returns the proxy's address and what ends both and gives the recording.
func proxied(t *testing.T, h http.HandlerFunc) (address string, end func() string) {
	t.Helper()
	server := httptest.NewServer(h)
	to, err := url.Parse(server.URL + "/mcp?key=v")
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	pool := &http.Transport{DisableCompression: true}
	r := recorder.New(&file, recorder.Options{Known: func(s string) string {
		return strings.ReplaceAll(s, "s3cr3t", "***")
	}})
	proxy := httptest.NewServer(r.Handler(recorder.Target{
		URL: to, Headers: map[string]string{"X-Api-Key": "s3cr3t"}, Through: pool,
	}))
	return proxy.URL, func() string {
		http.DefaultClient.CloseIdleConnections()
		proxy.Close()
		pool.CloseIdleConnections()
		server.Close()
		r.Close()
		return file.String()
	}
}

func TestHTTPPassesWithItsHeadersAndIsRecorded(t *testing.T) {
	address, end := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", fmt.Sprint(r.Header.Get("X-Api-Key"), r.Header.Get("X-Mine"), r.URL.RequestURI(),
			r.Header.Get("X-Forwarded-For"), strings.HasPrefix(r.Host, "127.0.0.1:")))
		w.Header().Set("Mcp-Session-Id", "session-1")
		w.Header().Set("Set-Cookie", "a=hidden-cookie")
		w.Header().Set("Location", "http://"+r.Host+"/elsewhere?x=1")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"size":%d,"key":"s3cr3t"}}`, len(body))
	})
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/mcp?q=1",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`))
	request.Header.Set("X-Mine", "mine")
	request.Header.Set("Authorization", "Bearer hidden-token")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if string(body) != `{"jsonrpc":"2.0","id":1,"result":{"size":46,"key":"s3cr3t"}}` {
		t.Errorf("got %s", body)
	}
	if got := response.Header.Get("X-Seen"); got != "s3cr3tmine/mcp?key=v&q=1true" {
		t.Errorf("the server saw %s", got)
	}
	if got := response.Header.Get("Location"); got != "/elsewhere?x=1" {
		t.Errorf("got Location %s", got)
	}
	recording := end()
	for _, hidden := range []string{"s3cr3t", "hidden-token", "hidden-cookie"} {
		if strings.Contains(recording, hidden) {
			t.Errorf("%s is in %s", hidden, recording)
		}
	}
	var kinds []string
	for _, e := range events(t, recording) {
		kinds = append(kinds, fmt.Sprint(e.Kind, e.Line, e.Exchange))
	}
	if got := strings.Join(kinds, ", "); got != "opening1 0, opened1 0, sent1 1, http1 1, received1 1" {
		t.Errorf("got %s", got)
	}
}

func TestEventsPassAtOnceAndTheEndpointLeadsThroughTheProxy(t *testing.T) {
	more := make(chan struct{})
	address, end := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []string{
			": hello\r\nevent: endpoint\r\nda", "ta: http://" + r.Host + "/messages?s=1\r\n\r\n",
			"data: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"a\"}\r\n\r\n", "event: message\ndata: no",
		} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
			<-more
		}
	})
	response, err := http.Get(address + "/sse") //nolint:noctx // it ends with the server
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(response.Body)
	for _, want := range []string{": hello\r\n", "event: endpoint\r\n", "", "data: /messages?s=1\r\n", "\r\n", ""} {
		if want == "" {
			more <- struct{}{}
			continue
		}
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Fatalf("got %q, error %v, want %q", got, err, want)
		}
	}
	close(more)
	rest, err := io.ReadAll(lines)
	want := "data: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"a\"}\r\n\r\nevent: message\ndata: no"
	if err != nil || string(rest) != want {
		t.Errorf("got %q, error %v", rest, err)
	}
	_ = response.Body.Close()
	recording := end()
	if !strings.Contains(recording, `"message":{"jsonrpc":"2.0", "method":"a"}`) ||
		!strings.Contains(recording, `"event":"noise","size":2,"text":"no"`) {
		t.Errorf("got %s", recording)
	}
}

func TestCompressedAnswersPassAndAreRecorded(t *testing.T) {
	address, end := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("got %v", r.Header)
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"jsonrpc":"2.0","id":1,"result":"zipped"}`)
		_ = z.Close()
	})
	response, err := http.Post(address+"/mcp", "application/json", //nolint:noctx // it ends with the server
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || !strings.Contains(string(body), "zipped") {
		t.Errorf("got %s, error %v", body, err)
	}
	if recording := end(); !strings.Contains(recording, `"result":"zipped"`) {
		t.Errorf("got %s", recording)
	}
}

func TestAServerThatCanNotBeReachedIsTold(t *testing.T) {
	address, end := proxied(t, func(w http.ResponseWriter, _ *http.Request) {
		panic(http.ErrAbortHandler) // the connection ends
	})
	response, err := http.Post(address+"/mcp", "application/json", //nolint:noctx // it ends with the server
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusBadGateway || !strings.HasPrefix(string(body), "mcpwire record: ") {
		t.Errorf("got %d: %s", response.StatusCode, body)
	}
	if recording := end(); !strings.Contains(recording, `"event":"failed","exchange":1`) {
		t.Errorf("got %s", recording)
	}
}

func FuzzEventsThatAreCutAnywhereAreTheSame(f *testing.F) {
	f.Add([]byte("event: endpoint\r\ndata: http://h/x\r\n\r\ndata: a\rdata: b\n\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		whole, first := recorder.Events(text, len(text))
		if parts, other := recorder.Events(text, 1+max(0, cut)%max(1, len(text))); parts != whole || first != other {
			t.Errorf("%q cut at %d: got %s, want %s; %q, want %q", text, cut, parts, whole, other, first)
		}
	})
}
