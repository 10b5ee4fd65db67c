package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"mcpwire/internal/jsonscan"
)

// maxInputLine is how many bytes one line of arguments may have.
const maxInputLine = 16 << 20

// An inputLine is one line of a file of arguments.
type inputLine struct {
	number int    // from 1 on, blank lines counted
	text   []byte // without its end
	long   bool   // it is longer than maxInputLine, and text is its beginning
	err    error  // reading has failed; nothing follows
}

// hash tells the line from others.
func (l inputLine) hash() string {
	sum := sha256.Sum256(l.text)
	return hex.EncodeToString(sum[:8])
}

// arguments returns the line's object, on top of what holds for all lines.
func (l inputLine) arguments(defaults json.RawMessage) (json.RawMessage, error) {
	if l.long {
		return nil, fmt.Errorf("the line is longer than %s", byteSize(maxInputLine))
	}
	if err := checkJSON(l.text); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if typeOf(bytes.TrimSpace(l.text)) != "object" {
		return nil, errors.New("a JSON object is wanted")
	}
	return overlaid(defaults, l.text), nil
}

// overlaid returns the members of both objects; those of above are stronger. Both have been checked.
func overlaid(below, above json.RawMessage) json.RawMessage {
	given := members(above)
	var all object
	_ = jsonscan.Members(below, func(name, value []byte) error {
		if stronger, ok := given[string(name)]; ok {
			value = stronger
			delete(given, string(name))
		}
		all.add(string(name), value)
		return nil
	})
	_ = jsonscan.Members(above, func(name, value []byte) error {
		if _, left := given[string(name)]; left {
			all.add(string(name), value)
		}
		return nil
	})
	return all.text()
}

// An input is where lines of arguments come from: a file, or standard input.
type input struct {
	name    string // as it is told
	r       io.Reader
	file    *os.File // nil for standard input
	regular bool     // file can be read to its end without waiting for anybody
}

// openInput opens a file, or takes standard input for "-".
func openInput(path string, stdin io.Reader) (*input, error) {
	if path == "-" {
		return &input{name: "standard input", r: stdin}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, usagef("--each: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		_ = file.Close()
		return nil, usagef("--each: %s is a folder", path)
	}
	return &input{name: path, r: file, file: file, regular: err == nil && info.Mode().IsRegular()}, nil
}

func (in *input) close() {
	if in.file != nil {
		_ = in.file.Close()
	}
}

// count returns how many lines there are that are not blank; 0 where that can't be told without waiting for somebody.
func (in *input) count() (n int) {
	if !in.regular {
		return 0
	}
	for range linesOf(in.file) {
		n++
	}
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return 0 // reading fails too then, and tells
	}
	return n
}

// lines hands over the lines that are not blank, until ctx is done. wait returns when reading has ended: what waits for
// somebody to write can't be ended, and is left behind when the program ends.
func (in *input) lines(ctx context.Context) (all <-chan inputLine, wait func()) {
	lines, done := make(chan inputLine), make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		for l := range linesOf(in.r) {
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines, func() {
		if in.regular {
			<-done
		}
	}
}

// linesOf reads lines, without the blank ones.
func linesOf(r io.Reader) iter.Seq[inputLine] {
	return func(yield func(inputLine) bool) {
		buffered := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			l, err := readLine(buffered)
			l.number = n
			if n == 1 {
				l.text = bytes.TrimPrefix(l.text, []byte("\xef\xbb\xbf"))
			}
			if strings.TrimSpace(string(l.text)) != "" && !yield(l) {
				return
			}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(inputLine{number: n, err: err})
				return
			}
		}
	}
}

// readLine reads up to a line feed or the end. The error is that of reading.
func readLine(r *bufio.Reader) (l inputLine, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if room := maxInputLine - len(l.text); len(part) > room {
			part, l.long = part[:room], true
		}
		l.text = append(l.text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.text = bytes.TrimSuffix(bytes.TrimSuffix(l.text, []byte("\n")), []byte("\r"))
			return l, err
		}
	}
}
