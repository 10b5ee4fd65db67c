package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"mcpwire/internal/keyboard"
	"mcpwire/internal/redact"
)

// A person is whoever sits at the terminal that standard input and standard error are. It may be used from several
// goroutines: what is asked is asked one after another.
type person struct {
	console *console
	in      *os.File
	turn    chan struct{} // holds something while nobody is asked
}

// newPerson returns nil where there is nobody.
func newPerson(a *app) *person {
	in, _ := a.stdin.(*os.File)
	if in == nil || !a.asks() {
		return nil
	}
	p := &person{console: a.console, in: in, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// talk lets talk ask, when its turn has come. Nothing that was typed before answers it.
func (p *person) talk(ctx context.Context, talk func(d *dialog) error) error {
	select {
	case <-p.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { p.turn <- struct{}{} }()
	defer p.console.give()()
	keyboard.Forget(p.in)
	return talk(&dialog{person: p, ctx: ctx})
}

// A dialog is one question with all that belongs to it.
type dialog struct {
	*person
	ctx context.Context // ends it
}

// What somebody may say in place of an answer.
var (
	errDeclined = errors.New("the user said no")
	errCanceled = errors.New("the user left without an answer")
)

const (
	declineWord = "!decline"
	cancelWord  = "!cancel"
)

// tell shows lines. What they say of a server must have been cleaned.
func (d *dialog) tell(lines ...string) error {
	return d.console.aside(func() error { return writeAll(d.console.w, strings.Join(lines, "\n")+"\n") })
}

// line has a line typed. The error is errDeclined or errCanceled if that was typed, or the end of the input was, and
// the cause of the dialog's context when that is done.
func (d *dialog) line(prompt string) (string, error) { return d.lineUntil(d.ctx, prompt) }

// lineUntil is line for as long as ctx lasts.
func (d *dialog) lineUntil(ctx context.Context, prompt string) (string, error) {
	text, err := d.read(ctx, prompt)
	switch {
	case errors.Is(err, io.EOF):
		return "", errCanceled
	case err != nil:
		return "", err
	case strings.TrimSpace(text) == declineWord:
		return "", errDeclined
	case strings.TrimSpace(text) == cancelWord:
		return "", errCanceled
	}
	return text, nil
}

// read has a line typed, whatever it is.
func (d *dialog) read(ctx context.Context, prompt string) (string, error) {
	for {
		if err := d.console.ask(prompt); err != nil {
			return "", err
		}
		text, err := keyboard.Line(ctx, d.in)
		d.console.answered(err == nil)
		if !errors.Is(err, keyboard.ErrTooLong) {
			return text, err
		}
		if err := d.tell("  that is too long"); err != nil {
			return "", err
		}
	}
}

// consent asks a question that is answered with yes, no, or not at all: nil, errDeclined or errCanceled.
func (d *dialog) consent(question string) error {
	for {
		text, err := d.line(question + " [y: yes, n: decline, c: cancel] ")
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			return nil
		case "n", "no":
			return errDeclined
		case "c":
			return errCanceled
		}
	}
}

// shownMost is how many characters of one text of a server are shown to somebody who is asked.
const shownMost = 4000

// said returns the lines of a server's text as they may be shown, set in: they must not look like ours.
func said(text string) (lines []string) {
	if runes := []rune(text); len(runes) > shownMost {
		text = string(runes[:shownMost]) + "…"
	}
	for line := range strings.Lines(strings.ReplaceAll(text, "\t", "    ")) {
		lines = append(lines, "  "+visible(strings.TrimRight(line, "\r\n")))
	}
	return lines
}

// brief returns a short text of a server on one line, as it may be shown.
func brief(text string) string { return redact.Line(text, 300) }
