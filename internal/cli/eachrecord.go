package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"mcpwire/mcp"
)

// A lineState is what earlier runs have come to with a line.
type lineState struct {
	hash     string
	attempts int    // how often it was begun, each of which has a result in the end
	results  int    // how many results there are
	sent     bool   // the call of the last attempt may have been sent
	result   string // of the last one: resultDone, resultToolError or the kind of an error
}

// open reports whether the last attempt was cut off.
func (s lineState) open() bool { return s.attempts > s.results }

// A record is the file of results of a batch and, beside it, the journal, which tells before a call is sent that it
// will be. Whatever happens to the program, the two tell which calls have been made, and which may have been. Both have
// one JSON object a line, and are only appended to. A record may be used from several goroutines.
type record struct {
	path   string
	lines  map[int]lineState // when the record was opened; never changed
	unlock func()

	mu      sync.Mutex
	results *os.File
	journal *os.File
}

// A journalLine is what a line of a journal says of a line of the input. The first line of a journal tells the batch.
type journalLine struct {
	Batch string `json:"batch,omitzero"` // what it calls, and with what for all lines

	Line      int    `json:"line,omitzero"`
	Hash      string `json:"hash,omitzero"`      // of the line
	Sent      bool   `json:"sent,omitzero"`      // its call is sent next; otherwise it is not fit to be
	Withdrawn bool   `json:"withdrawn,omitzero"` // its call was not sent after all
}

// A resultLine is what is read of a line of results.
type resultLine struct {
	Line   int `json:"line"`
	Result *struct {
		IsError bool `json:"isError"`
	} `json:"result"`
	Error *struct {
		Kind string `json:"kind"`
	} `json:"error"`
}

// openRecord opens the record of a batch, or makes one.
func openRecord(path, batch string) (*record, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // so that a file of two names is locked once
	}
	unlock, err := lockRecord(path)
	if err != nil {
		return nil, err
	}
	r := &record{path: path, lines: map[int]lineState{}, unlock: unlock}
	if err := r.open(batch); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// lockRecord keeps other runs out of a record, by a file that is there for so long.
func lockRecord(path string) (unlock func(), err error) {
	for {
		l := flock.New(path+".lock", flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
		held, err := l.TryLock()
		switch {
		case err != nil:
			return nil, fmt.Errorf("--results: %w", err)
		case !held:
			return nil, fmt.Errorf("--results: another run is writing %s", path)
		}
		locked, lockErr := l.Stat()
		named, err := os.Stat(l.Path())
		// Who held it before has removed it, perhaps after we opened it: then it locks nothing.
		if lockErr == nil && err == nil && os.SameFile(locked, named) {
			return func() {
				_ = os.Remove(l.Path()) // fails where files in use stay: then it stays, and locks the next time too
				_ = l.Unlock()
			}, nil
		}
		_ = l.Unlock()
	}
}

// open reads both files and prepares them for what is appended.
func (r *record) open(batch string) (err error) {
	if info, err := os.Stat(r.path); err == nil && info.Size() > 0 {
		if _, err := os.Stat(r.journalPath()); err != nil {
			return usagef("--results: %s is there, and no journal beside it tells which calls were begun (%w); give another "+
				"file", r.path, err)
		}
	}
	if r.journal, err = appendable(r.journalPath()); err != nil {
		return err
	}
	if r.results, err = appendable(r.path); err != nil {
		return err
	}
	begun, err := r.readJournal(batch)
	if err != nil {
		return err
	}
	if err := r.readResults(begun); err != nil {
		return err
	}
	if begun {
		return nil
	}
	return r.note(journalLine{Batch: batch})
}

func (r *record) journalPath() string { return r.path + ".journal" }

func appendable(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, usagef("--results: %w", err)
	}
	return file, nil
}

// readJournal reads what earlier runs were about to do. It reports whether there were any.
func (r *record) readJournal(batch string) (begun bool, err error) {
	rest, err := eachLine(r.journal, func(n int, text []byte) error {
		var l journalLine
		switch err := mcp.Decode(text, &l); {
		case err != nil, n == 1 && l.Batch == "", n > 1 && l.Line < 1:
			return usagef("%s:%d: this is no journal of a batch; give another file to --results", r.journalPath(), n)
		case n == 1 && l.Batch != batch:
			return usagef("%s was begun with another server, tool or arguments; give another file to --results", r.path)
		case n == 1:
			begun = true
			return nil
		}
		state := r.lines[l.Line]
		if l.Withdrawn {
			state.attempts--
		} else {
			state.attempts++
			state.hash, state.sent = l.Hash, l.Sent
		}
		r.lines[l.Line] = state
		return nil
	})
	if err != nil {
		return false, err
	}
	const first = `{"batch":"`
	ours := begun || strings.HasPrefix(first, string(rest)) || strings.HasPrefix(string(rest), first)
	return begun, cutOff(r.journal, rest, ours)
}

// readResults reads how the calls of earlier runs have ended. Of several results of a line the last one counts.
func (r *record) readResults(begun bool) error {
	rest, err := eachLine(r.results, func(n int, text []byte) error {
		var l resultLine
		if err := mcp.Decode(text, &l); err != nil || l.Line < 1 || (l.Result == nil) == (l.Error == nil) {
			return usagef("%s:%d: this is no result of a batch; give another file to --results", r.path, n)
		}
		state, known := r.lines[l.Line]
		if !begun || !known {
			return usagef("--results: the journal beside %s does not know its line %d, so that nobody can tell which calls "+
				"were begun; give another file", r.path, n)
		}
		state.results++
		switch {
		case l.Error != nil:
			state.result = l.Error.Kind
		case l.Result.IsError:
			state.result = resultToolError
		default:
			state.result = resultDone
		}
		r.lines[l.Line] = state
		return nil
	})
	if err != nil {
		return err
	}
	return cutOff(r.results, rest, begun)
}

// eachLine calls f with the lines of a file, from 1 on, and returns what stands behind the last end of a line.
func eachLine(file *os.File, f func(n int, text []byte) error) (rest []byte, err error) {
	buffered := bufio.NewReader(file)
	for n := 1; ; n++ {
		text, err := buffered.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return nil, err
		}
		if err := f(n, bytes.TrimSuffix(text, []byte("\n"))); err != nil {
			return nil, err
		}
	}
}

// cutOff removes the rest of a file behind its last line: it was being written when a run was killed, and says nothing.
func cutOff(file *os.File, rest []byte, ours bool) error {
	if len(rest) == 0 {
		return nil
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case !ours:
		return usagef("%s is no file of a batch; give another one to --results", file.Name())
	}
	return file.Truncate(info.Size() - int64(len(rest)))
}

// note appends to the journal, and returns when that has reached the disk.
func (r *record) note(l journalLine) error {
	text, err := mcp.Encode(l)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.journal.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("--results: %w", err)
	}
	if err := r.journal.Sync(); err != nil {
		return fmt.Errorf("--results: %w", err)
	}
	return nil
}

// add appends a result.
func (r *record) add(result json.RawMessage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.results.Write(append(result, '\n')); err != nil {
		return fmt.Errorf("--results: %w", err)
	}
	return nil
}

func (r *record) close() error {
	var err error
	for _, file := range []*os.File{r.results, r.journal} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	r.unlock()
	return err
}
