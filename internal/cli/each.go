package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
	"mcpwire/transport"
)

// mostParallel is how many calls of a batch go on at once at most.
const mostParallel = 64

// An eachFlags is what the command call is told of a batch.
type eachFlags struct {
	path     string
	parallel int
	results  string
	stop     bool
	repeat   bool
}

func (f *eachFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.path, "each", "", "call the tool once for each line of `FILE`, a JSON object of arguments; "+
		"-: standard input")
	flags.IntVar(&f.parallel, "parallel", 1, "with --each: make up to `N` calls at once")
	flags.StringVar(&f.results, "results", "", "with --each: append results to `FILE`; lines that have one there are not "+
		"called again")
	flags.BoolVar(&f.stop, "stop-on-error", false, "with --each: begin no more calls after one that has failed")
	flags.BoolVar(&f.repeat, "repeat-unknown", false, "with --each: call again where nobody knows whether the tool has "+
		"run")
}

// check tells of flags that don't fit together. It reports whether a batch is wanted.
func (f *eachFlags) check(cmd *cobra.Command) (bool, error) {
	given := cmd.Flags().Changed
	if !given("each") {
		for _, name := range []string{"parallel", "results", "stop-on-error", "repeat-unknown"} {
			if given(name) {
				return false, usagef("--%s is for --each", name)
			}
		}
		return false, nil
	}
	args := cmd.Flags().Lookup("args")
	switch {
	case f.parallel < 1 || f.parallel > mostParallel:
		return false, usagef("--parallel: a number from 1 to %d is wanted", mostParallel)
	case f.path == "":
		return false, usagef("--each: the name of a file is wanted, or - for standard input")
	case f.path == "-" && args.Value.String() == "-":
		return false, usagef("both --each and --args are to be read from standard input; give one of them in a file")
	case given("results") && f.results == "":
		return false, usagef("--results: the name of a file is wanted")
	}
	return true, nil
}

// A batch is one run of the command call with --each. One goroutine reads the lines, several make the calls.
type batch struct {
	*toolCall
	input  *input
	record *record // nil without --results
	asker  *asker  // answers what the server asks

	manager  *manager.Manager
	found    mcp.Tool
	defaults json.RawMessage // arguments for all lines
	bar      *progressBar
	halt     context.CancelCauseFunc // begins no more calls

	mu     sync.Mutex
	counts counts
	next   int // the first line that was not called; 0: all were, as far as is known
}

// Reasons for which a batch ends.
var (
	errNoMore  = errors.New("the input has ended")
	errStopped = errors.New("a line has failed")
)

func (c *toolCall) runBatch(cmd *cobra.Command) (err error) {
	if c.within != nil {
		return usagef("--each is not for the shell; write \"mcpwire call --each ...\" outside")
	}
	b := &batch{toolCall: c}
	if b.input, err = openInput(c.each.path, c.stdin); err != nil {
		return err
	}
	defer b.input.close()
	if c.each.results != "" {
		if b.record, err = openRecord(c.each.results, b.identity()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.record.close()) }()
	}
	servers := []config.Server{c.target.Server}
	if b.asker, err = b.newAsker(c.flags.ask, c.flags.verbose); err != nil {
		return err
	}
	return b.manage(cmd.Context(), servers, &c.flags, b.prepare, b.work)
}

