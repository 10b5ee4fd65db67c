package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	spinAfter = 200 * time.Millisecond // what is done sooner needs no spinner
	spinEvery = 100 * time.Millisecond
)

var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// A console is standard error: lines about the run and, on a terminal, a spinner below them while something is waited
// for. It may be used from several goroutines.
type console struct {
	spins bool
	fd    int

	mu     sync.Mutex
	w      io.Writer
	status string // what the spinner says
	drawn  bool
	frame  int
}

func newConsole(w io.Writer) *console {
	c := &console{w: w}
	c.fd, c.spins = terminal(w)
	c.spins = c.spins && os.Getenv("TERM") != "dumb"
	return c
}

// line writes text, without control sequences and with a line feed behind it. A standard error that can't be written to
// is nothing that anybody could be told.
func (c *console) line(text string) {
	_ = c.aside(func() error { return writeAll(c.w, plain(text)+"\n") })
}

// aside runs write, which may write to the same terminal, while no spinner is drawn.
func (c *console) aside(write func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	return write()
}

// linef is line with a format.
func (c *console) linef(format string, args ...any) { c.line(fmt.Sprintf(format, args...)) }

// wait shows that something is waited for, until done is called.
func (c *console) wait(status string) (done func()) {
	if !c.spins {
		return func() {}
	}
	c.say(status)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		c.spin(stop)
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
}

// say changes what the spinner says.
func (c *console) say(status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = strings.Join(strings.Fields(plain(status)), " ")
}

func (c *console) spin(stop <-chan struct{}) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.erase()
	}()
	select {
	case <-stop:
		return
	case <-time.After(spinAfter):
	}
	ticker := time.NewTicker(spinEvery)
	defer ticker.Stop()
	for {
		c.draw()
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
	}
}

func (c *console) draw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	width, _, err := term.GetSize(c.fd)
	if err != nil || width <= 0 {
		width = 80
	}
	text := []rune(string(frames[c.frame%len(frames)]) + " " + c.status)
	c.erase()
	_, _ = io.WriteString(c.w, string(text[:min(len(text), width-1)]))
	c.frame++
	c.drawn = true
}

// erase removes the spinner. The caller holds mu.
func (c *console) erase() {
	if c.drawn {
		_, _ = io.WriteString(c.w, "\r\x1b[K")
		c.drawn = false
	}
}
