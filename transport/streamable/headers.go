package streamable

import (
	"encoding/base64"
	"net/http"
	"strings"

	"mcpwire/internal/httpwire"
	"mcpwire/transport"
)

// header returns the headers that every request has.
func (c *conn) header(id, revision string) http.Header {
	h := http.Header{}
	if id != "" {
		h[sessionHeader] = []string{id}
	}
	if revision != "" {
		h[revisionHeader] = []string{revision}
	}
	return h
}

// getHeaders returns those of a GET that opens a stream, or goes on with one behind an event.
func (c *conn) getHeaders(lastEvent string) httpwire.Headers {
	h := c.header(c.session.current(), c.negotiated().Revision)
	h["Accept"] = []string{"text/event-stream"}
	if lastEvent != "" {
		h["Last-Event-Id"] = []string{lastEvent}
	}
	return c.endpoint.Headers(h)
}

// posted are the headers of POSTs, made once for many.
type posted struct {
	id, revision string
	headers      httpwire.Headers
}

// postHeaders returns the headers of a POST. A message that describes itself has its facts in headers (2026-07-28,
// Streamable HTTP, request metadata), and no session.
func (c *conn) postHeaders(facts transport.Envelope) httpwire.Headers {
	if facts.Revision == "" {
		return c.posts(c.session.current(), c.negotiated().Revision)
	}
	more := make(http.Header, 2+len(facts.Headers))
	more["Mcp-Method"] = []string{facts.Method}
	if facts.Name != "" {
		more["Mcp-Name"] = []string{encodeHeader(facts.Name)}
	}
	for _, h := range facts.Headers {
		more[http.CanonicalHeaderKey(h.Name)] = []string{encodeHeader(h.Value)}
	}
	return c.posts("", facts.Revision).With(more)
}

// posts returns the headers that POSTs in a session and a revision have in common.
func (c *conn) posts(id, revision string) httpwire.Headers {
	p := c.posted.Load()
	if p == nil || p.id != id || p.revision != revision {
		h := c.header(id, revision)
		h["Content-Type"] = []string{"application/json"}
		h["Accept"] = []string{"application/json, text/event-stream"}
		p = &posted{id, revision, c.endpoint.Headers(h)}
		c.posted.Store(p)
	}
	return p.headers
}

// What is around a value that is encoded in Base64.
const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// encodeHeader writes any value as one that a header can hold: as it is, or else its bytes in Base64 with marks around
// them (2026-07-28, Streamable HTTP, value encoding). An empty value stays empty, and is sent.
func encodeHeader(value string) string {
	marked := strings.HasPrefix(value, encodedPrefix) && strings.HasSuffix(value, encodedSuffix)
	if !marked && strings.TrimSpace(value) == value && !strings.ContainsFunc(value, unprintable) {
		return value
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(value)) + encodedSuffix
}

// unprintable reports whether r is no printable ASCII character. A tab is none: not everybody leaves it as it is.
func unprintable(r rune) bool { return r < ' ' || r > '~' }
