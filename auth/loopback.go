package auth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	defaultWindowLimit = 5 * time.Minute
	defaultWindowPath  = "/callback"
)

// A Loopback is an Authorizer for a person with a browser: it listens on this machine for the redirect (RFC 8252,
// section 7.3), and takes one that is pasted too, for browsers on other machines. The zero value opens no browser and
// shows no address, so at least one of Browser and Show is needed. It may be used for several flows at once, but for
// Pasted, whose lines go to any of them.
type Loopback struct {
	Port int    // the port to listen on, as "auth.callbackPort" configures it; 0: one that is free
	Path string // of the redirect URI; "": "/callback"
	// Browser opens one, as OpenBrowser does; nil: none is opened. That it fails does not matter where Show has shown the
	// address. It returns when ctx is done.
	Browser func(ctx context.Context, address string) error
	// Show shows the address to a person, before a browser is opened; nil: only the browser has it.
	Show func(address string)
	// Pasted are lines that a person has pasted: the address at which the browser has ended, or its query. nil: none.
	Pasted <-chan string
	// Refused is told why a redirect or a pasted line was not taken, after which the flow stays open. It comes from the
	// goroutine that called Authorize, and anybody on this machine can have it called as often as they like. nil: nobody
	// is told.
	Refused func(why error)
	Limit   time.Duration // how long Authorize waits for a person; 0: 5 min; <0: no limit but that of the context
}

// Open begins to listen: on the port of Port or, if that is 0, on the port that wish names, or on any. The error of a
// port that is configured and can't be had names it.
func (l *Loopback) Open(ctx context.Context, wish string) (Window, error) {
	path := l.Path
	if path == "" {
		path = defaultWindowPath
	}
	if u, err := url.Parse(path); err != nil || u.EscapedPath() != path || path[0] != '/' {
		return nil, fmt.Errorf("%q is no path of a redirect URI, which begins with a slash", path)
	}
	listener, err := l.listen(ctx, path, wish)
	if err != nil {
		return nil, err
	}
	return newLoopbackWindow(*l, listener, path), nil
}

// The addresses that are listened on, by preference.
var windowHosts = []string{"127.0.0.1", "::1"}

func (l *Loopback) listen(ctx context.Context, path, wish string) (net.Listener, error) {
	var listening net.ListenConfig
	on := func(host string, port int) (net.Listener, error) {
		return listening.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	}
	if host, port := wished(wish, path); port != 0 && (l.Port == 0 || l.Port == port) {
		if listener, err := on(host, port); err == nil {
			return listener, nil
		}
	}
	var faults []error
	for _, host := range windowHosts {
		listener, err := on(host, l.Port)
		if err == nil {
			return listener, nil
		}
		faults = append(faults, err)
		if l.Port != 0 && errors.Is(err, syscall.EADDRINUSE) {
			break // on the other address the browser would not find us
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if l.Port != 0 {
		return nil, fmt.Errorf("port %d, which the configuration has as \"auth.callbackPort\", can't be listened on: %w; "+
			"end the program that has it, or configure another one", l.Port, errors.Join(faults...))
	}
	return nil, fmt.Errorf("no port of this machine can be listened on: %w", errors.Join(faults...))
}

// wished returns the address of a redirect URI that one of our windows can have had; port 0 if it is no such.
func wished(wish, path string) (host string, port int) {
	u, err := url.Parse(wish)
	if err != nil {
		return "", 0
	}
	port, err = strconv.Atoi(u.Port())
	if err != nil || port <= 0 {
		return "", 0
	}
	for _, host := range windowHosts {
		if wish == redirectURI(host, port, path) {
			return host, port
		}
	}
	return "", 0
}

func redirectURI(host string, port int, path string) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port)) + path
}

// A loopbackWindow is the Window of a Loopback.
type loopbackWindow struct {
	loopback Loopback
	redirect string
	server   *windowServer
	arrived  chan arrival
	taken    chan struct{} // a redirect was taken, or nobody waits for one any more
	take     sync.Once
}

