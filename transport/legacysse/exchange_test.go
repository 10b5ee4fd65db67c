package legacysse_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/legacysse"
	"mcpwire/transport/transporttest"
)

func TestWhatEachRequestSays(t *testing.T) {
	f := newFake(t)
	c, r := f.open(t, legacysse.Options{Headers: map[string]string{
		"X-Own": "1", "X-Empty": "", "Content-Type": "text/plain",
	}})
	echo(t, c, r)
	c.Negotiated(transport.Wire{Revision: "2025-06-18"})
	if err := c.Send(t.Context(), note("x")); err != nil {
		t.Fatal(err)
	}
	if c.Traits() != (transport.Traits{Name: "sse", Sessions: true}) {
		t.Errorf("got %+v", c.Traits())
	}
	gets, posts := f.requests("GET"), f.requests("POST")
	if len(gets) != 1 || len(posts) != 2 {
		t.Fatalf("got %+v and %+v", gets, posts)
	}
	for _, row := range []struct {
		got                    seen
		accept, kind, revision string
	}{
		{gets[0], "text/event-stream", "text/plain", ""},
		{posts[0], "", "application/json", ""},
		{posts[1], "", "application/json", "2025-06-18"},
	} {
		h := row.got.header
		if h.Get("Accept") != row.accept || h.Get("Content-Type") != row.kind || h.Get("X-Own") != "1" ||
			h.Get("Mcp-Protocol-Version") != row.revision || len(h.Values("X-Empty")) != 0 {
			t.Errorf("%s %s came with %v", row.got.verb, row.got.path, h)
		}
	}
}

func TestStreamsOfEveryFormAreRead(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":%s,"result":{}}`
	for name, form := range map[string][2]string{
		"CR LF":  {"event: endpoint\r\ndata: /messages\r\n\r\n", "event: message\r\ndata: " + answer + "\r\n\r\n"},
		"CR":     {"event: endpoint\rdata: /messages\r\r", "event: message\rdata: " + answer + "\r\r: \n"},
		"a mark": {"\ufeffevent:endpoint\ndata:/messages\n\n", "data:" + answer + "\n\n"},
		"pings first": {
			": hi\n\nevent: ping\ndata: x\n\nretry: 5\nid: 1\nevent: endpoint\ndata: /messages\n\n",
			"data: " + answer + "\n\n",
		},
		"other events":     {endpoint, "event: ping\ndata: {oops\n\n: x\nevent: message\nid: 7\ndata: " + answer + "\n\n"},
		"two data lines":   {endpoint, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":{}}\n\n"},
		"an empty message": {endpoint, "event: message\ndata:\n\ndata: " + answer + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.begin = form[0]
			f.post = func(_ http.ResponseWriter, _ *http.Request, m jsonrpc.Message) { f.say(fmt.Sprintf(form[1], m.ID)) }
			c, r := f.open(t, legacysse.Options{})
			echo(t, c, r)
			echo(t, c, r)
			if n := len(r.Faults()) + len(r.Malformed()); n > 0 {
				t.Errorf("%d complaints", n)
			}
		})
	}
}

func TestWhateverAPostSaysWithASuccessTheAnswerCounts(t *testing.T) {
	plain := func(status int, kind, body string) func(*fake, http.ResponseWriter, *http.Request, jsonrpc.Message) {
		return func(f *fake, w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header()["Content-Type"] = []string{kind}
			if kind == "" {
				w.Header()["Content-Type"] = nil
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
			f.say(answerEvent(m, `{}`))
		}
	}
	for name, post := range map[string]func(*fake, http.ResponseWriter, *http.Request, jsonrpc.Message){
		"202 Accepted": plain(202, "text/plain", "Accepted"),
		"200 null":     plain(200, "application/json", "null"),
		"200 {}":       plain(200, "application/json", "{}"),
		"200 a status": plain(200, "application/json", `{"status":"ok"}`),
		"200 no type":  plain(200, "", "ok"),
		"200 not JSON": plain(200, "application/json", "ok"),
		"204":          plain(204, "", ""),
		"202 events":   plain(202, "text/event-stream", ": hi\n\n"),
		"the answer, another on the stream": func(f *fake, w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			f.say(answerEvent(jsonrpc.Message{ID: jsonrpc.IntID(-1)}, `{}`))
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(jsonrpc.AppendResult(nil, m.ID, nil))
		},
		"the answer, no type": func(_ *fake, w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write(jsonrpc.AppendResult(nil, m.ID, nil))
		},
		"nothing until the answer has come": func(f *fake, w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			f.say(answerEvent(m, `{}`))
			w.WriteHeader(http.StatusAccepted)
		},
		"nothing at all": func(f *fake, _ http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			f.say(answerEvent(m, `{}`))
			<-r.Context().Done()
		},
		"a body without an end": func(f *fake, w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			plain(200, "text/plain", "ok")(f, w, r, m)
			<-r.Context().Done()
		},
		"a JSON body without an end": func(f *fake, w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			plain(200, "application/json", "{")(f, w, r, m)
			<-r.Context().Done()
		},
		"headers without a type or an end": func(f *fake, w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
			plain(200, "", "")(f, w, r, m)
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.post = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) { post(f, w, r, m) }
			c, r := f.open(t, legacysse.Options{})
			echo(t, c, r)
			echo(t, c, r)
			if c.Err() != nil {
				t.Error(c.Err())
			}
		})
	}
}

