package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mcpwire/config"
	"mcpwire/internal/atomicfile"
	"mcpwire/internal/redact"
)

const (
	historyKept = 1000     // lines
	historyRead = 16 << 20 // bytes, of a file that somebody else has let grow
)

// A history is what was typed, for this run and later ones. It is not safe for use from several goroutines.
type history struct {
	path  string // empty: nothing is kept for later runs
	lines []string
	mask  func(string) string // changes a line that has a secret
}

// openHistory reads what earlier runs have left. After an error there is a history, which is not kept.
func openHistory(mask func(string) string) (*history, error) {
	h := &history{mask: mask}
	folder, err := config.StateDir()
	if err != nil {
		return h, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return h, err
	}
	path := filepath.Join(folder, "shell-history")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		h.path = path
		return h, nil
	}
	if err != nil || info.Size() > historyRead || !info.Mode().IsRegular() {
		return h, errors.Join(err, errors.New(path+" is no file of lines, or too long"))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return h, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			h.lines = append(h.lines, line)
		}
	}
	h.path = path
	if len(h.lines) <= historyKept && info.Mode().Perm()&0o077 == 0 {
		return h, nil
	}
	h.trim()
	return h, atomicfile.Write(path, []byte(strings.Join(h.lines, "\n")+"\n"), atomicfile.Options{Draft: ".shell-history"})
}

// Add takes a line, unless it is to be forgotten: it begins with a blank, was the last one too, or has a secret.
func (h *history) Add(line string) {
	if line == "" || line[0] == ' ' || line[0] == '\t' || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line ||
		h.secret(line) {
		return
	}
	h.lines = append(h.lines, line)
	h.trim()
	if h.path == "" {
		return
	}
	file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return // what can't be kept is missing in the next run, and no more
	}
	_, _ = file.WriteString(line + "\n")
	_ = file.Close()
}

func (h *history) trim() { h.lines = h.lines[max(0, len(h.lines)-historyKept):] }

// secret reports whether a line has what looks like a secret, is one that is known, or is called one.
func (h *history) secret(line string) bool {
	if redact.Tokens(line) != line || h.mask(line) != line {
		return true
	}
	words, _ := splitLine(line) // as far as it can be read
	for _, word := range words.words {
		name, _, found := strings.Cut(word, "=")
		if found && redact.SecretName(strings.TrimSuffix(name, ":")) || redact.Tokens(word) != word {
			return true
		}
	}
	return false
}

// Len returns how many lines there are.
func (h *history) Len() int { return len(h.lines) }

// At returns a line; 0 is the last one.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
