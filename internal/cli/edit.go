package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"mcpwire/config"
)

// fileFlags say which file is changed.
type fileFlags struct {
	config        string
	project, user bool
}

func (f *fileFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "change this `FILE`")
	flags.BoolVar(&f.project, "project", false, "change the project's "+projectFile)
	flags.BoolVar(&f.user, "user", false, "change the user's file")
}

// path returns the file that the flags name; empty if they name none.
func (f *fileFlags) path() (string, error) {
	switch {
	case f.project && f.user, f.config != "" && (f.project || f.user):
		return "", usagef("only one of --config, --project and --user can be given")
	case f.config != "":
		return f.config, nil
	case f.project:
		if path, found := config.ProjectFile(""); found {
			return path, nil
		}
		here, err := filepath.Abs("")
		if err != nil {
			return "", err
		}
		if resolved, err := filepath.EvalSymlinks(here); err == nil { // as the search for the file does
			here = resolved
		}
		return filepath.Join(here, projectFile), nil
	case f.user:
		return config.UserFile()
	}
	return "", nil
}

// oneName checks that a command line names one server.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return usagef("the name of one server is wanted, as in \"%s files\"", cmd.CommandPath())
	}
	return nil
}

// edit changes the entry of one server in a file. If the file's content was approved it still is: what is new was just
// asked for. So is a new file of a project.
func (a *app) edit(path, name string, change func() error) (approved bool, err error) {
	trust := config.OpenTrust("")
	before, err := config.ReadFile(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	approved = fresh && filepath.Base(path) == projectFile || err == nil && trust.Trusted(before)
	if err := change(); err != nil {
		return false, mistake(err)
	}
	if !approved {
		return false, nil
	}
	after, err := config.ReadFile(path)
	if err != nil {
		return false, err
	}
	if !maps.Equal(others(before, name), others(after, name)) {
		return false, nil // somebody else has changed it at the same time
	}
	return true, trust.Approve(after)
}

// others are the servers of a file but for one, with what decides what is started.
func others(file *config.File, name string) map[string]string {
	all := map[string]string{}
	if file == nil {
		return all
	}
	for _, s := range file.Servers {
		if s.Name != name {
			all[s.Name] = fmt.Sprint(s.Fingerprint(), s.Disabled)
		}
	}
	return all
}

// mistake makes the errors of changes that the command line has caused ones of usage.
func mistake(err error) error {
	if errors.Is(err, config.ErrNoServer) || errors.Is(err, config.ErrServerExists) {
		return &usageError{err}
	}
	return err
}

func removeCommand(a *app) *cobra.Command {
	f := &fileFlags{}
	cmd := &cobra.Command{
		Use:   "remove [flags] NAME",
		Short: "Take a server out of the file that it stands in",
		Long: `Take a server out of the file that it stands in; if several name it, out of the strongest. Comments
outside of its entry stay.`,
		Example: `  mcpwire remove files
  mcpwire remove files --user`,
		Args: oneName,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := f.path()
			if err != nil {
				return err
			}
			if path == "" {
				return a.remove(args[0])
			}
			return a.removeFrom(path, args[0])
		},
	}
	f.add(cmd)
	return cmd
}

// remove takes a server out of the strongest file that names it.
func (a *app) remove(name string) error {
	c, err := a.load("")
	if err != nil {
		return err
	}
	for _, source := range c.Sources {
		if source.Scope == config.ScopeImport {
			continue // files of other programs are not changed
		}
		err := a.removeFrom(source.Path, name)
		if errors.Is(err, config.ErrNoServer) {
			continue
		}
		if c, loadErr := a.load(""); err == nil && loadErr == nil {
			if s, _ := c.Server(name); s != nil { // what is wrong with a weaker entry is told when it is used
				a.console.linef("mcpwire: warning: %s names it too, and counts from now on", s.Origin)
			}
		}
		return err
	}
	if s, _ := c.Server(name); s != nil {
		return usagef("%s is a server of another program, at %v, whose files are not changed; \"mcpwire disable %s\" "+
			"switches it off here", name, s.Places[""], shellWords([]string{name}))
	}
	return c.unnamed(name)
}

// unnamed tells that there is nothing to change, as no file names a server.
func (c *catalogue) unnamed(name string) error {
	var known []string
	for _, s := range c.Servers {
		known = append(known, s.Name)
	}
	return usagef("no file names a server %q%s", name, didYouMean(name, known))
}

func (a *app) removeFrom(path, name string) error {
	if _, err := a.edit(path, name, func() error { return config.RemoveServer(path, name) }); err != nil {
		return err
	}
	return a.out.show("removed " + name + " from " + path + "\n")
}

// switchCommand is "enable" or "disable".
func switchCommand(a *app, verb string, disabled bool) *cobra.Command {
	f, imports := &fileFlags{}, importFlag{}
	about := map[bool]string{
		true:  "Disable a server: it stays configured, and is not started",
		false: "Enable a server that was disabled",
	}[disabled]
	cmd := &cobra.Command{
		Use:   verb + " [flags] NAME",
		Short: about,
		Long: about + `.

The file that it stands in is changed; if several name it, the one that counts. Comments stay. For a server that is
imported from another program the user's file is changed, and never that program's.`,
		Example: "  mcpwire " + verb + " files",
		Args:    oneName,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := f.path()
			if err != nil {
				return err
			}
			if path == "" {
				return a.toggle(args[0], verb, disabled, imports)
			}
			return a.toggleIn(path, args[0], verb, disabled, config.SetDisabled)
		},
	}
	f.add(cmd)
	imports.add(cmd)
	return cmd
}

// toggle changes the file that decides whether a server is disabled. When that only changes the entry of a weaker one,
// the weaker one may have to be changed too.
func (a *app) toggle(name, verb string, disabled bool, imports []string) error {
	var changed []string
	for {
		c, err := a.load("", imports...)
		if err != nil {
			return err
		}
		s, err := c.Server(name)
		switch {
		case err != nil:
			return &usageError{err}
		case s == nil:
			return c.unnamed(name)
		case s.Disabled == disabled && changed == nil:
			return a.out.show(name + " is " + verb + "d already\n")
		case s.Disabled == disabled:
			return nil
		}
		path := s.Places["disabled"].Path
		if path == "" {
			path = s.Origin
		}
		change := config.SetDisabled
		if user, err := config.UserFile(); s.Scope == config.ScopeImport && (path == user || imported(c.Set, path)) {
			if err != nil {
				return err
			}
			path, change = user, config.Override
		}
		if slices.Contains(changed, path) {
			return errors.New(path + " was changed by somebody else at the same time; try again")
		}
		changed = append(changed, path)
		if err := a.toggleIn(path, name, verb, disabled, change); err != nil {
			return err
		}
	}
}

func (a *app) toggleIn(
	path, name, verb string, disabled bool, change func(path, name string, disabled bool) error,
) error {
	if _, err := a.edit(path, name, func() error { return change(path, name, disabled) }); err != nil {
		return err
	}
	return a.out.show(verb + "d " + name + " in " + path + "\n")
}
