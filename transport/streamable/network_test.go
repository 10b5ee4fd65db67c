package streamable_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/streamable"
	"mcpwire/transport/transporttest"
)

func TestRedirectsWithinOneOriginKeepTheMessage(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			f := &fake{answer: ok, session: "s1"}
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/mcp" {
					_, _ = io.ReadAll(r.Body)
					http.Redirect(w, r, "/mcp/", status)
					return
				}
				f.ServeHTTP(w, r)
			}))
			c := connect(t, streamable.Options{URL: url + "/mcp", Headers: map[string]string{"Authorization": "Bearer t"}},
				client.Options{})
			if _, err := c.CallTool(t.Context(), "x", map[string]int{"a": 1}, nil); err != nil {
				t.Fatal(err)
			}
			got := f.requests("POST", "tools/call")
			if len(got) != 1 || got[0].header.Get("Authorization") != "Bearer t" || !strings.Contains(got[0].body, `{"a":1}`) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTheAddressThatARedirectLedToIsRemembered(t *testing.T) {
	f := &fake{answer: ok}
	asked := 0
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			asked++
			http.Redirect(w, r, "/mcp/", http.StatusPermanentRedirect)
			return
		}
		f.ServeHTTP(w, r)
	}))
	c := connect(t, streamable.Options{URL: url + "/mcp"}, client.Options{})
	for range 3 {
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("the old address was asked %d times", asked)
	}
}

func TestRedirectsElsewhereAreRefused(t *testing.T) {
	f := &fake{answer: ok}
	elsewhere := serve(t, f)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.Redirect(w, r, "/b", http.StatusTemporaryRedirect)
		case "/b":
			http.Redirect(w, r, "/a", http.StatusTemporaryRedirect)
		default:
			http.Redirect(w, r, elsewhere+"/mcp", http.StatusTemporaryRedirect)
		}
	}))
	for path, want := range map[string]string{
		"/mcp": "redirected to another origin, which is not followed: from " + url + "/mcp to " + elsewhere + "/mcp",
		"/a":   "more than 5 redirects",
	} {
		c, r := open(t, streamable.Options{URL: url + path})
		_, err := r.Exchange(t.Context(), c, request())
		wantText(t, err, want)
		var carriage *transport.Error
		if !errors.As(err, &carriage) || carriage.Delivery != transport.NotDelivered {
			t.Errorf("got %#v", err)
		}
	}
	if len(f.requests("POST", "")) != 0 {
		t.Error("the other origin got something")
	}
}

// A recordingProxy notes what it is asked for and answers like an MCP server.
func recordingProxy(t *testing.T) (address string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var hosts []string
	f := &fake{answer: ok}
	address = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		hosts = append(hosts, r.URL.Host)
		mu.Unlock()
		f.ServeHTTP(w, r)
	}))
	return address, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return hosts
	}
}

func TestProxiesAreThoseOfTheEnvironment(t *testing.T) {
	proxy, asked := recordingProxy(t)
	f := &fake{answer: ok}
	local := serve(t, f)
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("NO_PROXY", ".nowhere.test")
	t.Setenv("http_proxy", "")
	t.Setenv("no_proxy", "")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(local, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	try := func(url string) error {
		c, r := open(t, streamable.Options{URL: url})
		_, err := r.Exchange(t.Context(), c, request())
		return err
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if err := try("http://" + host + ":" + port + "/mcp"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := try("http://demo.nowhere.test/mcp"); err == nil {
		t.Error("a host that does not exist answered")
	}
	if n := len(asked()); n != 0 {
		t.Fatalf("the proxy was asked %d times", n)
	}
	if err := try("http://demo.test/mcp"); err != nil {
		t.Error(err)
	}
	if got := asked(); len(got) != 1 || got[0] != "demo.test" {
		t.Errorf("the proxy was asked for %v", got)
	}
	t.Setenv("HTTP_PROXY", "http://user:pass@127.0.0.1:1") // read anew at each request
	err = try("http://demo.test/mcp")
	wantText(t, err, "via proxy http://***@127.0.0.1:1")
	if strings.Contains(err.Error(), "pass") {
		t.Error("the proxy's password is shown")
	}
}

func TestAProxyOfTheServersOwnIsUsed(t *testing.T) {
	proxy, asked := recordingProxy(t)
	at, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	c, r := open(t, streamable.Options{
		URL:   "http://demo.test/mcp",
		Proxy: func(*url.URL) (*url.URL, error) { return at, nil },
	})
	if _, err := r.Exchange(t.Context(), c, request()); err != nil || len(asked()) != 1 {
		t.Errorf("%v; the proxy was asked for %v", err, asked())
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	transporttest.CheckLeaks(t)
	s := httptest.NewUnstartedServer(&fake{answer: func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
		reply(w, m, `{"certificates":`+map[bool]string{true: "1", false: "0"}[len(r.TLS.PeerCertificates) == 1]+`}`)
	}})
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	c, r := open(t, streamable.Options{URL: s.URL})
	_, err := r.Exchange(t.Context(), c, request())
	wantText(t, err, "certificate")

	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c, r = open(t, streamable.Options{URL: s.URL, TLS: &tls.Config{
		RootCAs: roots, Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS12,
	}})
	answer, err := r.Exchange(t.Context(), c, request())
	if err != nil || string(answer.Result) != `{"certificates":1}` {
		t.Errorf("got %s and error %v", answer.Result, err)
	}
}

func TestAServerThatWasRestartedIsReachedAgain(t *testing.T) {
	transporttest.CheckLeaks(t)
	f := &fake{answer: ok}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	start := func(l net.Listener) *http.Server {
		s := &http.Server{Handler: f}
		go func() { _ = s.Serve(l) }()
		return s
	}
	s := start(listener)
	defer func() { _ = s.Close() }()
	c := connect(t, streamable.Options{URL: "http://" + address}, client.Options{})
	for range 5 {
		if err := c.Ping(t.Context()); err != nil {
			t.Fatalf("the idle connection was not replaced: %v", err)
		}
		_ = s.Close()
		if listener, err = net.Listen("tcp", address); err != nil {
			t.Fatal(err)
		}
		s = start(listener)
	}
}

func TestURLsThatAreNotValidAreRefused(t *testing.T) {
	for url, want := range map[string]string{
		"ftp://h/":             `must begin with http:// or https://`,
		"http://":              "has no host",
		"http://u:secret@[::1": "is not valid",
		"":                     "must begin with",
	} {
		_, err := streamable.New(streamable.Options{Name: "fake", URL: url}).Open(t.Context(), transporttest.NewRecorder())
		wantText(t, err, want)
		wantText(t, err, "fake: open: ")
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is shown: %v", err)
		}
	}
}

func TestTracesHoldNoSecrets(t *testing.T) {
	var mu sync.Mutex
	var traces []streamable.Trace
	c, r := open(t, streamable.Options{
		URL: serve(t, &fake{answer: ok}) + "/mcp?api_key=abcdef&x=1",
		OnTrace: func(t streamable.Trace) {
			mu.Lock()
			defer mu.Unlock()
			traces = append(traces, t)
		},
	})
	if _, err := r.Exchange(t.Context(), c, request()); err != nil {
		t.Fatal(err)
	}
	if len(traces) != 1 || traces[0].Status != 200 || traces[0].Took <= 0 || traces[0].Method != http.MethodPost ||
		!strings.HasSuffix(traces[0].URL, "/mcp?api_key=***&x=1") {
		t.Errorf("got %+v", traces)
	}
}
