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
	asking bool   // somebody is being asked, and the spinner is gone
	prompt string // what they are asked on the last line; empty: nothing yet
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

// aside runs write, which may write to the same terminal, while no spinner is drawn. What is asked there is asked again
// below it.
func (c *console) aside(write func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	err := write()
	if c.prompt != "" {
		_, _ = io.WriteString(c.w, c.prompt)
	}
	return err
}

// ask shows a prompt of one line, which stays the last one until it is answered or another is shown; empty: none is.
func (c *console) ask(prompt string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	c.prompt = prompt
	return writeAll(c.w, prompt)
}

// answered tells that the line of the prompt has ended: by Enter or, where it was left, by a line feed of ours.
func (c *console) answered(byEnter bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prompt = ""; !byEnter {
		_, _ = io.WriteString(c.w, "\n")
	}
}

// give gives the terminal to somebody who is asked, until done is called.
func (c *console) give() (done func()) {
	set := func(asking bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.erase()
		c.asking = asking
	}
	set(true)
	return func() { set(false) }
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
	if c.asking {
		return
	}
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

// erase removes the spinner, or leaves the line of a prompt. The caller holds mu.
func (c *console) erase() {
	switch {
	case c.drawn:
		_, _ = io.WriteString(c.w, "\r\x1b[K")
		c.drawn = false
	case c.prompt != "": // somebody may have typed a part of the answer
		_, _ = io.WriteString(c.w, "\n")
	}
}

// bold returns text as it is shown where it must not be overlooked. It must have been cleaned.
func (c *console) bold(text string) string {
	if !c.spins || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[1m" + text + "\x1b[m"
}
