package main

import (
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

func ownCPU() time.Duration   { return usedCPU(syscall.RUSAGE_SELF) }
func childCPU() time.Duration { return usedCPU(syscall.RUSAGE_CHILDREN) }

// usedCPU returns user and system time; 0 where the system does not tell.
func usedCPU(who int) time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(who, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// statusKB returns a number of proc_pid_status(5); 0 where there is none.
func statusKB(field string) float64 {
	text, _ := os.ReadFile("/proc/self/status") // elsewhere than on Linux there is none
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			n, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return n
		}
	}
	return 0
}

// resetPeak has VmHWM count from now on (proc_pid_clear_refs(5)).
func resetPeak() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // else the peak is that since the start
}

func openFiles() float64 {
	files, _ := os.ReadDir("/proc/self/fd") // as above
	return float64(len(files))
}

// counts are what a server for benchmarks tells of itself at /stats; CPU in microseconds.
type counts struct {
	Connections int64 `json:"conns"`
	CPU         int64 `json:"cpu_us"`
}

func (c counts) less(before counts) counts {
	return counts{c.Connections - before.Connections, c.CPU - before.CPU}
}

// serverCounts asks the server over a connection of its own. Zero where it does not tell.
func (w *workload) serverCounts() (c counts) {
	u, err := url.Parse(w.URL)
	if err != nil || w.Transport != "http" {
		return counts{}
	}
	pool := &http.Transport{DisableKeepAlives: true}
	defer pool.CloseIdleConnections()
	resp, err := (&http.Client{Transport: pool}).Get(u.Scheme + "://" + u.Host + "/stats")
	if err != nil {
		return counts{}
	}
	defer resp.Body.Close()
	if json.UnmarshalRead(resp.Body, &c) != nil {
		return counts{}
	}
	return c
}
