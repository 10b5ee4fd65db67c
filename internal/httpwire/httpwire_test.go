package httpwire_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"mcpwire/internal/httpwire"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

func TestWhatCountsAsOneOrigin(t *testing.T) {
	for _, row := range []struct {
		from, to string
		same     bool
	}{
		{"http://h/a", "http://h/b?c", true},
		{"http://h/a", "http://H:80/b", true},
		{"https://h/a", "https://h:443/b", true},
		{"http://h/a", "https://h/a", true},
		{"http://h:8080/a", "https://h:8443/a", true},
		{"https://h/a", "http://h/a", false},
		{"http://h/a", "http://h:81/a", false},
		{"https://h/a", "https://h:444/a", false},
		{"http://h/a", "http://i/a", false},
		{"http://h/a", "https://h.evil/a", false},
		{"http://127.0.0.1/a", "http://localhost/a", false},
	} {
		from, err1 := url.Parse(row.from)
		to, err2 := url.Parse(row.to)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if got := httpwire.SameOrigin(from, to); got != row.same {
			t.Errorf("from %s to %s: got %v", from, to, got)
		}
	}
}

func answer(kind, body string) *http.Response {
	r := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: -1,
		Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(body))),
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

func TestTheKindOfABody(t *testing.T) {
	for _, row := range []struct {
		kind, body string
		want       httpwire.Media
	}{
		{"application/json", "", httpwire.JSON},
		{"Application/JSON; charset=utf-8", "", httpwire.JSON},
		{"application/json;", "", httpwire.JSON},
		{"application/json; charset", "", httpwire.JSON},
		{"text/event-stream", "", httpwire.EventStream},
		{"TEXT/EVENT-STREAM;charset=UTF-8", "", httpwire.EventStream},
		{"text/html", "{}", httpwire.Other},
		{"application/jsonp", "{}", httpwire.Other},
		{"application/problem+json", "{}", httpwire.Other},
		{"", "", httpwire.Other},
	} {
		if got := httpwire.MediaOf(answer(row.kind, row.body)); got != row.want {
			t.Errorf("%q: got %v", row.kind, got)
		}
	}
	for body, want := range map[string]httpwire.Media{
		`{"a":1}`: httpwire.JSON, " \n[1]": httpwire.JSON, ": hi": httpwire.EventStream, "data: x": httpwire.EventStream,
		"event: x": httpwire.EventStream, "id: 1": httpwire.EventStream, "retry: 1": httpwire.EventStream,
		"<html>": httpwire.Other, "database": httpwire.Other,
	} {
		r := answer("", "")
		r.Body = io.NopCloser(strings.NewReader(body))
		if got := httpwire.MediaOf(r); got != want {
			t.Errorf("%q: got %v", body, got)
		}
		if rest, err := io.ReadAll(r.Body); err != nil || string(rest) != body {
			t.Errorf("%q: what is left is %q (error %v)", body, rest, err)
		}
	}
}

