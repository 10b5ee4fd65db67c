package cli

import (
	"errors"
	"fmt"
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
	imports importFlag
	timeout timeoutFlag
	verbose bool
	output  outputFlag
	level   levelFlag // of commands that show log messages
	ask     askFlags
}

// addFiles adds those that are about where the server is named, and about the run.
func (f *serverFlags) addFiles(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "`FILE` that names servers, stronger than the project's and the user's")
	f.imports.add(cmd)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show more of the run, such as each HTTP exchange")
}

func (f *serverFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "`FILE` that names servers, stronger than the project's and the user's")
	f.imports.add(cmd)
	flags.Var(&f.timeout, "timeout", "how long to wait for an answer, such as 30s; 0: no limit (default 30s)")
	flags.VarP(&f.output, "output", "o", "`FORM` of the result: text or json (default text)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show what the server writes on standard error, and more of the run")
}

// An importFlag names other programs whose servers count too.
type importFlag []string

func (f *importFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(f, "import", "use the servers of other `PROGRAMS` too, such as cursor,codex, or all; those that the "+
		"user's file imports come behind; none: not even those")
}

func (f *importFlag) Type() string   { return "PROGRAMS" }
func (f *importFlag) String() string { return strings.Join(*f, ",") }

func (f *importFlag) choices() []string { return append(programs(), "all", "none") }

// programs are the names of the other programs.
func programs() (names []string) {
	for _, h := range config.Hosts() {
		names = append(names, h.Name)
	}
	return names
}

func (f *importFlag) Set(text string) error {
	names := strings.Split(text, ",")
	*f = append(*f, names...)
	return config.CheckHosts(names...)
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

func (f *outputFlag) Type() string      { return "FORM" }
func (f *outputFlag) choices() []string { return []string{"text", "json"} }

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
	again   string // what stands for it in a command line; empty in a shell that has chosen it
	inShell bool   // command lines are those of the shell
}

// line is the command line of a command for the same server.
func (t target) line(command string) string {
	if !t.inShell {
		command = "mcpwire " + command
	}
	return strings.TrimRight(command+" "+t.again, " ")
}

// newTarget is a server with the flags that are stronger than its entry.
func newTarget(s config.Server, again string, f *serverFlags) target {
	if f.timeout.value != nil {
		s.Timeout = f.timeout.value
	}
	return target{Server: s, again: again}
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
	if a.within != nil {
		return a.within.onlyTarget(cmd, args, f)
	}
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

// An operand is what a command wants of a server.
type operand struct {
	name    string // such as "tool"
	form    string // it with what follows, such as "TOOL [key=value ...]"
	example string // a server and it, such as "demo echo message=hi"
}

// serverAnd returns the target of a command that takes a server and an operand, and the words from the operand on.
func (a *app) serverAnd(cmd *cobra.Command, words []string, f *serverFlags, o operand) (target, []string, error) {
	if a.within != nil {
		return a.within.targetAnd(cmd, words, f, o)
	}
	words, command, err := splitAtDash(cmd, words)
	switch {
	case err != nil:
		return target{}, nil, err
	case command != nil && len(words) == 0:
		return target{}, nil, usagef("no %s is given; write \"%s %s -- COMMAND ARG...\"", o.name, cmd.CommandPath(), o.form)
	case command != nil:
		return adHoc(command, f), words, nil
	case len(words) < 2:
		return target{}, nil, usagef("a server and a %[2]s are wanted; write \"%[1]s SERVER %[3]s\", as in \"%[1]s %[4]s\"",
			cmd.CommandPath(), o.name, o.form, o.example)
	}
	t, err := a.named(words[0], f)
	return t, words[1:], err
}

// named finds a server that may be started.
func (a *app) named(name string, f *serverFlags) (target, error) {
	t, c, err := a.lookUp(name, f)
	switch {
	case err != nil:
		return target{}, err
	case c == nil:
		return t, nil
	case t.Disabled:
		return target{}, usagef("server %q is disabled at %v (\"mcpwire enable %s\" changes that)",
			name, t.Places["disabled"], t.again)
	}
	return t, a.permit(c, t.Server)
}

// lookUp finds a server by its name, as the files have it, else the built-in one, or by its URL, for which there is no
// catalogue. It may be one that must not be started.
func (a *app) lookUp(name string, f *serverFlags) (target, *catalogue, error) {
	again := shellWords([]string{name})
	if host, ok := hostOf(name); ok {
		return newTarget(config.Server{Name: host, URL: name}, again, f), nil, nil
	}
	c, err := a.load(f.config, f.imports...)
	if err != nil {
		return target{}, nil, err
	}
	t, err := c.find(name, inFile(f.config, f.imports...)+again, f)
	a.showProblems(c.Set, []string{name}, err, f.verbose)
	return t, c, err
}

// inFile returns the flags that name a file and imports, with a blank behind them; nothing where there are none.
func inFile(path string, imports ...string) (flags string) {
	if path != "" {
		flags = "--config " + shellWords([]string{path}) + " "
	}
	if len(imports) > 0 {
		flags += "--import " + shellWords([]string{strings.Join(imports, ",")}) + " "
	}
	return flags
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

// demoTarget is this program, started again as the demo server.
func demoTarget(f *serverFlags) (target, error) {
	exe, err := os.Executable()
	if err != nil {
		return target{}, fmt.Errorf("the demo server can't be started: %w", err)
	}
	return newTarget(config.Server{Name: demo.Name, Command: exe, Args: []string{demoServer}}, demo.Name, f), nil
}
