package legacysse_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpwire/transport"
	"mcpwire/transport/legacysse"
	"mcpwire/transport/transporttest"
)

func TestTheEndpointIsAReferenceFromTheStreamsAddress(t *testing.T) {
	for _, row := range []struct{ name, data, want string }{
		{"an absolute path with a query", "/messages?session=1&x=%2F", "/messages?session=1&x=%2F"},
		{"a relative path", "messages", "/a/messages"},
		{"a path upwards", "../messages/", "/messages/"},
		{"a query only", "?session=1", "/a/sse?session=1"},
		{"an absolute address", "ORIGIN/m?s=1", "/m?s=1"},
		{"an address without a scheme", "//HOST/m", "/m"},
		{"a fragment", "/m#f", "/m"},
		{"space around it", " /m \t", "/m"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t)
			origin := strings.TrimSuffix(f.url, "/sse")
			data := strings.NewReplacer("ORIGIN", origin, "HOST", strings.TrimPrefix(origin, "http://")).Replace(row.data)
			f.begin = "event: endpoint\ndata: " + data + "\n\n"
			c, r := f.open(t, legacysse.Options{
				URL: strings.Replace(origin, "://", "://me:secret@", 1) + "/a/sse?key=1",
			})
			echo(t, c, r)
			posts := f.requests("POST")
			if len(posts) != 1 || posts[0].path != row.want {
				t.Fatalf("got %+v, want one POST to %s", posts, row.want)
			}
			if posts[0].header.Get("Authorization") == "" {
				t.Error("the name and password of the URL did not go with the POST")
			}
		})
	}
}

func TestAnEndpointOfAnotherOriginIsRefused(t *testing.T) {
	for _, data := range []string{"http://127.0.0.1:1/m", "http://other.test/m", "ftp://127.0.0.1/m", "//other.test/m"} {
		f := newFake(t)
		f.begin = "event: endpoint\ndata: " + data + "\n\n"
		err := f.refused(t, legacysse.Options{})
		wantText(t, err, "the endpoint event leads to another origin")
		wantText(t, err, f.url)
		wantText(t, err, strings.TrimPrefix(data, "//"))
	}
}

func TestAnEndpointThatIsNoAddressIsRefused(t *testing.T) {
	for data, want := range map[string]string{
		"   ":          "the endpoint event is empty",
		"http://[::1/": `the endpoint event holds no address: "http://[::1/"`,
	} {
		f := newFake(t)
		f.begin = "event: endpoint\ndata: " + data + "\n\n"
		wantText(t, f.refused(t, legacysse.Options{}), want)
	}
}

func TestTheEndpointIsReadFromWhereARedirectLed(t *testing.T) {
	f := newFake(t)
	f.begin = "event: endpoint\ndata: messages\n\n"
	f.get = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sse" {
			http.Redirect(w, r, "/v2/sse", http.StatusMovedPermanently)
			return
		}
		f.stream(w, r)
	}
	c, r := f.open(t, legacysse.Options{})
	echo(t, c, r)
	if posts := f.requests("POST"); len(posts) != 1 || posts[0].path != "/v2/messages" {
		t.Errorf("got %+v", posts)
	}
}

func TestPingsDoNotExtendTheWaitForTheEndpoint(t *testing.T) {
	const wait = 200 * time.Millisecond
	for name, begin := range map[string]string{
		"nothing":           "",
		"an empty endpoint": "event: endpoint\ndata:\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.begin = begin
			go func() {
				for ticker := time.NewTicker(5 * time.Millisecond); ; {
					select {
					case <-ticker.C:
						f.say(": ping\n\nevent: ping\ndata: {}\n\n")
					case <-f.gone:
						ticker.Stop()
						return
					}
				}
			}()
			start := time.Now()
			err := f.refused(t, legacysse.Options{EndpointWait: wait})
			if took := time.Since(start); took < wait || took > soon {
				t.Errorf("it took %v", took)
			}
			wantText(t, err, "no endpoint event came: endpoint event timeout after 200ms")
			if !errors.Is(err, legacysse.ErrNotSSE) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v cannot be told from other failures", err)
			}
		})
	}
}

