package manager_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/manager"
)

// fiftyProcesses is the configuration of the fifty servers as processes.
func fiftyProcesses(t testing.TB) []config.Server {
	t.Helper()
	limit := 5 * time.Second
	silent := script{Silent: true}.entry(t, silentServer)
	silent.ConnectTimeout = &limit
	servers := []config.Server{silent, script{Exits: exitsBecause}.entry(t, exitingServer)}
	for i := range goodServers {
		servers = append(servers, script{DelayMS: int(answersAfter(i).Milliseconds())}.entry(t, goodServer(i)))
	}
	return servers
}

// A startup is what was measured of one start.
type startup struct {
	atOnce     int           // tools in the first snapshot
	first      time.Duration // until there were tools
	complete   time.Duration // until there were as many as there will be, live or not
	settled    time.Duration // until Settle returned
	ready      time.Duration // until the 48 were ready
	rss        int           // the largest resident set of this process, in bytes; 0: not known
	goroutines int           // the largest number
}

// startFifty starts the fifty servers, and returns when the 48 are ready. The manager runs.
func startFifty(t testing.TB, servers []config.Server, folder string) (*manager.Manager, startup) {
	t.Helper()
	var s startup
	stop := s.sample()
	begin := time.Now()
	o := mcpwire.ManageOptions{StateDir: "none", Options: manager.Options{CacheDir: folder}}
	m := mcpwire.Manage(servers, o)
	s.atOnce = len(m.Snapshot().Tools)
	settled := make(chan time.Duration, 1)
	go func() {
		_ = m.Settle(context.Background()) // no server is required
		settled <- time.Since(begin)
	}()
	over := time.After(4 * enough)
	for {
		snapshot := m.Snapshot()
		if n := len(snapshot.Tools); n > 0 && s.first == 0 {
			s.first = time.Since(begin)
		}
		if n := len(snapshot.Tools); n >= 2*goodServers && s.complete == 0 {
			s.complete = time.Since(begin)
		}
		if len(readyServers(snapshot)) == goodServers {
			break
		}
		select {
		case <-snapshot.Changed():
		case <-over:
			t.Fatalf("after %v only %q are ready", time.Since(begin), readyServers(snapshot))
		}
	}
	s.ready = time.Since(begin)
	s.settled = <-settled
	stop()
	return m, s
}

// readyServers lists the servers that are ready.
func readyServers(s *manager.Snapshot) (all []string) {
	for _, server := range s.Servers {
		if server.State == manager.Ready {
			all = append(all, server.Config.Name)
		}
	}
	return all
}

// sample notes the largest numbers until stop is called.
func (s *startup) sample() (stop func()) {
	done := make(chan struct{})
	var sampling sync.WaitGroup
	sampling.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			s.rss = max(s.rss, residentSet())
			s.goroutines = max(s.goroutines, runtime.NumGoroutine())
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		sampling.Wait()
	}
}

// residentSet returns how much memory this process has, in bytes; 0 where the system does not tell.
func residentSet() int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0
	}
	return resident * os.Getpagesize()
}

func TestFiftyProcessesAreThereAndDeadOnesNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a hundred processes")
	}
	servers, folder := fiftyProcesses(t), t.TempDir()
	cold, s := startFifty(t, servers, folder)
	t.Cleanup(func() { _ = cold.Close(context.Background()) })
	t.Logf("cold: %+v", s)
	if s.atOnce != 0 || s.settled < manager.DefaultWindow {
		t.Errorf("cold, at once there are %d tools, and it settled after %v", s.atOnce, s.settled)
	}
	for name, reason := range map[string]string{silentServer: "connect timeout after 5000ms", exitingServer: exitsBecause} {
		ok := func(s manager.Status) bool { return s.Err != nil && strings.Contains(s.Err.Error(), reason) }
		if !told(cold, name, ok) {
			server, _ := cold.Snapshot().Server(name)
			t.Errorf("%s is %v: %v", name, server.State, server.Err)
		}
	}
	if err := cold.Close(context.Background()); err != nil {
		t.Error(err)
	}

	warm, s := startFifty(t, servers, folder)
	t.Cleanup(func() { _ = warm.Close(context.Background()) })
	t.Logf("warm: %+v", s)
	if s.atOnce != 2*goodServers || s.settled < manager.DefaultWindow {
		t.Errorf("warm, at once there are %d tools, and it settled after %v", s.atOnce, s.settled)
	}
	if err := warm.Close(context.Background()); err != nil {
		t.Error(err)
	}
	warm2 := mcpwire.Manage(servers[len(servers)-1:], mcpwire.ManageOptions{
		StateDir: "none", Options: manager.Options{CacheDir: folder},
	})
	t.Cleanup(func() { _ = warm2.Close(context.Background()) })
	tool, ok := warm2.Snapshot().Tool(goodServer(goodServers-1) + "__read")
	if !ok || tool.Now != manager.Deferred {
		t.Errorf("the tool of the slowest is %v", tool.Now)
	}
	if _, err := warm2.Call(t.Context(), tool.SafeName, nil, nil); err != nil {
		t.Errorf("a deferred tool: %v", err)
	}
}

// told waits until a server's status is right.
func told(m *manager.Manager, name string, ok func(manager.Status) bool) bool {
	over := time.After(2 * enough)
	for {
		snapshot := m.Snapshot()
		if s, _ := snapshot.Server(name); ok(s) {
			return true
		}
		select {
		case <-snapshot.Changed():
		case <-over:
			return false
		}
	}
}

// BenchmarkStart50 starts fifty processes: 48 that answer in 20 ms to 3 s, a silent one, and one that exits; without
// and with what an earlier run has left in the cache.
func BenchmarkStart50(b *testing.B) {
	for _, temperature := range []string{"cold", "warm"} {
		b.Run(temperature, func(b *testing.B) {
			servers, folder := fiftyProcesses(b), b.TempDir()
			if temperature == "warm" {
				m, _ := startFifty(b, servers, folder)
				if err := m.Close(done()); err != nil {
					b.Fatal(err)
				}
			}
			var all []startup
			for b.Loop() {
				b.StopTimer()
				if temperature == "cold" {
					folder = b.TempDir()
				}
				b.StartTimer()
				m, s := startFifty(b, servers, folder)
				b.StopTimer()
				if err := m.Close(done()); err != nil {
					b.Fatal(err)
				}
				all = append(all, s)
				b.StartTimer()
			}
			report(b, all)
		})
	}
}

// done is a context that has ended.
func done() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("there is no time"))
	return ctx
}

// report shows the worst of what was measured.
func report(b *testing.B, all []startup) {
	b.Helper()
	worst := func(unit string, of func(s startup) float64) {
		var values []float64
		for _, s := range all {
			values = append(values, of(s))
		}
		b.ReportMetric(slices.Max(values), unit)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	worst("ms-first-tools", func(s startup) float64 { return ms(s.first) })
	worst("ms-all-tools", func(s startup) float64 { return ms(s.complete) })
	worst("ms-settle", func(s startup) float64 { return ms(s.settled) })
	worst("ms-48-ready", func(s startup) float64 { return ms(s.ready) })
	worst("MiB-peak-RSS", func(s startup) float64 { return float64(s.rss) / (1 << 20) })
	worst("goroutines", func(s startup) float64 { return float64(s.goroutines) })
}
