// Package keyboard reads what a person types at a terminal, line by line, and stops when that is no longer wanted: a
// read that was left behind would take the next line from whoever reads after it.
package keyboard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
)

// Longest is how long a line may be, in bytes. Many terminals take no more than some 4,000 characters of one.
const Longest = 64 << 10

// ErrTooLong tells that a line was longer than Longest. What was typed of it is lost.
var ErrTooLong = errors.New("the line is too long")

// Line returns the next line, without its end. It blocks until there is one or ctx is done, and returns
// context.Cause(ctx) then. The error is io.EOF when somebody ends the input, by Ctrl-D or, on Windows, Ctrl-Z; more can
// be read after that. The file must be a terminal that edits lines itself, as it does unless a program has changed
// that, and nobody else may read it meanwhile.
func Line(ctx context.Context, terminal *os.File) (string, error) {
	var line []byte
	for {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		piece := make([]byte, 4096)
		n, err := read(ctx, terminal, piece)
		switch {
		case err != nil:
			return "", err
		case n == 0:
			return "", io.EOF
		}
		text, _, ended := bytes.Cut(piece[:n], []byte("\n"))
		if line = append(line, text...); ended {
			return string(bytes.TrimSuffix(line, []byte("\r"))), nil
		}
		if len(line) > Longest {
			Forget(terminal)
			return "", ErrTooLong
		}
	}
}

// Forget drops what was typed and not read yet: it was not meant for the question that comes now. What is no terminal
// is left as it is.
func Forget(terminal *os.File) { forget(terminal) }
