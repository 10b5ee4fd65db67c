package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
)

// connect connects as a host would that does not know more than the workload says.
func (w *workload) connect(ctx context.Context) (*client.Client, error) {
	s := config.Server{Name: "bench", Protocol: "2025-11-25"}
	if w.Era == "modern" {
		s.Protocol = "2026-07-28"
	}
	switch {
	case w.Transport == "http":
		s.URL = w.URL
	case len(w.Server) == 0:
		return nil, errors.New("-server is missing")
	default:
		s.Command, s.Args = w.Server[0], w.Server[1:]
	}
	o := mcpwire.Options{CacheDir: "none", StateDir: "none"}
	if w.Listen {
		o.OnNotification = func(context.Context, string, json.RawMessage) {}
	}
	return mcpwire.Connect(ctx, s, o)
}

// connectAll connects all connections of the workload, some at a time.
func (w *workload) connectAll(ctx context.Context, together int) ([]*client.Client, error) {
	clients := make([]*client.Client, w.Conns)
	var group errgroup.Group
	group.SetLimit(together)
	for i := range clients {
		group.Go(func() (err error) {
			clients[i], err = w.connect(ctx)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		closeAll(ctx, clients)
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return clients, nil
}

func closeAll(ctx context.Context, clients []*client.Client) {
	var group errgroup.Group
	for _, c := range clients {
		if c != nil {
			group.Go(func() error { return c.Close(ctx) })
		}
	}
	_ = group.Wait() // how long it takes does not count, nor how it ends
}

// operation is what a workload repeats. It checks what comes back.
type operation func(ctx context.Context) error

func (w *workload) operation(c *client.Client) operation {
	switch w.Kind {
	case "list":
		return func(ctx context.Context) error {
			tools, err := c.ListTools(ctx)
			if err == nil && len(tools) != w.Tools {
				err = fmt.Errorf("%d tools are listed, not %d", len(tools), w.Tools)
			}
			return err
		}
	case "blob":
		args := map[string]any{"n": w.Size}
		return func(ctx context.Context) error {
			text, err := call(ctx, c, "blob", args)
			if err == nil && len(text) != w.Size {
				err = fmt.Errorf("%d bytes came, not %d", len(text), w.Size)
			}
			return err
		}
	default:
		want := strings.Repeat("what comes back ", w.Size/16+1)[:w.Size]
		args := map[string]any{"text": want}
		return func(ctx context.Context) error {
			text, err := call(ctx, c, "echo", args)
			if err == nil && text != want {
				err = fmt.Errorf("%q came, not %q", text, want)
			}
			return err
		}
	}
}

// call returns the first text of a tool's result.
func call(ctx context.Context, c *client.Client, tool string, args map[string]any) (string, error) {
	result, err := c.CallTool(ctx, tool, args, nil)
	if err != nil {
		return "", err
	}
	if len(result.Content) == 0 {
		return "", errors.New("the result has no content")
	}
	if kind := result.Content[0].Type; kind != "text" {
		return "", fmt.Errorf("the result is of type %q", kind)
	}
	return result.Content[0].Text, nil
}

// startup measures how long it takes until all connections stand.
func (w *workload) startup(ctx context.Context, r *report) error {
	var walls []time.Duration
	cpu := ownCPU()
	for range w.Reps {
		start := time.Now()
		clients, err := w.connectAll(ctx, w.Conns)
		if err != nil {
			return err
		}
		walls = append(walls, time.Since(start))
		if len(walls) == 1 {
			r.First, r.RSS = milliseconds(walls[0]), statusKB("VmRSS")/1024
			if !w.Began.IsZero() {
				r.SinceExec = milliseconds(time.Since(w.Began))
			}
		}
		closeAll(ctx, clients)
	}
	r.Ops = int64(w.Reps)
	r.StartCPU = milliseconds(ownCPU()-cpu) / float64(w.Conns*w.Reps)
	slices.Sort(walls)
	r.Wall = milliseconds(walls[len(walls)/2])
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// idle measures what connections hold that have been used once.
func (w *workload) idle(ctx context.Context, r *report) error {
	before := held()
	clients, err := w.connectAll(ctx, 16)
	if err != nil {
		return err
	}
	defer closeAll(ctx, clients)
	w.Kind, w.Size = "call", 64
	for _, c := range clients {
		if err := w.operation(c)(ctx); err != nil {
			return err
		}
	}
	time.Sleep(300 * time.Millisecond) // until what the calls began has ended
	now := held()
	each := float64(w.Conns)
	r.Ops = int64(w.Conns)
	r.BaseRSS, r.RSS = before.rss/1024, now.rss/1024
	r.RSSEach = (now.rss - before.rss) / each
	r.Goroutines = (now.goroutines - before.goroutines) / each
	r.Threads = (now.threads - before.threads) / each
	r.Files = (now.files - before.files) / each
	return nil
}

// holdings are what a process holds; rss in KB.
type holdings struct{ rss, goroutines, threads, files float64 }

// held collects garbage and gives memory back, as happens by itself in a process that is idle for long.
func held() holdings {
	runtime.GC()
	debug.FreeOSMemory()
	return holdings{statusKB("VmRSS"), float64(runtime.NumGoroutine()), statusKB("Threads"), openFiles()}
}
