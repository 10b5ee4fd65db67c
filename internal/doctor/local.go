package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mcpwire/config"
	"mcpwire/internal/proc"
	"mcpwire/internal/redact"
	"mcpwire/transport"
)

// entry tells where the server is configured, and what is wrong with that.
func (f *facts) entry(r *Report, kindErr error) {
	s := r.step(Entry)
	s.Text = f.origin()
	for _, p := range f.options.Problems {
		if p.Severity == config.Warning {
			s.find(Warning, "entry-warning", p.Error(), "change or remove that member of the entry")
		} else {
			s.find(Broken, "entry-invalid", p.Error(), "correct the entry")
		}
	}
	if kindErr != nil {
		s.find(Broken, "entry-invalid", kindErr.Error(), `give it either a "command" or a "url"`)
	}
}

// origin tells what is reached and where that is said.
func (f *facts) origin() string {
	what := f.masked.URL
	if f.masked.Command != "" {
		what = strings.Join(append([]string{f.masked.Command}, f.masked.Args...), " ")
	}
	what = redact.Excerpt([]byte(f.mask(what)), quoteBytes)
	host := ""
	if f.server.Host != "" {
		host = ", imported from " + f.server.Host
	}
	switch place := f.server.Places[""]; {
	case f.server.Origin == "":
		return what + ", given on the command line or built in"
	case place.Line == 0:
		return what + ", from " + f.server.Origin + host
	default:
		return fmt.Sprintf("%s, from %s:%d%s", what, place.Path, place.Line, host)
	}
}

// variables tells whether what the entry refers to is set.
func (f *facts) variables(r *Report) {
	s := r.step(Variables)
	fault, ok := errors.AsType[*config.ExpandError](f.err)
	switch {
	case ok && fault.Variable != "":
		at := ""
		if fault.Place.Line > 0 {
			at = fmt.Sprintf(" at %s", fault.Place)
		}
		s.find(Broken, "variable-unset",
			fmt.Sprintf("%s refers to the variable %s%s, which is not set", fault.Field, fault.Variable, at),
			fmt.Sprintf("set %[1]s in the environment of the host, or give it a default: ${%[1]s:-…}", fault.Variable))
	case ok:
		s.find(Broken, "variable-invalid", fault.Error(), "correct the value; $$ stands for a dollar sign")
	case f.server.Origin == "":
		s.Text = "none: what a command line says means itself"
	default:
		s.Text = "all that the entry refers to are set"
	}
}

// command tells which file is started, and whether that went well.
func (f *facts) command(r *Report) (started bool) {
	found, spawn := r.step(Command), r.step(Spawn)
	fault, ok := errors.AsType[*proc.StartError](f.err)
	last := f.record.last()
	switch {
	case ok:
		spawn.Verdict, spawn.Text = Skipped, "nothing was started"
		f.startFault(found, fault)
		return false
	case last.path == "":
		text := "nothing was started"
		if f.err != nil {
			text = f.err.Error()
		}
		found.find(Broken, "start-failed", text, "see what it says")
		spawn.Verdict, spawn.Text = Skipped, "nothing was started"
		return false
	}
	found.Text = last.path
	spawn.MS = ms(last.opened)
	spawn.Text = "started"
	if n := len(f.record.all()); n > 1 {
		spawn.Text = fmt.Sprintf("started %d times until it could be spoken to", n)
	}
	return true
}

// startFault tells why a program could not be started.
func (f *facts) startFault(s *Step, fault *proc.StartError) {
	text := fault.Error()
	switch fault.Reason {
	case proc.NotFound:
		s.find(Broken, "command-not-found", text, f.elsewhere(fault))
	case proc.NotExecutable:
		s.find(Broken, "command-not-executable", text,
			"make it executable (chmod +x), or name its interpreter as the command and the file as the first argument")
	case proc.NoDir:
		s.find(Broken, "cwd-missing", text, `correct "cwd", or create the folder`)
	case proc.NoFormat:
		s.find(Broken, "command-no-program", text,
			"give the script a first line such as #!/usr/bin/env node, or name the interpreter as the command")
	case proc.NoInterpreter:
		s.find(Broken, "interpreter-missing", text, "install what the first line of the script names, or correct that line")
	case proc.Failed:
		s.find(Broken, "start-failed", text, "see what the system says")
	}
}

// usualFolders hold programs and are often missing in the PATH of a host that was started from a desktop; "~" is the
// user's folder.
var usualFolders = []string{
	"~/.local/bin", "~/bin", "/usr/local/bin", "/opt/homebrew/bin", "/snap/bin", "~/.bun/bin", "~/.deno/bin",
	"~/.cargo/bin", "~/go/bin", "~/.volta/bin", "~/.asdf/shims", "~/.local/share/mise/shims", "~/.pyenv/shims",
	"~/.nvm/versions/node/*/bin",
}

// elsewhere tells what to do about a command that was not found: where else it is, or what it may have been meant for.
func (f *facts) elsewhere(fault *proc.StartError) string {
	if fault.Search == "" {
		return "correct the path; a relative one is taken from the folder that the program runs in"
	}
	home, _ := os.UserHomeDir() // without one the folders below it are not found
	for _, folder := range usualFolders {
		pattern := filepath.Join(strings.Replace(folder, "~", home, 1), fault.Command)
		found, _ := filepath.Glob(pattern) // which is well formed
		if len(found) > 0 {
			return "give the full path, for it is there but not in PATH: " + found[len(found)-1]
		}
	}
	if f.options.Nearest != nil {
		if near := f.options.Nearest(fault.Command, programs(fault.Search)); len(near) > 0 {
			return "correct the name; in PATH there is " + strings.Join(near, ", ")
		}
	}
	return "install it, or give its full path"
}