// identity tells what is called with what, so that the results of one batch are not taken for those of another.
func (b *batch) identity() string {
	h := sha256.New()
	for _, part := range []string{b.target.again, b.tool, string(b.given)} {
		fmt.Fprintf(h, "%q\n", part)
	}
	for _, a := range b.single {
		fmt.Fprintf(h, "%q %t %q\n", a.name, a.raw, a.text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (b *batch) prepare(o *mcpwire.ManageOptions, _ *stopper) {
	o.Prepare = b.asker.handle
	o.Client.ValidateArguments = true
	o.Logger = b.console.warnings()
	o.Auth.Command = func(string) string { return "mcpwire login " + b.target.again }
	if logs := b.logsOf(b.target, &b.flags); logs != nil {
		o.LogLevel = logs.level
		o.OnNotification = func(ctx context.Context, _, method string, params json.RawMessage) {
			logs.notified(ctx, method, params)
		}
	}
}

// work makes the calls.
func (b *batch) work(ctx context.Context, m *manager.Manager) error {
	b.manager = m
	ctx, finish := b.asker.during(ctx)
	return finish(b.calls(ctx))
}

// calls is work while the server may ask.
func (b *batch) calls(ctx context.Context) error {
	if err := b.lookUpTool(ctx); err != nil {
		return err
	}
	b.bar = b.newProgressBar(b.input.count())
	running, halt := context.WithCancelCause(ctx)
	b.halt = halt
	defer halt(nil)
	lines, wait := b.input.lines(running)
	jobs := make(chan job)
	var callers sync.WaitGroup
	for range b.each.parallel {
		callers.Go(func() {
			for j := range jobs {
				b.call(ctx, running, j)
			}
		})
	}
	ended := b.dispatch(running, lines, jobs)
	close(jobs)
	callers.Wait()
	b.halt(ended) // what a call has halted it for before stays
	wait()
	b.bar.end()
	return b.conclude(ctx, context.Cause(running))
}

// lookUpTool waits for the server, and looks the tool up.
func (b *batch) lookUpTool(ctx context.Context) error {
	if err := b.allowed(); err != nil {
		return err
	}
	done := b.console.wait("connecting to " + b.target.Name)
	err := b.manager.Settle(ctx, b.target.Name)
	done()
	s := b.manager.Snapshot()
	if err != nil {
		return explained(ctx, b.target.Name, cmp.Or(trouble(s.Servers[0]), err))
	}
	if c, err := b.manager.Client(ctx, b.target.Name); err == nil {
		b.asker.connected(b.target.Name, c)
	}
	var tools []mcp.Tool
	for _, t := range s.Tools {
		tools = append(tools, t.Tool)
	}
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == b.tool })
	if i < 0 {
		if err := trouble(s.Servers[0]); err != nil {
			return err
		}
		return b.unknownTool(tools)
	}
	b.found = tools[i]
	b.defaults, err = mergeArguments(b.given, b.single, b.found.InputSchema)
	return err
}

// A job is a line that is to be called, or why it can't be.
type job struct {
	line      inputLine
	arguments json.RawMessage
	unfit     error
}

// dispatch hands the lines over to be called, but for those that need not be or can't be. It returns why it has ended.
func (b *batch) dispatch(ctx context.Context, lines <-chan inputLine, jobs chan<- job) error {
	for last := 0; ; {
		var l inputLine
		select {
		case <-ctx.Done():
			b.left(last + 1)
			return context.Cause(ctx)
		case next, more := <-lines:
			if !more {
				return errNoMore
			}
			l = next
		}
		if l.err != nil {
			return fmt.Errorf("--each: %s:%d: %w", b.input.name, l.number, l.err)
		}
		last = l.number
		done, err := b.known(l)
		switch {
		case err != nil:
			return err
		case done:
			continue
		}
		arguments, unfit := l.arguments(b.defaults)
		select {
		case jobs <- job{l, arguments, unfit}:
		case <-ctx.Done():
			b.left(l.number)
			return context.Cause(ctx)
		}
	}
}

// known reports whether a line needs no call, since earlier runs have come to something with it.
func (b *batch) known(l inputLine) (done bool, err error) {
	if b.record == nil {
		return false, nil
	}
	state, ok := b.record.lines[l.number]
	switch {
	case !ok || state.attempts == 0:
		return false, nil
	case state.hash != l.hash():
		return false, usagef("%s:%d: the line is not the one that %s has a result of; give the input of before, or another "+
			"file to --results", b.input.name, l.number, b.each.results)
	case state.open() && !state.sent, !state.open() && state.result == kindNotSent:
		return false, nil // it was not called
	case (state.open() || state.result == kindUnknown) && b.mayRepeat():
		return false, nil
	case state.open():
		b.told(l.number, failed(kindUnknown, errCutOff), true)
		return true, nil
	}
	b.count(state.result, true)
	return true, nil
}

var errCutOff = errors.New("an earlier run was ended during the call: the tool may have run")

// mayRepeat reports whether the tool may be run again where nobody knows whether it has run.
func (b *batch) mayRepeat() bool {
	says := func(hint *bool) bool { return hint != nil && *hint }
	a := b.found.Annotations
	return b.each.repeat || a != nil && (says(a.ReadOnlyHint) || says(a.IdempotentHint))
}

// call calls the tool for a line. The end of ctx ends the call; after that of running none is begun.
func (b *batch) call(ctx, running context.Context, j job) {
	n := j.line.number
	if running.Err() != nil {
		b.left(n)
		return
	}
	if b.record != nil {
		if err := b.record.note(journalLine{Line: n, Hash: j.line.hash(), Sent: j.unfit == nil}); err != nil {
			b.left(n)
			b.halt(err)
			return
		}
	}
	if j.unfit != nil {
		b.told(n, failed(kindInvalidLine, j.unfit), false)
		return
	}
	o := &manager.CallOptions{CallOptions: *callOptions(b.target.Server), Repeat: b.each.repeat}
	result, err := b.manager.CallTool(ctx, b.target.Name, b.tool, j.arguments, o)
	if uncallable(err) {
		b.withdraw(n)
		b.halt(err)
		return
	}
	b.told(n, outcomeOf(ctx, result, err), false)
}

// uncallable reports whether a call was not made, as no call to the server can be now.
func uncallable(err error) bool {
	_, server := errors.AsType[*manager.ServerError](err)
	return server || errors.Is(err, transport.ErrLoginRequired)
}

// withdraw notes that a line was not sent after all.
func (b *batch) withdraw(n int) {
	b.left(n)
	if b.record == nil {
		return
	}
	if err := b.record.note(journalLine{Line: n, Withdrawn: true}); err != nil {
		b.halt(err) // the line counts as one that may have been sent
	}
}

// left notes a line that was not called.
func (b *batch) left(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == 0 || n < b.next {
		b.next = n
	}
}

// outcomeOf tells how a call has ended that was, or may have been, made.
func outcomeOf(ctx context.Context, result *mcp.CallToolResult, err error) outcome {
	_, unknown := errors.AsType[*manager.OutcomeUnknown](err)
	_, unfit := errors.AsType[*client.ArgumentError](err)
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	carriage, carried := errors.AsType[*transport.Error](err)
	switch {
	case err == nil:
		return outcome{result: result}
	case ctx.Err() != nil:
		return failed(kindUnknown, fmt.Errorf("%w during the call: the tool may have run", errInterrupted))
	case unknown:
		return failed(kindUnknown, err)
	case unfit:
		return failed(kindInvalidArguments, err)
	case refused:
		o := failed(kindRefused, err)
		o.code = &refusal.Code
		return o
	case carried && carriage.Delivery == transport.NotDelivered:
		return failed(kindNotSent, err)
	}
	return failed(kindFailed, err)
}
