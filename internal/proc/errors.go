package proc

import (
	"fmt"
	"strconv"
)

// A Reason tells why a process could not be started.
type Reason uint8

// The reasons.
const (
	Failed        Reason = iota // the system refused; Err tells why
	NotFound                    // there is no such command
	NotExecutable               // there is a file, but it may not be executed
	NoDir                       // there is no such working directory
	NoFormat                    // the file is no program for this machine, nor a script that begins with #!
	NoInterpreter               // the interpreter of the script, or the loader of the program, does not exist
)

// A StartError tells why a process could not be started. None of its reasons goes away by trying again.
type StartError struct {
	Command string // as configured
	Path    string // the file found or asked for; empty if PATH was searched in vain
	Search  string // the PATH that was searched; empty if the command is a path
	Dir     string // the working directory; empty for our own
	Reason  Reason
	Err     error // the system's error; may be nil
}

// Error returns one line.
func (e *StartError) Error() string {
	command := "command " + strconv.Quote(e.Command)
	switch e.Reason {
	case NotFound:
		switch {
		case e.Command == "":
			return "no command is given"
		case e.Path != "":
			return command + " not found: there is no file " + e.Path
		case e.Search == "":
			return command + " not found: PATH is empty"
		}
		return command + " not found in PATH " + strconv.Quote(e.Search) +
			" (version managers and desktop starts set another PATH: a full path works everywhere)"
	case NotExecutable:
		return command + " can't be run: " + e.Path + " is not an executable file"
	case NoDir:
		return "working directory " + strconv.Quote(e.Dir) + " does not exist or is no directory"
	case NoFormat:
		return command + " can't be run: " + e.Path + " is neither a program for this machine nor a script with a #! line"
	case NoInterpreter:
		return command + " can't be run: the interpreter or loader that " + e.Path + " asks for does not exist"
	case Failed:
	}
	return fmt.Sprintf("%s did not start: %v", command, e.Err)
}

// Unwrap returns the system's error.
func (e *StartError) Unwrap() error { return e.Err }
