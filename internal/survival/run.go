package survival

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpwire/config"
	"mcpwire/internal/leaks"
)

// A Result is what came of one row.
type Result struct {
	Row   Row
	Wrong []string // empty: the client did what it must
	Took  time.Duration
	Heap  int64 // the most bytes of heap above what was there before, where the row has a Memory
}

// A Runner runs rows.
type Runner struct {
	// Self is the command that plays the server of a row whose name is added to it.
	Self []string
	// Parallel is how many rows run at once (0: 10). Rows that must be alone are run one by one at the end.
	Parallel int
	// Done is told of each result as it comes; may be nil. It is not called twice at once.
	Done func(Result)
}

const (
	defaultParallel = 10
	groupSize       = 160             // rows after which it is looked at what is left behind
	patience        = 3 * time.Second // that it may take to go away
)

// Run runs rows, and returns their results in the order of the rows. A done ctx leaves the rest out. Nothing else may
// run in this process meanwhile that starts goroutines, processes or files.
func (r Runner) Run(ctx context.Context, rows []Row) []Result {
	if r.Parallel <= 0 {
		r.Parallel = defaultParallel
	}
	together, apart := []Row{}, []Row{}
	for _, row := range rows {
		if row.Alone || row.Memory > 0 {
			apart = append(apart, row)
		} else {
			together = append(together, row)
		}
	}
	results := map[string]Result{}
	for group := range slices.Chunk(together, groupSize) {
		// Those that may take long come first, so that none is waited for alone.
		slices.SortStableFunc(group, func(a, b Row) int { return cmp.Compare(b.within(), a.within()) })
		r.group(ctx, group, results)
	}
	for _, row := range apart {
		r.group(ctx, []Row{row}, results)
	}
	var done []Result
	for _, row := range rows {
		if result, ok := results[row.Name]; ok {
			done = append(done, result)
		}
	}
	return done
}

// group runs rows at once, and finds out who has left something behind.
func (r Runner) group(ctx context.Context, rows []Row, results map[string]Result) {
	before := leaks.Note()
	var mu sync.Mutex
	var running sync.WaitGroup
	slots := make(chan struct{}, r.Parallel)
	var ran []Result
	for _, row := range rows {
		if ctx.Err() != nil {
			break
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			result := r.row(ctx, row)
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, result)
		})
	}
	running.Wait()
	if left := before.Left(patience); len(left) > 0 {
		r.blame(ctx, ran, left)
	}
	for _, result := range ran {
		results[result.Row.Name] = result
		if r.Done != nil {
			r.Done(result)
		}
	}
}

// blame notes what a group has left behind with those that do so alone too, or with the first where none does.
func (r Runner) blame(ctx context.Context, ran []Result, left []string) {
	if len(ran) == 1 {
		ran[0].Wrong = append(ran[0].Wrong, "it left behind: "+strings.Join(left, "; "))
		return
	}
	found := false
	var names []string
	for i := range ran {
		before := leaks.Note()
		again := r.row(ctx, ran[i].Row)
		if left := before.Left(patience); len(left) > 0 {
			found = true
			again.Wrong = append(again.Wrong, "it left behind: "+strings.Join(left, "; "))
		}
		ran[i].Wrong = append(ran[i].Wrong, again.Wrong...)
		names = append(names, ran[i].Row.Name)
	}
	if !found && len(ran) > 0 {
		ran[0].Wrong = append(ran[0].Wrong, fmt.Sprintf("one of these %d rows left behind: %s; the rows are %s",
			len(ran), strings.Join(left, "; "), strings.Join(names, ", ")))
	}
}

// row runs one row.
func (r Runner) row(parent context.Context, row Row) (result Result) {
	result.Row = row
	start := time.Now()
	ctx, cancel := context.WithTimeout(parent, row.within())
	defer cancel()
	t := &Trial{Context: ctx, Server: config.Server{Name: "it"}}
	t.Options.CacheDir, t.Options.StateDir = "none", "none"
	t.Options.ConnectTimeout = row.within()
	t.Options.ProbeTimeout = row.within() / 2 // a server that is slow to start is not silent
	if row.Web != nil {
		t.Web = &Web{}
		server := httptest.NewServer(row.Web(t.Web))
		t.Web.server = server
		defer t.Web.close()
		t.Server.URL = server.URL + "/mcp"
	} else {
		command := append(slices.Clone(r.Self), row.Name)
		t.Server.Command, t.Server.Args = command[0], command[1:]
		t.Server.EnvInherit = config.EnvInherit{Minimal: true}
		// A server that is built to find data races takes a second to exit otherwise.
		t.Server.Env = map[string]string{"GORACE": "atexit_sleep_ms=0"}
	}
	if row.With != nil {
		row.With(&t.Server, &t.Options)
	}
	folder, err := os.MkdirTemp("", "survival-")
	if err != nil {
		t.Fail("%v", err)
	}
	defer os.RemoveAll(folder)
	t.Folder = folder
	if row.Pipe != nil {
		if t.Server.Env == nil {
			t.Server.Env = map[string]string{}
		}
		t.Server.Env[folderVariable] = folder
	}
	heap := watchHeap(row.Memory > 0)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		t.run(row)
	}()
	select {
	case <-finished:
	case <-time.After(row.within() + time.Second):
		t.Fail("the client hangs: it has not come to an end %v after its time was over\n%s", time.Second, stacks())
	}
	result.Heap = heap()
	if row.Memory > 0 && result.Heap > row.Memory {
		t.Fail("it took %d MiB, which is more than %d", result.Heap>>20, row.Memory>>20)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	result.Wrong, result.Took = t.wrong, time.Since(start)
	return result
}

// run tries the client, and closes its connection whatever happens.
func (t *Trial) run(row Row) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil, abandoned:
		default:
			t.Fail("panic: %v\n%s", p, stacks())
		}
		if t.client == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), row.within())
		defer cancel()
		if err := t.client.Close(ctx); err != nil {
			t.Fail("it can't be closed: %v", err)
		}
	}()
	if row.Try != nil {
		row.Try(t)
		return
	}
	t.Works(t.Connect())
}

func stacks() string {
	text := make([]byte, 64<<10)
	return string(text[:runtime.Stack(text, true)])
}

// watchHeap looks at the heap until the function that it returns is called, which tells by how much it has grown at
// most.
func watchHeap(wanted bool) (most func() int64) {
	if !wanted {
		return func() int64 { return 0 }
	}
	garbage := debug.SetGCPercent(20) // what nobody holds any more is not to count for long
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapInuse, m.HeapInuse
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-stopped
		debug.SetGCPercent(garbage)
		return int64(peak - before)
	}
}
