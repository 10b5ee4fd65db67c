// Command bench drives mcpwire's public API through one workload, and prints what that cost as one line of JSON. It is
// made to be run beside drivers of other clients that take the same flags, by a program that compares them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// limit bounds a whole run.
const limit = 2 * time.Minute

// A workload is what the flags ask for.
type workload struct {
	ID, Kind               string
	Transport, URL, Era    string
	Server                 []string
	Listen                 bool
	Callers, Size, Tools   int
	Conns, Reps            int
	Measured, Warmup       time.Duration
	Began                  time.Time // when the process was started; zero: unknown
	CPUProfile, MemProfile string
}

// A report is the line that is printed. What a workload does not measure is left out.
type report struct {
	ID     string `json:"id"`
	Driver string `json:"driver"`
	Kind   string `json:"kind"`
	Error  string `json:"error,omitzero"`

	Ops         int64   `json:"ops,omitzero"`
	Seconds     float64 `json:"seconds,omitzero"`
	OpsPerS     float64 `json:"ops_per_s,omitzero"`
	MBPerS      float64 `json:"mb_per_s,omitzero"`
	P50         float64 `json:"p50_us,omitzero"`
	P99         float64 `json:"p99_us,omitzero"`
	CPU         float64 `json:"cpu_us_per_op,omitzero"`
	ServerCPU   float64 `json:"server_cpu_us_per_op,omitzero"`
	Allocs      float64 `json:"allocs_per_op,omitzero"`
	AllocBytes  float64 `json:"alloc_bytes_per_op,omitzero"`
	PeakRSS     float64 `json:"peak_rss_mb,omitzero"`
	Connections float64 `json:"conns_per_op,omitzero"`

	Wall      float64 `json:"wall_ms,omitzero"`
	First     float64 `json:"first_ms,omitzero"`
	SinceExec float64 `json:"since_exec_ms,omitzero"`
	StartCPU  float64 `json:"start_cpu_ms,omitzero"`

	BaseRSS    float64 `json:"base_rss_mb,omitzero"`
	RSS        float64 `json:"rss_mb,omitzero"`
	RSSEach    float64 `json:"rss_kb_per_conn,omitzero"`
	Goroutines float64 `json:"goroutines_per_conn,omitzero"`
	Threads    float64 `json:"threads_per_conn,omitzero"`
	Files      float64 `json:"fds_per_conn,omitzero"`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the workload of the flags, and returns the exit status.
func run(args []string, out, problems io.Writer) int {
	w, err := parse(args, problems)
	if err != nil {
		return 2
	}
	if w.MemProfile == "" {
		runtime.MemProfileRate = 0
	}
	r := report{ID: w.ID, Driver: "mcpwire", Kind: w.Kind}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := w.run(ctx, &r); err != nil {
		r.Error = err.Error()
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", line)
	}
	if err != nil {
		fmt.Fprintln(problems, err)
		return 2
	}
	if r.Error != "" {
		return 1
	}
	return 0
}

func parse(args []string, problems io.Writer) (*workload, error) {
	w := &workload{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.StringVar(&w.ID, "id", "", "the workload's name, which is printed again")
	flags.StringVar(&w.Kind, "kind", "call", "call (tool echo), blob (tool blob), list, startup or idle")
	flags.StringVar(&w.Transport, "transport", "stdio", "stdio or http")
	server := flags.String("server", "", "stdio: the server's command line, split at blanks")
	flags.StringVar(&w.URL, "url", "", "http: the server's address")
	flags.StringVar(&w.Era, "era", "legacy", "legacy (2025-11-25) or modern (2026-07-28)")
	flags.BoolVar(&w.Listen, "listen", false, "http: keep the stream open on which the server speaks by itself")
	flags.Bool("tuned", false, "http: no effect, the pool fits by itself")
	flags.IntVar(&w.Callers, "c", 1, "callers at once on one connection")
	flags.IntVar(&w.Size, "size", 64, "bytes of text in a result")
	flags.IntVar(&w.Tools, "tools", 1000, "tools that a list must have")
	flags.IntVar(&w.Conns, "conns", 1, "startup and idle: connections")
	flags.IntVar(&w.Reps, "reps", 1, "startup: how often")
	seconds := flags.Float64("seconds", 1, "how long to measure")
	warmup := flags.Float64("warmup", 0.2, "how long to warm up before, in seconds")
	began := flags.Int64("t0", 0, "when this process was started, in nanoseconds since 1970")
	flags.StringVar(&w.CPUProfile, "cpuprofile", "", "a file for a CPU profile of what is measured")
	flags.StringVar(&w.MemProfile, "memprofile", "", "a file for a profile of allocations")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	w.Server = strings.Fields(*server)
	w.Measured, w.Warmup = duration(*seconds), duration(*warmup)
	if *began != 0 {
		w.Began = time.Unix(0, *began)
	}
	return w, nil
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func (w *workload) run(ctx context.Context, r *report) error {
	switch w.Kind {
	case "call", "blob", "list":
		return w.throughput(ctx, r)
	case "startup":
		return w.startup(ctx, r)
	case "idle":
		return w.idle(ctx, r)
	default:
		return fmt.Errorf("unknown kind %q", w.Kind)
	}
}
