package legacysse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/legacysse"
	"mcpwire/transport/transporttest"
)

// soon is how long what needs no waiting may take on a busy machine.
const soon = 5 * time.Second

// A fake is a server of one connection. As newFake makes it, it acknowledges each message and answers requests
// on the stream before that.
type fake struct {
	begin string                                                          // what the stream begins with
	get   http.HandlerFunc                                                // nil: opens the stream
	post  func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) // of requests; nil: answers
	out   chan string                                                     // what is to be written to the stream
	gone  chan struct{}                                                   // closed when nobody writes it any more
	stop  chan struct{}                                                   // closed at the end of the test
	url   string

	mu   sync.Mutex
	seen []seen
}

// seen is one request that came.
type seen struct {
	verb, path string
	header     http.Header
	body       string
}

const endpoint = "event: endpoint\ndata: /messages?session=1\n\n"

func newFake(t *testing.T) *fake {
	t.Helper()
	transporttest.CheckLeaks(t)
	f := &fake{begin: endpoint, out: make(chan string), gone: make(chan struct{}), stop: make(chan struct{})}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(f.stop) })
	f.url = s.URL + "/sse"
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		f.note(r, nil)
		if f.get != nil {
			f.get(w, r)
			return
		}
		f.stream(w, r)
		return
	}
	if r.URL.Path == "/deaf" {
		<-f.stop // the request's context does not end before its body is read
		return
	}
	text, _ := io.ReadAll(r.Body)
	f.note(r, text)
	m, _ := jsonrpc.Parse(text)
	switch {
	case m.Kind == jsonrpc.Request && f.post != nil:
		f.post(w, r, m)
		return
	case m.Kind == jsonrpc.Request:
		f.say(answerEvent(m, `{}`))
	}
	w.WriteHeader(http.StatusAccepted)
}

func (f *fake) note(r *http.Request, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, seen{r.Method, r.URL.RequestURI(), r.Header.Clone(), string(body)})
}

// requests returns what came with this HTTP method.
func (f *fake) requests(verb string) (some []seen) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if s.verb == verb {
			some = append(some, s)
		}
	}
	return some
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	defer close(f.gone)
	w.Header().Set("Content-Type", "text/event-stream")
	for text := f.begin; ; {
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		select {
		case next, ok := <-f.out:
			if !ok {
				return
			}
			if text = next; text == breakOff {
				panic(http.ErrAbortHandler)
			}
		case <-r.Context().Done():
			return
		}
	}
}

// breakOff, said by a fake, resets the stream.
const breakOff = "break off"

// say writes to the stream. It returns when that is under way.
func (f *fake) say(text string) {
	select {
	case f.out <- text:
	case <-f.gone:
	}
}

// answerEvent is the answer to m as an event.
func answerEvent(m jsonrpc.Message, result string) string {
	return "event: message\ndata: " + string(jsonrpc.AppendResult(nil, m.ID, json.RawMessage(result))) + "\n\n"
}

// open opens a connection, which must succeed.
func (f *fake) open(t *testing.T, o legacysse.Options) (transport.Conn, *transporttest.Recorder) {
	t.Helper()
	if o.URL == "" {
		o.URL = f.url
	}
	r := transporttest.NewRecorder()
	c, err := legacysse.New(o).Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		for _, v := range r.Violations() {
			t.Error(v)
		}
		if n := len(r.Closes()); n != 1 {
			t.Errorf("Closed was called %d times", n)
		}
	})
	return c, r
}

// refused opens a connection, which must fail, and returns the error.
func (f *fake) refused(t *testing.T, o legacysse.Options) error {
	t.Helper()
	if o.URL == "" {
		o.URL = f.url
	}
	c, err := legacysse.New(o).Open(t.Context(), transporttest.NewRecorder())
	if err == nil {
		_ = c.Close(context.Background())
		t.Fatal("it opened")
	}
	return err
}

var ids struct {
	sync.Mutex
	last int64
}

// request is a call with a number of its own.
func request(method string) *transport.Call {
	ids.Lock()
	defer ids.Unlock()
	ids.last++
	params := fmt.Appendf(nil, `{"requestId":%d}`, ids.last)
	return &transport.Call{
		Body:     jsonrpc.AppendRequest(nil, jsonrpc.IntID(ids.last), method, nil),
		Abandon:  jsonrpc.AppendNotification(nil, "notifications/cancelled", params),
		Envelope: transport.Envelope{Method: method},
	}
}

func note(method string) *transport.Call {
	return &transport.Call{
		Body:     jsonrpc.AppendNotification(nil, method, nil),
		Envelope: transport.Envelope{Method: method},
	}
}

// echo makes a call that must be answered: the line lives.
func echo(t *testing.T, c transport.Conn, r *transporttest.Recorder) {
	t.Helper()
	start := time.Now()
	if _, err := r.Exchange(t.Context(), c, request("echo")); err != nil {
		t.Errorf("echo: %v", err)
	}
	if took := time.Since(start); took > soon {
		t.Errorf("echo took %v", took)
	}
}

// await waits until what done looks for has been told to the receiver.
func await(t *testing.T, r *transporttest.Recorder, done func(*transporttest.Recorder) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := r.Await(ctx, done); err != nil {
		t.Fatal(err)
	}
}

func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
