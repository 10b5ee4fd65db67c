package httpwire

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"mcpwire/internal/redact"
	"mcpwire/transport"
)

// A Trace is one HTTP exchange, without secrets.
type Trace struct {
	Method string
	URL    string
	Status int // 0 if it failed
	Took   time.Duration
	Err    error

	Exchange int         // what transport.ExchangeOf finds in the request's context
	Request  http.Header // what was sent
	Response http.Header // what came; nil if it failed
}

// trace tells of an exchange.
func (e *Endpoint) trace(req *http.Request, resp *http.Response, took time.Duration, err error) {
	t := Trace{
		Method: req.Method, URL: e.Show(req.URL), Took: took, Err: err,
		Exchange: transport.ExchangeOf(req.Context()), Request: e.shown.headers(e.Quotes, req.Header),
	}
	if resp != nil {
		t.Status, t.Response = resp.StatusCode, e.shown.headers(e.Quotes, resp.Header)
	}
	e.options.OnTrace(t)
}

// headerBytes is how much is told of a header's value.
const headerBytes = 2 << 10

// addresses are headers whose values are addresses, in which parameters may be secret.
var addresses = map[string]bool{"Location": true, "Content-Location": true, "Referer": true}

// A shown remembers how headers are shown, since most of them come with each exchange.
type shown struct {
	mu    sync.Mutex
	live  []string // the secrets of which it is true
	known map[header]string
}

type header struct{ name, value string }

const headersRemembered = 100

// headers returns headers without secrets, each of them bounded.
func (s *shown) headers(q Quotes, all http.Header) http.Header {
	var live []string
	if q.live != nil {
		live = q.live()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) > headersRemembered || !slices.Equal(live, s.live) {
		s.known, s.live = map[header]string{}, live
	}
	n := 0
	for _, values := range all {
		n += len(values)
	}
	shown, texts := make(http.Header, len(all)), make([]string, 0, n)
	for name, values := range all {
		start := len(texts)
		for _, value := range values {
			h := header{name, value}
			text, ok := s.known[h]
			if !ok {
				text = q.header(name, value)
				s.known[h] = text
			}
			texts = append(texts, text)
		}
		shown[name] = texts[start:len(texts):len(texts)]
	}
	return shown
}

// header returns a header's value without secrets.
func (q Quotes) header(name, value string) string {
	switch {
	case redact.SecretName(name):
		return redact.Mask
	case addresses[name]:
		text := q.text(value)
		return redact.Line(redact.URL(text[:min(len(text), 2*headerBytes)]), headerBytes)
	}
	return redact.Excerpt([]byte(q.text(value)), headerBytes)
}
