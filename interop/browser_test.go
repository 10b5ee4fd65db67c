package interop_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// A browser is a headless Chromium with one page, driven by the DevTools protocol over two pipes: texts of JSON, each
// with a zero byte behind it. What the page's console says of errors, and what it would load, is kept.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	id      int
	session string
	events  []browserMessage
}

type browserMessage struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// browserLimit is how long one test may use a browser.
const browserLimit = 90 * time.Second

// startBrowser starts one with an empty page, which ends with the test. Without one the test is skipped, but not where
// everything is built.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	switch {
	case path == "" && os.Getenv("CI") != "":
		t.Fatal("no Chromium is installed (Debian: chromium-headless-shell)")
	case path == "":
		t.Skip("no Chromium is installed (Debian: chromium-headless-shell)")
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update", "--no-first-run", "--proxy-server=127.0.0.1:1", "--window-size=1200,800",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	stuck := time.AfterFunc(browserLimit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		stuck.Stop()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with all its children
		_ = cmd.Wait()
		in.Close()
		_, _ = io.Copy(io.Discard, out) // ends when the last of them has gone
		out.Close()
	})
	var targets struct {
		Infos []struct {
			ID   string `json:"targetId"`
			Type string `json:"type"`
		} `json:"targetInfos"`
	}
	b.call("Target.getTargets", map[string]any{}, &targets)
	page := ""
	for _, info := range targets.Infos {
		if info.Type == "page" {
			page = info.ID
		}
	}
	if page == "" {
		var made struct {
			ID string `json:"targetId"`
		}
		b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &made)
		page = made.ID
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": page, "flatten": true}, &attached)
	b.session = attached.Session
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", map[string]any{}, nil)
	}
	return b
}

// call sends a command and reads its result into to, unless that is nil.
func (b *browser) call(method string, params map[string]any, to any) {
	b.t.Helper()
	b.id++
	command := map[string]any{"id": b.id, "method": method, "params": params}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	text, err := jsonv2.Marshal(command)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		m, err := b.read()
		if err != nil {
			b.t.Fatalf("%s: the browser has gone: %v", method, err)
		}
		if m.ID != b.id {
			b.events = append(b.events, m)
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if to != nil {
			if err := jsonv2.Unmarshal(m.Result, to); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

func (b *browser) read() (m browserMessage, err error) {
	text, err := b.out.ReadBytes(0)
	if err != nil {
		return m, err
	}
	return m, jsonv2.Unmarshal(text[:len(text)-1], &m)
}

// eval returns the value of an expression in the page, once its promise, if it is one, is kept.
func (b *browser) eval(expression string, to any) error {
	b.t.Helper()
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true,
	}, &answer)
	if x := answer.Exception; x != nil {
		return fmt.Errorf("%s: %s %s", expression, x.Text, x.Exception.Description)
	}
	if len(answer.Result.Value) == 0 {
		return errors.New(expression + ": no value")
	}
	return jsonv2.Unmarshal(answer.Result.Value, to)
}

// text and number return what an expression is.
func (b *browser) text(expression string) (s string) {
	b.t.Helper()
	if err := b.eval(expression, &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *browser) number(expression string) (n float64) {
	b.t.Helper()
	if err := b.eval(expression, &n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// open shows an address, and waits until the expression is true in it.
func (b *browser) open(address, until string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": address}, nil)
	b.wait(until)
}

// wait waits until an expression is true. The browser's own clock tells when to look again.
func (b *browser) wait(until string) {
	b.t.Helper()
	var ok bool
	for deadline := time.Now().Add(browserLimit); !ok && time.Now().Before(deadline); {
		// While a page gives way to another, there may be none to ask.
		_ = b.eval("new Promise((done) => setTimeout(() => done(!!("+until+")), 20))", &ok)
	}
	if !ok {
		b.t.Fatalf("it never came to %s", until)
	}
}

// click presses the mouse on the middle of the first element that a selector finds.
func (b *browser) click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	text, _ := jsonv2.Marshal(selector)
	if err := b.eval(`(() => { const r = document.querySelector(`+string(text)+`).getBoundingClientRect();
		return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`, &at); err != nil {
		b.t.Fatal(err)
	}
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{
			"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1,
		}, nil)
	}
}

// press presses a key that writes nothing.
func (b *browser) press(key string) {
	b.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key}, nil)
	}
}

// enter writes text into what has the focus.
func (b *browser) enter(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// complaints are what the console and the log have of errors, and what was asked of the network beside own.
func (b *browser) complaints(own string) (all []string) {
	b.t.Helper()
	b.number("1") // with its answer all has come that was said before
	for _, e := range b.events {
		var p struct {
			Type    string `json:"type"`
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		_ = jsonv2.Unmarshal(e.Params, &p)
		switch e.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded":
			all = append(all, string(e.Params))
		case "Runtime.consoleAPICalled":
			if p.Type == "error" || p.Type == "warning" {
				all = append(all, string(e.Params))
			}
		case "Network.requestWillBeSent":
			if p.Request.URL != own {
				all = append(all, "it loads "+p.Request.URL)
			}
		}
	}
	return all
}