// An arrival is a redirect that has come in. The answer is nil if it was taken.
type arrival struct {
	values url.Values
	answer chan<- error
}

func newLoopbackWindow(l Loopback, listener net.Listener, path string) *loopbackWindow {
	at := netip.MustParseAddrPort(listener.Addr().String())
	w := &loopbackWindow{
		loopback: l, redirect: redirectURI(at.Addr().String(), int(at.Port()), path),
		arrived: make(chan arrival), taken: make(chan struct{}),
	}
	w.server = serveWindow(listener, path, w.hand)
	return w
}

// RedirectURI returns the address that is listened on.
func (w *loopbackWindow) RedirectURI() string { return w.redirect }

// errNobodyWaits is what a redirect hears that comes too late, or too early.
var errNobodyWaits = errors.New("no login is waiting for this answer")

// hand gives a redirect to Authorize, and returns what becomes of it.
func (w *loopbackWindow) hand(ctx context.Context, values url.Values) error {
	answer := make(chan error, 1)
	select {
	case w.arrived <- arrival{values, answer}:
		return <-answer
	case <-w.taken:
	case <-ctx.Done():
	}
	return errNobodyWaits
}

// end has all redirects refused from now on.
func (w *loopbackWindow) end() { w.take.Do(func() { close(w.taken) }) }

// Authorize may be called once.
func (w *loopbackWindow) Authorize(ctx context.Context, address string, accept func(url.Values) error) error {
	defer w.end()
	limit := w.loopback.Limit
	if limit == 0 {
		limit = defaultWindowLimit
	}
	if limit > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, limit, &windowTimeout{limit})
		defer cancel()
		ctx = bounded
	}
	if err := checkAddress(address); err != nil {
		return fmt.Errorf("the authorization server's page can't be shown: %w", err)
	}
	if w.loopback.Show != nil {
		w.loopback.Show(address)
	}
	unopened, stop := w.openBrowser(ctx, address)
	defer stop()
	pasted := w.loopback.Pasted
	for {
		var err error
		select {
		case a := <-w.arrived:
			err = accept(a.values)
			a.answer <- err
		case line, more := <-pasted:
			if !more {
				pasted = nil
				continue
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			var values url.Values
			if values, err = readPasted(line, w.redirect); err == nil {
				err = accept(values)
			}
		case err := <-unopened:
			return err
		case err := <-w.server.failed:
			return fmt.Errorf("waiting for the browser: %w", err)
		case <-w.taken: // Close
			return errNobodyWaits
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err == nil {
			return nil
		}
		if w.loopback.Refused != nil {
			w.loopback.Refused(err)
		}
	}
}

// openBrowser opens one while others go on. unopened tells if nobody has the address then; stop waits for the end.
func (w *loopbackWindow) openBrowser(ctx context.Context, address string) (unopened <-chan error, stop func()) {
	failed := make(chan error, 1)
	open, shown := w.loopback.Browser, w.loopback.Show != nil
	if open == nil {
		if !shown {
			failed <- errors.New("there is nobody to whom the authorization server's page could be shown")
		}
		return failed, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var opening sync.WaitGroup
	opening.Go(func() {
		if err := open(ctx, address); err != nil && !shown {
			failed <- err
		}
	})
	return failed, func() {
		cancel()
		opening.Wait()
	}
}

// Close stops listening, after what is being answered has been, and waits for all that Open has started.
func (w *loopbackWindow) Close() {
	w.end()
	w.server.close()
}

// A windowTimeout tells that nobody has logged in for too long.
type windowTimeout struct{ after time.Duration }

// Error says what to do.
func (e *windowTimeout) Error() string {
	return fmt.Sprintf("nobody has finished the login in the browser within %v; log in again, and if the browser can't "+
		"reach this machine, paste the address at which it ends", e.after)
}

// Is reports whether target is context.DeadlineExceeded.
func (e *windowTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout reports true, as net.Error has it.
func (e *windowTimeout) Timeout() bool { return true }
