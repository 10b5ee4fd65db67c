package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/term"
)

// An output is standard output. It may be used from several goroutines.
type output struct {
	w        io.Writer
	console  *console // whose spinner must give way
	terminal bool     // what servers say is shown without control sequences
	bold     bool
}

func newOutput(w io.Writer, c *console) *output {
	o := &output{w: w, console: c}
	if _, ok := terminal(w); ok {
		o.terminal = true
		o.bold = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return o
}

// show writes text, which may come from a server.
func (o *output) show(text string) error {
	if o.terminal {
		text = plain(text)
	}
	return o.write(text)
}

// printf writes our own text. What comes from a server must have gone through shown or heading.
func (o *output) printf(format string, args ...any) error {
	return o.write(fmt.Sprintf(format, args...))
}

func (o *output) write(text string) error {
	if err := o.console.aside(func() error { return writeAll(o.w, text) }); err != nil {
		return &outputError{err}
	}
	return nil
}

// An outputError tells that our own standard output can't be written to.
type outputError struct{ err error }

func (e *outputError) Error() string { return "cannot write to standard output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// readerGone reports whether a command has failed because whom its results were for has gone: that is no fault.
func readerGone(err error) bool {
	failed, ok := errors.AsType[*outputError](err)
	return ok && errors.Is(failed.err, syscall.EPIPE)
}

// served returns the end of a server of ours: with a client that has gone, its standard output has too.
func served(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return &outputError{err}
	}
	return err
}

func writeAll(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// shown returns text as it may be shown.
func (o *output) shown(text string) string {
	if o.terminal {
		return plain(text)
	}
	return text
}

// heading returns text as it may be shown, in bold where that is wanted.
func (o *output) heading(text string) string {
	text = o.shown(text)
	if o.bold {
		return "\x1b[1m" + text + "\x1b[m"
	}
	return text
}

// terminal returns the file descriptor of a reader or writer if it is a terminal.
func terminal(stream any) (fd int, ok bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	fd = int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// lineWidth is how wide lines are where standard output is no terminal.
const lineWidth = 120

// width returns how many characters fit on a line of standard output: what the terminal says, else $COLUMNS, else 120.
func (o *output) width() int {
	if width, ok := o.terminalWidth(); ok {
		return width
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return lineWidth
}

// alarm returns text as it may be shown, in red where that is wanted.
func (o *output) alarm(text string) string {
	if o.bold {
		return "\x1b[31m" + text + "\x1b[m"
	}
	return text
}

// terminalWidth returns how wide the terminal is that standard output is; false if it is none.
func (o *output) terminalWidth() (int, bool) {
	fd, ok := terminal(o.w)
	if !ok {
		return 0, false
	}
	width, _, err := term.GetSize(fd)
	return width, err == nil && width > 0
}