// programs returns the names of the files in the folders of a PATH.
func programs(path string) (names []string) {
	for _, dir := range filepath.SplitList(path) {
		files, _ := os.ReadDir(dir) // what can't be read holds nothing
		for _, file := range files {
			name := file.Name()
			if runtime.GOOS == "windows" {
				name = strings.TrimSuffix(name, filepath.Ext(name))
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// firstBytes tells what came from a program before and between its messages, and reports whether it could be spoken to.
func (f *facts) firstBytes(r *Report) (spoken bool) {
	s := r.step(FirstBytes)
	last := f.record.last()
	if !last.first.IsZero() && !last.opening.IsZero() {
		s.MS = ms(last.first.Sub(last.opening))
		s.Text = "the first message came " + duration(last.first.Sub(last.opening)) + " after the start"
	}
	f.noise(s)
	if f.err == nil || !last.first.IsZero() {
		return true
	}
	exit, exited := errors.AsType[*transport.ExitError](f.err)
	switch {
	case exited:
		f.exitFault(s, exit)
	case s.Verdict == Broken: // what it wrote explains it
	case errors.Is(f.err, errDeadline):
		f.silence(s)
	default:
		s.find(Broken, "connect-failed", f.err.Error(), "see what it says")
	}
	return false
}

// exitFault tells how a program ended before it had said anything.
func (f *facts) exitFault(s *Step, exit *transport.ExitError) {
	said := f.quoteLines(exit.Stderr)
	how := exitText(exit)
	switch {
	case exit.Running:
		s.find(Broken, "output-closed", how+" before the first message"+said,
			"keep standard input and output open: they are the line to the host")
	case said != "":
		s.find(Broken, "exit-at-start", how+" before the first message"+said, hint(exit.Stderr, exit.Code))
	default:
		s.find(Broken, "exit-silent", how+" before the first message, without a word on standard error",
			"run the command by hand; a server must go on until its standard input ends")
	}
}

func exitText(exit *transport.ExitError) string {
	switch {
	case exit.Running && exit.Input:
		return "the server closed its standard input"
	case exit.Running:
		return "the server closed its standard output"
	case exit.Signal != "":
		return "the server was killed by " + exit.Signal
	default:
		return fmt.Sprintf("the server ended with exit status %d", exit.Code)
	}
}

// hints tell what to do about words on standard error.
var hints = []struct {
	words []string // in lower case; one is enough
	fix   string
}{
	{
		[]string{"modulenotfounderror", "cannot find module", "err_module_not_found", "no module named", "cannot find pack"},
		"install what the server needs, in the place where the host starts it",
	},
	{
		[]string{"404 not found", "e404", "no matching distribution", "not found in the package registry"},
		"correct the name of the package",
	},
	{[]string{"eaddrinuse", "address already in use"}, "end the other program that uses that port"},
	{
		[]string{"api key", "api_key", "apikey", "token", "credential", "environment variable"},
		`set what it asks for, under "env" in the entry`,
	},
	{
		[]string{"usage:", "unknown option", "unrecognized argument", "unknown flag", "invalid option"},
		`correct "args" in the entry`,
	},
	{[]string{"eacces", "permission denied"}, "give the server the rights that it asks for"},
	{
		[]string{"enotfound", "econnrefused", "getaddrinfo", "no such host"},
		"see that the network is there that the server needs",
	},
}

// hint returns what to do about a program that ended with these words.
func hint(stderr string, code int) string {
	said := strings.ToLower(stderr)
	for _, h := range hints {
		if slices.ContainsFunc(h.words, func(word string) bool { return strings.Contains(said, word) }) {
			return h.fix
		}
	}
	if code == 127 {
		return "install the command that its script could not find, or give that one's full path"
	}
	return "do what it says on standard error"
}

// silence tells of a program that never answered.
func (f *facts) silence(s *Step) {
	var said string
	for _, l := range f.record.all() { // the newest may not have come to it
		if len(l.stderr) > 0 {
			said = strings.Join(l.stderr, "\n")
		}
	}
	text := "the server runs, and answered nothing within " + duration(f.took)
	words := strings.ToLower(said)
	switch {
	case strings.Contains(words, "http://") || strings.Contains(words, "listening") || strings.Contains(words, " port "):
		s.find(Broken, "serves-elsewhere", text+f.quoteLines(said),
			`it seems to serve HTTP: configure its address as "url", or have it speak stdio`)
	case said != "":
		s.find(Broken, "only-stderr", text+"; it wrote to standard error alone"+f.quoteLines(said),
			"have it speak MCP on standard output; if it waits for a terminal or a person, give it what it asks for beforehand")
	default:
		s.find(Broken, "no-answer", text,
			"see whether it needs an argument such as --stdio, or waits for a terminal; if it is only slow to start, raise "+
				`"connectTimeout" or --timeout`)
	}
}

// quoteLines quotes the last lines of what a server wrote; nothing for nothing.
func (f *facts) quoteLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	const shown = 4
	lines = lines[max(0, len(lines)-shown):]
	var quoted []string
	for _, l := range lines {
		if l = f.quote(l); l != "" {
			quoted = append(quoted, l)
		}
	}
	if len(quoted) == 0 {
		return ""
	}
	return ": " + strings.Join(quoted, " | ")
}

// quote returns a text of the server on one line, bounded and without secrets.
func (f *facts) quote(text string) string { return redact.Excerpt([]byte(f.mask(text)), quoteBytes) }
