package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/client"
	"mcpwire/internal/proc"
	"mcpwire/internal/proc/proctest"
	"mcpwire/jsonrpc"
	"mcpwire/transport"
	"mcpwire/transport/stdio"
)

func TestNoiseOnStandardOutputHarmsNothing(t *testing.T) {
	var mu sync.Mutex
	var noise []string
	c := connectProcess(t, "noisy", client.Options{}, func(o *stdio.Options) {
		o.OnNoise = func(line []byte) {
			mu.Lock()
			defer mu.Unlock()
			noise = append(noise, string(line))
		}
	})
	if got := callText(t, c, "print", nil); got != "done" {
		t.Errorf("got %q", got)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"Demo server v1.2 ready", "[info] {not json", "42", `"ready"`, "[1]", "Calling tool..."}
	if !slices.Equal(noise, want) {
		t.Errorf("heard %q", noise)
	}
}

func TestAConnectTimeoutQuotesTheNoise(t *testing.T) {
	proctest.NoLeaks(t)
	_, err := dialProcess(t, "silent", client.Options{ConnectTimeout: 1500 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{
		"demo: ", "connect timeout after 1500ms", "Demo server v1.2 ready\n", "[info] {not json\n",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %q", part, err)
		}
	}
}

func TestAServerThatEndsBeforeTheHandshakeSaysWhyAtOnce(t *testing.T) {
	for _, row := range []struct{ role, how, stderr string }{
		{"fails", "exit status 2", "Error: DEMO_KEY is not set"},
		{"killed", "killed by SIGKILL", "out of memory"},
	} {
		t.Run(row.role, func(t *testing.T) {
			proctest.NoLeaks(t)
			start := time.Now()
			_, err := dialProcess(t, row.role, client.Options{})
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
			want := fmt.Sprintf("transport closed: %s (%s); stderr: %s", row.how, os.Args[0], row.stderr)
			if err == nil || !strings.HasPrefix(err.Error(), "demo: ") || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("got %v, want %q at its end", err, want)
			}
		})
	}
}

