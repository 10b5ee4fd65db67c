package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"mcpwire/config"
)

// copyInto copies servers of other programs into one of our files: the named ones or, without names, all.
func (x *importing) copyInto(c *catalogue, hosts string, names []string) error {
	if !x.file.project && x.file.config == "" {
		x.file.user = true
	}
	path, err := x.file.path()
	if err != nil {
		return err
	}
	servers, err := chosenOf(c, hosts, names)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		x.showProblems(c.Set, nil, nil, true)
	}
	if servers, err = x.free(servers, path, len(names) > 0); err != nil {
		return err
	}
	for i := range servers {
		servers[i] = moved(servers[i], path)
	}
	if x.dryRun {
		err = x.preview(servers, path)
	} else if err = x.permitCopy(c, servers); err == nil {
		err = x.write(servers, path)
	}
	if err != nil || len(names) > 0 {
		return err
	}
	return unusableEntries(c.Set)
}

// chosenOf returns the servers of those names or, without names, all.
func chosenOf(c *catalogue, hosts string, names []string) (servers []config.Server, err error) {
	if len(names) == 0 {
		if len(c.Sources) == 0 {
			return nil, usagef("there is no file of %s here", hosts)
		}
		return slices.Clone(c.Servers), nil
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		s, err := c.Server(name)
		switch {
		case err != nil:
			return nil, &usageError{err}
		case s == nil:
			var known []string
			for _, s := range c.Servers {
				known = append(known, s.Name)
			}
			return nil, usagef("%s has no server %q%s (\"mcpwire import %[1]s\" lists them)",
				hosts, name, didYouMean(name, known))
		}
		servers = append(servers, *s)
	}
	return servers, nil
}

// free returns the servers whose names the file does not have, which are all with --force. One that was named must be
// free; others are told of and left out.
func (x *importing) free(servers []config.Server, path string, named bool) ([]config.Server, error) {
	file, err := config.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return servers, nil
	case err != nil:
		return nil, err
	case x.force:
		return servers, nil
	}
	var free []config.Server
	for _, s := range servers {
		switch {
		case !file.Names(s.Name):
			free = append(free, s)
		case named:
			return nil, usagef("%s has a server %q already; --force replaces it", path, s.Name)
		default:
			x.console.linef("mcpwire: %s is left out: %s has a server of that name already (--force replaces it)",
				visible(s.Name), visible(path))
		}
	}
	return free, nil
}

// moved returns a server as it is written into another file. In a project's file the project's folder need not be said.
func moved(s config.Server, path string) config.Server {
	folder, err := filepath.Abs(filepath.Dir(path))
	if err == nil && filepath.Base(path) == projectFile && s.Cwd == strings.ReplaceAll(folder, "$", "$$") {
		s.Cwd = ""
	}
	return s
}

// permitCopy has somebody approve a project's file from which servers are copied: what is in our files is started.
func (x *importing) permitCopy(c *catalogue, servers []config.Server) error {
	servers = slices.Clone(servers)
	for i := range servers {
		servers[i].Disabled = false // one that is disabled must be approved too
	}
	return x.permit(c, servers...)
}

// preview shows what would be written.
func (x *importing) preview(servers []config.Server, path string) error {
	if len(servers) == 0 {
		return x.out.show("nothing would be written to " + path + "\n")
	}
	var masked []config.Server
	for _, s := range servers {
		masked = append(masked, s.Masked())
	}
	return x.out.show("would be written to " + path + ":\n" + config.EntriesText(masked...))
}

// write writes the servers, and warns of secrets among what is written.
func (x *importing) write(servers []config.Server, path string) error {
	var secret []string
	for _, s := range servers {
		approved, err := x.edit(path, s.Name, func() error { return config.AddServer(path, s, x.force) })
		if err != nil {
			return err
		}
		if err := x.out.show("copied " + s.Name + " from " + s.Places[""].String() + " to " + path + "\n"); err != nil {
			return err
		}
		if !reflect.DeepEqual(s, s.Masked()) {
			secret = append(secret, visible(s.Name))
		}
		last := s.Name == servers[len(servers)-1].Name
		if last && filepath.Base(path) == projectFile && !approved {
			x.console.linef("mcpwire: warning: the content of %s is not approved: its servers are started after "+
				"\"mcpwire trust %s\"", visible(path), shellWords([]string{path}))
		}
	}
	if secret != nil {
		x.console.linef("mcpwire: warning: something that looks like a secret was copied as it stands, for %s; write "+
			"${VARIABLE} or ${file:PATH} for it in %s", strings.Join(secret, ", "), visible(path))
	}
	return nil
}
