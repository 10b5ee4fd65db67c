package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpwire/config"
	"mcpwire/internal/demo"
)

const (
	projectFile = ".mcp.json"
	demoServer  = "demo-server" // the hidden command that is the demo server
)

// serverFlags are the flags of every command that talks to a server.
type serverFlags struct {
	config  string
	timeout timeoutFlag
	verbose bool
	output  outputFlag
}

func (f *serverFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "`FILE` that names the servers (default ./.mcp.json where there is one)")
	flags.Var(&f.timeout, "timeout", "how long to wait for an answer, such as 30s; 0: no limit (default 30s)")
	flags.VarP(&f.output, "output", "o", "`FORM` of the result: text or json (default text)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show what the server writes on standard error, and more of the run")
}

// A timeoutFlag is a duration that may be unset.
type timeoutFlag struct{ value *time.Duration }

func (f *timeoutFlag) Type() string { return "DURATION" }

func (f *timeoutFlag) String() string {
	if f.value == nil {
		return ""
	}
	return f.value.String()
}

func (f *timeoutFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("a duration such as 30s, 2m or 500ms is wanted; 0 is no limit")
	}
	f.value = &d
	return nil
}

// An outputFlag is the form of a result; the zero value is text.
type outputFlag struct{ json bool }

func (f *outputFlag) Type() string { return "FORM" }

func (f *outputFlag) String() string {
	if f.json {
		return "json"
	}
	return ""
}

func (f *outputFlag) Set(text string) error {
	if text != "text" && text != "json" {
		return errors.New("text or json is wanted")
	}
	f.json = text == "json"
	return nil
}

// A target is the server that a command line means, and how to mean it again.
type target struct {
	config.Server
	again string // what stands for it in a command line
}

// newTarget is a server with the flags that are stronger than its entry.
func newTarget(s config.Server, again string, f *serverFlags) target {
	if f.timeout.value != nil {
		s.Timeout = f.timeout.value
	}
	return target{s, again}
}

// adHoc is a program given behind "--".
func adHoc(command []string, f *serverFlags) target {
	s := config.Server{Name: filepath.Base(command[0]), Command: command[0], Args: command[1:]}
	return newTarget(s, "-- "+shellWords(command), f)
}

// splitAtDash cuts args at the "--" that the command line has, if any.
func splitAtDash(cmd *cobra.Command, args []string) (before, command []string, err error) {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		return args, nil, nil
	}
	if dash == len(args) || args[dash] == "" {
		return nil, nil, usagef("a command must follow --, as in \"%s -- COMMAND ARG...\"", cmd.CommandPath())
	}
	return args[:dash], args[dash:], nil
}

// onlyServer returns the target of a command that takes nothing but a server.
func (a *app) onlyServer(cmd *cobra.Command, args []string, f *serverFlags) (target, error) {
	names, command, err := splitAtDash(cmd, args)
	switch {
	case err != nil:
		return target{}, err
	case command != nil && len(names) > 0:
		return target{}, usagef("both the server %q and a command behind -- are given; give one of them", names[0])
	case command != nil:
		return adHoc(command, f), nil
	case len(names) == 0:
		return target{}, usagef("no server is given; write \"%[1]s SERVER\", as in \"%[1]s demo\", or "+
			"\"%[1]s -- COMMAND ARG...\"", cmd.CommandPath())
	case len(names) > 1:
		return target{}, usagef("one server is wanted, got %q; a command goes behind --, as in \"%s -- %s\"",
			names, cmd.CommandPath(), shellWords(names))
	}
	return a.named(names[0], f)
}

// named finds a server by its name: in the file that --config names or in ./.mcp.json, else the built-in one.
func (a *app) named(name string, f *serverFlags) (target, error) {
	again := shellWords([]string{name})
	if host, ok := hostOf(name); ok {
		return newTarget(config.Server{Name: host, URL: name}, again, f), nil
	}
	if f.config != "" {
		again = "--config " + shellWords([]string{f.config}) + " " + again
	}
	file, err := readConfig(f.config)
	if err != nil {
		return target{}, err
	}
	s, err := file.Server(name)
	a.showProblems(file, name, err, f.verbose)
	switch {
	case err != nil:
		return target{}, &usageError{err}
	case s != nil:
		return newTarget(*s, again, f), nil
	case name == demo.Name:
		return demoTarget(f)
	}
	return target{}, unknownServer(name, file)
}

// hostOf returns the host of a URL, which stands for the server in messages; false for what is no URL.
func hostOf(name string) (host string, ok bool) {
	if !strings.HasPrefix(name, "http://") && !strings.HasPrefix(name, "https://") {
		return "", false
	}
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return "", false
	}
	return u.Host, true
}

func readConfig(path string) (*config.File, error) {
	if path == "" {
		file, err := config.ReadFile(projectFile)
		if errors.Is(err, fs.ErrNotExist) {
			return &config.File{}, nil
		}
		return file, usage(err)
	}
	file, err := config.ReadFile(path)
	return file, usage(err)
}

// usage makes a mistake in a file that the command line names one of usage.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// showProblems tells of the entries that can't be used, and of warnings that concern the server that is wanted; all
// adds the other warnings. What ends the program anyway, reported, is left out.
func (a *app) showProblems(file *config.File, name string, reported error, all bool) {
	for _, p := range file.Problems {
		if !errors.Is(reported, p) && (all || p.Severity == config.Error || p.Server == name) {
			a.console.linef("mcpwire: %s: %v", p.Severity, p)
		}
	}
}

func unknownServer(name string, file *config.File) error {
	known := []string{demo.Name}
	where := "there is no ./" + projectFile + " here, and no --config FILE is given"
	if file.Path != "" {
		where = file.Path + " does not name it"
		known = nil
		for _, s := range file.Servers {
			known = append(known, s.Name)
		}
		if s, err := file.Server(demo.Name); s == nil && err == nil {
			known = append(known, demo.Name)
		}
	}
	hint := didYouMean(name, known)
	if hint == "" {
		hint = "; known are " + strings.Join(known, ", ")
	}
	return usagef("unknown server %q: %s%s", name, where, hint)
}

// demoTarget is this program, started again as the demo server.
func demoTarget(f *serverFlags) (target, error) {
	exe, err := os.Executable()
	if err != nil {
		return target{}, fmt.Errorf("the demo server can't be started: %w", err)
	}
	return newTarget(config.Server{Name: demo.Name, Command: exe, Args: []string{demoServer}}, demo.Name, f), nil
}

// shellWords writes words so that a shell reads them back.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, needsQuotes) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func needsQuotes(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("\"'`$&|;<>()*?[]{}~#!\\", r)
}
