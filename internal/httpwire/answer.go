package httpwire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
)

// Bounds of what is read of a body that is not an answer.
const (
	errorBody    = 64 << 10 // of a failure
	excerptBytes = 200
	dropBytes    = 64 << 10 // of a body that nobody wants
)

// A Media is the kind of a body.
type Media uint8

// The kinds of bodies that messages come in, and all others.
const (
	Other Media = iota
	JSON
	EventStream
)

// MediaOf returns the kind of an answer's body. Content types are compared as media types: parameters and case don't
// count. Where the type is missing the first bytes decide, which are left in the body.
func MediaOf(resp *http.Response) Media {
	kind := resp.Header.Get("Content-Type")
	if kind == "" {
		return sniff(resp)
	}
	parsed, _, err := mime.ParseMediaType(kind)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		parsed, _, _ = strings.Cut(strings.ToLower(kind), ";")
	}
	switch strings.TrimSpace(parsed) {
	case "application/json":
		return JSON
	case "text/event-stream":
		return EventStream
	}
	return Other
}

func sniff(resp *http.Response) Media {
	body := bufio.NewReader(resp.Body)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	// One byte brings as many as have come; an error is found again by whoever reads the body.
	_, _ = body.Peek(1)
	head, _ := body.Peek(min(body.Buffered(), 64))
	start := string(bytes.TrimLeft(head, " \t\r\n\ufeff"))
	if strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") {
		return JSON
	}
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if strings.HasPrefix(start, field) {
			return EventStream
		}
	}
	return Other
}

// ReadAll reads a whole body of at most limit bytes, and leaves out a byte order mark (RFC 8259, section 8.1). Of a
// larger one it returns the beginning and transport.ErrTooLarge.
func ReadAll(resp *http.Response, limit int) ([]byte, error) {
	size := 512
	if n := resp.ContentLength; n >= 0 && n <= int64(limit) {
		size = int(n) + 1 // one more, to see the end without growing
	}
	buf := make([]byte, 0, size)
	for {
		if len(buf) == cap(buf) {
			larger := 2 * cap(buf)
			if larger > limit-limit/8 { // so that two of about the limit are never held
				larger = limit + 1
			}
			grown := make([]byte, len(buf), larger)
			copy(grown, buf)
			buf = grown
		}
		n, err := resp.Body.Read(buf[len(buf):min(cap(buf), limit+1)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			return buf[:limit], fmt.Errorf("%w: more than %d bytes", transport.ErrTooLarge, limit)
		case errors.Is(err, io.EOF):
			return bytes.TrimPrefix(buf, mark), nil
		case err != nil:
			return buf, err
		}
	}
}

// mark is the byte order mark in UTF-8.
var mark = []byte("\ufeff")

// Succeeded reports whether an answer's status is 2xx.
func Succeeded(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }

// Failure makes an error of an answer that is no success, and reads the beginning of its body for that. Known secrets
// are masked in what the server wrote.
func (e *Endpoint) Failure(resp *http.Response) *transport.StatusError {
	return failure(resp, e.secrets)
}

// Failure is Endpoint.Failure where no secrets are known.
func Failure(resp *http.Response) *transport.StatusError { return failure(resp, nil) }

func failure(resp *http.Response, secrets *redact.Set) *transport.StatusError {
	line := func(name string, limit int) string {
		return redact.Line(secrets.Text(strings.Join(resp.Header.Values(name), ", ")), limit)
	}
	e := &transport.StatusError{
		Status:     resp.StatusCode,
		Text:       http.StatusText(resp.StatusCode),
		Challenge:  line("WWW-Authenticate", 4*excerptBytes),
		AuthServer: line("Mcp-Auth-Server", excerptBytes),
	}
	if e.Text == "" {
		e.Text = "status without a name"
	}
	if e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable {
		e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
	}
	text, err := ReadAll(resp, errorBody)
	if err != nil && len(text) == 0 {
		return e
	}
	if m, err := jsonrpc.Parse(text); err == nil && m.Error != nil {
		refusal := jsonrpc.ParseError(m.Error)
		refusal.Message = secrets.Text(refusal.Message)
		refusal.Data = maskJSON(refusal.Data, secrets)
		e.Err = refusal
		return e
	}
	e.Excerpt = excerpt(text, secrets)
	return e
}

// maskJSON masks known secrets in the strings of a JSON text, however they are escaped. What has none is left as it is,
// what can't be read to the end is left out.
func maskJSON(text json.RawMessage, secrets *redact.Set) json.RawMessage {
	if text == nil || secrets == nil {
		return text
	}
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	in := jsontext.NewDecoder(bytes.NewReader(text), lenient...)
	var out bytes.Buffer
	to := jsontext.NewEncoder(&out, lenient...)
	found := false
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && token.Kind() == '"' {
			said := token.String()
			masked := secrets.Text(said)
			found = found || masked != said
			token = jsontext.String(masked)
		}
		if err == nil {
			err = to.WriteToken(token)
		}
		if err != nil {
			return nil
		}
	}
	if !found {
		return text
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")) // which the encoder writes behind each text
}

// retryAfter reads both forms of Retry-After (RFC 9110, section 10.2.3).
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at).Round(time.Second))
	}
	return 0
}

// Malformed makes an error of an answer that is no message. Known secrets are masked.
func (e *Endpoint) Malformed(text []byte) *transport.MalformedError {
	return &transport.MalformedError{Excerpt: excerpt(text, e.secrets)}
}

// Malformed is Endpoint.Malformed where no secrets are known.
func Malformed(text []byte) *transport.MalformedError {
	return &transport.MalformedError{Excerpt: excerpt(text, nil)}
}

// excerpt masks known secrets before it cuts, so that no beginning of one is left; errorBody bounds the work.
func excerpt(text []byte, secrets *redact.Set) string {
	return redact.Excerpt([]byte(secrets.Text(string(text[:min(len(text), errorBody)]))), excerptBytes)
}

// Drop reads the rest of a body that nobody wants, so that its connection can be used again, and closes it. It takes no
// more than a moment: cancel, which must end the exchange, is called after wait. It reports whether it came to the end.
func Drop(resp *http.Response, wait time.Duration, cancel context.CancelFunc) bool {
	timer := time.AfterFunc(wait, cancel)
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, dropBytes))
	timer.Stop()
	_ = resp.Body.Close()
	return err == nil && n < dropBytes
}
