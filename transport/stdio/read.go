package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"mcpwire/internal/ndjson"
	"mcpwire/internal/readable"
	"mcpwire/internal/redact"
	"mcpwire/transport"
)

const (
	noiseLines = 20      // so many of the last lines that are no messages are kept
	noiseSize  = 512     // with so many bytes of each
	pieceSize  = 8 << 10 // how long a line given to OnStderr can be
	stderrRead = 4 << 10 // how much of standard error is read at once
)

// A source reads one of the server's output pipes. Its end can be brought about from outside; the reader sees io.EOF
// then, as if everybody had closed the other end.
type source struct {
	file     *os.File
	pausable bool
	ready    *readiness // nil: await can't wait
	since    time.Time  // when await has begun that has just ended; zero: none has

	mu     sync.Mutex
	until  time.Time // when a drain ends at the latest; zero before drain and stop
	paused bool
}

func newSource(file *os.File) *source {
	s := &source{file: file, pausable: file.SetReadDeadline(time.Time{}) == nil}
	if s.pausable {
		s.ready = newReadiness(file)
	}
	return s
}

// awaits reports whether await waits.
func (s *source) awaits() bool { return s.ready != nil }

// watch has f called when there is something to read; nil where that can't be.
func (s *source) watch(f func()) *readable.Watch {
	if s.ready == nil {
		return nil
	}
	return s.ready.watch(f)
}

// await waits, where that is possible, until a Read will not block: for that no memory is needed to read into.
func (s *source) await() {
	s.since = time.Now()
	s.ready.await()
}

// Read implements io.Reader. Its error is ndjson.ErrPaused between pause and resume. A deadline that has passed before
// reading began tells nothing of the pipe, only that this goroutine had to wait for a processor: it is set anew.
func (s *source) Read(p []byte) (int, error) {
	for {
		start := s.since
		if s.since = (time.Time{}); start.IsZero() {
			start = time.Now()
		}
		n, err := s.file.Read(p)
		expired := errors.Is(err, os.ErrDeadlineExceeded)
		switch {
		case n > 0:
			s.extend()
		case expired && s.isPaused():
			err = ndjson.ErrPaused
		case expired && time.Since(start) < drainIdle/2 && s.draining():
			s.extend()
			continue
		case expired, errors.Is(err, os.ErrClosed):
			err = io.EOF
		}
		return n, err
	}
}

// draining reports whether there is time left of a drain.
func (s *source) draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until)
}

// drain lets reading end when nothing has come for drainIdle, or in drainTotal.
func (s *source) drain() {
	s.mu.Lock()
	s.until = time.Now().Add(drainTotal)
	s.mu.Unlock()
	s.extend()
}

// extend gives a drain that has got something more time. Where pipes have no deadlines there is only stop.
func (s *source) extend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.until.IsZero() && !s.paused {
		s.rearm()
	}
}

// rearm sets the deadline of a drain. The lock is held.
func (s *source) rearm() {
	deadline := time.Now().Add(drainIdle)
	if s.until.Before(deadline) {
		deadline = s.until
	}
	_ = s.file.SetReadDeadline(deadline)
}

// pause has a Read that blocks return, and all others until resume. Where pipes have no deadlines it does nothing.
func (s *source) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pausable && !s.paused {
		s.paused = true
		_ = s.file.SetReadDeadline(time.Unix(1, 0))
	}
}

// resume ends a pause.
func (s *source) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.paused:
		return
	case s.until.IsZero():
		_ = s.file.SetReadDeadline(time.Time{})
	default:
		s.rearm()
	}
	s.paused = false
}

func (s *source) isPaused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused
}

// stop ends reading at once.
func (s *source) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Now()
	if s.file.SetReadDeadline(s.until) != nil {
		s.file.Close()
	}
}

// take hands one line to the receiver, and reports whether it keeps the memory. What can't be a message is not worth
// asking about.
func (r *reader) take(line []byte) (kept bool) {
	verdict := transport.Malformed
	if first := bytes.TrimLeft(line, " \t\r"); first[0] == '{' || first[0] == '[' {
		verdict = r.recv.Receive(nil, line)
	}
	if verdict == transport.Malformed {
		r.onNoise(line)
	}
	return verdict == transport.Kept
}

// A log keeps what the server has written beside its messages.
type log struct {
	onStderr, onNoise func([]byte)
	secrets           *redact.Set // nil: none

	// What follows belongs to who reads standard error.
	cleaner cleaner
	line    []byte // what has come of a line

	mu    sync.Mutex
	tail  tail
	noise []string
}

// keepSecret has all that is told of the output masked.
func (l *log) keepSecret(secrets []string) {
	l.secrets = redact.NewSet(secrets...)
	l.onStderr, l.onNoise = l.masked(l.onStderr), l.masked(l.onNoise)
}

// masked returns f with the secrets kept from it.
func (l *log) masked(f func([]byte)) func([]byte) {
	if f == nil {
		return nil
	}
	secrets := l.secrets
	return func(line []byte) { f([]byte(secrets.Text(string(line)))) }
}

// words are the memory that standard error is read into.
type words struct {
	read  [stderrRead]byte
	clean []byte
}

// spareWords are for whoever reads next, of all servers.
var spareWords = make(chan *words, 4)

func takeWords() *words {
	select {
	case w := <-spareWords:
		return w
	default:
		return new(words)
	}
}

func (w *words) giveBack() {
	select {
	case spareWords <- w:
	default:
	}
}

// read reads standard error once, whatever shape it has. It reports whether more is likely to be there, and whether
// that was the end.
func (l *log) read(s *source) (more, end bool) {
	w := takeWords()
	defer w.giveBack()
	n, err := s.Read(w.read[:])
	w.clean = l.cleaner.append(w.clean[:0], w.read[:n])
	l.addStderr(w.clean)
	if l.onStderr != nil {
		l.line = l.cut(append(l.line, w.clean...))
	}
	if err != nil && len(l.line) > 0 {
		l.onStderr(l.line)
	}
	if len(l.line) == 0 {
		l.line = nil
	}
	return n == len(w.read), err != nil
}

// cut hands over whole lines, and pieces of one that is too long, and returns what is left.
func (l *log) cut(text []byte) []byte {
	rest := text
	for {
		i := bytes.IndexByte(rest, '\n')
		if i >= 0 && i <= pieceSize {
			l.onStderr(rest[:i])
			rest = rest[i+1:]
			continue
		}
		if len(rest) <= pieceSize {
			return append(text[:0], rest...)
		}
		piece := wholeRunes(rest[:pieceSize])
		l.onStderr(piece)
		rest = rest[len(piece):]
	}
}

func (l *log) addStderr(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail.add(p)
}

func (l *log) addNoise(line []byte) {
	shown := excerpt(line, noiseSize)
	l.mu.Lock()
	if len(l.noise) == noiseLines {
		l.noise = slices.Delete(l.noise, 0, 1)
	}
	l.noise = append(l.noise, string(bytes.ToValidUTF8(shown, []byte("\uFFFD"))))
	l.mu.Unlock()
	if l.onNoise != nil {
		l.onNoise(shown)
	}
}

func (l *log) output() (stderr string, noise []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	noise = make([]string, len(l.noise))
	for i, line := range l.noise {
		noise[i] = l.secrets.Text(line)
	}
	return l.secrets.Text(l.tail.String()), noise
}
