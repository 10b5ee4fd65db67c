package auth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/auth"
	"mcpwire/internal/proc/proctest"
)

const asked = "https://as.example.com/authorize?state=s1"

// open opens a window that is closed with the test.
func open(t *testing.T, l *auth.Loopback, wish string) auth.Window {
	t.Helper()
	w, err := l.Open(t.Context(), wish)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// stateS1 takes the redirect with the state s1.
func stateS1(values url.Values) error {
	if got := values.Get("state"); got != "s1" {
		return fmt.Errorf("the state <%s> is not that of this login", got)
	}
	return nil
}

// authorize runs a flow, and returns what ends it.
func authorize(t *testing.T, w auth.Window, accept func(url.Values) error) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- w.Authorize(t.Context(), asked, accept) }()
	return ended
}

// ends waits for the end of a flow.
func ends(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the flow does not end")
		return nil
	}
}

// An answer is what a browser gets.
type answer struct {
	status int
	header http.Header
	body   string
}

// visit is a browser that goes to an address, without a connection that it could use again.
func visit(t *testing.T, address string, change func(*http.Request)) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

func TestARedirectEndsTheFlowAndTheBrowserSeesThatItCanBeClosed(t *testing.T) {
	proctest.NoLeaks(t)
	shown := make(chan string, 2)
	l := &auth.Loopback{
		Show:    func(address string) { shown <- "show " + address },
		Browser: func(_ context.Context, address string) error { shown <- "open " + address; return errors.New("no") },
	}
	w := open(t, l, "")
	u, err := url.Parse(w.RedirectURI())
	if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || u.Port() == "" || u.Path != "/callback" {
		t.Fatalf("the redirect URI is %s", w.RedirectURI())
	}
	var got url.Values
	ended := authorize(t, w, func(v url.Values) error { got = v; return nil })
	for _, want := range []string{"show " + asked, "open " + asked} {
		if text := <-shown; text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
	page := visit(t, w.RedirectURI()+"?code=c%2B1&state=s1&iss=https%3A%2F%2Fas.example.com", nil)
	if err := ends(t, ended); err != nil {
		t.Fatal(err)
	}
	if got.Get("code") != "c+1" || got.Get("state") != "s1" || got.Get("iss") != "https://as.example.com" {
		t.Errorf("got %v", got)
	}
	if page.status != 200 || !strings.Contains(page.body, "You can close this window.") || strings.Contains(page.body, "c+1") {
		t.Errorf("the page is %d %s", page.status, page.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := page.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if policy := page.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("the policy is %q", policy)
	}
	if strings.Contains(page.body, "script") || strings.Contains(page.body, "src=") || strings.Contains(page.body, "href=") {
		t.Errorf("the page needs more than itself: %s", page.body)
	}
	if late := visit(t, w.RedirectURI()+"?code=c2&state=s1", nil); late.status != http.StatusGone {
		t.Errorf("a second redirect gets %d", late.status)
	}
}

func TestARefusedRedirectHearsWhyAndTheFlowStaysOpen(t *testing.T) {
	proctest.NoLeaks(t)
	var refused []string
	l := &auth.Loopback{Show: func(string) {}, Refused: func(why error) { refused = append(refused, why.Error()) }}
	w := open(t, l, "")
	ended := authorize(t, w, stateS1)
	for _, query := range []string{"?code=x&state=%3Cb%3E%22&access_token=abcdef", "", "?state=s1&state=s2", "?state=%zz"} {
		page := visit(t, w.RedirectURI()+query, nil)
		if page.status != http.StatusBadRequest || strings.Contains(page.body, "<b>") {
			t.Errorf("%q gets %d %s", query, page.status, page.body)
		}
	}
	if page := visit(t, w.RedirectURI()+"?state=%3Cb%3E", nil); !strings.Contains(page.body, "the state &lt;&lt;b&gt;&gt; is") {
		t.Errorf("the page is %s", page.body)
	}
	page := visit(t, w.RedirectURI()+"?error=access_denied&state=s1", nil)
	if page.status != 200 || !strings.Contains(page.body, "No access was granted") {
		t.Errorf("the page is %d %s", page.status, page.body)
	}
	if err := ends(t, ended); err != nil {
		t.Fatal(err)
	}
	if len(refused) != 3 || !strings.HasPrefix(refused[0], "the state <<b>\"> is not") {
		t.Errorf("told %q", refused)
	}
}

func TestOnlyTheRedirectCounts(t *testing.T) {
	proctest.NoLeaks(t)
	w := open(t, &auth.Loopback{Show: func(string) {}, Path: "/oauth/back"}, "")
	ended := authorize(t, w, stateS1)
	base, found := strings.CutSuffix(w.RedirectURI(), "/oauth/back")
	if !found {
		t.Fatalf("the redirect URI is %s", w.RedirectURI())
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(base, "http://"), ":")
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	for _, row := range []struct {
		path   string
		change func(*http.Request)
		want   int
	}{
		{"/", nil, 404},
		{"/favicon.ico", nil, 404},
		{"/callback?state=s1", nil, 404},
		{"/oauth/back/?state=s1", nil, 404},
		{"/oauth%2Fback?state=s1", nil, 404},
		{"//oauth/back?state=s1", nil, 404},
		{"/x/../oauth/back?state=s1", nil, 404},
		{"/oauth/back?state=s1", host("evil.example.com:" + port), 404},
		{"/oauth/back?state=s1", host("evil.example.com"), 404},
		{"/oauth/back?state=s1", host("127.0.0.1"), 404},
		{"/oauth/back?state=s1", host("127.0.0.1:1"), 404},
		{"/oauth/back?state=s1", host("127.0.0.2:" + port), 404},
		{"/oauth/back?state=s1", host("localhost:1"), 404},
		{"/oauth/back?state=s1", method(http.MethodHead), 405},
		{"/oauth/back?state=s1", method(http.MethodPost), 405},
		{"/oauth/back?state=s1", method(http.MethodOptions), 405},
	} {
		if got := visit(t, base+row.path, row.change); got.status != row.want {
			t.Errorf("%s gets %d, want %d", row.path, got.status, row.want)
		}
	}
	if got := visit(t, base+"/oauth/back?state=s1", host("LOCALHOST:"+port)); got.status != 200 {
		t.Errorf("localhost gets %d", got.status)
	}
	if err := ends(t, ended); err != nil {
		t.Error(err)
	}
}

func TestAPastedAddressEndsTheFlowWithoutABrowser(t *testing.T) {
	for _, row := range []struct{ name, line string }{
		{"the address", "REDIRECT?code=c1&state=s1"},
		{"with blanks and quotes around it", "  \"REDIRECT?code=c1&state=s1\"\r\n"},
		{"with a fragment", "REDIRECT?code=c1&state=s1#_=_"},
		{"as browsers show it", "SHOWN?code=c1&state=s1"},
		{"the query", "?code=c1&state=s1"},
		{"the query without its mark", "code=c1&state=s1&iss=https://as.example.com"},
		{"a refusal", "REDIRECT?error=access_denied&state=s1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			proctest.NoLeaks(t)
			lines := make(chan string, 2)
			w := open(t, &auth.Loopback{Show: func(string) {}, Pasted: lines}, "")
			shown := strings.TrimPrefix(w.RedirectURI(), "http://")
			lines <- "\n"
			lines <- strings.NewReplacer("REDIRECT", w.RedirectURI(), "SHOWN", shown).Replace(row.line)
			if err := ends(t, authorize(t, w, stateS1)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAPastedLineThatIsNoAnswerIsRefusedWithWhatIsWanted(t *testing.T) {
	proctest.NoLeaks(t)
	lines := make(chan string)
	refused := make(chan string, 1)
	l := &auth.Loopback{Show: func(string) {}, Pasted: lines, Refused: func(why error) { refused <- why.Error() }}
	w := open(t, l, "")
	ended := authorize(t, w, stateS1)
	for _, row := range []struct{ line, want string }{
		{"4/0AanRRrt-code", "does not tell which login"},
		{"c29tZWNvZGU==", "does not tell which login"},
		{"?code=c1", "does not tell which login"},
		{"?state=s1", "does not tell which login"},
		{asked, "another address"},
		{"https://evil.example.com/callback?code=c&state=s1", "another address"},
		{"?code=c1&state=s1&state=s1", "more than one state"},
		{"?code=%zz&state=s1", "can't be read"},
		{"?code=" + strings.Repeat("x", 20<<10) + "&state=s1", "too long"},
	} {
		lines <- row.line
		if text := <-refused; !strings.Contains(text, row.want) ||
			!strings.Contains(text, "paste the whole address at which the browser has ended, which begins with "+w.RedirectURI()) {
			t.Errorf("%.40q is refused with %q", row.line, text)
		}
	}
	lines <- "?code=c1&state=s2"
	if text := <-refused; text != "the state <s2> is not that of this login" {
		t.Errorf("got %q", text)
	}
	close(lines)
	if page := visit(t, w.RedirectURI()+"?code=c1&state=s1", nil); page.status != 200 {
		t.Errorf("after the end of the input a redirect gets %d", page.status)
	}
	if err := ends(t, ended); err != nil {
		t.Error(err)
	}
}

// occupied returns a port that somebody else listens on.
func occupied(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return portOf(t, l.Addr().String())
}

func portOf(t *testing.T, at string) int {
	t.Helper()
	addr, err := netip.ParseAddrPort(at)
	if err != nil {
		t.Fatal(err)
	}
	return int(addr.Port())
}

func TestAConfiguredPortThatIsTakenIsNamedBeforeABrowserOpens(t *testing.T) {
	proctest.NoLeaks(t)
	port := occupied(t)
	opened := func(context.Context, string) error { t.Error("a browser was opened"); return nil }
	w, err := (&auth.Loopback{Port: port, Browser: opened}).Open(t.Context(), "")
	if err == nil {
		w.Close()
		t.Fatal("it opens")
	}
	for _, part := range []string{fmt.Sprintf("port %d,", port), `"auth.callbackPort"`, "address already in use"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
}

func TestTheRedirectURIOfTheLastTimeIsKeptWhereItCanBeHad(t *testing.T) {
	proctest.NoLeaks(t)
	first, err := (&auth.Loopback{}).Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	wish := first.RedirectURI()
	first.Close()
	again := open(t, &auth.Loopback{}, wish)
	if again.RedirectURI() != wish {
		t.Errorf("got %s, want %s", again.RedirectURI(), wish)
	}
	taken := fmt.Sprintf("http://127.0.0.1:%d/callback", occupied(t))
	for _, other := range []string{
		wish, taken, "http://127.0.0.1:0/callback", "http://127.0.0.1:99999/callback", "http://192.0.2.1:4000/callback",
		"http://127.0.0.1:1/other", "https://127.0.0.1:4000/callback", "http://127.0.0.1/callback", "://", "x",
	} {
		w := open(t, &auth.Loopback{}, other)
		if w.RedirectURI() == other {
			t.Errorf("%s was taken", other)
		}
	}
}

func TestTheConfiguredPortIsStrongerThanThatOfTheLastTime(t *testing.T) {
	proctest.NoLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := portOf(t, l.Addr().String())
	_ = l.Close()
	w := open(t, &auth.Loopback{Port: port}, "http://127.0.0.1:4000/callback")
	if want := fmt.Sprintf("http://127.0.0.1:%d/callback", port); w.RedirectURI() != want {
		t.Errorf("got %s, want %s", w.RedirectURI(), want)
	}
}

func TestAPathThatIsNoneIsRefused(t *testing.T) {
	for _, path := range []string{"callback", "/a b", "/a?b", "/a#b", "http://x/"} {
		if w, err := (&auth.Loopback{Path: path}).Open(t.Context(), ""); err == nil {
			w.Close()
			t.Errorf("%q is taken", path)
		}
	}
}

func TestAFlowEndsWithItsTimeItsContextAndItsWindow(t *testing.T) {
	proctest.NoLeaks(t)
	t.Run("time", func(t *testing.T) {
		w := open(t, &auth.Loopback{Show: func(string) {}, Limit: 30 * time.Millisecond}, "")
		err := ends(t, authorize(t, w, stateS1))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "within 30ms; log in again") {
			t.Errorf("got %v", err)
		}
		if late := visit(t, w.RedirectURI()+"?code=c&state=s1", nil); late.status != http.StatusGone {
			t.Errorf("a late redirect gets %d", late.status)
		}
	})
	t.Run("context", func(t *testing.T) {
		cause := errors.New("the cause")
		ctx, cancel := context.WithCancelCause(t.Context())
		browser := func(ctx context.Context, _ string) error { cancel(cause); <-ctx.Done(); return ctx.Err() }
		w := open(t, &auth.Loopback{Browser: browser}, "")
		if err := w.Authorize(ctx, asked, stateS1); !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("window", func(t *testing.T) {
		started := make(chan struct{})
		w := open(t, &auth.Loopback{Show: func(string) { close(started) }}, "")
		ended := authorize(t, w, stateS1)
		<-started
		w.Close()
		if err := ends(t, ended); err == nil {
			t.Error("it ended well")
		}
	})
	t.Run("nobody to show it to", func(t *testing.T) {
		failed := errors.New("no browser here")
		w := open(t, &auth.Loopback{Browser: func(context.Context, string) error { return failed }}, "")
		if err := w.Authorize(t.Context(), asked, stateS1); !errors.Is(err, failed) {
			t.Errorf("got %v", err)
		}
		w = open(t, &auth.Loopback{}, "")
		if err := w.Authorize(t.Context(), asked, stateS1); err == nil {
			t.Error("it ended well")
		}
	})
	t.Run("an address that is not shown", func(t *testing.T) {
		w := open(t, &auth.Loopback{Show: func(text string) { t.Errorf("shown: %s", text) }}, "")
		if err := w.Authorize(t.Context(), "file:///etc/passwd", stateS1); err == nil {
			t.Error("it ended well")
		}
	})
}

func TestClosingWaitsForThePageThatIsBeingWritten(t *testing.T) {
	proctest.NoLeaks(t)
	for range 50 {
		w := open(t, &auth.Loopback{Show: func(string) {}}, "")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := w.Authorize(t.Context(), asked, stateS1); err != nil {
				t.Error(err)
			}
			w.Close()
		}()
		if page := visit(t, w.RedirectURI()+"?code=c&state=s1", nil); !strings.HasSuffix(page.body, "</html>\n") {
			t.Fatalf("the page ends with %q", page.body)
		}
		<-ended
	}
}

func TestConnectionsThatSayNothingDelayNeitherTheFlowNorItsEnd(t *testing.T) {
	proctest.NoLeaks(t)
	w := open(t, &auth.Loopback{Show: func(string) {}}, "")
	at := strings.TrimSuffix(strings.TrimPrefix(w.RedirectURI(), "http://"), "/callback")
	ended := authorize(t, w, stateS1)
	for i := range 8 {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if i%2 == 0 {
			_, _ = io.WriteString(conn, "GET /callb")
		}
	}
	begin := time.Now()
	if page := visit(t, w.RedirectURI()+"?code=c&state=s1", nil); page.status != 200 {
		t.Errorf("the redirect gets %d", page.status)
	}
	if err := ends(t, ended); err != nil {
		t.Error(err)
	}
	w.Close()
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestARequestThatIsTooLargeIsRefused(t *testing.T) {
	proctest.NoLeaks(t)
	w := open(t, &auth.Loopback{Show: func(string) {}}, "")
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(w.RedirectURI(), "http://"), "/callback"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	go func() { _, _ = io.WriteString(conn, "GET /callback?state="+strings.Repeat("x", 1<<20)+" HTTP/1.1\r\n") }()
	line, _ := bufio.NewReader(conn).ReadString('\n') // or the connection was reset
	if line != "" && !strings.Contains(line, "431") {
		t.Errorf("the answer is %q", line)
	}
}

func TestTwoFlowsAtOnceHaveTwoPortsAndBothFinish(t *testing.T) {
	proctest.NoLeaks(t)
	l := &auth.Loopback{Show: func(string) {}}
	var flows sync.WaitGroup
	var seen []string
	for range 2 {
		w := open(t, l, "")
		seen = append(seen, w.RedirectURI())
		flows.Go(func() {
			if err := w.Authorize(t.Context(), asked, stateS1); err != nil {
				t.Error(err)
			}
		})
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 2 {
		t.Errorf("the redirect URIs are %q", seen)
	}
	for _, redirect := range seen {
		if page := visit(t, redirect+"?code=c&state=s1", nil); page.status != 200 {
			t.Errorf("%s gets %d", redirect, page.status)
		}
	}
	flows.Wait()
}
