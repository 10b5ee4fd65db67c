// Package proc owns subprocesses: it finds the command, starts it with everything that it will start itself in one
// group, and ends the whole group, so that a server behind a wrapper such as npx or sh does not stay behind. It is the
// only place of the module that starts processes and sends signals.
package proc

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// DefaultWait is how long each waiting step of a shutdown takes at most: 2 s.
const DefaultWait = 2 * time.Second

// pollEvery is how often the rest of a group is looked at.
const pollEvery = 20 * time.Millisecond

// killWait is how long killed processes may take to disappear.
var killWait = 900 * time.Millisecond

// ErrStuck means that processes have not disappeared although they were killed: the kernel holds them, or they belong
// to another user.
var ErrStuck = errors.New("processes are left that can't be killed")

// A Spec tells what to start. Its zero value but for Command is useful.
type Spec struct {
	Command string            // a name to be looked up in PATH, or a path; relative paths are taken from Dir
	Args    []string          // without the command
	Env     map[string]string // set on top of what is inherited; an empty value is passed as empty
	Inherit Inherit           // what is inherited of our own environment
	Pass    []string          // names inherited besides the minimal set
	Dir     string            // the working directory; "": our own

	StdinWait time.Duration // from closing stdin to asking the group to end; 0: 2 s; <0: none
	TermWait  time.Duration // from asking the group to end to killing it; 0: 2 s; <0: none

	Ledger Ledger // where the process is recorded while anything of its group runs; the zero Ledger: nowhere
}

// A State is how a process ended.
type State struct {
	Code   int    // the exit status; -1 if a signal ended it
	Signal string // the name of that signal, such as "SIGKILL"; else empty
}

// A Step is one of a shutdown.
type Step string

// The steps, in their order. The zero value stands before the first.
const (
	StepInput Step = "eof"  // Stdin is closed
	StepTerm  Step = "term" // the group is asked to end
	StepKill  Step = "kill" // the group is killed
)

// An End tells how a process has ended, and what that took.
type End struct {
	State
	After Step          // the last step of the shutdown that was taken before it ended; "" if it ended by itself
	Took  time.Duration // from the beginning of the shutdown to its end; 0 if it ended by itself
	Left  bool          // others of its group still ran then, and had to be asked or forced to end
}

// A Process is a running subprocess, the leader of its group. Its methods may be called from several goroutines.
//
// When the leader ends by itself, the rest of its group is asked to end and, after TermWait, killed.
type Process struct {
	// Our ends of the process's standard files. Stdin is closed by the shutdown and when the group is gone; Stdout and
	// Stderr are the caller's to read and close. Closing one ends a Read or Write that blocks on it.
	Stdin, Stdout, Stderr *os.File

	stdinWait, termWait time.Duration

	pid    int
	path   string // of the file that was started
	group  *group
	entry  entry         // in the ledger
	ended  chan struct{} // the leader has ended; it may not be reaped yet
	exited chan struct{} // the leader has been reaped
	asked  chan struct{} // Shutdown was called
	hurry  chan struct{} // somebody who called Shutdown has no time
	gone   chan struct{} // nothing is left

	mu     sync.Mutex
	onExit func() // nil: nobody wants to be told

	ask, rush sync.Once
	owning    sync.Once // of own
	state     State     // set before exited is closed

	// What follows belongs to own until gone is closed.
	begun time.Time // when the shutdown began
	step  Step      // the last that was taken
	end   End
	stuck error // set before gone is closed
}

// Start finds the command, starts it, and records it in the ledger. It does not wait for anything. The error is a
// *StartError, and nothing is left behind then.
func Start(spec Spec) (*Process, error) {
	env := environ(spec)
	path, fault := resolve(spec, env)
	if fault != nil {
		return nil, fault
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, &StartError{Command: spec.Command, Path: path, Reason: Failed, Err: err}
	}
	defer pipes.closeTheirs()
	g, pid, err := spawn(path, spec, env, pipes.theirs[:])
	if err != nil {
		pipes.closeOurs()
		return nil, explain(spec, path, err)
	}
	p := &Process{
		Stdin: pipes.ours[0], Stdout: pipes.ours[1], Stderr: pipes.ours[2],
		stdinWait: wait(spec.StdinWait), termWait: wait(spec.TermWait),
		pid: pid, path: path, group: g, entry: spec.Ledger.enter(spec.Command, pid),
		ended: make(chan struct{}), exited: make(chan struct{}),
		asked: make(chan struct{}), hurry: make(chan struct{}), gone: make(chan struct{}),
	}
	g.onEnd(p.leaderEnded)
	return p, nil
}

// leaderEnded owns the process from the leader's end on, unless a Shutdown does.
func (p *Process) leaderEnded() {
	close(p.ended)
	p.owning.Do(p.own)
	<-p.gone
	p.reap() // one that was stuck
}

// wait turns the option of a wait into its length.
func wait(d time.Duration) time.Duration {
	if d == 0 {
		return DefaultWait
	}
	return max(d, 0)
}