func TestASilentServerIsNotTakenForOneOfAnotherKind(t *testing.T) {
	f := newFake(t)
	f.get = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	err := f.refused(t, legacysse.Options{EndpointWait: 100 * time.Millisecond})
	wantText(t, err, "open: endpoint event timeout after 100ms")
	if errors.Is(err, legacysse.ErrNotSSE) {
		t.Error("it is")
	}
}

func TestTheCallersEndOfOpenIsItsOwnError(t *testing.T) {
	changedMind := errors.New("changed my mind")
	for name, get := range map[string]http.HandlerFunc{
		"before the headers":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"before the endpoint": nil,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.begin, f.get = ": hi\n\n", get
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(changedMind) })
			_, err := legacysse.New(legacysse.Options{URL: f.url}).Open(ctx, transporttest.NewRecorder())
			if !errors.Is(err, changedMind) || errors.Is(err, legacysse.ErrNotSSE) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestACallersEndAfterOpenDoesNotEndTheConnection(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := transporttest.NewRecorder()
	c, err := legacysse.New(legacysse.Options{URL: f.url, EndpointWait: 500 * time.Millisecond}).Open(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-c.Done():
		t.Error(c.Err())
	case <-time.After(600 * time.Millisecond): // neither does the clock of the endpoint
	}
	echo(t, c, r)
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestServersOfOtherKindsAreToldApart(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "no", code)
		}
	}
	body := func(kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, text)
		}
	}
	for _, row := range []struct {
		name   string
		get    http.HandlerFunc
		status int // of the StatusError; 0: none
		notSSE bool
		want   string
	}{
		{"405", status(405), 405, false, "srv: open: HTTP 405: Method Not Allowed: no"},
		{"404", status(404), 404, false, "HTTP 404: Not Found: no"},
		{"400", status(400), 400, false, "HTTP 400: Bad Request: no"},
		{"401", status(401), 401, false, "HTTP 401: Unauthorized: no (WWW-Authenticate: Bearer)"},
		{"HTML", body("text/html", "<p>"), 0, true, "HTTP 200 with text/html in place of an event stream"},
		{"JSON", body("application/json", "{}"), 0, true, "HTTP 200 with application/json in place of an event stream"},
		{"an empty stream", body("text/event-stream", ""), 0, true, "the stream ended before the endpoint event"},
		{"a message first", body("text/event-stream", "data: {}\n\n"), 0, true, "the stream begins with a message"},
		{
			"an endpoint that is cut off", body("text/event-stream", "event: endpoint\ndata: /m"), 0, true,
			"the stream ended before the endpoint event",
		},
		{
			"a stream that breaks off", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}, 0, false, "the event stream broke off before the endpoint event",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFake(t)
			f.get = row.get
			err := f.refused(t, legacysse.Options{Name: "srv"})
			wantText(t, err, row.want)
			var e *transport.Error
			if !errors.As(err, &e) || e.Delivery != transport.NotDelivered {
				t.Errorf("got %#v", err)
			}
			got := 0
			if refusal, ok := errors.AsType[*transport.StatusError](err); ok {
				got = refusal.Status
			}
			if got != row.status || errors.Is(err, legacysse.ErrNotSSE) != row.notSSE {
				t.Errorf("status %d, %v", got, err)
			}
		})
	}
}

func TestAServerThatIsNotThereIsNoServerOfAnotherKind(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String() + "/sse"
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = legacysse.New(legacysse.Options{URL: url}).Open(t.Context(), transporttest.NewRecorder())
	wantText(t, err, "connection refused")
	if errors.Is(err, legacysse.ErrNotSSE) {
		t.Error("it is")
	}
	_, err = legacysse.New(legacysse.Options{URL: "ftp://x"}).Open(t.Context(), transporttest.NewRecorder())
	wantText(t, err, "the url must begin with http:// or https://")
}