func TestABodyIsReadUpToALimit(t *testing.T) {
	for _, row := range []struct {
		size, limit int
		length      int64
		large       bool
	}{{0, 10, -1, false}, {10, 10, -1, false}, {11, 10, -1, true}, {2000, 3000, 2000, false}, {4000, 3000, 4000, true}} {
		text := bytes.Repeat([]byte("x"), row.size)
		r := answer("", string(text))
		r.ContentLength = row.length
		got, err := httpwire.ReadAll(r, row.limit)
		if errors.Is(err, transport.ErrTooLarge) != row.large || !row.large && !bytes.Equal(got, text) {
			t.Errorf("%+v: %d bytes, error %v", row, len(got), err)
		}
	}
	broken := &http.Response{Body: io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF)), ContentLength: -1}
	if _, err := httpwire.ReadAll(broken, 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

func TestRetryAfterHasTwoForms(t *testing.T) {
	at := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	for _, row := range []struct {
		status   int
		value    string
		from, to time.Duration
	}{
		{429, "7", 7 * time.Second, 7 * time.Second},
		{503, at, 80 * time.Second, 91 * time.Second},
		{503, "soon", 0, 0},
		{503, "-1", 0, 0},
		{503, "Mon, 02 Jan 2006 15:04:05 GMT", 0, 0},
		{500, "7", 0, 0},
	} {
		r := answer("text/plain", "no")
		r.StatusCode = row.status
		r.Header.Set("Retry-After", row.value)
		if got := (httpwire.Quotes{}).Failure(r).RetryAfter; got < row.from || got > row.to {
			t.Errorf("%d with %q: got %v", row.status, row.value, got)
		}
	}
}

func TestAByteOrderMarkIsNoPartOfABody(t *testing.T) {
	if got, err := httpwire.ReadAll(answer("", "\ufeff{}"), 100); err != nil || string(got) != "{}" {
		t.Errorf("got %q, %v", got, err)
	}
}

// peak is a body that tells what was held while it was read.
type peak struct {
	left int
	most uint64
}

func (p *peak) Read(into []byte) (int, error) {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapInuse > p.most {
		p.most = m.HeapInuse
	}
	n := min(len(into), p.left, 1<<20)
	if p.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (p *peak) Close() error { return nil }

func TestABodyAtItsLimitIsHeldOnce(t *testing.T) {
	const limit = 64 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	body := &peak{left: 2 * limit}
	if _, err := httpwire.ReadAll(&http.Response{Body: body, ContentLength: -1}, limit); !errors.Is(err, transport.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if body.most > 2*limit {
		t.Errorf("%d MiB were held", body.most>>20)
	}
}

// endpoint is one that talks to a server that answers a request on each connection with these bytes, and then is silent.
func endpoint(t *testing.T, o httpwire.Options, says string) *httpwire.Endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(c, says)
				_, _ = io.Copy(io.Discard, c)
			})
		}
	})
	o.URL = strings.Replace(o.URL, "HOST", l.Addr().String(), 1)
	e, err := httpwire.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		_ = l.Close()
		serving.Wait()
	})
	return e
}

func TestAnAnswerThatSwitchesProtocolsHasNoBody(t *testing.T) {
	e := endpoint(t, httpwire.Options{URL: "http://HOST/"},
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	resp, _, err := e.Do(t.Context(), httpwire.Request{Method: http.MethodPost, Body: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); len(text) > 0 || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if failure := e.Failure(resp).Error(); failure != "HTTP 101: Switching Protocols" {
		t.Errorf("got %s", failure)
	}
}

func TestWhatAServerSaysInPlaceOfHTTPIsBoundedAndMasked(t *testing.T) {
	const header, query, password = "header-5ecret", "query/5ecret", "pass-5ecret"
	long := strings.Repeat("m", 100<<10)
	for name, says := range map[string]string{
		"no status line": "SECRETS " + long + "\r\n\r\n",
		"no header":      "HTTP/1.1 200 OK\r\nSECRETS" + long + "\r\n\r\n",
		"a redirect":     "HTTP/1.1 307 x\r\nLocation: http://other.example/SECRETS" + long + "\r\n\r\n",
		"no address":     "HTTP/1.1 307 x\r\nLocation: http://other.example:SECRETS" + long + "/\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var trace httpwire.Trace
			e := endpoint(t, httpwire.Options{
				URL:     "http://me:" + password + "@HOST/?api_key=" + url.QueryEscape(query),
				Headers: map[string]string{"X-Api-Key": header},
				OnTrace: func(t httpwire.Trace) { trace = t },
			}, strings.ReplaceAll(says, "SECRETS", header+url.QueryEscape(query)+password))
			_, _, err := e.Do(t.Context(), httpwire.Request{Method: http.MethodPost, Body: []byte("{}")})
			if err == nil {
				t.Fatal("it went well")
			}
			text := fmt.Sprint(err, trace)
			if len(text) > 3000 {
				t.Errorf("it has %d bytes", len(text))
			}
			for _, secret := range []string{header, query, url.QueryEscape(query), password} {
				if strings.Contains(text, secret) {
					t.Errorf("%s is shown: %s", secret, text)
				}
			}
		})
	}
}