func TestAPostThatFailsFailsItsCallAtOnceAndNoOther(t *testing.T) {
	for _, row := range []struct {
		name     string
		post     http.HandlerFunc
		delivery transport.Delivery
		want     string
	}{
		{
			"500", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "the disk is full", 500) },
			transport.Answered, "srv: bad: HTTP 500: Internal Server Error: the disk is full",
		},
		{
			"404", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such session", 404) },
			transport.Answered, "HTTP 404: Not Found: no such session",
		},
		{
			"a refusal without an end", func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(503)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}, transport.Answered, "HTTP 503: Service Unavailable",
		},
		{
			"a reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			transport.MaybeDelivered, "EOF",
		},
		{
			"an answer that breaks off", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "{")
			}, transport.MaybeDelivered, "unexpected EOF",
		},
		{
			"an answer above the cap", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(bytes.Repeat([]byte(" "), 2000))
			}, transport.Answered, "message too large",
		},
		{
			"another origin", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://other.test/", http.StatusTemporaryRedirect)
			}, transport.NotDelivered, "redirected to another origin",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t)
			waiting := make(chan jsonrpc.Message, 1)
			f.post = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
				switch m.Method {
				case "bad":
					row.post(w, r)
				case "slow":
					waiting <- m
				default:
					f.say(answerEvent(m, `{}`))
				}
			}
			c, r := f.open(t, legacysse.Options{Name: "srv", MaxMessage: 1000})
			slow := make(chan error, 1)
			go func() {
				_, err := r.Exchange(t.Context(), c, request("slow"))
				slow <- err
			}()
			m := <-waiting
			start := time.Now()
			_, err := r.Exchange(t.Context(), c, request("bad"))
			wantText(t, err, row.want)
			var e *transport.Error
			if !errors.As(err, &e) || e.Delivery != row.delivery {
				t.Errorf("got %v as %v, want %v", err, e.Delivery, row.delivery)
			}
			if took := time.Since(start); took > soon {
				t.Errorf("it took %v", took)
			}
			echo(t, c, r)
			f.say(answerEvent(m, `{}`))
			if err := <-slow; err != nil || c.Err() != nil {
				t.Errorf("the other call: %v; the connection: %v", err, c.Err())
			}
		})
	}
}

func TestAnErrorInTheBodyOfARefusalReachesTheCaller(t *testing.T) {
	f := newFake(t)
	f.post = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: -32602, Message: "no such thing"}))
	}
	c, r := f.open(t, legacysse.Options{})
	_, err := r.Exchange(t.Context(), c, request("x"))
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	status, spoken := errors.AsType[*transport.StatusError](err)
	if !refused || refusal.Code != -32602 || !spoken || status.Status != http.StatusBadRequest {
		t.Errorf("got %v", err)
	}
}

func TestASendSucceedsOnAny2xxOnly(t *testing.T) {
	for status, want := range map[int]string{
		200: "", 202: "", 204: "", 299: "", 400: "HTTP 400: Bad Request", 503: "HTTP 503",
	} {
		f := newFake(t)
		f.begin = "event: endpoint\ndata: /sink\n\n"
		sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.WriteHeader(status)
				return
			}
			f.ServeHTTP(w, r)
		}))
		t.Cleanup(sink.Close)
		c, _ := f.open(t, legacysse.Options{URL: sink.URL})
		err := c.Send(t.Context(), note("x"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d: got %v, want %q", status, err, want)
		}
	}
}

func TestAMessageThatWasNotSentIsNotDelivered(t *testing.T) {
	f := newFake(t)
	proxy := httptest.NewUnstartedServer(f)
	proxy.Start()
	t.Cleanup(proxy.Close)
	c, r := f.open(t, legacysse.Options{URL: proxy.URL})
	if err := proxy.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := r.Exchange(t.Context(), c, request("x"))
	var e *transport.Error
	if !errors.As(err, &e) || e.Delivery != transport.NotDelivered {
		t.Errorf("got %v", err)
	}
	wantText(t, err, "connection refused")
}

