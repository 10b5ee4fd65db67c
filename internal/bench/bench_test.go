// Package bench_test measures the library as hosts use it, against servers that are processes of their own, and beside
// each benchmark the limit: a client that writes requests which are ready and reads answers without a look into them.
// The package that is measured is mcpwire; make bench compares with testdata/baseline.txt.
package bench_test

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	if as := os.Getenv(role); as != "" {
		playServer(as)
		return
	}
	os.Exit(m.Run())
}

// raced reports whether the test finds data races, which costs allocations of its own.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, setting := range info.Settings {
		if setting.Key == "-race" {
			return setting.Value == "true"
		}
	}
	return false
}

func TestWhatIsMeasuredWorks(t *testing.T) {
	address := serverAddress(t)
	for _, w := range workloads {
		if w.carrier == "stdio" && w.size > 64<<10 {
			continue // it works as the smaller ones do, and takes long where races are looked for
		}
		w.size = min(w.size, 64<<10)
		t.Run(w.group+"/"+w.name(), func(t *testing.T) {
			repeat(t, w.open(t, address), w.callers, 2*w.callers)
			repeat(t, w.openLimit(t, address), w.callers, 2*w.callers)
		})
	}
	for _, carrier := range []string{"stdio", "json"} {
		w := plain
		w.carrier = carrier
		for _, by := range openers {
			open := by.open(t, w, address, 3)
			if err := open.use(); err != nil {
				t.Error(carrier, by.name, err)
			}
			open.close()
		}
	}
	repeat(t, managed(t, 3), 1, 2)
	repeat(t, managedLimit(t, 3), 1, 2)
}

// allocations returns those of one operation.
func allocations(t *testing.T, do operation) float64 {
	t.Helper()
	return testing.AllocsPerRun(300, func() {
		if err := do(0); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWhatIsAddedToACallAllocatesLittle(t *testing.T) {
	if raced() {
		t.Skip("with the race detector more is allocated")
	}
	address := serverAddress(t)
	with := func(change func(w *workload)) float64 {
		w := plain
		change(&w)
		return allocations(t, w.open(t, address))
	}
	call := with(func(*workload) {})
	modern := with(func(w *workload) { w.era = stateless })
	noisy := with(func(w *workload) { w.noisy = true })
	viaManager := allocations(t, managed(t, 1))
	alone := allocations(t, allAtOnce(1, func(int) error { return nil }))
	web := with(func(w *workload) { w.carrier = "json" })
	traced := with(func(w *workload) { w.traced = true })
	webTraced := with(func(w *workload) { w.carrier, w.traced = "json", true })
	webModern := with(func(w *workload) { w.carrier, w.era = "json", stateless })
	t.Logf("call %v, stateless %v, %d notifications %v, manager %v (%v of the test), traced %v, JSON %v, traced %v, stateless %v",
		call, modern, flood, noisy, viaManager, alone, traced, web, webTraced, webModern)
	// How much a call itself may allocate is held more closely by the tests of client and of transport/http.
	for _, row := range []struct {
		what      string
		got, most float64
	}{
		{"a call", call, 9},
		{"a stateless call", modern, call + 4},
		{"a notification", (noisy - call) / flood, 3},
		{"a call through the manager", viaManager - alone, call + 4},
		{"a call over HTTP", web, 60},
		{"a stateless call over HTTP", webModern, web + 6},
		{"a traced call", traced, call + 3},
		{"a traced call over HTTP", webTraced, web + 40},
	} {
		if row.got > row.most {
			t.Errorf("%s allocates %v times, more than %v", row.what, row.got, row.most)
		}
	}
}
