package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// A followed is a file of lines that somebody appends to, or writes anew.
type followed struct {
	path    string
	file    *os.File
	own     bool // file is to be closed
	head    []byte
	offset  int64
	partial []byte
	number  int // of the last line
}

// headBytes is how much of a file's beginning tells it from another: the time of the first event is in it.
const headBytes = 64

// renewed reports whether the file is another than before: replaced, cut off, or written anew. It is then read from its
// beginning. One that is missing, as while it is being replaced, is as it was.
func (f *followed) renewed() (bool, error) {
	there, err := os.Stat(f.path)
	if err != nil {
		return false, nil //nolint:nilerr // it may come again
	}
	here, err := f.file.Stat()
	if err != nil {
		return false, err
	}
	if !os.SameFile(there, here) {
		other, err := os.Open(f.path)
		if err != nil {
			return false, nil //nolint:nilerr // as above
		}
		f.close()
		*f = followed{path: f.path, file: other, own: true}
		return true, nil
	}
	if here.Size() >= f.offset && f.sameHead() {
		return false, nil
	}
	*f = followed{path: f.path, file: f.file, own: f.own}
	return true, nil
}

func (f *followed) sameHead() bool {
	head := make([]byte, len(f.head))
	n, _ := f.file.ReadAt(head, 0)
	return bytes.Equal(head[:n], f.head)
}

// lines calls show for each whole line that has come.
func (f *followed) lines(show func(number int, text []byte) error) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.file.ReadAt(buf, f.offset)
		if missing := headBytes - len(f.head); missing > 0 {
			f.head = append(f.head, buf[:min(n, missing)]...)
		}
		f.offset += int64(n)
		f.partial = append(f.partial, buf[:n]...)
		for {
			text, rest, whole := bytes.Cut(f.partial, []byte("\n"))
			if !whole {
				break
			}
			f.number++
			if err := show(f.number, text); err != nil {
				return err
			}
			f.partial = rest
		}
		f.partial = append([]byte(nil), f.partial...) // without what has been shown
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (f *followed) close() {
	if f.own {
		_ = f.file.Close()
	}
}
