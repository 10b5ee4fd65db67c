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

// What an idle connection to a process may hold: a goroutine for what the server says, one for what it says on its
// standard error, and one for its end.
const goroutinesPerProcess = 3

func TestAnIdleConnectionHoldsFewGoroutines(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entry := config.Server{
		Name: "demo", Command: self, Env: map[string]string{environmentServer: "1", "GORACE": "atexit_sleep_ms=0"},
	}
	const connections = 4
	before := runtime.NumGoroutine()
	for range connections {
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
	few := func() bool { return runtime.NumGoroutine()-before <= connections*goroutinesPerProcess }
	if !proctest.Within(5*time.Second, few) { // what a call has begun ends a moment later
		t.Errorf("%d connections hold %d goroutines", connections, runtime.NumGoroutine()-before)
	}
}
