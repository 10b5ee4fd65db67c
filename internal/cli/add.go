package cli

import (
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"mcpwire/config"
)

func addCommand(a *app) *cobra.Command {
	x := &addition{app: a}
	cmd := &cobra.Command{
		Use:   "add [flags] NAME URL\n  mcpwire add [flags] NAME -- COMMAND ARG...",
		Short: "Give a server a name, in a file of servers",
		Long: `Give a server a name: write its entry into the user's file, or with --project into the project's. The
file is made if it is missing; comments in it stay.

Values are written as they are given: ${VARIABLE} in them stands for a variable when the server is started, which keeps
secrets out of the file. Relative paths of --cwd and COMMAND are those of this folder.`,
		Example: `  mcpwire add files -- npx -y some-mcp-server .
  mcpwire add search https://mcp.example.com/mcp --header 'Authorization: Bearer ${SEARCH_TOKEN}'
  mcpwire add --project -e 'API_KEY=${API_KEY}' --timeout 2m db -- ./tools/db-server`,
		RunE: x.run,
	}
	x.file.add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVarP(&x.env, "env", "e", nil, "`KEY=VALUE` for its environment; may be given several times")
	flags.StringArrayVar(&x.headers, "header", nil, "`'NAME: VALUE'` to send to it; may be given several times")
	flags.StringVar(&x.kind, "type", "", "`TYPE`: stdio, http or sse (default: by what is given)")
	flags.StringVar(&x.cwd, "cwd", "", "`DIR` that it runs in")
	flags.Var(&x.timeout, "timeout", "how long to wait for an answer of it, such as 30s; 0: no limit")
	flags.BoolVar(&x.replace, "replace", false, "replace the entry of that name, if there is one")
	return cmd
}

// An addition is one run of the command add.
type addition struct {
	*app
	file         fileFlags
	env, headers []string
	kind, cwd    string
	timeout      timeoutFlag
	replace      bool
}

func (x *addition) run(cmd *cobra.Command, words []string) error {
	if !x.file.project && x.file.config == "" {
		x.file.user = true
	}
	path, err := x.file.path()
	if err != nil {
		return err
	}
	s, err := x.server(cmd, words, path)
	if err != nil {
		return err
	}
	approved, err := x.edit(path, s.Name, func() error { return config.AddServer(path, s, x.replace) })
	if err != nil {
		return err
	}
	if err := x.out.show("added " + s.Name + " to " + path + "\n"); err != nil {
		return err
	}
	x.warn(s, path, approved)
	return nil
}

// server returns the entry that the command line describes.
func (x *addition) server(cmd *cobra.Command, words []string, path string) (config.Server, error) {
	words, command, err := splitAtDash(cmd, words)
	s := config.Server{Type: x.kind, Timeout: x.timeout.value}
	switch {
	case err != nil:
		return s, err
	case len(words) == 0 || words[0] == "", len(words) > 2, len(words) == 2 && command != nil, len(words)+len(command) < 2:
		return s, usagef("a name and a server are wanted; write \"%[1]s NAME URL\" or \"%[1]s NAME -- COMMAND ARG...\"",
			cmd.CommandPath())
	}
	s.Name = words[0]
	if _, ok := hostOf(s.Name); ok {
		return s, usagef("the name %q would be taken for the URL of a server", s.Name)
	}
	folder := filepath.Dir(path)
	if command != nil {
		s.Command, s.Args = command[0], command[1:]
		if filepath.Base(s.Command) != s.Command {
			s.Command = x.placed(s.Command, x.runsIn(folder))
		}
	} else if s.URL = words[1]; !strings.Contains(s.URL, "://") && !strings.Contains(s.URL, "${") {
		return s, usagef("%q is no URL; a command goes behind --, as in \"%s %s -- %s\"", s.URL, cmd.CommandPath(),
			shellWords(words[:1]), shellWords(words[1:]))
	}
	if x.cwd != "" {
		s.Cwd = x.placed(x.cwd, folder)
	}
	if s.Env, err = pairs(x.env, "=", "--env", "KEY=VALUE"); err != nil {
		return s, err
	}
	if s.Headers, err = pairs(x.headers, ":", "--header", "'NAME: VALUE'"); err != nil {
		return s, err
	}
	if _, err := s.Kind(); err != nil {
		return s, &usageError{err}
	}
	return s, nil
}

// placed returns a path of this folder as an entry may have it: from the folder of a project's file, else an absolute
// one, since the user's file serves all folders.
func (x *addition) placed(path, folder string) string {
	if filepath.IsAbs(path) || strings.Contains(path, "${") {
		return path
	}
	here, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if x.file.project && folder != "" {
		if relative, err := filepath.Rel(folder, inProject(here)); err == nil {
			return "./" + filepath.ToSlash(relative)
		}
	}
	return strings.ReplaceAll(here, "$", "$$")
}

// runsIn returns the folder that the path of a program is taken from: that of --cwd, else folder; empty if it is known
// only when the server is started.
func (x *addition) runsIn(folder string) string {
	if x.cwd == "" {
		return folder
	}
	here, err := filepath.Abs(x.cwd)
	if err != nil || strings.Contains(x.cwd, "${") {
		return ""
	}
	return inProject(here)
}

// inProject resolves the links among the folders of a path, as they are in the path of a project's file.
func inProject(path string) string {
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(parent, filepath.Base(path))
}

// pairs reads what flags give, "NAME=VALUE" or "NAME: VALUE". Errors don't show it: it may be a secret.
func pairs(given []string, separator, flag, form string) (map[string]string, error) {
	if given == nil {
		return nil, nil
	}
	values := map[string]string{}
	for _, one := range given {
		name, value, ok := strings.Cut(one, separator)
		if separator == ":" {
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		}
		switch _, twice := values[name]; {
		case !ok || name == "":
			return nil, usagef("%s must have the form %s", flag, form)
		case twice:
			return nil, usagef("%s gives %q twice", flag, name)
		}
		values[name] = value
	}
	return values, nil
}

// warn tells what the user may not have meant.
func (x *addition) warn(s config.Server, path string, approved bool) {
	project := filepath.Base(path) == projectFile
	if project && !reflect.DeepEqual(s, s.Masked()) {
		x.console.line("mcpwire: warning: something that looks like a secret is in the project's file now, " +
			"for all who get it; write ${VARIABLE} for it")
	}
	if project && !approved {
		x.console.linef("mcpwire: warning: the content of %s is not approved: its servers are started after "+
			"\"mcpwire trust %s\"", path, shellWords([]string{path}))
	}
	c, err := x.load("")
	if err != nil || x.file.config != "" {
		return
	}
	switch found, err := c.Server(s.Name); {
	case err != nil: // it tells which entries are not used before it is mended
		x.console.linef("mcpwire: warning: %v", err)
	case found != nil && found.Origin != path:
		x.console.linef("mcpwire: warning: a stronger file names %s too, and its entry counts", s.Name)
	}
}
