package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/trace"
)

const (
	session   = "2025-11-25"
	stateless = "2026-07-28"
)

// A workload is one operation on one line, by mcpwire and by the limit.
type workload struct {
	group   string // the benchmark's name
	carrier string // stdio, json or sse
	era     string
	callers int
	size    int // of the text in a result; 0: the list of tools
	noisy   bool
	traced  bool // all is written to a file, as --trace does
}

func (w workload) name() string {
	name := fmt.Sprintf("line=%s/era=%s/callers=%d/size=%d", w.carrier, w.era, w.callers, w.size)
	if w.traced {
		name += "/trace=on"
	}
	return name
}

var workloads = []workload{
	{group: "Call", carrier: "stdio", era: session, callers: 1, size: 64},
	{group: "Call", carrier: "stdio", era: session, callers: 64, size: 64},
	{group: "Call", carrier: "stdio", era: stateless, callers: 1, size: 64},
	{group: "Call", carrier: "stdio", era: stateless, callers: 64, size: 64},
	{group: "Call", carrier: "json", era: session, callers: 1, size: 64},
	{group: "Call", carrier: "json", era: session, callers: 1, size: 64, traced: true},
	{group: "Call", carrier: "stdio", era: session, callers: 1, size: 64, traced: true},
	{group: "Call", carrier: "json", era: session, callers: 64, size: 64},
	{group: "Call", carrier: "json", era: stateless, callers: 1, size: 64},
	{group: "Call", carrier: "json", era: stateless, callers: 64, size: 64},
	{group: "Call", carrier: "sse", era: session, callers: 1, size: 64},
	{group: "Call", carrier: "sse", era: session, callers: 64, size: 64},
	{group: "Call", carrier: "sse", era: stateless, callers: 1, size: 64},
	{group: "Call", carrier: "sse", era: stateless, callers: 64, size: 64},
	{group: "Result", carrier: "stdio", era: session, callers: 1, size: 4 << 10},
	{group: "Result", carrier: "stdio", era: session, callers: 1, size: 64 << 10},
	{group: "Result", carrier: "stdio", era: session, callers: 1, size: 1 << 20},
	{group: "Result", carrier: "stdio", era: session, callers: 1, size: 16 << 20},
	{group: "Result", carrier: "json", era: session, callers: 1, size: 1 << 20},
	{group: "Result", carrier: "sse", era: session, callers: 1, size: 1 << 20},
	{group: "List", carrier: "stdio", era: session, callers: 1},
	{group: "Notifications", carrier: "stdio", era: session, callers: 1, size: 64, noisy: true},
}

// An operation is what a benchmark repeats, told which of its callers it is. It checks what comes back.
type operation func(caller int) error

// entry returns the configuration of a server.
func (w workload) entry(tb testing.TB, name, address string) config.Server {
	tb.Helper()
	s := config.Server{Name: name, Protocol: w.era}
	if w.carrier == "stdio" {
		s.Command, s.Env = executable(tb), map[string]string{role: "pipe", noDelay: noDelayValue}
	} else {
		s.URL = address + "/" + w.carrier
	}
	return s
}

// open connects mcpwire, until the end of the test, and returns its operation.
func (w workload) open(tb testing.TB, address string) operation {
	tb.Helper()
	o := mcpwire.Options{CacheDir: "none", StateDir: "none"}
	var noise atomic.Int64
	if w.noisy {
		o.OnNotification = func(context.Context, string, json.RawMessage) { noise.Add(1) }
	}
	if w.traced {
		o.Trace = traceFile(tb)
	}
	c, err := mcpwire.Connect(tb.Context(), w.entry(tb, "bench", address), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close(context.Background()) })
	ctx := tb.Context()
	if w.size == 0 {
		return func(int) error {
			tools, err := c.ListTools(ctx)
			if err == nil && len(tools) != listed {
				err = fmt.Errorf("%d tools are listed", len(tools))
			}
			return err
		}
	}
	tool := w.tool()
	return func(int) error { return w.call(ctx, c, tool) }
}

