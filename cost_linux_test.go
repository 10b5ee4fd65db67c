package mcpwire_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/internal/proc/proctest"
)

// What idle connections to processes may hold: each a goroutine for what the server says and some memory, which is 9 KB
// as this is written, and all together a goroutine for what servers say on standard error and for their ends.
const (
	goroutinesPerProcess = 1
	goroutinesOfAll      = 1
	heapPerProcess       = 12 << 10
)

func TestAnIdleConnectionHoldsLittle(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entry := config.Server{
		Name: "demo", Command: self, Env: map[string]string{environmentServer: "1", "GORACE": "atexit_sleep_ms=0"},
	}
	const connections = 20
	before, heap := runtime.NumGoroutine(), 0
	for i := range 1 + connections {
		if i == 1 { // what the first has begun is there once
			heap = heapInUse()
		}
		c, err := mcpwire.Connect(t.Context(), entry, mcpwire.Options{CacheDir: "none", StateDir: "none"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const all = (1+connections)*goroutinesPerProcess + goroutinesOfAll
	few := func() bool { return runtime.NumGoroutine()-before <= all }
	if !proctest.Within(5*time.Second, few) { // what a call has begun ends a moment later
		t.Errorf("%d connections hold %d goroutines", 1+connections, runtime.NumGoroutine()-before)
	}
	little := func() bool { return heapInUse()-heap <= connections*heapPerProcess }
	if !proctest.Within(5*time.Second, little) {
		t.Errorf("%d connections hold %d bytes", connections, heapInUse()-heap)
	}
}

// heapInUse is how many bytes are in use when all garbage is collected, what pools hold too.
func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // it is far below
}
