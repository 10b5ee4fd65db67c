package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// A lineSource is where the commands of the shell come from.
type lineSource interface {
	// next returns a line, and what errors call it; empty where there is no need to. The error is io.EOF at the end.
	next(ctx context.Context, prompt string) (line, place string, err error)
}

// givenLines are the commands of --command.
type givenLines struct {
	lines []string
	given int
}

func (g *givenLines) next(context.Context, string) (line, place string, err error) {
	if g.given == len(g.lines) {
		return "", "", io.EOF
	}
	g.given++
	return g.lines[g.given-1], fmt.Sprintf("command %d", g.given), nil
}

// longestLine is how long a line of standard input may be.
const longestLine = 16 << 20

// readLines are the lines of standard input, as they are.
type readLines struct {
	*app
	person bool // there is somebody to prompt
	lines  chan string
	err    error // how lines has ended
	number int
}

func newReadLines(a *app) *readLines { return &readLines{app: a, person: a.asks()} }

func (r *readLines) next(ctx context.Context, prompt string) (line, place string, err error) {
	if r.lines == nil {
		r.lines = make(chan string)
		go r.read(ctx)
	}
	if r.person {
		if err := r.console.aside(func() error { return writeAll(r.console.w, prompt) }); err != nil {
			return "", "", err
		}
	}
	select {
	case line, open := <-r.lines:
		if r.number++; !open {
			return "", "", r.err
		}
		return line, fmt.Sprintf("line %d", r.number), nil
	case <-ctx.Done():
		return "", "", context.Cause(ctx)
	}
}

// read hands lines over until ctx ends. A read that waits for a person or a pipe can't be ended: it goes with the
// program.
func (r *readLines) read(ctx context.Context) {
	defer close(r.lines)
	scanner := bufio.NewScanner(r.stdin)
	scanner.Buffer(nil, longestLine)
	n := 0
	for ; scanner.Scan(); n++ {
		select {
		case r.lines <- scanner.Text():
		case <-ctx.Done():
			return
		}
	}
	switch r.err = scanner.Err(); {
	case r.err == nil:
		r.err = io.EOF
	case errors.Is(r.err, bufio.ErrTooLong):
		r.err = usagef("line %d of standard input is longer than %d MiB", n+1, longestLine>>20)
	default:
		r.err = fmt.Errorf("standard input: %w", r.err)
	}
}
