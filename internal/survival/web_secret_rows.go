package survival

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/jsonrpc"
)

// The secrets of an entry, and how they come to the server besides.
const (
	headerSecret   = "hdr-5ecret-value"
	bearerSecret   = "brr-5ecret-value"
	querySecret    = "qry-5ecret/val+ue"
	passwordSecret = "pwd-5ecret@value"
)

// spellings are all forms that must not be shown.
var spellings = []string{
	headerSecret, bearerSecret, querySecret, passwordSecret, url.QueryEscape(querySecret), url.PathEscape(querySecret),
	url.QueryEscape(passwordSecret), url.PathEscape(passwordSecret), "dXNlcjpwd2QtNWVjcmV0QHZhbHVl",
}

// knowing gives an entry all of them.
func knowing(s *config.Server, _ *mcpwire.Options) {
	s.URL = strings.Replace(s.URL, "://", "://user:"+url.QueryEscape(passwordSecret)+"@", 1) +
		"?access_token=" + url.QueryEscape(querySecret)
	s.Headers = map[string]string{"X-Api-Key": headerSecret, "X-Auth-Token": "Bearer " + bearerSecret}
}

// secretsMet is what is counted of requests with all secrets in them that are served in a row's own way.
const secretsMet = "secrets met"

// meet counts a request that has all secrets in it.
func meet(x *Exchange) {
	_, password, _ := x.Request.BasicAuth()
	query := x.Request.URL.Query().Get("access_token")
	h := x.Request.Header
	if h.Get("X-Api-Key") == headerSecret && h.Get("X-Auth-Token") == "Bearer "+bearerSecret &&
		query == querySecret && password == passwordSecret {
		x.web.Count(secretsMet)
	}
}

// told is what a server knows of the secrets, in the form that it prefers.
func told(x *Exchange) string {
	r := x.Request
	_, password, _ := r.BasicAuth()
	return strings.Join([]string{
		r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("X-Auth-Token"), "Bearer "), r.URL.Query().Get("access_token"),
		r.URL.RawQuery, password, strings.TrimPrefix(r.Header.Get("Authorization"), "Basic "),
	}, " ")
}

