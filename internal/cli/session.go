package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/transport"
)

var errInterrupted = errors.New("interrupted")

// withClient connects to the server, lets work use the connection, and shuts it down in order on every path.
func (a *app) withClient(
	ctx context.Context, t target, f *serverFlags, work func(ctx context.Context, c *client.Client) error,
) (err error) {
	if a.within != nil {
		return a.within.withClientOf(ctx, t, work)
	}
	k, err := a.newAsker(f.ask, f.verbose)
	if err != nil {
		return err
	}
	ctx, stop := catchSignals(ctx)
	defer stop.release()
	ctx, finish := k.during(ctx)
	defer func() { err = finish(err) }()
	if f.verbose && t.Command != "" {
		shown := t.Masked()
		a.console.linef("[%s] starting %s, environment: %s", t.Name,
			shellWords(append([]string{shown.Command}, shown.Args...)), t.EnvInherit)
	}
	done := a.console.wait("connecting to " + t.Name)
	defer done()
	o := a.options(t, f)
	o.Telemetry = a.observed.follow(ctx)
	logs := a.logsOf(t, f)
	if logs != nil {
		o.OnNotification = logs.notified
	}
	k.handle(t.Name, &o.Options)
	c, err := mcpwire.Connect(ctx, t.Server, o)
	if err != nil {
		return explained(ctx, t.Name, err)
	}
	k.connected(t.Name, c)
	if s := c.Server(); f.verbose {
		a.console.linef("[%s] connected: %s, protocol %s", t.Name, c.Mask(s.Info.Name+" "+s.Info.Version), s.Revision)
	}
	if logs != nil {
		logs.ask(ctx, c)
	}
	err = k.afterVisits(ctx, t.Name, func() error { return work(ctx, c) })
	a.console.say("shutting down " + t.Name)
	if f.verbose {
		a.console.linef("[%s] shutting down", t.Name)
	}
	return explained(ctx, t.Name, a.graver(t.Name, err, c.Close(stop.closing())))
}

// graver returns the error of the work or, without one, that of the shutdown. Of both the second is told here.
func (a *app) graver(server string, err, closeErr error) error {
	switch {
	case err == nil:
		return closeErr
	case closeErr != nil:
		a.console.line("mcpwire: warning: " + indented(withName(server, closeErr)))
	}
	return err
}

func (a *app) options(t target, f *serverFlags) mcpwire.Options {
	o := mcpwire.Options{Trace: a.trace.sink()}
	o.Capabilities.Extensions = map[string]json.RawMessage{mcp.ExtensionSkills: json.RawMessage(`{}`)}
	o.Auth.Command = func(string) string { return "mcpwire login " + t.again }
	o.ConnectTimeout = longer(t.Timeout, client.DefaultConnectTimeout)
	o.ListTimeout = longer(t.Timeout, client.DefaultListTimeout)
	if !f.verbose {
		return o
	}
	prefix := "[" + t.Name + "] "
	tell := func(text string) { a.console.line(prefix + redact.Tokens(text)) }
	o.OnStderr = func(line []byte) { tell(string(line)) }
	o.OnNoise = func(line []byte) { tell("dropped, no message: " + string(line)) }
	o.OnHTTP = func(x mcpwire.HTTPTrace) { tell(exchangeText(x)) }
	o.OnError = func(err error) { tell(err.Error()) }
	return o
}

// exchangeText is one HTTP exchange on one line.
func exchangeText(x mcpwire.HTTPTrace) string {
	how := fmt.Sprint(x.Status)
	if x.Err != nil {
		how = x.Err.Error()
	}
	return fmt.Sprintf("%s %s: %s after %.1f ms", x.Method, x.URL, how, x.Took.Seconds()*1000)
}

// longer returns what a wider clock is set to so that it does not end a request before its timeout: a timeout longer
// than the clock's default, -1 for none, or 0 to leave the default.
func longer(timeout *time.Duration, usual time.Duration) time.Duration {
	switch {
	case timeout == nil:
		return 0
	case *timeout == 0:
		return -1
	case *timeout > usual:
		return *timeout
	}
	return 0
}

// callOptions are those of a tool call. Progress extends the default timeout, never one that was asked for.
func callOptions(s config.Server) *client.CallOptions {
	var timeout time.Duration
	if s.Timeout != nil {
		if timeout = *s.Timeout; timeout == 0 {
			timeout = -1
		}
	}
	return &client.CallOptions{
		Timeout:          timeout, // which a connection that was there before does not know
		ExtendOnProgress: s.Timeout == nil,
		Limit:            longer(s.Timeout, transport.DefaultLimit),
	}
}

// explained returns errInterrupted for what ended with ctx, and puts the server's name before a refusal without it.
func explained(ctx context.Context, server string, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	if refused && !names(err, server) {
		return &refusedError{server, refusal}
	}
	return err
}

// A refusedError is a server's refusal with its name.
type refusedError struct {
	server  string
	refusal *jsonrpc.Error
}

func (e *refusedError) Error() string { return e.server + ": " + e.refusal.Error() }
func (e *refusedError) Unwrap() error { return e.refusal }

// A stopper hears the signals that end the program while a server is connected.
type stopper struct {
	caught  chan os.Signal
	ignored chan os.Signal
	done    chan struct{}
	wg      sync.WaitGroup

	cancel  context.CancelCauseFunc // ends the work
	hurried context.Context
	hurry   context.CancelFunc // makes the shutdown hurry

	mu          sync.Mutex
	shutting    bool
	interrupted func() bool
}

// catchSignals returns a context that the first signal ends. A broken pipe to standard output is an error of the write
// and not a signal that kills us and leaves a server behind.
func catchSignals(parent context.Context) (context.Context, *stopper) {
	ctx, cancel := context.WithCancelCause(parent)
	s := &stopper{
		caught: make(chan os.Signal, 2), ignored: make(chan os.Signal, 1), done: make(chan struct{}), cancel: cancel,
	}
	s.hurried, s.hurry = context.WithCancel(context.WithoutCancel(parent))
	signal.Notify(s.caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(s.caught, syscall.SIGHUP)
	}
	signal.Notify(s.ignored, syscall.SIGPIPE)
	s.wg.Go(s.listen)
	return ctx, s
}

func (s *stopper) listen() {
	for first := true; ; {
		select {
		case <-s.done:
			return
		case caught := <-s.caught:
			if caught == os.Interrupt && s.heeded() {
				continue
			}
			s.cancel(errInterrupted)
			s.mu.Lock()
			if !first || s.shutting {
				s.hurry()
			}
			s.mu.Unlock()
			first = false
		}
	}
}

// setInterrupt has Ctrl-C told to heed, which reports whether that is all that comes of it, until the shutdown begins.
func (s *stopper) setInterrupt(heed func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupted = heed
}

// heeded reports whether an interrupt has been dealt with.
func (s *stopper) heeded() bool {
	s.mu.Lock()
	heed := s.interrupted
	if s.shutting {
		heed = nil
	}
	s.mu.Unlock()
	return heed != nil && heed()
}

// closing returns the context of the shutdown: from now on the first signal hurries it.
func (s *stopper) closing() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutting = true
	return s.hurried
}

// release gives the signals back.
func (s *stopper) release() {
	signal.Stop(s.caught)
	signal.Stop(s.ignored)
	close(s.done)
	s.wg.Wait()
	s.cancel(nil)
	s.hurry()
}
