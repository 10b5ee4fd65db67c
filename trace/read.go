package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Read yields the events of a file that a Writer has written, in their order. A line that is none yields an error with
// its number, and reading goes on behind it, unless r fails or a line is longer than 1 GiB. An end in the middle of a
// line, as a program leaves it that was killed, is the end.
func Read(r io.Reader) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			text, err := wholeLine(lines)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, fmt.Errorf("line %d: %w", n, err))
				}
				return
			}
			if len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			e, err := Parse(text)
			if err != nil {
				err = fmt.Errorf("line %d: %w", n, err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

const maxLine = 1 << 30

var errTooLong = errors.New("longer than 1 GiB")

func wholeLine(r *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice('\n')
		whole = append(whole, part...)
		switch {
		case err == nil:
			return whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(whole) > maxLine:
			return nil, errTooLong
		}
	}
}

// Parse reads one line of a file.
func Parse(text []byte) (*Event, error) {
	e := &Event{}
	err := json.Unmarshal(text, e, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	switch {
	case err != nil:
		return nil, fmt.Errorf("no event of a trace: %w", err)
	case e.Kind == "":
		return nil, errors.New(`no event of a trace: it has no "event"`)
	}
	return e, nil
}