func TestACommandThatCannotBeStartedIsNotTriedTwice(t *testing.T) {
	proctest.NoLeaks(t)
	start := time.Now()
	_, err := dialProcess(t, "plain", client.Options{}, func(o *stdio.Options) { o.Command = "no-such-cmd" })
	fail, ok := errors.AsType[*proc.StartError](err)
	if !ok || fail.Reason != proc.NotFound || fail.Search != os.Getenv("PATH") || time.Since(start) > 2*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func TestATimeoutEndsTheCallAndTheServerHearsOfIt(t *testing.T) {
	c := connectProcess(t, "plain", client.Options{})
	start := time.Now()
	nap := map[string]int{"n": 1000}
	_, err := c.CallTool(t.Context(), "sleep", nap, &client.CallOptions{Timeout: 500 * time.Millisecond})
	if took := time.Since(start); took < 500*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	if err == nil || err.Error() != "demo: tools/call sleep: request timeout after 500ms" {
		t.Errorf("got %v", err)
	}
	if _, err = c.CallTool(t.Context(), "sleep", nap, &client.CallOptions{Timeout: 10 * time.Second}); err != nil {
		t.Errorf("with time enough: %v", err)
	}
	var calls []jsonrpc.Message
	var notes []string
	for line := range strings.SplitSeq(callText(t, c, "seen", nil), "\n") {
		m, _ := jsonrpc.Parse([]byte(line))
		if m.Method == "tools/call" {
			calls = append(calls, m)
		}
		if m.Method == "notifications/cancelled" {
			notes = append(notes, string(m.Params))
		}
	}
	if want := fmt.Sprintf(`{"requestId":%s}`, calls[0].ID); len(notes) != 1 || notes[0] != want {
		t.Errorf("the server was told %q, want %s", notes, want)
	}
}

func TestResultsOfAnySizeArriveInARow(t *testing.T) {
	c := connectProcess(t, "plain", client.Options{})
	for _, n := range []int{65535, 65536, 1 << 20, 11 << 20, 1} {
		if got := len(callText(t, c, "fill", map[string]int{"n": n})); got != n {
			t.Errorf("got %d bytes, want %d", got, n)
		}
	}
}

func TestAResultAboveTheCapFailsItsCallAlone(t *testing.T) {
	c := connectProcess(t, "plain", client.Options{}, func(o *stdio.Options) { o.MaxMessage = 1 << 20 })
	_, err := c.CallTool(t.Context(), "fill", map[string]int{"n": 11 << 20}, nil)
	const want = "demo: tools/call fill: message too large: 115"
	if !errors.Is(err, transport.ErrTooLarge) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if got := len(callText(t, c, "fill", map[string]int{"n": 1 << 19})); got != 1<<19 {
		t.Errorf("got %d bytes", got)
	}
}

func TestStandardErrorNeverStopsTheServer(t *testing.T) {
	c := connectProcess(t, "floods", client.Options{})
	if got := callText(t, c, "complain", map[string]int{"n": 256 << 10}); got != "done" {
		t.Errorf("got %q", got)
	}
}

func TestAnswersThatNobodyWaitsForHarmNothing(t *testing.T) {
	c := connectProcess(t, "plain", client.Options{})
	nap := map[string]int{"n": 300}
	_, err := c.CallTool(t.Context(), "sleep", nap, &client.CallOptions{Timeout: 100 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if got := callText(t, c, "sleep", map[string]int{"n": 600}); got != "done" { // meanwhile the late answer comes
		t.Errorf("got %q", got)
	}
	if got := callText(t, c, "repeat", nil); got != "first" {
		t.Errorf("got %q", got)
	}
	if got := callText(t, c, "sleep", nil); got != "done" || c.Err() != nil {
		t.Errorf("got %q; Err is %v", got, c.Err())
	}
}

func TestAnExitFailsEveryCallAtOnce(t *testing.T) {
	closed := make(chan error, 1)
	c := connectProcess(t, "plain", client.Options{OnClose: func(err error) { closed <- err }})
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			_, err := c.CallTool(t.Context(), "wait", map[string]int{"n": 3}, nil)
			want := "demo: tools/call wait: transport closed: exit status 3 (" + os.Args[0] + "); stderr: the disk is on fire"
			if !errors.Is(err, transport.ErrClosed) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	calls.Wait()
	if err := <-closed; !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("OnClose was told %v", err)
	}
}

func TestAServerThatClosesItsInputIsReportedNotFeared(t *testing.T) {
	proctest.NoLeaks(t)
	start := time.Now()
	c, err := dialProcess(t, "closes its input", client.Options{})
	if err == nil {
		_, err = c.CallTool(t.Context(), "print", nil, nil)
		closeClient(t, c)
	}
	if !errors.Is(err, transport.ErrClosed) || !strings.Contains(err.Error(), "the server closed its input") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestAServerThatStopsReadingCostsNoMoreThanTheTimeout(t *testing.T) {
	c := connectProcess(t, "stops reading", client.Options{}, func(o *stdio.Options) { o.StdinWait = -1 })
	start := time.Now()
	_, err := c.CallTool(t.Context(), "print", map[string]string{"text": strings.Repeat("x", 1<<20)},
		&client.CallOptions{Timeout: 300 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestTheServersRequestsAreAnsweredUnderTheirOwnIDs(t *testing.T) {
	notes := make(chan string, 2)
	note := func(_ context.Context, method string, _ json.RawMessage) { notes <- method }
	c := connectProcess(t, "plain", client.Options{OnNotification: note})
	got := callText(t, c, "ask", nil)
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":"p-1","result":{}}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32601,"message":"Method not found: nope/x"}}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	if a, b := <-notes, <-notes; a != "notifications/message" || b != "notifications/nobody/knows" {
		t.Errorf("notified of %s and %s", a, b)
	}
}

func TestLinesAreAssembledWhateverTheirPieces(t *testing.T) {
	const text = "读取 — ✅"
	c := connectProcess(t, "answers together", client.Options{})
	if got := callText(t, c, "spell", map[string]string{"text": text}); got != text {
		t.Errorf("got %q", got)
	}
	var calls sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]bool{}
	for range 2 { // both are answered in one write, whose last line has no end
		calls.Go(func() {
			got := callText(t, c, "wait", map[string]int{"n": 2})
			mu.Lock()
			defer mu.Unlock()
			answers[got] = true
		})
	}
	calls.Wait()
	if len(answers) != 2 {
		t.Errorf("got %v", answers)
	}
}
