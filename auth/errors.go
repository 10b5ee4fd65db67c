package auth

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"mcpwire/transport"
)

// A LoginError tells that a server refuses us until somebody logs in. It satisfies
// errors.Is(err, transport.ErrLoginRequired).
type LoginError struct {
	Server  string   // the entry's name
	Scopes  []string // the scopes that are missing; nil: none in particular
	Command string   // what to run
	Err     error    // why what there was is not enough; nil: there was nothing
}

// Error returns `login needed: run "<command>"`, with the scope and the cause.
func (e *LoginError) Error() string {
	text := "login needed"
	command := e.Command
	if len(e.Scopes) > 0 {
		scopes := line(strings.Join(e.Scopes, " "))
		text += fmt.Sprintf(" for the scope %q", scopes)
	}
	text += ": run \"" + command + "\""
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *LoginError) Unwrap() error { return e.Err }

// Is reports whether target is transport.ErrLoginRequired.
func (e *LoginError) Is(target error) bool { return target == transport.ErrLoginRequired }

func (c *Client) loginError(scopes []string, why error) *LoginError {
	words := []string{c.o.Command}
	for _, scope := range scopes {
		if quoted(scope) == scope { // a server has named it, and people copy commands into shells
			words = append(words, "--scope", scope)
		}
	}
	return &LoginError{Server: c.o.Server, Scopes: scopes, Command: strings.Join(words, " "), Err: why}
}

// plainWord is a word that means itself in every shell.
var plainWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._:/@+][A-Za-z0-9._:/@+-]*$`)
})

// quoted returns a word of a command line, in single quotes if it could mean something else.
func quoted(word string) string {
	if plainWord().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// A laterError tells why a login could not be used now that may be good.
type laterError struct{ err error }

// Error returns the cause.
func (e *laterError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *laterError) Unwrap() error { return e.err }

// Temporary reports true: nobody need log in.
func (e *laterError) Temporary() bool { return true }
