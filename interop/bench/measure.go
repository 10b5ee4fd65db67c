package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

// sampled is how many latencies are kept in all; what comes later is only counted.
const sampled = 1 << 20

// throughput repeats an operation on one connection for a while.
func (w *workload) throughput(ctx context.Context, r *report) error {
	children := childCPU()
	c, err := w.connect(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer c.Close(ctx) // it is closed below, unless something fails before
	do := w.operation(c)
	if err := do(ctx); err != nil {
		return err
	}
	if w.Warmup > 0 {
		if _, err := repeat(ctx, do, w.Callers, w.Warmup, nil); err != nil {
			return err
		}
	}
	latencies := make([][]time.Duration, w.Callers)
	for i := range latencies {
		latencies[i] = make([]time.Duration, 0, w.samples()/w.Callers)
	}
	server := w.serverCounts()
	stop, err := w.profileCPU()
	if err != nil {
		return err
	}
	runtime.GC()
	resetPeak()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := ownCPU(), time.Now()
	ops, err := repeat(ctx, do, w.Callers, w.Measured, latencies)
	took := time.Since(start)
	cpu = ownCPU() - cpu
	runtime.ReadMemStats(&after)
	stop()
	if err != nil {
		return err
	}
	r.PeakRSS = statusKB("VmHWM") / 1024
	server = w.serverCounts().less(server)
	if err := c.Close(ctx); err != nil {
		return fmt.Errorf("closing: %w", err)
	}
	n := float64(ops)
	r.Ops, r.Seconds, r.OpsPerS = ops, took.Seconds(), n/took.Seconds()
	if w.Kind == "blob" {
		r.MBPerS = r.OpsPerS * float64(w.Size) / 1e6
	}
	all := slices.Concat(latencies...)
	slices.Sort(all)
	r.P50, r.P99 = microseconds(all[len(all)/2]), microseconds(all[len(all)*99/100])
	r.CPU = microseconds(cpu) / n
	r.Allocs = float64(after.Mallocs-before.Mallocs) / n
	r.AllocBytes = float64(after.TotalAlloc-before.TotalAlloc) / n
	if w.Transport == "http" {
		r.Connections, r.ServerCPU = float64(server.Connections-1)/n, float64(server.CPU)/n // one was ours, to count
	} else {
		r.ServerCPU = microseconds(childCPU()-children) / n // start and warm-up included
	}
	return w.profileMemory()
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// samples is how many latencies are worth keeping: the memory for them counts as the client's.
func (w *workload) samples() int {
	if w.Kind == "call" {
		return sampled
	}
	return sampled >> 8
}

// repeat has callers do something over and over until the time is up, at least once each, and returns how often they
// have. Latencies are added while there is room for them.
func repeat(
	ctx context.Context, do operation, callers int, during time.Duration, latencies [][]time.Duration,
) (total int64, err error) {
	end := time.Now().Add(during)
	if callers == 1 {
		return repeatAlone(ctx, do, end, latencies, 0)
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			n, failed := repeatAlone(ctx, do, end, latencies, i)
			mu.Lock()
			defer mu.Unlock()
			total += n
			if failed != nil {
				err = failed
			}
		})
	}
	running.Wait()
	return total, err
}

func repeatAlone(
	ctx context.Context, do operation, end time.Time, latencies [][]time.Duration, caller int,
) (n int64, err error) {
	var kept []time.Duration
	if latencies != nil {
		kept = latencies[caller]
		defer func() { latencies[caller] = kept }()
	}
	for begin := time.Now(); ; {
		if err := do(ctx); err != nil {
			return n, err
		}
		n++
		now := time.Now()
		if len(kept) < cap(kept) {
			kept = append(kept, now.Sub(begin))
		}
		if begin = now; !now.Before(end) {
			return n, nil
		}
	}
}

// profileCPU begins a profile where one is wanted; stop ends it.
func (w *workload) profileCPU() (stop func(), err error) {
	if w.CPUProfile == "" {
		return func() {}, nil
	}
	f, err := os.Create(w.CPUProfile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

func (w *workload) profileMemory() error {
	if w.MemProfile == "" {
		return nil
	}
	f, err := os.Create(w.MemProfile)
	if err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup("allocs").WriteTo(f, 0)
}