// Exited is closed when the process itself has ended and State tells how. Others of its group may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// OnExit has f run once Exited is closed, at once if it is. f must be quick. It replaces an f that was set before.
func (p *Process) OnExit(f func()) {
	p.mu.Lock()
	exited := p.reaped()
	if !exited {
		p.onExit = f
	}
	p.mu.Unlock()
	if exited {
		f()
	}
}

// State returns how the process ended. It is valid once Exited is closed.
func (p *Process) State() State {
	select {
	case <-p.exited:
		return p.state
	default:
		return State{Code: -1}
	}
}

// Pid returns the process's id, which is its group's on Unix too.
func (p *Process) Pid() int { return p.pid }

// Path returns the file that was started, an absolute path.
func (p *Process) Path() string { return p.path }

// End tells how the process has ended; false unless nothing of it is left, which is so when Shutdown has returned nil.
func (p *Process) End() (End, bool) {
	select {
	case <-p.gone:
		if p.stuck == nil {
			return p.end, true
		}
	default:
	}
	return End{}, false
}

// Shutdown ends the process and its group, and waits until all of it is gone: it closes Stdin, waits StdinWait, asks
// the group to end (SIGTERM), waits TermWait, and kills it (SIGKILL); each wait ends as soon as nobody is left
// (2025-11-25, lifecycle, shutdown, stdio). Windows has no polite request, so there the kill follows on the first
// wait. A done ctx skips the waits. The error is nil, or ErrStuck if something is left 0.9 s after the kill. It may be
// called more than once; every call waits.
func (p *Process) Shutdown(ctx context.Context) error {
	p.ask.Do(func() {
		close(p.asked)
		go p.owning.Do(p.own)
	})
	select {
	case <-p.gone:
	case <-ctx.Done():
		p.rush.Do(func() { close(p.hurry) })
		<-p.gone
	}
	return p.stuck
}

// own sees the process and its group to their end. It is the one place that reaps and signals, and begins when the
// leader has ended or Shutdown is called.
//
// A process id, which names the group as well, is not given to a new process while the leader is unreaped or while the
// group has members. So a signal to the group hits the right processes as long as one of the two is known to hold.
// That is why, on Linux, a leader that has ended by itself is left unreaped until its group has had its signal, why
// the group is then looked at often, and why nothing is sent any more once it was seen empty.
func (p *Process) own() {
	defer close(p.gone)
	defer func() {
		if p.stuck == nil {
			p.entry.remove()
		}
	}()
	defer p.group.close()
	defer p.Stdin.Close()
	select {
	case <-p.asked:
		p.begun = time.Now()
		p.step = StepInput
		p.Stdin.Close()
		if p.await(p.stdinWait, p.hurry) {
			return
		}
		p.end.Left = p.reaped()
		if p.group.term() {
			p.step = StepTerm
			if p.await(p.termWait, p.hurry) {
				return
			}
		}
	case <-p.ended:
		waiting := p.group.term()
		p.reap()
		p.end.Left = !p.group.empty()
		if waiting && p.await(p.termWait, p.hurry) {
			return
		}
	}
	p.end.Left = p.end.Left || p.reaped()
	p.step = StepKill
	p.group.kill()
	if !p.await(killWait, nil) {
		p.stuck = ErrStuck
	}
}

// await waits until the leader is reaped and its group is empty, and reports whether that came to pass within d and
// before hurry was closed.
func (p *Process) await(d time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-p.ended:
			p.reap()
			if p.group.empty() {
				return true
			}
		default:
		}
		ended := p.ended
		if p.reaped() {
			ended = nil
		}
		select {
		case <-ended:
		case <-poll.C:
		case <-timer.C:
			return false
		case <-hurry:
			return false
		}
	}
}

func (p *Process) reaped() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// reap takes the exit status of the leader, which has ended. Only own calls it, until gone is closed.
func (p *Process) reap() {
	if p.reaped() {
		return
	}
	p.state = p.group.reap()
	p.end.State, p.end.After = p.state, p.step
	if p.step != "" {
		p.end.Took = time.Since(p.begun)
	}
	p.mu.Lock()
	close(p.exited)
	f := p.onExit
	p.mu.Unlock()
	if f != nil {
		f()
	}
}

// pipes are the three pipes between us and a process.
type pipes struct{ ours, theirs [3]*os.File }

// newPipes makes them so that our ends are closable while somebody is blocked on them, and nobody has to copy.
func newPipes() (*pipes, error) {
	p := new(pipes)
	for i := range p.ours {
		var err error
		if p.ours[i], p.theirs[i], err = newPipe(i == 0); err != nil {
			p.closeOurs()
			p.closeTheirs()
			return nil, err
		}
	}
	return p, nil
}

func (p *pipes) closeOurs()   { closeAll(p.ours[:]) }
func (p *pipes) closeTheirs() { closeAll(p.theirs[:]) }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
