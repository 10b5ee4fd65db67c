package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpwire/internal/tracing"
	"mcpwire/trace"
)

func traceCommand(a *app) *cobra.Command {
	t := &traceRun{app: a}
	cmd := &cobra.Command{
		Use:   "trace [flags] FILE",
		Short: "Read what --trace has written: a summary, calls, errors, messages, a page",
		Long: `Read a file that the flag --trace of any command has written; - is standard input.

Without a flag for a view a summary is shown: each connection, its traffic, and how long the calls of each method took.
Times are in seconds since the first event; → is what we sent, ← what the server sent. docs/trace.md tells what is in a
file.

--server and --method take patterns: * stands for any characters, ? for one. A pattern with a blank is compared with
the method and what it is about: 'tools/call add'.`,
		Example: `  mcpwire call demo add a=2 b=40 --trace t.jsonl
  mcpwire trace t.jsonl                              how each connection went, and how long each method took
  mcpwire trace t.jsonl --calls --method 'tools/*'   each call of a tool, with its answer
  mcpwire trace t.jsonl --errors                     only what failed
  mcpwire trace t.jsonl --messages -v                everything, with whole messages
  mcpwire trace t.jsonl --html t.html                a page to look at in a browser
  mcpwire trace t.jsonl --follow                     what comes, while another command writes it`,
		RunE: t.run,
	}
	flags := cmd.Flags()
	flags.BoolVar(&t.calls, "calls", false, "show requests with their answers")
	flags.BoolVar(&t.waterfall, "waterfall", false, "show calls as bars over time")
	flags.BoolVar(&t.errors, "errors", false, "show what failed")
	flags.BoolVar(&t.messages, "messages", false, "show everything, one line for each event")
	flags.StringVar(&t.html, "html", "", "write a page for a browser to `FILE`")
	flags.BoolVarP(&t.follow, "follow", "f", false, "show what comes, until interrupted")
	flags.StringVar(&t.filter.Server, "server", "", "only servers whose names fit `PATTERN`")
	flags.StringVar(&t.filter.Method, "method", "", "only methods that fit `PATTERN`, such as 'tools/*'")
	flags.StringVar(&t.filter.ID, "id", "", "only the request with this `ID`, and its answer")
	flags.Var(&momentFlag{to: &t.filter.Since}, "since", "only from then on, such as 1.5s, 15:04:05 (UTC) or a whole time")
	flags.Var(&momentFlag{to: &t.filter.Until}, "until", "only up to then")
	flags.VarP(&t.output, "output", "o", "`FORM` of the summary or the calls: text or json (default text)")
	flags.BoolVarP(&t.verbose, "verbose", "v", false, "show whole messages, indented")
	return cmd
}

// A momentFlag is a point in time in a trace.
type momentFlag struct {
	to   *tracing.Moment
	text string
}

func (f *momentFlag) Type() string   { return "TIME" }
func (f *momentFlag) String() string { return f.text }

func (f *momentFlag) Set(text string) (err error) {
	*f.to, err = tracing.ParseMoment(text)
	f.text = text
	return err
}

// A traceRun is one run of the command trace.
type traceRun struct {
	*app
	calls, waterfall, errors, messages, follow, verbose bool
	html                                                string
	filter                                              tracing.Filter
	output                                              outputFlag

	path string
	book *tracing.Book
	view traceView
	bad  int // lines that were no events
}

// A traceView shows events as they are read, or at the end.
type traceView interface {
	item(i *tracing.Item) error
	end() error
}

func (t *traceRun) run(cmd *cobra.Command, files []string) error {
	if len(files) != 1 {
		return usagef("one file is wanted, as in \"%s t.jsonl\"; - is standard input", cmd.CommandPath())
	}
	t.path = files[0]
	if err := t.check(); err != nil {
		return err
	}
	file, r := (*os.File)(nil), t.stdin
	if t.path != "-" {
		var err error
		if file, err = os.Open(t.path); err != nil {
			return &usageError{err}
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return usagef("%s is a folder", t.path)
		}
		r = file
	}
	if t.follow && file != nil {
		ctx, stop := catchSignals(cmd.Context())
		defer stop.release()
		return t.followFile(ctx, file)
	}
	return t.readAll(r)
}

