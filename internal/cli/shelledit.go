package cli

import (
	"bytes"
	"context"
	"io"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// longestTyped is where the terminal takes no more characters of a line, silently.
const longestTyped = 4096

// interruptKey stands for Ctrl-C among the keys: a character that nobody types, of a plane for private use.
const interruptKey = '\U0010FFFD'

// An editor reads lines that somebody types at a terminal. The terminal is in raw mode only while a line is edited: a
// command that runs has it as it was.
type editor struct {
	console *console
	fd      int // of the terminal
	screen  *term.Terminal
	// complete offers what a line could go on with, and shows what there is to choose from.
	complete func(line string, pos int) (newLine string, newPos int, ok bool)

	cleared, empty bool // Ctrl-C has ended the line, which was empty
	again          int  // how many empty lines it has ended in a row
}

// newEditor returns the editor of the shell. Standard input and standard error are a terminal.
func newEditor(s *shell) *editor {
	fd, _ := terminal(s.stdin)
	e := &editor{console: s.console, fd: fd}
	e.screen = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&keys{in: s.stdin, pressed: e.resize}, s.console.w}, "")
	past, err := openHistory(s.masked)
	if err != nil {
		s.console.linef("mcpwire: warning: the history is not kept: %v", err)
	}
	e.screen.History = past
	e.screen.AutoCompleteCallback = e.key
	e.complete = s.complete
	return e
}

// next has a line typed.
func (e *editor) next(ctx context.Context, prompt string) (line, place string, err error) {
	for {
		line, err := e.edit(ctx, prompt)
		switch {
		case err != nil:
			return "", "", err
		case e.cleared:
			e.interrupted()
		case utf8.RuneCountInString(line) >= longestTyped:
			e.console.linef("mcpwire: the line is cut off: at most %d characters can be typed; long arguments can be given "+
				"with --args @FILE", longestTyped)
		default:
			e.again = 0
			return line, "", nil
		}
	}
}

// interrupted tells how to leave to somebody who presses Ctrl-C again and again.
func (e *editor) interrupted() {
	e.again++
	if !e.empty {
		e.again = 0
	}
	if e.cleared = false; e.again > 1 {
		e.console.line("Ctrl-D or exit leaves the shell")
	}
}

// edit reads one line. A read that waits for a person can't be ended: when ctx is done it goes with the program, and
// the terminal is as it was.
func (e *editor) edit(ctx context.Context, prompt string) (string, error) {
	type typed struct {
		line string
		err  error
	}
	lines, started := make(chan typed, 1), make(chan error, 1)
	var restore func()
	e.screen.SetPrompt(prompt)
	e.resize()
	go func() {
		var err error
		restore, err = e.raw()
		started <- err
		if err != nil {
			return
		}
		defer restore() // after a panic too
		line, err := e.screen.ReadLine()
		restore()
		lines <- typed{line, err}
	}()
	if err := <-started; err != nil {
		return "", err
	}
	select {
	case t := <-lines:
		if t.err != nil {
			e.newLine()
		}
		return t.line, t.err
	case <-ctx.Done():
		restore()
		e.newLine()
		return "", context.Cause(ctx)
	}
}

// raw has the terminal hand over each key, and the lines of the console written above the prompt, until restore is
// called, which may be called several times.
func (e *editor) raw() (restore func(), err error) {
	err = e.console.aside(func() error {
		before, err := term.MakeRaw(e.fd)
		if err != nil {
			return err
		}
		usual := e.console.w
		e.console.w = e.screen
		restore = sync.OnceFunc(func() {
			_ = e.console.aside(func() error {
				e.console.w = usual
				return term.Restore(e.fd, before)
			})
		})
		return nil
	})
	return restore, err
}

// newLine leaves the line of the prompt.
func (e *editor) newLine() {
	_ = e.console.aside(func() error { return writeAll(e.console.w, "\n") })
}

// resize tells the editor how large the terminal is now.
func (e *editor) resize() {
	if width, height, err := term.GetSize(e.console.fd); err == nil && width > 0 && height > 0 {
		_ = e.screen.SetSize(width, height)
	}
}

// width is how many characters fit on a line.
func (e *editor) width() int {
	width, _, err := term.GetSize(e.console.fd)
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// key is told of each key that does not edit.
func (e *editor) key(line string, pos int, key rune) (newLine string, newPos int, ok bool) {
	switch key {
	case interruptKey: // Enter follows
		e.cleared, e.empty = true, line == ""
		return "", 0, true
	case '\t':
		return e.complete(line, pos)
	}
	return "", 0, false
}

// show shows text above the prompt.
func (e *editor) show(text string) { _, _ = io.WriteString(e.screen, text) }

// keys are what is typed. Ctrl-C, with which the terminal's editor ends for good, becomes a key that clears the line,
// and Enter.
type keys struct {
	in      io.Reader
	pressed func() // is told before keys are handed over
	rest    []byte
}

func (k *keys) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, io.ErrShortBuffer // a sequence that has no end
	}
	if len(k.rest) == 0 {
		buffer := make([]byte, len(p))
		n, err := k.in.Read(buffer)
		if n == 0 {
			return 0, err
		}
		k.rest = bytes.ReplaceAll(buffer[:n], []byte{3}, []byte(string(interruptKey)+"\r"))
	}
	k.pressed()
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}
