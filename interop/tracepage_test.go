package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/trace"
)

// traceFile writes a trace, as the program does.
func traceFile(t *testing.T, events []*trace.Event) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := trace.NewWriter(f)
	for i, e := range events {
		e.Time = time.Date(2026, 7, 28, 12, 0, 0, i*int(time.Millisecond), time.UTC)
		if e.Server == "" {
			e.Server = "s"
		}
		e.Line = 1
		w.Sink(e)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// page opens the page of a trace, and returns its address.
func page(t *testing.T, b *browser, trace string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "page.html")
	program(t, append([]string{"trace", trace, "--html", out}, flags...)...)
	address := "file://" + out
	b.open(address, "document.documentElement.dataset.ready === 'yes' && location.href === '"+address+"'")
	return address
}

func message(format string, args ...any) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0",`+format+`}`, args...)
}

// hostile are texts of a server that end scripts, begin markup and end lines, wherever a page shows them.
var hostile = []string{
	`</script><script>window.hit=1</script>`, `<!--<script>`, `<img src=x onerror="window.hit=1">`, `]]>`,
	"a\u2028window.hit=1\u2029b", `"><svg onload=window.hit=1>`, `javascript:window.hit=1`, `{{constructor}}${hit=1}`,
}

func TestThePageOfATraceShowsCalls(t *testing.T) {
	b := startBrowser(t)
	events := []*trace.Event{
		{Kind: trace.Opening},
		{Kind: trace.Opened, Carrier: "http", Took: 1},
		{Kind: trace.Sent, Exchange: 1, Message: message(`"id":1,"method":"initialize"`)},
		{
			Kind: trace.HTTP, Exchange: 1,
			HTTP: &trace.HTTPFacts{
				Method: "POST", URL: "http://localhost:1/mcp", Status: 200,
				Response: map[string][]string{"X-Kind": {"plain"}},
			},
		},
		{Kind: trace.Received, Exchange: 1, Message: message(`"id":1,"result":{"protocolVersion":"2025-11-25"}`)},
		{Kind: trace.Sent, Message: message(`"id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":12345678901234567890.50}}`)},
		{Kind: trace.Received, Message: message(`"id":"r","method":"roots/list"`)},
		{Kind: trace.Sent, Message: message(`"id":"r","result":{"roots":[]}`)},
		{Kind: trace.Received, Message: message(`"id":2,"result":{"content":[{"type":"text","text":"forty-two"}]}`)},
		{Kind: trace.Sent, Message: message(`"id":3,"method":"tools/call","params":{"name":"write"}`)},
		{Kind: trace.Received, Message: message(`"id":3,"error":{"code":-32000,"message":"no"}`)},
		{Kind: trace.Stderr, Text: "a line of stderr"},
		{Kind: trace.Sent, Message: message(`"id":4,"method":"tools/list"`)},
		{Kind: trace.Closed},
	}
	file := traceFile(t, events)
	address := page(t, b, file)
	const bars, visible = "document.querySelectorAll('.bar').length", "document.querySelectorAll('.bar:not(.off)').length"
	if n := b.number(bars); n != 5 {
		t.Errorf("%v bars for 5 calls", n)
	}
	if n := b.number("document.querySelectorAll('.lane').length"); n != 2 {
		t.Errorf("%v lanes", n)
	}

	b.click(".bar[data-call='1']")
	detail := b.text("document.getElementById('detail').innerText")
	for _, want := range []string{"tools/call add", "forty-two", `"a": 12345678901234567890.50`, "outcome\nok"} {
		if !strings.Contains(detail, want) {
			t.Errorf("the detail lacks %q:\n%s", want, detail)
		}
	}
	b.click(".bar[data-call='0']")
	if detail = b.text("document.getElementById('detail').innerText"); !strings.Contains(detail, "X-Kind: plain") {
		t.Errorf("no headers:\n%s", detail)
	}

	// The list: a click, then keys.
	b.click(".row[data-event='11']")
	if detail = b.text("document.getElementById('detail').innerText"); !strings.Contains(detail, "a line of stderr") {
		t.Errorf("the row shows\n%s", detail)
	}
	const chosen = "document.querySelector('.row.chosen').dataset.event"
	for _, step := range []struct{ key, event string }{
		{"ArrowUp", "10"}, {"Enter", "9"}, {"Enter", "10"}, {"Home", "0"}, {"ArrowDown", "1"}, {"End", "13"},
	} {
		b.press(step.key)
		if got := b.text(chosen); got != step.event {
			t.Errorf("%s leads to the event %s, not %s", step.key, got, step.event)
		}
	}

	// The filter narrows both, and what failed can be picked.
	b.press("/")
	b.enter("FORTY")
	b.wait(visible + " === 1")
	if got := b.text("document.getElementById('count').textContent"); got != "2 of 14 events, 1 of 5 calls" {
		t.Errorf("the count is %q", got)
	}
	b.press("Escape")
	b.wait(visible + " === 5")
	b.click("#bad")
	b.wait(visible + " === 2")

	// Zooming in makes the timeline wider than the window.
	b.click("#closer")
	b.wait("timeline.scrollWidth > timeline.clientWidth * 1.5")
	b.click("#whole")
	b.wait("timeline.scrollWidth === timeline.clientWidth")

	if all := b.complaints(address); len(all) > 0 {
		t.Errorf("the console complains:\n%s", strings.Join(all, "\n"))
	}

	page(t, b, file, "--method", "tools/call")
	if n := b.number(bars); n != 2 {
		t.Errorf("%v bars with --method", n)
	}
}

