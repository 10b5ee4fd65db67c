package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mcpwire/internal/httpwire"
	"mcpwire/oneshot"
	"mcpwire/trace"
)

// A traceFile is where a run is traced to. Without a file it is closed, and its sink is nil.
type traceFile struct {
	path   string
	file   *os.File
	writer *trace.Writer
}

// addTrace adds the flag that every command has.
func (a *app) addTrace(root *cobra.Command) {
	root.PersistentFlags().StringVar(&a.trace.path, "trace", "",
		"write everything that goes over the wire to `FILE`, as \"mcpwire trace\" reads it")
	root.PersistentPreRunE = func(_ *cobra.Command, args []string) error { return a.trace.open(args) }
}

// open makes the file, which only we may read: masked or not, it tells what passed between two programs. What the
// command is about, such as a trace to look at, is not written over.
func (t *traceFile) open(args []string) (err error) {
	if t.path == "" {
		return nil
	}
	for _, arg := range args {
		if sameFile(t.path, arg) {
			return usagef("--trace: %s would be written over, and the command reads it; name another file", t.path)
		}
	}
	if t.file, err = privateFile(t.path); err != nil {
		return usagef("--trace: %w", err)
	}
	t.writer = trace.NewWriter(t.file)
	return nil
}

// sameFile reports whether two paths lead to one file, which exists.
func sameFile(one, other string) bool {
	a, errA := os.Stat(one)
	b, errB := os.Stat(other)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

func (t *traceFile) sink() trace.Sink {
	if t.writer == nil {
		return nil
	}
	return t.writer.Sink
}

// traceGrace is how long the end of a run waits for whoever reads the trace from a pipe.
const traceGrace = 2 * time.Second

// endTrace writes what is left. What went wrong is told, and changes nothing of how the run went.
func (a *app) endTrace() {
	t := &a.trace
	if t.writer == nil {
		return
	}
	_ = t.file.SetWriteDeadline(time.Now().Add(traceGrace)) // a file has none, and does not need it
	err := t.writer.Close()
	if closeErr := t.file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		a.console.line(fmt.Sprintf("mcpwire: warning: the trace %s is not whole: %v", t.path, err))
	}
}

// tracedPost has a request that stands alone traced, if there is a file. It returns what is to be told of its end.
func (a *app) tracedPost(
	caller *oneshot.Caller, url, method string, params json.RawMessage,
) (ended func(envelope json.RawMessage, err error)) {
	if a.trace.writer == nil {
		return func(json.RawMessage, error) {}
	}
	server, _ := hostOf(url)
	known := httpwire.Knowing(httpwire.Options{URL: url, Headers: caller.Headers})
	tap := trace.New(trace.Options{Server: server, Sink: a.trace.sink(), Known: known.Mask})
	shown := caller.OnTrace
	caller.OnTrace = func(x oneshot.Trace) {
		tap.HTTP(0, trace.HTTPFacts{Method: x.Method, URL: x.URL, Status: x.Status}, x.Took, x.Err)
		if shown != nil {
			shown(x)
		}
	}
	tap.Alone(trace.Sent, oneshot.Message(method, params), nil)
	return func(envelope json.RawMessage, err error) { tap.Alone(trace.Received, envelope, err) }
}