// traceFile is the sink of a file that lasts as long as the test.
func traceFile(tb testing.TB) trace.Sink {
	tb.Helper()
	file, err := os.Create(filepath.Join(tb.TempDir(), "trace.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	w := trace.NewWriter(file)
	tb.Cleanup(func() {
		if err := errors.Join(w.Close(), file.Close()); err != nil {
			tb.Error(err)
		}
	})
	return w.Sink
}

// The arguments are made an any once, so that this is not counted with each call. The noisy ones ask for notifications
// before the answer.
var arguments, noisyArguments any = json.RawMessage(`{"text":"hello"}`), json.RawMessage(`{"text":"noisy"}`)

func (w workload) call(ctx context.Context, c *client.Client, tool string) error {
	args := arguments
	if w.noisy {
		args = noisyArguments
	}
	result, err := c.CallTool(ctx, tool, args, nil)
	if err == nil && (len(result.Content) != 1 || len(result.Content[0].Text) != w.size) {
		err = fmt.Errorf("the result is not a text of %d bytes", w.size)
	}
	return err
}

func (w workload) tool() string {
	if w.size == 0 {
		return ""
	}
	return fmt.Sprintf("text%d", w.size)
}

// openLimit does the same with the limit.
func (w workload) openLimit(tb testing.TB, address string) operation {
	tb.Helper()
	method := "tools/call"
	if w.size == 0 {
		method = "tools/list"
	}
	var line floor
	if w.carrier == "stdio" {
		p := newPipe(tb, w)
		if w.noisy {
			p.ready[0] = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"tools/call",`+
				`"params":{"name":"text%d","arguments":%s}}`+"\n", w.size, noisyArguments)
		}
		line = p
	} else {
		h := newWeb(tb, address+"/"+w.carrier, w.callers)
		h.prepare(method, w.tool())
		line = h
	}
	tb.Cleanup(func() { _ = line.close() })
	tool := w.tool()
	return func(caller int) error {
		size, err := line.call(caller, method, tool)
		if err == nil && size < w.size {
			err = fmt.Errorf("the answer has %d bytes", size)
		}
		return err
	}
}

func benchmark(b *testing.B, group string) {
	b.Helper()
	address := serverAddress(b)
	for _, w := range workloads {
		if w.group != group {
			continue
		}
		b.Run(w.name(), func(b *testing.B) {
			for _, by := range []struct {
				name string
				open func(testing.TB, string) operation
			}{{"mcpwire", w.open}, {"limit", w.openLimit}} {
				var do operation // opened once, whatever b.N is tried
				outer := b
				b.Run("client="+by.name, func(b *testing.B) {
					if do == nil {
						do = by.open(outer, address)
						repeat(b, do, w.callers, w.callers)
					}
					if w.size > 64 {
						b.SetBytes(int64(w.size))
					}
					measure(b, do, w.callers)
				})
			}
		})
	}
}

// measure repeats the operation b.N times, by so many callers at once.
func measure(b *testing.B, do operation, callers int) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	cpu := ownCPU()
	repeat(b, do, callers, b.N)
	b.ReportMetric(float64(ownCPU()-cpu)/float64(b.N), "cpu-ns/op")
}

func repeat(tb testing.TB, do operation, callers, times int) {
	tb.Helper()
	if callers == 1 {
		for range times {
			if err := do(0); err != nil {
				tb.Fatal(err)
			}
		}
		return
	}
	var left atomic.Int64
	left.Store(int64(times))
	var together sync.WaitGroup
	for caller := range callers {
		together.Go(func() {
			for left.Add(-1) >= 0 {
				if err := do(caller); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	together.Wait()
}

func BenchmarkCall(b *testing.B)          { benchmark(b, "Call") }
func BenchmarkResult(b *testing.B)        { benchmark(b, "Result") }
func BenchmarkList(b *testing.B)          { benchmark(b, "List") }
func BenchmarkNotifications(b *testing.B) { benchmark(b, "Notifications") }