func TestTheEndOfTheStreamEndsAllCallsAtOnce(t *testing.T) {
	for name, row := range map[string]struct {
		end  func(*fake)
		want string
	}{
		"in order": {func(f *fake) { close(f.out) }, "transport closed: the server ended the event stream"},
		"a reset":  {func(f *fake) { f.say(breakOff) }, "transport closed: the event stream broke off: unexpected EOF"},
		"in the middle of an event": {func(f *fake) {
			f.say(`data: {"jsonrpc":"2.0","id":1,"re`)
			close(f.out)
		}, "transport closed: the server ended the event stream"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			came := make(chan struct{}, 3)
			f.post = func(_ http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
				came <- struct{}{}
				if m.Method == "unacknowledged" {
					<-r.Context().Done()
				}
			}
			c, r := f.open(t, legacysse.Options{})
			errs := make(chan error, 3)
			for _, method := range []string{"x", "y", "unacknowledged"} {
				go func() {
					_, err := r.Exchange(t.Context(), c, request(method))
					errs <- err
				}()
			}
			for range cap(came) {
				<-came
			}
			row.end(f)
			start := time.Now()
			for range cap(errs) {
				err := <-errs
				wantText(t, err, row.want)
				var e *transport.Error
				if !errors.Is(err, transport.ErrClosed) || !errors.As(err, &e) || e.Delivery != transport.MaybeDelivered {
					t.Errorf("got %v", err)
				}
			}
			if took := time.Since(start); took > soon {
				t.Errorf("it took %v", took)
			}
			<-r.Done()
			wantText(t, c.Err(), row.want)
			wantText(t, r.Closes()[0], row.want)
			if n := len(r.Faults()); n > 0 {
				t.Errorf("got %v", r.Faults())
			}
			err := c.Send(t.Context(), note("x"))
			var e *transport.Error
			if !errors.As(err, &e) || e.Delivery != transport.NotDelivered {
				t.Errorf("got %v", err)
			}
			if got := len(f.requests("GET")); got != 1 {
				t.Errorf("the stream was opened %d times", got)
			}
		})
	}
}

func TestAMalformedEventIsAFaultAndReadingGoesOn(t *testing.T) {
	f := newFake(t)
	c, r := f.open(t, legacysse.Options{})
	f.say("data: {oops\n\nevent: other\ndata: {oops\n\n")
	await(t, r, func(r *transporttest.Recorder) bool { return len(r.Faults()) == 1 })
	wantText(t, r.Faults()[0], "on the event stream: the answer is no JSON-RPC message: {oops")
	echo(t, c, r)
	if n := len(r.Faults()); n != 1 {
		t.Errorf("%d faults", n)
	}
}

func TestASecondEndpointReplacesTheFirst(t *testing.T) {
	f := newFake(t)
	c, r := f.open(t, legacysse.Options{})
	echo(t, c, r)
	f.say("event: endpoint\ndata: /elsewhere\n\n")
	f.say("event: endpoint\ndata: http://other.test/\n\n")
	await(t, r, func(r *transporttest.Recorder) bool { return len(r.Faults()) == 1 })
	wantText(t, r.Faults()[0], "on the event stream: the endpoint event leads to another origin")
	echo(t, c, r)
	posts := f.requests("POST")
	if len(posts) != 2 || posts[0].path != "/messages?session=1" || posts[1].path != "/elsewhere" {
		t.Errorf("got %+v", posts)
	}
}

func TestAServerThatDoesNotReadBlocksNeitherClocksNorClose(t *testing.T) {
	const idle = 200 * time.Millisecond
	f := newFake(t)
	f.begin = "event: endpoint\ndata: /deaf\n\n"
	c, r := f.open(t, legacysse.Options{})
	large := func() *transport.Call {
		call := request("x")
		call.Body = append(call.Body, bytes.Repeat([]byte(" "), 16<<20)...)
		return call
	}
	call := large()
	call.Timeout = idle
	start := time.Now()
	_, err := r.Exchange(t.Context(), c, call)
	wantText(t, err, "request timeout after 200ms")
	var e *transport.Error
	if !errors.As(err, &e) || e.Delivery != transport.MaybeDelivered {
		t.Errorf("got %v", err)
	}
	note := note("x")
	note.Timeout = idle
	wantText(t, c.Send(t.Context(), note), "notify timeout after 200ms")
	if took := time.Since(start); took < 2*idle || took > soon {
		t.Errorf("both took %v", took)
	}
	errs := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		close(begun)
		_, err := r.Exchange(context.WithoutCancel(t.Context()), c, large())
		errs <- err
	}()
	<-begun
	start = time.Now()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-errs; !errors.Is(err, transport.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > soon {
		t.Errorf("Close took %v", took)
	}
}

func TestCloseLeavesNothingOfFiftyCalls(t *testing.T) {
	const n = 50
	f := newFake(t)
	came := make(chan struct{}, n)
	f.post = func(_ http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
		came <- struct{}{}
		if m.Method == "unacknowledged" {
			<-r.Context().Done()
		}
	}
	c, r := f.open(t, legacysse.Options{})
	errs := make(chan error, n)
	for i := range n {
		go func() {
			_, err := r.Exchange(context.WithoutCancel(t.Context()), c, request([]string{"x", "unacknowledged"}[i%2]))
			errs <- err
		}()
	}
	for range n {
		<-came
	}
	start := time.Now()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > soon {
		t.Errorf("Close took %v", took)
	}
	for range n {
		var e *transport.Error
		if err := <-errs; !errors.As(err, &e) || e.Err != transport.ErrClosed { //nolint:errorlint // no cause behind it
			t.Errorf("got %v", err)
		}
	}
	if closes := r.Closes(); len(closes) != 1 || closes[0] != nil {
		t.Errorf("Closed was called with %v", closes)
	}
}