func TestHeadersAreToldWithoutSecrets(t *testing.T) {
	const known, live = "kn0wn-7Qz2Lm", "l1ve-P9xQwR4"
	now := []string{}
	var told []httpwire.Trace
	says := "HTTP/1.1 201 Created\r\nConnection: close\r\nX-Key: k\r\nSet-Cookie: sid=1\r\nX-Seen: " + known + " and " + live +
		"\r\nLocation: http://x/?code=c0de&a=b\r\nX-Long: " + strings.Repeat("y", 10<<10) +
		"\r\nContent-Length: 0\r\n\r\n"
	e := endpoint(t, httpwire.Options{
		URL: "http://HOST/", Secrets: []string{known}, Live: func() []string { return now },
		Headers: map[string]string{"X-Two": known, "Authorization": "Bearer x"},
		OnTrace: func(t httpwire.Trace) { told = append(told, t) },
	}, says)
	send := func(ctx context.Context) httpwire.Trace {
		resp, _, err := e.Do(ctx, httpwire.Request{Method: http.MethodPost, Body: []byte("{}"), Headers: e.Headers(nil)})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return told[len(told)-1]
	}
	first := send(transport.WithExchange(t.Context(), 7))
	if first.Exchange != 7 || first.Status != http.StatusCreated {
		t.Errorf("told of exchange %d, status %d", first.Exchange, first.Status)
	}
	for _, row := range []struct {
		headers    http.Header
		name, want string
	}{
		{first.Request, "Authorization", "***"},
		{first.Request, "X-Two", "***"},
		{first.Response, "X-Key", "***"},
		{first.Response, "Set-Cookie", "***"},
		{first.Response, "Location", "http://x/?code=***&a=b"},
		{first.Response, "X-Seen", "*** and " + live},
	} {
		if got := row.headers.Get(row.name); got != row.want {
			t.Errorf("%s: told %q, want %q", row.name, got, row.want)
		}
	}
	if n := len(first.Response.Get("X-Long")); n > 3<<10 {
		t.Errorf("told %d bytes of one header", n)
	}
	now = append(now, live) // from now on it is a secret
	if got := send(t.Context()); got.Response.Get("X-Seen") != "*** and ***" || got.Exchange != 0 {
		t.Errorf("told %q of exchange %d", got.Response.Get("X-Seen"), got.Exchange)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	e := endpoint(t, httpwire.Options{URL: "http://HOST/"}, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: y\r\n", 1<<18))
	if resp, _, err := e.Do(t.Context(), httpwire.Request{Method: http.MethodGet}); err == nil {
		_ = resp.Body.Close()
		t.Error("they are not")
	}
}

func TestAHandshakeThatNobodyWaitsForAnyMoreIsGivenUp(t *testing.T) {
	defer httpwire.SetSetupLimit(300 * time.Millisecond)()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if c, err := l.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, c) // it says nothing
			_ = c.Close()
		}
	}()
	e, err := httpwire.New(httpwire.Options{URL: "https://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if resp, _, err := e.Do(ctx, httpwire.Request{Method: http.MethodGet}); !errors.Is(err, context.DeadlineExceeded) {
		_ = resp.Body.Close()
		t.Fatalf("it ended with %v", err)
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the connection stays open while the endpoint does")
	}
}

func TestSecretsAreMaskedInWhatComesWithARefusal(t *testing.T) {
	const key = "header/5ecret"
	e, err := httpwire.New(httpwire.Options{URL: "http://h", Headers: map[string]string{"X-Api-Key": key}})
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		`{"said":["header/5ecret",7.00]}`:         `{"said":["***",7.00]}`,
		`"a header\/5e\u0063ret b"`:               `"a *** b"`,
		`{"header/5ecret":1,"header/5ecret":"x"}`: `{"***":1,"***":"x"}`,
		`{"a": 1e400, "a":"\u0041"}`:              `{"a": 1e400, "a":"\u0041"}`,
	} {
		resp := answer("application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","data":`+data+`}}`)
		resp.StatusCode = http.StatusBadRequest
		refusal, ok := errors.AsType[*jsonrpc.Error](e.Failure(resp))
		if !ok || string(refusal.Data) != want {
			t.Errorf("of %s comes %+v", data, refusal)
		}
	}
}
