// Package stdio carries a conversation over the pipes of a subprocess: one JSON-RPC message a line, in on its standard
// output, out on its standard input (2025-11-25, transports, stdio). It starts the process, keeps what it writes to
// standard error, and ends it with everything that it has started.
package stdio

import (
	"context"
	"path/filepath"
	"time"

	"mcpwire/internal/ndjson"
	"mcpwire/internal/proc"
	"mcpwire/transport"
)

// Defaults of Options, in bytes.
const (
	DefaultMaxMessage = ndjson.DefaultLimit // 64 MiB
	DefaultMaxQueued  = 64 << 20            // 64 MiB
	DefaultStderrTail = 32 << 10            // 32 KiB
)

// Inherit tells what a server gets of our own environment.
type Inherit = proc.Inherit

// The modes of Inherit.
const (
	InheritAll     = proc.InheritAll     // everything
	InheritMinimal = proc.InheritMinimal // what a program needs to find its files; see MinimalEnvironment
)

// MinimalEnvironment returns the names of the variables that InheritMinimal passes. A name that ends in "*" stands for
// all that begin with it.
func MinimalEnvironment() []string { return proc.Minimal() }

// An Exit tells how a server's process has ended, and what that took.
type Exit = proc.End

// Options tell what to start and how. Only Command is needed.
type Options struct {
	Name    string            // the server's name, for errors
	Command string            // a name to be looked up in PATH, or a path; relative paths are taken from Dir
	Args    []string          // without the command
	Env     map[string]string // set on top of what is inherited; an empty value is passed as empty
	Inherit Inherit           // what is inherited of our own environment; everything unless told otherwise
	Pass    []string          // names inherited besides the minimal set; a trailing "*" stands for any rest
	Dir     string            // the working directory; "": our own

	// Secrets are values that are masked in what is told of the server's output: in errors, OnStderr and OnNoise. Those of
	// less than four bytes are not.
	Secrets []string

	Timeout    time.Duration // the idle clock of calls that name none; 0: 30 s; <0: none
	MaxMessage int           // the cap of an incoming message in bytes; <=0: 64 MiB
	MaxQueued  int           // the cap of what waits to be sent in bytes; <=0: 64 MiB
	StderrTail int           // how much of the end of standard error is kept, in bytes; <=0: 32 KiB
	StdinWait  time.Duration // from closing the server's input to asking it to end; 0: 2 s; <0: none
	TermWait   time.Duration // from asking it to end to killing it; 0: 2 s; <0: none

	// StateDir is a folder in which it is kept which servers run, so that those that this program leaves behind when it is
	// killed are ended by its next run: by the first Open for that folder in a process, before anything is started, which
	// takes no time if there are none and 2.4 s at most. Records tell ids and the base name of the command. Empty: nothing
	// is kept or ended. On Windows the system ends such servers itself, on systems other than Linux and macOS nobody does.
	StateDir string

	// OnStderr is given each line of standard error, without its end and without control sequences, in pieces of at most
	// 8 KiB. OnNoise is given the lines of standard output that are no messages, likewise and cut to 512 bytes. Both may
	// be nil. Each is called for one line at a time, on a goroutine that reads, which may be one that waits for an answer:
	// they must be quick and must not call Close. The memory is valid during the call only.
	OnStderr func(line []byte)
	OnNoise  func(line []byte)

	// OnStart is told which file was started, before anything else is told of the server. OnExit is told how the server
	// has ended, when all that it had started has ended as well; not of one that can't be killed. Both may be nil, must be
	// quick and must not call Close.
	OnStart func(path string)
	OnExit  func(x Exit)
}

// A Transport starts a server each time it is opened.
type Transport struct {
	options Options
	ledger  proc.Ledger
}

// New returns a Transport. It starts nothing.
func New(options Options) *Transport {
	if options.Timeout == 0 {
		options.Timeout = transport.DefaultTimeout
	}
	if options.MaxQueued <= 0 {
		options.MaxQueued = DefaultMaxQueued
	}
	if options.StderrTail <= 0 {
		options.StderrTail = DefaultStderrTail
	}
	t := &Transport{options: options}
	if options.StateDir != "" {
		t.ledger = proc.LedgerIn(filepath.Join(options.StateDir, "processes"))
	}
	return t
}

// Open starts the server; before, the first time, it ends what Options.StateDir tells of. ctx bounds that; starting
// itself takes no time worth bounding. The error is a *transport.Error with Op "open" and delivery NotDelivered; unless
// ctx was done it wraps a *proc.StartError.
func (t *Transport) Open(ctx context.Context, r transport.Receiver) (transport.Conn, error) {
	o := &t.options
	fail := func(err error) (transport.Conn, error) {
		return nil, &transport.Error{Op: "open", Server: o.Name, Delivery: transport.NotDelivered, Err: err}
	}
	// What can't be ended keeps nobody from starting something else, and its record stays.
	_, _ = t.ledger.ReapOnce(ctx)
	if ctx.Err() != nil {
		return fail(context.Cause(ctx))
	}
	p, err := proc.Start(proc.Spec{
		Command: o.Command, Args: o.Args, Env: o.Env, Inherit: o.Inherit, Pass: o.Pass, Dir: o.Dir,
		StdinWait: o.StdinWait, TermWait: o.TermWait, Ledger: t.ledger,
	})
	if err != nil {
		return fail(err)
	}
	if o.OnStart != nil {
		o.OnStart(p.Path())
	}
	return newConn(o, p, r), nil
}
