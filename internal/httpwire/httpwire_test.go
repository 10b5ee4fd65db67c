package httpwire_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"mcpwire/internal/httpwire"
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
		if got := httpwire.Failure(r).RetryAfter; got < row.from || got > row.to {
			t.Errorf("%d with %q: got %v", row.status, row.value, got)
		}
	}
}