// An eavesdropper takes down all that the host is told.
type eavesdropper struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// await waits until something was told.
func (e *eavesdropper) await(ctx context.Context, what string) bool {
	for ctx.Err() == nil {
		e.mu.Lock()
		found := strings.Contains(e.text.String(), what)
		e.mu.Unlock()
		if found {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// Write implements io.Writer.
func (e *eavesdropper) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.Write(p)
}

func (e *eavesdropper) listen(o *mcpwire.Options) {
	o.Logger = slog.New(slog.NewTextHandler(e, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.OnError = func(err error) { fmt.Fprintln(e, "error:", err) }
	o.OnClose = func(err error) { fmt.Fprintln(e, "end:", err) }
	o.OnHTTP = func(t mcpwire.HTTPTrace) { fmt.Fprintln(e, "http:", t.Method, t.URL, t.Err) }
}

// secretRows are about servers that give away what only they and the client are to know.
func secretRows() (rows []Row) {
	header := func(status int, name, format string) reply {
		return func(x *Exchange) {
			x.Header().Set(name, fmt.Sprintf(format, told(x)))
			responds(status)(x)
		}
	}
	location := func(format string) reply {
		return header(http.StatusTemporaryRedirect, "Location", format)
	}
	escaped := func(format string) reply {
		return func(x *Exchange) {
			x.Header().Set("Location", fmt.Sprintf(format, url.PathEscape(told(x))))
			responds(http.StatusTemporaryRedirect)(x)
		}
	}
	body := func(status int, kind, format string) reply {
		return func(x *Exchange) { x.Respond(status, kind, fmt.Sprintf(format, told(x))) }
	}
	kind := func(x *Exchange) { x.Respond(http.StatusOK, "text/x-"+told(x), "hi") }
	// What comes on the standing stream is told by the by. A redirect is tried again later, and so told too late.
	heard := map[string]string{
		"type-get": "there is no standing stream", "event-get": "error: on the standing stream", "redirect-get": "http: GET",
	}
	for _, place := range []struct {
		name, does, method string
		serve              reply
	}{
		{"body", "the body of a failure", "tools/call", body(500, htmlText, "<p>you said %s")},
		{"body-cut", "a place where an excerpt is cut", "tools/call", body(500, "text/plain", strings.Repeat("x", 190)+"%s")},
		{"error", "an error with 400", "tools/call", body(400, jsonText, `{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"%s"}}`)},
		{"refusal", "the refusal of a call", "tools/call", body(200, jsonText, `{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"%s"}}`)},
		{"refusal-event", "a refusal in an event", "tools/call", body(200, eventStream,
			`data: {"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"no","data":"%s"}}`+"\n\n")},
		{"error-data", "the data of an error with 400", "tools/call", body(400, jsonText,
			`{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"no","data":{"said":["%s"]}}}`)},
		{"challenge", "a challenge", "tools/call", header(401, "WWW-Authenticate", "Bearer realm=\"%s\"")},
		{"auth-server", "the name of an authorization server", "tools/call", header(401, "Mcp-Auth-Server", "https://a/%s")},
		{"type", "the type of an answer", "tools/call", kind},
		{"type-get", "the type of the standing stream", "GET", kind},
		{"malformed", "an answer that is no message", "tools/call", body(200, jsonText, "%s")},
		{"event", "an event that is no message", "tools/call", body(200, eventStream, "data: %s\n\n")},
		{"event-get", "an event on the standing stream that is no message", "GET", body(200, eventStream, "data: %s\n\n")},
		{"status-line", "what is no status line", "tools/call", func(x *Exchange) { x.Raw("HTTP/" + told(x) + "\r\n\r\n") }},
		{"reason", "the words behind a status", "tools/call", func(x *Exchange) { x.Raw("HTTP/1.1 500 " + told(x) + "\r\n\r\n") }},
		{"header", "what is no header", "tools/call", func(x *Exchange) { x.Raw(jsonHead + told(x) + "\r\n\r\n") }},
		{"length", "a length that is none", "tools/call", func(x *Exchange) { x.Raw(jsonHead + "Content-Length: " + told(x) + "\r\n\r\n") }},
		{"coding", "a transfer coding that nobody knows", "tools/call", func(x *Exchange) {
			x.Raw(jsonHead + "Transfer-Encoding: " + told(x) + "\r\n\r\n")
		}},
		{"redirect-path", "the path of another server", "tools/call", escaped("http://evil.example/%s")},
		{"redirect-query", "a query for another server", "tools/call", escaped("http://evil.example/?q=%s")},
		{"redirect-host", "the name of another server", "tools/call", location("http://%s/")},
		{"redirect-user", "a name and password for another server", "tools/call", escaped("http://%s:x@evil.example/")},
		{"redirect-port", "a port that is none", "tools/call", location("http://evil.example:%s/")},
		{"redirect-scheme", "another scheme", "tools/call", escaped("x:%s")},
		{"redirect-get", "where the standing stream is to be", "GET", escaped("http://evil.example/%s")},
		{"initialize", "the failure of the handshake", "initialize", body(403, "text/plain", "no %s")},
		{"discover", "the failure of the first question", "server/discover", body(500, "text/plain", "no %s")},
		{"cancelled", "a call that is never answered", "tools/call", func(x *Exchange) { x.Hang() }},
		{"closed", "a connection that is closed", "tools/call", raw("")},
	} {
		rows = append(rows, secretRow("web/secret/"+place.name, place.does, "", heard[place.name], spoilsAll(place.method, func(x *Exchange) {
			meet(x)
			place.serve(x)
		})))
	}
	for _, place := range []struct{ name, does, event string }{
		{"endpoint", "where messages are to go, another server", "http://evil.example/%s"},
		{"endpoint-garbage", "where messages are to go, no address", "http://[%s"},
	} {
		rows = append(rows, secretRow("legacy/secret/"+place.name, place.does, "sse", "", func(w *Web) http.Handler {
			return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				x := &Exchange{ResponseWriter: out, Request: r, web: w}
				meet(x)
				x.Events("event: endpoint\ndata: " + fmt.Sprintf(place.event, url.PathEscape(told(x))) + "\n\n")
			})
		}))
	}
	return rows
}

// secretRow is about a server that writes the client's secrets in some place. Where the host is told of that by the by,
// line is the beginning of what it is told.
func secretRow(name, place, kind, line string, server func(w *Web) http.Handler) Row {
	return Row{
		Name: name, Does: "writes the client's secrets into " + place,
		Must: "not show them in errors, logs and traces",
		With: func(s *config.Server, o *mcpwire.Options) {
			knowing(s, o)
			s.Type = kind
			listening(s, o)
		},
		Web: server,
		Try: func(t *Trial) {
			e := &eavesdropper{}
			e.listen(&t.Options)
			c, err := t.Dial()
			if err == nil {
				_, err = t.Call(c)
				if line != "" && !e.await(t.Context, line) {
					t.Fail("nobody is told of %q", line)
				}
				if err := c.Close(t.Context); err != nil {
					fmt.Fprintln(e, "close:", err)
				}
			}
			fmt.Fprintln(e, "result:", err)
			if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok {
				fmt.Fprintln(e, "data:", string(refusal.Data))
			}
			t.Seen(secretsMet, 1, math.MaxInt)
			t.Fit(err)
			e.mu.Lock()
			defer e.mu.Unlock()
			for _, secret := range spellings {
				if strings.Contains(e.text.String(), secret) {
					t.Fail("%s is shown: %s", secret, e.text.String())
				}
			}
			if !strings.Contains(e.text.String(), "http:") {
				t.Fail("there are no traces")
			}
		},
	}
}
