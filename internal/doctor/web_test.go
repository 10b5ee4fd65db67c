//go:build unix

package doctor_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpwire/config"
	"mcpwire/internal/demo"
	"mcpwire/internal/doctor"
	"mcpwire/jsonrpc"
)

// webServer answers messages over HTTP as a server does, after before has had its way; before reports that it answered.
func webServer(s *server, before func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _ := jsonrpc.Parse(body)
		if before != nil && before(w, r, m) {
			return
		}
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Kind != jsonrpc.Request:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, s.answer(m))
		}
	})
}

// always answers everything alike.
func always(status int, kind, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	})
}

// forgetful knows no session any more once it is used.
func forgetful() http.Handler {
	var sessions atomic.Int64
	return webServer(honest(), func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) bool {
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s"+strconv.FormatInt(sessions.Add(1), 10))
		case r.Header.Get("Mcp-Session-Id") != "" && m.Kind == jsonrpc.Request:
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		return false
	})
}

func TestTheTrueFaultOfAServerOnTheWebIsNamed(t *testing.T) {
	elsewhere := httptest.NewServer(webServer(honest(), nil))
	defer elsewhere.Close()
	for _, tt := range []struct {
		name    string
		handler http.Handler // nil: nobody is there
		path    string
		verdict doctor.Verdict
		ids     string // of all findings but notes
		says    []string
		change  func(s *config.Server)
	}{
		{"nobody there", nil, "/mcp", doctor.Broken, "connection-refused", []string{"127.0.0.1:1"}, nil},
		{"unknown host", nil, "/mcp", doctor.Broken, "dns-not-found", nil, func(s *config.Server) {
			s.URL = "http://no-such-host.invalid/mcp"
		}},
		{
			"TLS to a plain port", webServer(honest(), nil), "/mcp", doctor.Broken, "tls-to-plain-port",
			[]string{"http://"},
			func(s *config.Server) { s.URL = strings.Replace(s.URL, "http:", "https:", 1) },
		},
		{"wrong path", http.NotFoundHandler(), "/", doctor.Broken, "http-404", []string{"/mcp", "/sse"}, nil},
		{"wrong path that is one", http.NotFoundHandler(), "/api", doctor.Broken, "http-404", []string{"/api may not"}, nil},
		{"wrong method", always(405, "text/plain", "no"), "/mcp", doctor.Broken, "http-405", nil, nil},
		{
			"401 without metadata", always(401, "text/plain", "who are you?"), "/mcp", doctor.Login, "login-without-metadata",
			[]string{"mcpwire login it", "headers"},
			nil,
		},
		{
			"credentials refused", always(401, "text/plain", "who are you?"), "/mcp", doctor.Broken, "credentials-refused", nil,
			func(s *config.Server) { s.Headers = map[string]string{"Authorization": "Bearer hunter2-hunter2"} },
		},
		{"403", always(403, "text/plain", "no"), "/mcp", doctor.Broken, "http-403", nil, nil},
		{"500", always(500, "text/plain", "oops"), "/mcp", doctor.Broken, "http-5xx", []string{"oops"}, nil},
		{"429", always(429, "text/plain", "slow down"), "/mcp", doctor.Broken, "http-429", nil, nil},
		{
			"an HTML page", always(200, "text/html", "<html>It works!</html>"), "/", doctor.Broken, "html-answer",
			[]string{"/mcp"},
			nil,
		},
		{"wrong content type", webServer(honest(), func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) bool {
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, honest().answer(m))
			return true
		}), "/mcp", doctor.Broken, "content-type", []string{"text/plain"}, nil},
		{
			"redirect to another origin", http.RedirectHandler(elsewhere.URL+"/mcp", http.StatusTemporaryRedirect), "/mcp",
			doctor.Broken, "redirect-elsewhere",
			[]string{elsewhere.URL},
			nil,
		},
		{
			"redirect loop", http.RedirectHandler("/mcp", http.StatusTemporaryRedirect), "/mcp", doctor.Broken, "redirect-loop",
			nil, nil,
		},
		{"session lost", forgetful(), "/mcp", doctor.Broken, "session-lost", nil, nil},
		{"SSE that never starts", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}), "/mcp", doctor.Broken, "stream-silent", []string{"buffering"}, nil},
		{"no answer", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			<-r.Context().Done()
		}), "/mcp", doctor.Broken, "no-answer", nil, nil},
		{"no JSON-RPC", always(200, "application/json", `{"ok":true}`), "/mcp", doctor.Broken, "message-malformed", nil, nil},
		{
			"proxy that is not there", webServer(honest(), nil), "/mcp", doctor.Broken, "proxy-failed", nil,
			func(s *config.Server) { s.URL, s.Proxy = "http://example.com/mcp", "http://127.0.0.1:1" },
		},
		{
			"list refused", webServer(honest("tools/list", `error {"code":-32603,"message":"no database"}`), nil), "/mcp",
			doctor.Broken, "list-refused",
			[]string{"no database"},
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := config.Server{Name: "it", URL: "http://127.0.0.1:1" + tt.path}
			if tt.handler != nil {
				web := httptest.NewServer(tt.handler)
				defer web.Close()
				s.URL = web.URL + tt.path
			}
			if tt.change != nil {
				tt.change(&s)
			}
			r := examine(t, s, func(o *doctor.Options) { o.Connect.ConnectTimeout = 3 * time.Second })
			want := strings.Fields(tt.ids)
			said := text(r)
			got := ids(r)
			if slices.Equal(got, []string{"dns-failed"}) { // there is no name server to ask
				got[0] = "dns-not-found"
			}
			if r.Verdict != tt.verdict || !slices.Equal(slices.Compact(got), want) {
				t.Errorf("%s with %q, want %s with %q\n%s", r.Verdict, got, tt.verdict, want, said)
			}
			for _, part := range tt.says {
				if !strings.Contains(said, part) {
					t.Errorf("it does not say %q\n%s", part, said)
				}
			}
			if strings.Contains(said, "hunter2") {
				t.Errorf("it shows a secret\n%s", said)
			}
		})
	}
}

func TestACertificateThatNobodyTrustsIsNamed(t *testing.T) {
	web := httptest.NewTLSServer(webServer(honest(), nil))
	defer web.Close()
	r := examine(t, config.Server{Name: "it", URL: web.URL + "/mcp"})
	if !slices.Equal(ids(r), []string{"tls-certificate"}) || !strings.Contains(text(r), `"ca"`) {
		t.Error(text(r))
	}
	r = examine(t, config.Server{Name: "it", URL: strings.Replace(web.URL, "https:", "http:", 1) + "/mcp"})
	if !slices.Equal(ids(r), []string{"plain-to-tls-port"}) {
		t.Error(text(r))
	}
}

func TestAHealthyServerOnTheWebIsHealthyInNoTime(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	addresses, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- demo.ServeHTTP(ctx, func(url string) error {
			addresses <- url
			return nil
		})
	}()
	old := httptest.NewServer(webServer(honest(), nil))
	defer old.Close()
	for _, url := range []string{<-addresses, old.URL} {
		if healthySoon(t, config.Server{Name: "it", URL: url}) == nil {
			t.Errorf("%s is not healthy within 3 s", url)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
