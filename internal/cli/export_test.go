package cli

import (
	"encoding/json"
	"io"
	"strings"

	"mcpwire/manager"
)

// What the tests look at from outside.
var (
	Plain      = plain
	Nearest    = nearest
	SameJSON   = sameJSON
	ResultText = resultText
	ShellWords = shellWords
	Indented   = indented
)

// Argument types word, such as "key=value", by a tool's input schema.
func Argument(input, word string) (string, error) {
	single, err := parseArguments([]string{word})
	if err != nil {
		return "", err
	}
	merged, err := mergeArguments(nil, single, json.RawMessage(input))
	return string(merged), err
}

// ArgumentLines shows the arguments that an input schema describes.
func ArgumentLines(input string) string {
	return argumentLines(newSchema(json.RawMessage(input)).properties())
}

// Wait shows a spinner on w, which is a terminal or not, until the function that it returns is called.
func Wait(w io.Writer, status string) func() { return newConsole(w).wait(status) }

// LiveTable is what a terminal shows while servers are being connected; FinalTable what it shows then.
var (
	LiveTable  = liveTable
	FinalTable = finalTable
	Redrawn    = redrawn
)

// ReaderGone reports whether nothing is told of the error that a command ended with.
var ReaderGone = readerGone

// ListTimeout is the clock of the lists of several servers.
var ListTimeout = listTimeout

// ListeningAt reads the first line of the demo server.
var ListeningAt = listeningAt

// Edit changes a file as the commands do, and reports whether its content is approved.
func Edit(path, name string, change func() error) (approved bool, err error) {
	return (&app{}).edit(path, name, change)
}

// Graver chooses between the errors of the work and of the shutdown.
func Graver(stderr io.Writer, server string, err, closeErr error) error {
	return (&app{console: newConsole(stderr)}).graver(server, err, closeErr)
}

// WatchOutcome is the exit code of a watch that ends by itself.
func WatchOutcome(s *manager.Snapshot, lost int) int {
	w := &watching{app: &app{console: newConsole(io.Discard)}, lost: lost}
	if err := w.outcome(s); err != nil {
		return exitCode(err)
	}
	return exitDone
}

// SplitLine returns the words of a line of the shell.
func SplitLine(line string) ([]string, error) {
	l, err := splitLine(line)
	return l.words, err
}

// EscapedWord is a word as completion writes it.
var EscapedWord = escapedWord

// A ShellHistory is what the shell keeps of what was typed.
type ShellHistory interface {
	Add(line string)
	Len() int
	At(i int) string
}

// OpenHistory opens the history of the shell, with a secret that is known.
func OpenHistory(secret string) (ShellHistory, error) {
	return openHistory(func(text string) string { return strings.ReplaceAll(text, secret, "***") })
}
