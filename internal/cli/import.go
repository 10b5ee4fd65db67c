package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"mcpwire/config"
)

func importCommand(a *app) *cobra.Command {
	x := &importing{app: a}
	var known []string
	for _, h := range config.Hosts() {
		known = append(known, fmt.Sprintf("  %-15s %s", h.Name, h.Title))
	}
	cmd := &cobra.Command{
		Use:   "import [flags] [PROGRAM [NAME ...]]",
		Short: "Show the servers that other programs have, and copy them",
		Long: `Show which other programs have servers configured here; with PROGRAM which ones those are. With NAMEs, or
--copy for all of them, they are copied into the user's file, or with --project into the project's.

` + strings.Join(known, "\n") + `

The files of other programs are only read, and by their own rules; docs/import.md has them. Variables stay variables, in
our syntax; what was written out, secrets too, is copied as it is. An entry that is there already is replaced with
--force only.

To use them without a copy, give --import PROGRAM to a command that talks to servers, or write
"import": ["cursor", "codex"] into the user's file, beside "mcpServers". They are weaker than all of ours. A file that
comes with a project must be approved ("mcpwire trust FILE") before its servers are started or copied.

The exit code is 1 if a file of PROGRAM can't be used, 5 if an entry can't.`,
		Example: `  mcpwire import
  mcpwire import cursor
  mcpwire import cursor files search --dry-run
  mcpwire import codex --copy
  mcpwire tools --import all`,
		RunE: func(_ *cobra.Command, words []string) error { return x.run(words) },
	}
	x.file.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&x.copy, "copy", false, "copy all servers of PROGRAM, but for those that are there already")
	flags.BoolVar(&x.force, "force", false, "replace entries that are there already")
	flags.BoolVar(&x.dryRun, "dry-run", false, "show what would be written, with secrets masked, and write nothing")
	flags.VarP(&x.output, "output", "o", "`FORM` of what is shown: text or json (default text)")
	return cmd
}

// An importing is one run of the command import.
type importing struct {
	*app
	file                fileFlags
	copy, force, dryRun bool
	output              outputFlag
}

func (x *importing) run(words []string) error {
	copies := x.copy || x.dryRun || len(words) > 1
	switch {
	case len(words) == 0 && (copies || x.force):
		return usagef("a program is wanted whose servers are copied, as in \"mcpwire import cursor --copy\"")
	case !copies && (x.force || x.file != fileFlags{}):
		return usagef("that is for copying; write \"mcpwire import %s --copy\", or name servers", shellWords(words))
	case copies && x.output.json:
		return usagef("--output json is for showing, not for copying")
	case len(words) == 0:
		return x.overview()
	}
	names := strings.Split(words[0], ",")
	if err := config.CheckHosts(names...); err != nil {
		return &usageError{err}
	}
	set, err := config.Sources{Approved: toBeAsked}.LoadImports(names...)
	if err != nil {
		return err
	}
	c := &catalogue{Set: set, files: set.Sources, unapproved: unapproved(set)}
	if copies {
		return x.copyInto(c, words[0], words[1:])
	}
	return x.show(c, words[0])
}

// What the command import prints as JSON. Members stay as they are from version to version.
type (
	shownHost struct {
		Name  string           `json:"name"`
		Title string           `json:"title"`
		Files []shownHostsFile `json:"files"` // those that exist, strongest first
	}
	shownHostsFile struct {
		Path     string `json:"path"`
		Project  bool   `json:"project"` // it comes with the project
		Approved bool   `json:"approved"`
		Servers  int    `json:"servers"`
		Unusable int    `json:"unusable"` // entries that can't be used
		Error    string `json:"error,omitzero"`
	}
)

// overview shows which programs have files here.
func (x *importing) overview() error {
	all := []shownHost{}
	rows := [][]string{{"PROGRAM", "SERVERS", "FILE", ""}}
	for _, h := range config.Hosts() {
		set, err := config.Sources{Approved: toBeAsked}.LoadImports(h.Name)
		if err != nil {
			return err
		}
		shown := shownHost{h.Name, h.Title, filesOf(set)}
		for _, f := range shown.Files {
			rows = append(rows, []string{h.Name, fmt.Sprint(f.Servers), visible(f.Path), f.remark()})
		}
		all = append(all, shown)
	}
	switch {
	case x.output.json:
		return x.printHosts(struct {
			Programs []shownHost `json:"programs"`
		}{all})
	case len(rows) == 1:
		x.console.line("no file of another program is here (\"mcpwire import --help\" lists the programs)")
		return nil
	}
	return x.out.write(strings.Join(aligned(rows), "\n") + "\n")
}

func filesOf(set *config.Set) []shownHostsFile {
	files, waiting := []shownHostsFile{}, unapproved(set)
	lost := broken(set)
	for _, source := range set.Sources {
		f := shownHostsFile{Path: source.Path, Project: source.NeedsTrust()}
		f.Approved = !slices.ContainsFunc(waiting, func(s config.Source) bool { return s.Path == source.Path })
		if source.Err != nil {
			f.Error = source.Err.Error()
		} else {
			f.Servers = len(source.File.Servers)
		}
		for _, entry := range lost {
			if entry.path == source.Path && entry.server != "" {
				f.Unusable++
			}
		}
		files = append(files, f)
	}
	return files
}

// remark tells what is to be known of a file.
func (f shownHostsFile) remark() string {
	var all []string
	if f.Error != "" {
		all = append(all, "can't be used: "+visible(f.Error))
	}
	if f.Unusable > 0 {
		all = append(all, fmt.Sprintf("%d more can't be used", f.Unusable))
	}
	if !f.Approved {
		all = append(all, "of the project, not approved")
	}
	return strings.Join(all, "; ")
}

// show shows the servers of programs.
func (x *importing) show(c *catalogue, hosts string) error {
	x.showProblems(c.Set, nil, nil, true)
	var err error
	switch {
	case x.output.json:
		err = x.printHosts(struct {
			Servers []shownServer    `json:"servers"`
			Files   []shownHostsFile `json:"files"`
		}{shownServers(c.Servers), filesOf(c.Set)})
	case len(c.Servers) == 0 && len(c.Sources) == 0:
		x.console.linef("there is no file of %s here", hosts)
	case len(c.Servers) > 0:
		err = x.printConfig(c.Set, false)
	}
	if err != nil {
		return err
	}
	return unusableEntries(c.Set)
}

func (x *importing) printHosts(all any) error {
	text, err := jsonv2.Marshal(all, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	return x.printJSON(json.RawMessage(text))
}