func (t *traceRun) check() error {
	if err := t.filter.Check(); err != nil {
		return &usageError{err}
	}
	views := 0
	for _, wanted := range []bool{t.calls, t.waterfall, t.errors, t.messages, t.html != ""} {
		if wanted {
			views++
		}
	}
	if views > 1 {
		return usagef("one of --calls, --waterfall, --errors, --messages and --html is wanted, not several")
	}
	if t.output.json && (t.waterfall || t.errors || t.messages || t.follow || t.html != "") {
		return usagef("--output json is for the summary and for --calls")
	}
	if t.follow && (t.calls || t.waterfall || t.html != "") {
		return usagef("--follow shows messages, or with --errors what fails")
	}
	if t.verbose && !t.messages && !t.follow && !t.errors {
		t.console.line("mcpwire: warning: -v says nothing more here; it is for --messages, --errors and --follow")
	}
	return nil
}

// begin starts a book and the view of it.
func (t *traceRun) begin() {
	t.book = &tracing.Book{}
	lines := &eventLines{traceRun: t, width: t.out.width()}
	switch {
	case t.html != "":
		t.view = &pageView{traceRun: t}
	case t.calls:
		t.view = &callsView{t}
	case t.waterfall:
		t.view = &waterfallView{t}
	case t.errors:
		t.view = &errorsView{lines}
	case t.messages, t.follow:
		t.view = &messagesView{lines}
	default:
		t.view = &summaryView{t, tracing.NewCounter(t.filter)}
	}
}

func (t *traceRun) readAll(r io.Reader) error {
	t.begin()
	for e, err := range trace.Read(r) {
		if err != nil {
			t.badLine(err)
			continue
		}
		if err := t.view.item(t.book.Add(e)); err != nil {
			return err
		}
	}
	switch {
	case t.bad > 1:
		t.console.linef("mcpwire: warning: %s: %d more lines are no events", t.path, t.bad-1)
	case t.book.Events == 0 && t.bad == 0:
		t.console.linef("mcpwire: warning: %s: there is nothing in it", t.path)
	}
	if t.book.Events == 0 && t.bad > 0 {
		return usagef("%s is no trace", t.path)
	}
	return t.view.end()
}

// badLine warns of the first line that is no event. The others are counted.
func (t *traceRun) badLine(err error) {
	if t.bad++; t.bad == 1 {
		t.console.linef("mcpwire: warning: %s: %v", t.path, indented(err.Error()))
	}
}

// offset returns a time as seconds since the first event.
func (t *traceRun) offset(at time.Time) string {
	return fmt.Sprintf("%8.3f", at.Sub(t.book.Start).Seconds())
}

const followEvery = 100 * time.Millisecond

// followFile shows what a file has and what is appended to it. One that has become shorter, or another, is begun anew.
func (t *traceRun) followFile(ctx context.Context, file *os.File) error {
	t.begin()
	f := &followed{path: t.path, file: file}
	defer f.close()
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		anew, err := f.renewed()
		if err != nil {
			return err
		}
		if anew {
			t.console.linef("mcpwire: %s begins anew", t.path)
			t.begin()
			t.bad = 0
		}
		if err := f.lines(t.line); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-ticker.C:
		}
	}
}

// line shows one line of a file that is followed.
func (t *traceRun) line(n int, text []byte) error {
	if strings.TrimSpace(string(text)) == "" {
		return nil
	}
	e, err := trace.Parse(text)
	if err != nil {
		t.badLine(fmt.Errorf("line %d: %w", n, err))
		return nil
	}
	return t.view.item(t.book.Add(e))
}
