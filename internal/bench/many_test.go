package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/manager"
)

var plain = workload{carrier: "stdio", era: session, callers: 1, size: 64}

// lines are open lines of one client.
type lines struct {
	use   func() error // once each, one after the other
	close func()
}

// openMany opens n lines at once.
func openMany(tb testing.TB, w workload, address string, n int) lines {
	tb.Helper()
	clients := make([]*client.Client, n)
	together(n, func(i int) {
		var err error
		o := mcpwire.Options{CacheDir: "none", StateDir: "none"}
		if clients[i], err = mcpwire.Connect(tb.Context(), w.entry(tb, "bench", address), o); err != nil {
			tb.Error(err)
		}
	})
	if tb.Failed() {
		tb.FailNow()
	}
	return lines{
		use: func() error {
			for _, c := range clients {
				if err := w.call(tb.Context(), c, w.tool()); err != nil {
					return err
				}
			}
			return nil
		},
		close: func() { together(n, func(i int) { _ = clients[i].Close(context.Background()) }) },
	}
}

// openManyLimit does the same with the limit.
func openManyLimit(tb testing.TB, w workload, address string, n int) lines {
	tb.Helper()
	floors := make([]floor, n)
	together(n, func(i int) {
		if w.carrier == "stdio" {
			floors[i] = newPipe(tb, plain)
			return
		}
		h := newWeb(tb, address+"/"+w.carrier, 1)
		h.prepare("tools/call", w.tool())
		floors[i] = h
	})
	return lines{
		use: func() error {
			for _, f := range floors {
				if _, err := f.call(0, "tools/call", w.tool()); err != nil {
					return err
				}
			}
			return nil
		},
		close: func() { together(n, func(i int) { _ = floors[i].close() }) },
	}
}

func together(n int, do func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { do(i) })
	}
	running.Wait()
}

var openers = []struct {
	name string
	open func(testing.TB, workload, string, int) lines
}{{"mcpwire", openMany}, {"limit", openManyLimit}}

func BenchmarkStart(b *testing.B) {
	for _, n := range []int{1, 50} {
		for _, by := range openers {
			b.Run(fmt.Sprintf("servers=%d/client=%s", n, by.name), func(b *testing.B) {
				b.ReportAllocs()
				var cpu time.Duration
				for range b.N {
					before := ownCPU()
					open := by.open(b, plain, "", n)
					cpu += ownCPU() - before
					b.StopTimer()
					open.close()
					b.StartTimer()
				}
				b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// BenchmarkIdle tells what a line holds that has been used once.
func BenchmarkIdle(b *testing.B) {
	address := serverAddress(b)
	for _, carrier := range []string{"stdio", "json"} {
		w := plain
		w.carrier = carrier
		for _, by := range openers {
			b.Run(fmt.Sprintf("line=%s/client=%s", carrier, by.name), func(b *testing.B) {
				const n = 20
				var bytes, goroutines float64
				for range b.N {
					bytesBefore, goroutinesBefore := held()
					open := by.open(b, w, address, n)
					if err := open.use(); err != nil {
						b.Fatal(err)
					}
					bytesNow, goroutinesNow := held()
					bytes += bytesNow - bytesBefore
					goroutines += goroutinesNow - goroutinesBefore
					runtime.KeepAlive(open)
					open.close()
				}
				b.ReportMetric(bytes/float64(b.N*n), "B/line")
				b.ReportMetric(goroutines/float64(b.N*n), "goroutines/line")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// held returns the bytes of heap and stacks in use, and the goroutines, when what has ended is gone.
func held() (bytes, goroutines float64) {
	for same, last := 0, -1; same < 5; {
		time.Sleep(2 * time.Millisecond)
		now := runtime.NumGoroutine()
		if now != last {
			same = 0
		}
		same, last = same+1, now
	}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse), float64(runtime.NumGoroutine())
}

// managed starts n servers under a manager, until the end of the test, and calls all at once.
func managed(tb testing.TB, n int) operation {
	tb.Helper()
	var servers []config.Server
	for i := range n {
		servers = append(servers, plain.entry(tb, fmt.Sprintf("s%d", i), ""))
	}
	m := mcpwire.Manage(servers, mcpwire.ManageOptions{
		Options: manager.Options{CacheDir: "none", Window: time.Minute}, StateDir: "none",
	})
	tb.Cleanup(func() { _ = m.Close(context.Background()) })
	if err := m.Settle(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tool, ctx := plain.tool(), tb.Context()
	return allAtOnce(n, func(i int) error {
		result, err := m.CallTool(ctx, servers[i].Name, tool, arguments, nil)
		if err == nil && (len(result.Content) != 1 || len(result.Content[0].Text) != plain.size) {
			err = fmt.Errorf("the result is not a text of %d bytes", plain.size)
		}
		return err
	})
}

// managedLimit does the same with the limit.
func managedLimit(tb testing.TB, n int) operation {
	tb.Helper()
	pipes := make([]*pipe, n)
	for i := range pipes {
		pipes[i] = newPipe(tb, plain)
		tb.Cleanup(func() { _ = pipes[i].close() })
	}
	return allAtOnce(n, func(i int) error {
		_, err := pipes[i].call(0, "tools/call", plain.tool())
		return err
	})
}

func allAtOnce(n int, call func(i int) error) operation {
	errs := make([]error, n)
	return func(int) error {
		together(n, func(i int) { errs[i] = call(i) })
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func BenchmarkManager(b *testing.B) {
	const n = 20
	for _, by := range []struct {
		name string
		open func(testing.TB, int) operation
	}{{"mcpwire", managed}, {"limit", managedLimit}} {
		var do operation
		outer := b
		b.Run(fmt.Sprintf("servers=%d/client=%s", n, by.name), func(b *testing.B) {
			if do == nil {
				do = by.open(outer, n)
			}
			measure(b, do, 1)
		})
	}
}