func TestWhatAServerSaysStaysTextInThePage(t *testing.T) {
	b := startBrowser(t)
	var events []*trace.Event
	for i, text := range hostile {
		quoted, err := jsontext.AppendQuote(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events,
			&trace.Event{Server: text, Kind: trace.Opened, Carrier: text, Error: text},
			&trace.Event{Server: text, Kind: trace.Sent, Exchange: i + 1, Message: message(`"id":%s,"method":%s,"params":{"name":%s}`, quoted, quoted, quoted)},
			&trace.Event{Server: text, Kind: trace.HTTP, Exchange: i + 1, HTTP: &trace.HTTPFacts{
				Method: text, URL: text, Status: 500, Response: map[string][]string{text: {text}},
			}},
			&trace.Event{Server: text, Kind: trace.Received, Exchange: i + 1, Message: message(`"id":%s,"result":{"isError":true,"content":[{"text":%s}],%s:1}`, quoted, quoted, quoted)},
			&trace.Event{Server: text, Kind: trace.Stderr, Text: text},
			&trace.Event{Server: text, Kind: trace.Closed, Error: text},
		)
	}
	file := traceFile(t, events)
	renamed := filepath.Join(filepath.Dir(file), "<img src=x onerror=window.hit=1>.jsonl")
	if err := os.Rename(file, renamed); err != nil {
		t.Fatal(err)
	}
	address := page(t, b, renamed)
	if n := b.number("document.querySelectorAll('.bar').length"); n != float64(len(hostile)) {
		t.Errorf("%v bars for %d calls", n, len(hostile))
	}
	for i, text := range hostile {
		b.number(fmt.Sprintf("document.querySelector(`.bar[data-call='%d']`).click(), 1", i))
		detail := b.text("document.getElementById('detail').textContent")
		if strings.Count(detail, text) < 5 {
			t.Errorf("%q stands not often enough in\n%s", text, detail)
		}
		for _, at := range []int{0, 4, 5} {
			b.number(fmt.Sprintf("document.querySelector(`[data-event='%d']`)?.click(), 1", i*6+at))
		}
	}
	const foreign = "document.querySelectorAll('img, svg, iframe, a').length + document.scripts.length - 2"
	if n := b.number(foreign); n != 0 {
		t.Errorf("there are %v elements that the page has not made", n)
	}
	if got := b.text("typeof window.hit"); got != "undefined" {
		t.Error("a text was run")
	}
	if all := b.complaints(address); len(all) > 0 {
		t.Errorf("the console complains:\n%s", strings.Join(all, "\n"))
	}
	// The policy stops what would get through all the same.
	var refused bool
	if err := b.eval("(() => { try { document.body.innerHTML = '<b>'; } catch { return true; } return false; })()", &refused); err != nil || !refused {
		t.Errorf("markup can be written into the page: %v", err)
	}
}

func TestAPageOfTenThousandEventsIsQuick(t *testing.T) {
	b := startBrowser(t)
	var events []*trace.Event
	for i := range 5000 {
		events = append(
			events,
			&trace.Event{Kind: trace.Sent, Message: message(`"id":%d,"method":"tools/call","params":{"name":"t%d"}`, i, i%50)},
			&trace.Event{Kind: trace.Received, Message: message(`"id":%d,"result":{"content":[{"type":"text","text":"%s"}]}`, i, strings.Repeat("x", 200))},
		)
	}
	address := page(t, b, traceFile(t, events))
	if n := b.number("document.querySelectorAll('.bar').length"); n != 5000 {
		t.Errorf("%v bars", n)
	}
	if n := b.number("document.querySelectorAll('.row').length"); n < 5 || n > 200 {
		t.Errorf("%v rows are in the page, of which some 20 can be seen", n)
	}
	b.click("#list")
	b.press("End")
	if got := b.text("document.querySelector('.row.chosen').dataset.event"); got != "9999" {
		t.Errorf("the last event is %s", got)
	}
	b.press("/")
	b.enter("t49")
	b.wait("document.getElementById('count').textContent === '200 of 10000 events, 100 of 5000 calls'")
	if all := b.complaints(address); len(all) > 0 {
		t.Errorf("the console complains:\n%s", strings.Join(all, "\n"))
	}
}
